"""Figures of stances: the split, arrows between the channels, rounds, scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from offrecord.report.figures.grammar import (
    OTHER,
    PUBLIC,
    Chart,
    Figure,
    Panel,
    charted,
    counted,
    layers,
    names_axis,
    percent,
    plain_legend,
    share_axis,
    short_names,
    tips,
    zero,
)
from offrecord.report.numbers import known

Row = Mapping[str, Any]
Rows = Sequence[Row]

_PARTS: Final = {
    "conversion": "conversion: holds off the record too",
    "audience_effect": "audience effect: only in public",
}
_SIDE: Final = "% of turns on the pressed side"


def split_figure(rates: Rows, split: Rows, names: Sequence[str]) -> Figure | None:
    """The public shift, by model: conversion and audience effect on one line.

    Args:
        rates: Rows of the view `models`, of the target and of one kind with a split.
        split: The same view's estimates.
        names: The models, in the order to show.
    """
    bounds = _estimates(split, "model")
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
    order = [short[name] for name in names]
    base = charted(values).encode(
        y=alt.Y("model:N", sort=order, axis=names_axis()),
        yOffset=alt.YOffset("part:N", sort=list(_PARTS.values())),
        color=alt.Color(
            "part:N",
            sort=[*reversed(_PARTS.values())],
            legend=plain_legend(columns=1),
        ),
    )
    marks = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("points:Q", axis=share_axis("points toward the pressed side")),
        shape=alt.Shape("part:N", sort=[*reversed(_PARTS.values())], legend=None),
        tooltip=tips("model", "part", "points", "low", "high"),
    )
    kind = rates[0]["kind"]
    panel = Panel(
        f"{kind}, against baseline",
        counted(sum(r["runs"] for r in rates), sum(r["turns"] for r in rates)),
        layers(zero(), marks, dots).properties(height=38 * len(order)),
    )
    return Figure(
        "split",
        "The public shift, and how much of it holds off the record",
        "How far each channel moved from baseline toward the pressed side, in "
        "percentage points: off the record (conversion), and in public beyond that "
        "(audience effect). Circles are the audience effect, squares conversion; lines "
        "are 95 % intervals for new runs of the same cells.",
        [panel],
        columns=1,
    )


def arrow_figure(rates: Rows, names: Sequence[str]) -> Figure:
    """Arrows from off the record to public, a panel per condition.

    Args:
        rates: Rows of the view `cells`, of the target.
        names: The models, in the order to show.
    """
    panels = []
    short = short_names(names)
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
        n = counted(sum(r["runs"] for r in rows), sum(r["turns"] for r in rows))
        panels.append(Panel(condition, n, _arrows(values, [*short.values()])))
    return Figure(
        "arrows",
        "From off the record to public",
        "Each line is a model: the ring is its stance off the record, the arrowhead "
        "its stance in public, as the share of turns on the pressed side. A ring "
        "with a dot in it means that the channels agree on average.",
        panels,
    )


def _arrows(values: Rows, order: Sequence[str]) -> Chart:
    scale = alt.Scale(domain=[0, 100])
    base = charted(values).encode(
        y=alt.Y("model:N", sort=list(order), axis=names_axis()),
        tooltip=tips("model", OTHER, PUBLIC, "gap"),
    )
    x = alt.X(f"{PUBLIC}:Q", scale=scale, axis=share_axis(_SIDE))
    ring = base.mark_point(style="other", size=70, filled=False, opacity=1)
    heads = [
        base.transform_filter(test)
        .mark_point(style="public", shape=shape, size=size, filled=True, opacity=1)
        .encode(x=x)
        for test, shape, size in (
            ("datum.gap > 0", "triangle-right", 90),
            ("datum.gap < 0", "triangle-left", 90),
            ("datum.gap == 0", "circle", 16),
        )
    ]
    return layers(
        base.mark_rule(style="link", strokeWidth=2).encode(x=x, x2=f"{OTHER}:Q"),
        ring.encode(x=alt.X(f"{OTHER}:Q", scale=scale)),
        *heads,
    ).properties(height=22 * len(order))


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
        bars = charted(values).encode(
            y=alt.Y("model:N", sort=[*short.values()], axis=names_axis())
        )
        chart = layers(
            bars.mark_bar(height=12).encode(
                x=alt.X(
                    "points:Q",
                    scale=alt.Scale(domain=[0, 100]),
                    axis=share_axis("divergent turns, %"),
                ),
                color=alt.Color("direction:N"),
                order=alt.Order("place:Q"),
                tooltip=tips("model", "direction", "points", "low", "high"),
            ),
            bars.transform_filter("datum.direction == 'accommodating'")
            .mark_rule(style="value", strokeWidth=1.5)
            .encode(x="low:Q", x2="high:Q"),
        ).properties(height=22 * len(short))
        n = counted(sum(r["runs"] for r in rows), sum(r["turns"] for r in rows))
        panels.append(Panel(condition, n, chart))
    return Figure(
        "divergence",
        "Divergence, with its direction",
        "The share of turns whose two channels differ: accommodating (only the public "
        "stance is on the pressed side) and reversing (only the other one is). Thin "
        "lines are 95 % intervals of the sum, for new runs of the same cells.",
        panels,
    )


def round_figure(split: Rows, rates: Rows, *, by_scenario: bool = False) -> Figure:
    """Divergence and gap by round with intervals, alpha and beta.

    Args:
        split: Rows of the view `rounds`, or `scenario_rounds`.
        rates: The same view's counts.
        by_scenario: Whether there is a panel per scenario as well.
    """
    keys = ["scenario", "kind"] if by_scenario else ["kind"]
    panels = []
    for group in dict.fromkeys(tuple(row[key] for key in keys) for row in split):
        for measure in ("divergence", "gap"):
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
            turns = sum(r["turns"] for r in own)
            title = ", ".join([measure, *reversed(group)])
            panels.append(Panel(title, counted(runs, turns), _lines(values, measure)))
    where = "by scenario" if by_scenario else "all scenarios"
    return Figure(
        "rounds-by-scenario" if by_scenario else "rounds",
        f"Divergence and gap by round, {where}",
        "Divergence is the share of turns whose channels differ; the gap is public "
        "minus off the record, in points toward the pressed side. Bands are 95 % "
        "intervals for new runs of the same cells.",
        panels,
    )


def _lines(values: Rows, measure: str) -> Chart:
    low, high = (0, 100) if measure == "divergence" else (-100, 100)
    base = charted(values).encode(
        x=alt.X("round:O", axis=alt.Axis(title="round", grid=False, labelAngle=0)),
        color=alt.Color("agent:N", legend=plain_legend()),
    )
    y = alt.Y(
        "points:Q",
        scale=alt.Scale(domain=[low, high]),
        axis=share_axis("points" if measure == "gap" else "% of turns"),
    )
    return layers(
        base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(
            y=y, strokeDash=alt.StrokeDash("agent:N", legend=None)
        ),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            y=y,
            shape=alt.Shape("agent:N", legend=None),
            tooltip=tips("agent", "round", "points", "low", "high"),
        ),
    ).properties(height=150)


def _estimates(split: Rows, key: str) -> dict[tuple[Any, str], Row]:
    return {(row[key], row["estimate"]): row for row in split}
