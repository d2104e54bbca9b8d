"""The report of a study: reads what is stored, estimates what is not, draws it.

The page shows the numbers of `estimates.json`, which it never overwrites.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import altair as alt
import polars as pl

from offrecord.estimates.study import stored_estimates
from offrecord.measures.declare import Table
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.registry import known_tables
from offrecord.measures.stored import stored_measures
from offrecord.records import OffrecordError
from offrecord.report.browser import browser_fragment
from offrecord.report.browser.selection import MAX_RUNS, carried_runs
from offrecord.report.figures.files import write_figures
from offrecord.report.figures.grammar import Figure
from offrecord.report.gather import gather
from offrecord.report.headline import OFF_RECORD
from offrecord.report.numbers import named
from offrecord.report.page import drawings, render_page
from offrecord.report.page.findings import Findings
from offrecord.report.page.sections import evidence
from offrecord.report.prompts import study_items
from offrecord.transcript.record import Record
from offrecord.transcript.store import write_text

REPORT_FILE: Final = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a report is to hold."""

    channel: str | None = None
    """The channel set beside the spoken one; the first one by default."""
    max_runs: int | None = None
    """How many runs' transcripts the page holds at most."""
    figures: Path | None = None
    """A folder for the figures as files."""
    theme: str = "light"
    """Of the figures as files: `light` or `dark`."""
    figure_data: bool = False
    """Whether each figure's data and its Vega-Lite specification are written too."""


def report_study(study: Record, wanted: Report) -> list[Path]:
    """Write the report of a study, and its figures as files where asked for.

    Args:
        study: The study.
        wanted: What it is to hold.

    Returns:
        The files written, the page first.

    Raises:
        OffrecordError: If there is nothing to report, or nothing can be written.
    """
    estimates, stale = stored_estimates(study)
    most = MAX_RUNS if wanted.max_runs is None else wanted.max_runs
    browser = browser_fragment(
        study.transcript,
        stances_of(study),
        surveys_of(study),
        pairs_of(study),
        study.facts,
        measures=_measures(study, carried_runs(study.transcript, most)),
        items=study_items(study),
        max_runs=most,
    )
    found = gather(study, estimates, wanted.channel)
    told = [*([_STALE] if stale else []), *banners(found)]
    page = render_page(found, browser, version=version("offrecord"), banners=told)
    path = study.path / REPORT_FILE
    write_text(path, page)
    if wanted.figures is None:
        return [path]
    made = write_figures(
        _figures(found), wanted.figures, theme=wanted.theme, data=wanted.figure_data
    )
    return [path, *made]


def study_figure(study: Record, name: str) -> alt.ConcatChart:
    """One figure of a study's report, its panels side by side.

    Args:
        study: The study.
        name: Its id, such as `split`.

    Raises:
        OffrecordError: If the study has no such figure.
    """
    estimates, _ = stored_estimates(study, write=False)
    figures = {one.id: one for one in _figures(gather(study, estimates, None))}
    if name not in figures:
        raise OffrecordError(f"figure {name}: use any of {', '.join(figures)}")
    return figures[name].chart()


def _figures(found: Findings) -> list[Figure]:
    return [one.figure for one in drawings(evidence(found))]


_STALE: Final = (
    "estimates.json is older than what it was made of. This page shows new estimates "
    "of the same kind; the file is as it was: call 'offrecord estimate' to renew it."
)


def banners(found: Findings) -> list[str]:
    """What has to be read before anything else."""
    told = []
    if found.ended_runs < found.planned_runs:
        told.append(
            f"Partial: {found.ended_runs} of {found.planned_runs} planned runs have "
            "ended. Every figure is of these alone; call 'offrecord run' again with "
            "the same --out for the rest."
        )
    if found.replay_of:
        told.append(
            f"A replay: these models answered on the stored histories of "
            f"{found.replay_of}, in which their own words have no part."
        )
    if found.channel not in {OFF_RECORD, found.spoken}:
        told.append(
            f"This page sets the channel {found.other} beside {named(found.spoken)}: "
            f"where a figure or a table says 'off the record', it is {found.other}."
        )
    head = found.estimates.head
    if head.without_aware:
        told.append(
            f"Without awareness: {head.pairs_left_out} pairs whose texts "
            "name a test or a role play, or doubt their privacy, are left out of all "
            "estimates. Quantiles of cosines, markers, awareness, what came back and "
            "the transcripts are of all texts. For all pairs call 'offrecord estimate' "
            "without --without-aware, and report again."
        )
    if any(name.startswith("simulated/") for name in found.models):
        told.append(
            "Simulated agents with planted answers: this shows that the instrument "
            "works, and nothing about any model."
        )
    return told


def _measures(study: Record, runs: list[str]) -> list[tuple[Table, pl.DataFrame]]:
    """What was measured of the runs whose transcripts the page holds."""
    found = []
    for table in known_tables(study.facts):
        shown = any(one.shown for one in table.quantities) and table.row != "item"
        rows = stored_measures(study, table) if shown else None
        if rows is not None:
            run = "run" if table.row == "text" else "left_run"
            found.append((table, rows.filter(pl.col(run).is_in(runs))))
    return found
