"""What a page is made of: sections of text, tables and figures, as plain values.

The sections say what is shown; the template says how. Everything here is text, which
the template escapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from offrecord.report.figures.grammar import Figure

Tone = Literal["plain", "note", "warn"]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = "plain"
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    hint: str = ""
    """Small print under the figure, such as its interval."""
    shade: int | None = None
    """0 to 10: how strongly the cell is tinted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading."""

    title: str
    number: bool = True
    about: str = ""
    """What it means, for a reader who asks."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first column names the row."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    folded: bool = False
    """Whether it opens only when asked."""
    total: bool = False
    """Whether the last row sums up the others."""
    kind: str = "table"

    @property
    def explained(self) -> list[Column]:
        """The columns that say what they mean."""
        return [column for column in self.columns if column.about]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure."""

    figure: Figure
    folded: bool = False
    kind: str = "figure"


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of an agent, with where they stand."""

    text: str
    source: str
    link: str
    """The fragment of the turn in the transcript browser."""
    marks: Sequence[str] = ()
    """Parts of the text that were coded."""
    kind: str = "quote"

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The text cut where it is marked: each piece, and whether it is."""
        pieces = [(self.text, False)]
        for mark in dict.fromkeys(m for m in self.marks if m):
            cut: list[tuple[str, bool]] = []
            for piece, marked in pieces:
                if marked:
                    cut.append((piece, True))
                    continue
                before, found, after = piece.partition(mark)
                cut += [(before, False), (found, True), (after, False)]
            pieces = [(piece, marked) for piece, marked in cut if piece]
        return pieces


@dataclass(frozen=True, slots=True)
class Code:
    """Text shown as it is, such as a prompt."""

    title: str
    text: str
    kind: str = "code"


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that open together."""

    title: str
    blocks: Sequence[Code]
    kind: str = "fold"


Block = Text | Table | Drawing | Quote | Code | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page."""

    id: str
    title: str
    blocks: Sequence[Block]
    lead: str = ""
    """What to take from it, in a sentence."""
    about: Sequence[str] = field(default=())
    """How to read it."""


def cells(*texts: str | Cell) -> list[Cell]:
    """A row of a table."""
    return [one if isinstance(one, Cell) else Cell(one) for one in texts]


def shade(fraction: float | None) -> int | None:
    """The tint of a rate: 0 for nothing to 10 for all."""
    if fraction is None or math.isnan(fraction):
        return None
    return round(10 * min(max(fraction, 0), 1))
