"""The sections of the page, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from offrecord.measures.registry import known_measures
from offrecord.report.page.blocks import Section
from offrecord.report.page.findings import Findings
from offrecord.report.page.sections.arms import arm_sections
from offrecord.report.page.sections.attribution import attribution_section
from offrecord.report.page.sections.certainty import certainty_section
from offrecord.report.page.sections.gate import gate_sections
from offrecord.report.page.sections.measures import default_section
from offrecord.report.page.sections.record import (
    design_section,
    limits_section,
    missing_section,
    unmeasured_section,
)
from offrecord.report.page.sections.recorded import recorded_sections
from offrecord.report.page.sections.rounds import rounds_section
from offrecord.report.page.sections.similarity import cosine_section, entailment_section
from offrecord.report.page.sections.split import split_section
from offrecord.report.page.sections.surveys import survey_section

_HELD: Final = (split_section, rounds_section, certainty_section)

_OWN: Final[Mapping[str, Callable[[Findings], Section | None]]] = {
    "similarity": cosine_section,
    "entailment": entailment_section,
    "survey": survey_section,
    "attribution": attribution_section,
}
# The measures that have a section of their own.


def evidence(found: Findings) -> list[Section]:
    """What stands before the transcripts; what was not measured is said once."""
    recorded = recorded_sections(found)
    if found.facts.get("probe"):
        return recorded
    measured = _measures(found)
    bare = [name for name, section in measured.items() if section is None]
    return [
        *(recorded or [make(found) for make in _HELD]),
        *arm_sections(found),
        *gate_sections(found),
        *(section for section in measured.values() if section is not None),
        *([unmeasured_section(found, bare)] if bare else []),
        *([] if recorded else [missing_section(found)]),
    ]


def _measures(found: Findings) -> dict[str, Section | None]:
    """Those of measures that apply: without a silent channel there are no pairs."""
    alone = found.channel == found.spoken
    sections = {}
    for measure in known_measures(found.facts):
        rows = {table.row for table in measure.tables if table.estimated}
        if rows and not (alone and rows <= {"item", "pair"}):
            own = _OWN.get(measure.name)
            sections[measure.name] = (
                own(found) if own else default_section(found, measure)
            )
    return sections


RECORD = (design_section, limits_section)
"""What stands behind them."""

__all__ = ["RECORD", "evidence"]
