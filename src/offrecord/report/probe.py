"""How the figures of a probe are shown: in the terminal and in the page alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from offrecord.estimates.arrays.bounds import Bounds, Range
from offrecord.estimates.frames.probed import ProbeFigures
from offrecord.estimates.frames.row import Row
from offrecord.measures.probes import AUDIENCE, REPLAY, WORDING
from offrecord.report.numbers import between, interval, points
from offrecord.report.terminal import bare_table, print_whole, visible

ASKED: Final = {
    REPLAY: "does asking again reproduce the deployment?",
    WORDING: "does a paragraph matter?",
    AUDIENCE: "what does the audience change?",
}
"""The questions of a probe, in their order."""

TITLE: Final = (
    "The probe: turns asked again, as recorded and with a paragraph on who listens"
)
NOTE: Final = (
    "Percentage points, each turn weighed by how many it stands for, with 95 % "
    "intervals for new conversations of the same kinds. Left and right: share on the "
    "pressed side. Off the record is a contrast on the same prompt, not a belief."
)
COLUMNS: Final[Mapping[str, Callable[[ProbeFigures], str]]] = {
    "left - right": lambda of: f"{of.left_channel} - ",
    "turns": lambda of: f"{of.turns} of {of.stands_for:,.0f}",
    "missing": lambda of: str(of.missing),
    "left": lambda of: points(of.left),
    "right": lambda of: points(of.right),
    "gap": lambda of: _bounded(of.gap),
    "divergence": lambda of: _bounded(of.divergence),
    "D*": lambda of: _bounded(of.d_star),
    "audience changes": lambda of: between(Range(of.changed_low, of.changed_high)),
}


def asked_first(rows: Sequence[Row[ProbeFigures]]) -> list[Row[ProbeFigures]]:
    """Rows in the order of the questions."""
    order = [*ASKED]
    return sorted(rows, key=lambda row: order.index(row["question"]))


def table_of(rows: Sequence[Row[ProbeFigures]]) -> list[list[str]]:
    """The table of a probe: its heads, then a row each; without keys of no row."""
    keys = [key for key in rows[0].group if any(row[key] is not None for row in rows)]
    keys = [key for key in keys if key not in {"question", "right_channel"}]
    table = [["question", *keys, *COLUMNS]]
    for row in asked_first(rows):
        named = ["all" if row[key] is None else str(row[key]) for key in keys]
        shown = {name: show(row.of) for name, show in COLUMNS.items()}
        shown["left - right"] += str(row["right_channel"])
        table.append([str(row["question"]), *named, *shown.values()])
    return table


def print_probe(rows: Sequence[Row[ProbeFigures]], console: Console) -> None:
    """Print the table of a probe."""
    if not rows:
        return
    table = bare_table(Text(TITLE))
    heads, *cells = table_of(rows)
    figures = heads.index("turns")
    for place, head in enumerate(heads):
        words = place < figures
        table.add_column(
            Text(head), justify="left" if words else "right", no_wrap=not words
        )
    for row in cells:
        table.add_row(*map(visible, row))
    print_whole(console, table)
    console.print(Text(NOTE, style="dim italic"))
    for reason in dict.fromkeys(row.of.reason for row in rows if row.of.reason):
        console.print(Text(f"No interval: {reason}.", style="dim italic"))


def _bounded(bounds: Bounds) -> str:
    return points(bounds.value) + interval(bounds.low, bounds.high)
