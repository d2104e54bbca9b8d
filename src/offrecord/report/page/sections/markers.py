"""Markers of wording, and signs that an agent suspects a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offrecord.report.figures.texts import (
    marker_figure,
)
from offrecord.report.numbers import count, named, points
from offrecord.report.page.blocks import (
    Block,
    Column,
    Drawing,
    Section,
    Table,
    cells,
)
from offrecord.report.page.findings import Findings

MARKERS: Final = {
    "words": "words",
    "hedges_per_100": "hedges per 100 words",
    "boosters_per_100": "boosters per 100 words",
    "partner_credit_per_100": "credit to partner per 100 words",
    "first_singular_per_100": "I, me, my per 100 words",
    "first_plural_per_100": "we, us, our per 100 words",
}


_SIGNS: Final = {
    "test": "names a test or an evaluation",
    "role_play": "names a role play, a simulation or an AI model",
    "privacy": "doubts that it is private",
}


def marker_section(found: Findings) -> Section:
    """Markers of wording, and signs that an agent suspects a test."""
    rows = found.listed("markers", agent=found.target)
    figure = marker_figure(rows, MARKERS) if rows else None
    blocks: list[Block] = []
    if figure is None:
        blocks.append(found.unmeasured("markers"))
    else:
        blocks += [Drawing(figure), *_awareness(found)]
    return Section(
        "markers",
        "How it is worded, and whether a test is suspected",
        blocks,
        short="Markers",
        about=(
            "Word lists are English. An agent that names a test, a role play or doubts "
            "the privacy may answer the test rather than the question: --without-aware "
            "leaves such turns out.",
        ),
    )


def _awareness(found: Findings) -> Iterator[Block]:
    rows = found.listed("awareness", agent=found.target)
    if not rows:
        return
    yield Table(
        f"Signs of awareness ({found.target})",
        [
            Column("sign", number=False),
            Column("kind", number=False),
            Column("channel", number=False),
            Column("form", number=False),
            Column("texts with it, %"),
            Column("texts"),
        ],
        [
            cells(
                _SIGNS.get(row["sign"]) or str(row["sign"]),
                row["kind"],
                named(row["channel"]),
                row["form"],
                points(row["value"], 2),
                count(row["texts"]),
            )
            for row in rows
        ],
        folded=True,
    )
