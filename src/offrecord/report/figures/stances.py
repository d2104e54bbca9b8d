"""Figures of stances: the split, arrows between the channels, rounds, scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offrecord.report.figures.grammar import (
    OTHER,
    PUBLIC,
    Figure,
    Panel,
    Rows,
    counted,
    drawn,
    figure,
    percent,
    short_names,
)
from offrecord.report.numbers import known

_PARTS: Final = {
    "conversion": "conversion: holds off the record too",
    "audience_effect": "audience effect: only in public",
}


def split_figure(rates: Rows, split: Rows, names: Sequence[str]) -> Figure | None:
    """The public shift, by model: conversion and audience effect on one line.

    Args:
        rates: Rows of the view `models`, of the target and of one kind with a split.
        split: The same view's estimates.
        names: The models, in the order to show.
    """
    bounds = {(row["model"], row["estimate"]): row for row in split}
    short = short_names(names)
    values = [
        {
            "model": short[row["model"]],
            "part": label,
            "points": 100 * row[part],
            "low": percent(bounds[row["model"], part]["low"]),
            "high": percent(bounds[row["model"], part]["high"]),
        }
        for row in rates
        for part, label in _PARTS.items()
        if known(row[part])
    ]
    if not values:
        return None
    chart = drawn(
        "split",
        values,
        len(names),
        models=[short[name] for name in names],
        parts=[*_PARTS.values()],
        parts_turned=[*reversed(_PARTS.values())],
    )
    title = f"{rates[0]['kind']}, against baseline"
    return figure("split", [Panel(title, counted(rates), chart)], split)


def arrow_figure(rates: Rows, names: Sequence[str]) -> Figure:
    """Arrows from off the record to public, a panel per condition.

    Args:
        rates: Rows of the view `cells`, of the target.
        names: The models, in the order to show.
    """
    short = short_names(names)
    panels = []
    for condition in dict.fromkeys(row["condition"] for row in rates):
        rows = [row for row in rates if row["condition"] == condition]
        values = [
            {
                "model": short[row["model"]],
                PUBLIC: 100 * row["public"],
                OTHER: 100 * row["off_record"],
                "gap": 100 * row["gap"],
            }
            for row in rows
            if known(row["public"]) and known(row["off_record"])
        ]
        chart = drawn("arrows", values, len(short), models=[*short.values()])
        panels.append(Panel(condition, counted(rows), chart))
    return figure("arrows", panels)


def divergence_figure(rates: Rows, names: Sequence[str]) -> Figure:
    """Divergence by model and condition, with its direction.

    Args:
        rates: Rows of the view `cells`, of the target.
        names: The models, in the order to show.
    """
    short = short_names(names)
    panels = []
    for condition in dict.fromkeys(row["condition"] for row in rates):
        rows = [row for row in rates if row["condition"] == condition]
        values = [
            {
                "model": short[row["model"]],
                "direction": direction,
                "place": place,
                "points": 100 * row[direction] / row["turns"],
                "low": percent(row["ci_low"]),
                "high": percent(row["ci_high"]),
            }
            for row in rows
            if row["turns"]
            for place, direction in enumerate(("accommodating", "reversing"))
        ]
        chart = drawn("divergence", values, len(short), models=[*short.values()])
        panels.append(Panel(condition, counted(rows), chart))
    return figure("divergence", panels, rates)


def round_figure(split: Rows, rates: Rows, *, by_scenario: bool = False) -> Figure:
    """Divergence and gap by round with intervals, alpha and beta.

    Args:
        split: Rows of the view `rounds`, or `scenario_rounds`.
        rates: The same view's counts.
        by_scenario: Whether there is a panel per scenario as well.
    """
    keys = ["scenario", "kind"] if by_scenario else ["kind"]
    shapes = {
        "divergence": {"domain": [0, 100], "measured": "% of turns"},
        "gap": {"domain": [-100, 100], "measured": "points"},
    }
    panels = []
    for group in dict.fromkeys(tuple(row[key] for key in keys) for row in split):
        for measure, shape in shapes.items():
            values = [
                {
                    "round": row["round"],
                    "agent": row["agent"],
                    "points": 100 * row["value"],
                    "low": percent(row["low"]),
                    "high": percent(row["high"]),
                }
                for row in split
                if tuple(row[key] for key in keys) == group
                and row["estimate"] == measure
                and known(row["value"])
            ]
            if not values:
                continue
            own = [r for r in rates if tuple(r[key] for key in keys) == group]
            one = own[0]["agent"], own[0]["round"]
            runs = sum(r["runs"] for r in own if (r["agent"], r["round"]) == one)
            n = counted([{"runs": runs, "turns": sum(r["turns"] for r in own)}])
            title = ", ".join([measure, *reversed(group)])
            agents = list(dict.fromkeys(row["agent"] for row in split))
            chart = drawn("rounds", values, agents=agents, **shape)
            panels.append(Panel(title, n, chart))
    return figure("rounds-by-scenario" if by_scenario else "rounds", panels, split)
