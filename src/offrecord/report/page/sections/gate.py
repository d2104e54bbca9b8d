"""The gate: what the last audit by blocks found, and the path of its e-values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offrecord.report.figures.anytime import path_figure
from offrecord.report.numbers import named, points
from offrecord.report.page.blocks import Column, Drawing, Section, Table, cells
from offrecord.report.page.findings import Findings
from offrecord.transcript.audits import Anytime

_ABOUT: Final = (
    "A block is one run of each cell. The e-value of a figure is evidence against a "
    "truth on the other side of its threshold: whenever it is looked at, the chance "
    "that it ever reaches its limit by luck is at most 2.5 %.",
)


def gate_sections(found: Findings) -> Iterator[Section]:
    """One section where a study was audited by blocks."""
    judged = found.judged
    if judged is None or not any(path.e_below for path in judged.checks):
        return
    yield Section(
        "gate",
        "The gate after each block",
        [Drawing(path_figure(judged)), _table(judged)],
        about=_ABOUT,
    )


def _table(judged: Anytime) -> Table:
    keys = list(dict.fromkeys(key for one in judged.checks for key in one.group))
    return Table(
        "What was judged",
        [
            Column("check", number=False),
            *(Column(named(key), number=False) for key in keys),
            Column("at most"),
            Column("blocks"),
            Column("e-value below", about=f"{judged.pass_at:g} passes"),
            Column("e-value above", about=f"{judged.fail_at:g} fails"),
            Column("verdict", number=False),
        ],
        [
            cells(
                named(one.measure),
                *(str(one.group.get(key, "")) for key in keys),
                points(one.threshold),
                str(len(one.e_below)),
                *(f"{p[-1]:.3g}" if p else "" for p in (one.e_below, one.e_above)),
                one.verdict,
            )
            for one in judged.checks
        ],
    )
