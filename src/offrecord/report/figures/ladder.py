"""The figure of the ladder: the stance by who is told to be listening."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.report.figures.grammar import (
    Figure,
    Panel,
    Rows,
    counted,
    drawn,
    figure,
    percent,
    short_names,
)
from offrecord.report.numbers import known, named


def ladder_figure(rows: Rows, names: Sequence[str]) -> Figure:
    """The share of turns on the pressed side by rung, a line for each model.

    Args:
        rows: The levels of the target's ladders by model and kind.
        names: The models.
    """
    short = short_names(names)
    panels = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        values = [
            {
                "audience": named(row["rung"]),
                "model": short.get(row["model"], row["model"]),
                "points": 100 * row["value"],
                "low": percent(row["low"]),
                "high": percent(row["high"]),
            }
            for row in own
            if known(row["value"])
        ]
        n = counted([row for row in own if row["rung"] == own[0]["rung"]])
        order = list(dict.fromkeys(named(row["rung"]) for row in own))
        models = list(dict.fromkeys(value["model"] for value in values))
        chart = drawn("ladder", values, rungs=order, models=models)
        panels.append(Panel(str(kind), n, chart))
    return figure("ladder", panels)
