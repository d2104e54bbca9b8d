"""The figure of an audit by blocks: its e-values after each block."""

from __future__ import annotations

from typing import Final

import altair as alt

from offrecord.report.figures.grammar import (
    Chart,
    Figure,
    Panel,
    charted,
    layers,
    plain_legend,
    short_names,
    tips,
)
from offrecord.report.numbers import named, points
from offrecord.transcript.audits import Anytime, EPath

_PANELS: Final = 12
"""Figures that are drawn at most; audits.jsonl has all."""
_LEAST: Final = 1e-3
_MOST: Final = 1e6


def path_figure(found: Anytime) -> Figure:
    """A panel for each figure that was judged.

    Args:
        found: What the audit found, of at least one block.
    """
    return Figure(
        "evidence",
        "The e-values after each block",
        "A line that reaches its rule shows the figure to be below its threshold (rule "
        f"at {found.pass_at:g}) or above it (rule at {found.fail_at:g}), and it may be "
        "looked at after every block. The axis is logarithmic, and cut at "
        f"{_LEAST:g} and {_MOST:,.0f}.",
        [_panel(found, path) for path in found.checks[:_PANELS]],
    )


def _panel(found: Anytime, path: EPath) -> Panel:
    group = {k: str(v) for k, v in path.group.items() if k != "agent"}
    names = short_names(list(group.values()))
    title = ", ".join([named(path.measure), *names.values()])
    limit = f"at most {points(path.threshold)}, {len(path.e_below)} blocks"
    return Panel(title, f"{limit}: {path.verdict}", _chart(found, path))


def _chart(found: Anytime, path: EPath) -> Chart:
    sides = {"below": path.e_below, "above": path.e_above}
    values = [
        {"block": block, "shows": side, "e-value": min(max(value, _LEAST), _MOST)}
        for side, reached in sides.items()
        for block, value in enumerate(reached, 1)
    ]
    rules = charted([{"e-value": at} for at in {found.pass_at, found.fail_at}])
    scale = alt.Scale(type="log", domain=[_LEAST, _MOST])
    axis = alt.Axis(title="e-value", values=[1e-2, 1, 1e2, 1e4, 1e6], format="~g")
    lines = charted(values).mark_line(point={"size": 24, "filled": True})
    return layers(
        rules.mark_rule(style="zero").encode(y=alt.Y("e-value:Q", scale=scale)),
        lines.encode(
            x=alt.X("block:Q", axis=alt.Axis(title="blocks", tickMinStep=1)),
            y=alt.Y("e-value:Q", scale=scale, axis=axis),
            color=alt.Color("shows:N", sort=list(sides), legend=plain_legend()),
            tooltip=tips("block", "shows", "e-value"),
        ),
    ).properties(height=180)
