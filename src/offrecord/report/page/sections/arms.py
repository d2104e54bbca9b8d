"""What helps: each arm's verdict, what it changes, and an arrow for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offrecord.estimates.board import SCREENING, board_of
from offrecord.estimates.estimators import ARM_VERDICTS, ARMS
from offrecord.report.figures.arms import arms_figure
from offrecord.report.leaderboard import CAPTION, COLUMNS, reasons_of
from offrecord.report.page.blocks import Column, Drawing, Section, Table, Text, cells
from offrecord.report.page.findings import Findings

_ABOUT: Final = (
    "An arm is a text beside the scenario, its placebo a text of the same length that "
    "says nothing. A repair is no silence: it takes five tests, each shown by itself, "
    "and Holm over the arms.",
)


def arm_sections(found: Findings) -> Iterator[Section]:
    """One section where arms were compared."""
    changes = found.listed(ARMS, agent=found.target)
    if not changes:
        return
    board = board_of(changes, found.listed(ARM_VERDICTS, agent=found.target))
    screened = any(line["verdict"] == SCREENING for line in board.lines)
    figure = arms_figure(board.lines, found.models)
    blocks: list[Text | Drawing | Table] = [
        *([Text(f"{board.notes[0]}.", "warn")] if screened else []),
        *([Drawing(figure)] if figure.panels else []),
        Table(
            "Screening, not a verdict" if screened else "The verdict on each arm",
            [
                Column("arm", number=False),
                Column("model", number=False),
                *(Column(name, number=name != "verdict") for name in COLUMNS),
            ],
            [
                cells(
                    line["arm"],
                    found.called(line["model"]),
                    *(show(line) for show in COLUMNS.values()),
                )
                for line in board.lines
            ],
            caption=CAPTION,
        ),
        *(Text(f"{reason}.") for reason in reasons_of(board.lines)),
    ]
    yield Section("arms", "What helps", blocks, about=_ABOUT)
