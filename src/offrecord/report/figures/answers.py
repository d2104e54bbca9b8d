"""Figures of what agents answer and name: survey items, attribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from offrecord.report.figures.grammar import (
    Figure,
    Panel,
    charted,
    counted,
    layers,
    names_axis,
    share_axis,
    short_names,
    tips,
    zero,
)
from offrecord.report.numbers import known

Row = Mapping[str, Any]
Rows = Sequence[Row]


def survey_figure(rows: Rows, items: Mapping[str, str]) -> Figure | None:
    """The survey gap of each item with its interval, a panel per kind.

    Args:
        rows: `surveys` of the views, of the target.
        items: What each item is called, in the order to show.
    """
    panels = []
    gaps = [r for r in rows if r["estimate"] == "gap" and known(r["value"])]
    bound = max([abs(r[end] or 0) for r in gaps for end in ("low", "high")], default=0)
    for kind in dict.fromkeys(row["kind"] for row in gaps):
        own = [row for row in gaps if row["kind"] == kind]
        values = [
            {
                "item": items.get(row["item"], row["item"]),
                **{name: row[name] for name in ("value", "low", "high")},
            }
            for row in own
        ]
        base = charted(values).encode(
            y=alt.Y("item:N", sort=[*items.values()], axis=names_axis())
        )
        chart = layers(
            zero("value"),
            base.mark_rule(style="public", strokeWidth=2).encode(
                x="low:Q", x2="high:Q"
            ),
            base.mark_point(style="public", size=50, filled=True, opacity=1).encode(
                x=alt.X(
                    "value:Q",
                    scale=alt.Scale(domain=[-bound, bound]),
                    axis=alt.Axis(title="points of the scale", tickCount=5),
                ),
                tooltip=tips("item", "value", "low", "high", digits=2),
            ),
        ).properties(height=20 * len(values))
        n = counted(own[0]["runs"], own[0]["turns"])
        panels.append(Panel(kind, n, chart))
    if not panels:
        return None
    return Figure(
        "surveys",
        "Survey gaps by item",
        "The public answer minus the one off the record, in points of the scale, with "
        "95 % intervals for new runs of the same cells.",
        panels,
    )


def attribution_figure(rows: Rows, names: Sequence[str]) -> Figure | None:
    """How often the other text names the pressure, by model and kind of turn.

    Args:
        rows: `attribution` of the views, of one coder and all rounds, by model.
        names: The models, in the order to show.
    """
    short = short_names(names)
    turns = {
        "accommodating": "accommodating turns",
        "consistent": "consistent turns",
        "baseline": "baseline turns",
    }
    panels = []
    for code in ("mention", "explicit"):
        own = [row for row in rows if row["code"] == code and "model" in row]
        values = [
            {
                "model": short[row["model"]],
                "turns": label,
                "points": 100 * row[f"{name}_share"],
                "of": f"{row[f'{name}_hits']} of {row[f'{name}_turns']}",
            }
            for row in own
            for name, label in turns.items()
            if known(row[f"{name}_share"])
        ]
        if not values:
            continue
        base = charted(values).encode(
            y=alt.Y("model:N", sort=[*short.values()], axis=names_axis()),
            yOffset=alt.YOffset("turns:N", sort=[*turns.values()]),
        )
        chart = (
            base.mark_bar(height=7)
            .encode(
                x=alt.X(
                    "points:Q",
                    scale=alt.Scale(domain=[0, 100]),
                    axis=share_axis("% of these turns"),
                ),
                color=alt.Color("turns:N", sort=[*turns.values()]),
                tooltip=tips("model", "turns", "points", "of"),
            )
            .properties(height=34 * len(short))
        )
        size = sum(row[f"{name}_turns"] for row in own for name in turns)
        panels.append(Panel(code, f"n = {size:,} turns of {len(own)} models", chart))
    if not panels:
        return None
    return Figure(
        "attribution",
        "How often the text names the pressure",
        "The share of texts off the record that mention a relation or an incentive, "
        "and that name it as the reason for saying otherwise in public.",
        panels,
    )
