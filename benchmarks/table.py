"""The one table of the benches, kept in the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks import Figure

PAGE: Final = Path(__file__).parents[1] / "docs" / "performance.md"

_BEGIN: Final = "<!-- bench: begin"
_END: Final = "<!-- bench: end -->"
_HEAD: Final = ("| bench | figure | value | aim |", "| --- | --- | --- | --- |")


def write_figures(
    figures: Mapping[str, Sequence[Figure]], order: Iterable[str], page: Path = PAGE
) -> None:
    """Put figures into the page's table, in place of those of the same benches.

    Args:
        figures: Bench to its figures. Rows of other benches stay.
        order: All benches, in the table's order; rows of unknown ones go.
        page: A Markdown file with the two comments between which the table stands.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    inside, end, after = rest.partition(_END)
    comment, *lines = inside.splitlines()
    rows = {
        name: [one for one in lines if one.startswith(f"| {name} |")] for name in order
    }
    rows |= {
        name: [_row(name, one) for one in found] for name, found in figures.items()
    }
    table = [row for name in rows for row in rows[name]]
    body = "\n".join([comment, "", *_HEAD, *table, "", ""])
    page.write_text(before + begin + body + end + after, encoding="utf-8")


def _row(name: str, figure: Figure) -> str:
    cells = (" ".join(cell.split()).replace("|", "\\|") for cell in figure)
    return f"| {name} | {' | '.join(cells)} |"
