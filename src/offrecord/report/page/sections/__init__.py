"""The sections of the page, in the order of the page."""

from __future__ import annotations

from offrecord.report.page.sections.attribution import attribution_section
from offrecord.report.page.sections.certainty import certainty_section
from offrecord.report.page.sections.markers import marker_section
from offrecord.report.page.sections.record import (
    design_section,
    limits_section,
    missing_section,
)
from offrecord.report.page.sections.rounds import rounds_section
from offrecord.report.page.sections.similarity import cosine_section, entailment_section
from offrecord.report.page.sections.split import split_section
from offrecord.report.page.sections.surveys import survey_section

EVIDENCE = (
    split_section,
    rounds_section,
    certainty_section,
    cosine_section,
    entailment_section,
    survey_section,
    attribution_section,
    marker_section,
    missing_section,
)
"""What stands before the transcripts."""

RECORD = (design_section, limits_section)
"""What stands behind them."""

__all__ = ["EVIDENCE", "RECORD"]
