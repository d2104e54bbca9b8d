"""The figure of an audit by blocks: its e-values after each block."""

from __future__ import annotations

from typing import Any, Final

from offrecord.report.figures.grammar import Figure, Panel, drawn, figure, short_names
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
    panels = [_panel(found, path) for path in found.checks[:_PANELS]]
    return figure(
        "evidence",
        panels,
        caption="A line that reaches its rule shows the figure to be below its "
        f"threshold (rule at {found.pass_at:g}) or above it (rule at "
        f"{found.fail_at:g}), and it may be looked at after every block. The axis is "
        f"logarithmic, and cut at {_LEAST:g} and {_MOST:,.0f}.",
    )


def _panel(found: Anytime, path: EPath) -> Panel:
    group = {k: str(v) for k, v in path.group.items() if k != "agent"}
    names = short_names(list(group.values()))
    title = ", ".join([named(path.measure), *names.values()])
    limit = f"at most {points(path.threshold)}, {len(path.e_below)} blocks"
    return Panel(title, f"{limit}: {path.verdict}", _chart(found, path))


def _chart(found: Anytime, path: EPath) -> dict[str, Any]:
    values = [
        {"block": block, "shows": side, "e-value": min(max(value, _LEAST), _MOST)}
        for side, reached in {"below": path.e_below, "above": path.e_above}.items()
        for block, value in enumerate(reached, 1)
    ]
    return drawn(
        "evidence",
        values,
        domain=[_LEAST, _MOST],
        pass_at=found.pass_at,
        fail_at=found.fail_at,
    )
