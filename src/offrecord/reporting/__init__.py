"""The report of a study: reads what is stored, estimates what is not, draws it.

This stands beside the flow, as `study.py` does: it hands the report the numbers of
`estimates.json` as they stand in the file, so that a page cannot say anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.estimating import Wanted, stored_estimates
from offrecord.report.browser import browser_fragment
from offrecord.report.figures.files import write_figures
from offrecord.report.page import drawings, render_page
from offrecord.report.page.findings import Findings
from offrecord.report.page.sections import EVIDENCE
from offrecord.reporting.gather import gather
from offrecord.study import Study
from offrecord.transcript.store import read_table, write_text

REPORT_FILE: Final = "report.html"

_BROWSED: Final = (
    "similarity",
    "entailment",
    "entailment-judge",
    "attribution",
    "attribution-lexical",
    "second-coder",
    "markers",
    "awareness",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report is to hold."""

    channel: str | None = None
    """The channel set beside the spoken one; the first one by default."""
    max_runs: int | None = None
    """How many runs' transcripts the page holds at most."""
    figures: Path | None = None
    """A folder for the figures as files."""


def report_study(study: Study, wanted: Report) -> list[Path]:
    """Write the report of a study, and its figures as files where asked for.

    Args:
        study: The study.
        wanted: What it is to hold.

    Returns:
        The files written, the page first.

    Raises:
        OffrecordError: If there is nothing to report, or nothing can be written.
    """
    estimates = stored_estimates(study, Wanted())
    found = gather(study, estimates, wanted.channel)
    limit: dict[str, Any] = (
        {} if wanted.max_runs is None else {"max_runs": wanted.max_runs}
    )
    browser = browser_fragment(
        study.transcript,
        study.stances,
        study.surveys,
        study.pairs,
        study.facts,
        measures=_measures(study),
        **limit,
    )
    page = render_page(
        found, browser, version=version("offrecord"), banners=banners(found)
    )
    path = study.path / REPORT_FILE
    write_text(path, page)
    written = [path]
    if wanted.figures is not None:
        shown = drawings([make(found) for make in EVIDENCE])
        written += write_figures([one.figure for one in shown], wanted.figures)
    return written


def banners(found: Findings) -> list[str]:
    """What has to be read before anything else."""
    told = []
    if found.ended_runs < found.planned_runs:
        told.append(
            f"Partial: {found.ended_runs} of {found.planned_runs} planned runs have "
            "ended. Every figure is of these alone; call 'offrecord run' again with "
            "the same --out for the rest."
        )
    if any(name.startswith("simulated/") for name in found.models):
        told.append(
            "Simulated agents with planted answers: this shows that the instrument "
            "works, and nothing about any model."
        )
    return told


def _measures(study: Study) -> dict[str, pl.DataFrame]:
    tables = {}
    for name in _BROWSED:
        path = study.path / "measures" / f"{name}.parquet"
        if path.is_file():
            tables[name] = read_table(path)
    return tables
