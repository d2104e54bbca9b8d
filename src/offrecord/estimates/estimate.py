"""Every estimate of a study, as plain rows: what `estimates.json` holds.

This stands beside the flow, as `study.py` does. It reads tables and calls estimators;
it computes nothing, and neither does whoever reads the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.bayes.hierarchical import hierarchical_rows
from offrecord.estimates.contrasts import contrast_estimates
from offrecord.estimates.described import missing_rows
from offrecord.estimates.frames.channel_gap import channel_gap_rows
from offrecord.estimates.frames.noninferiority import noninferiority_rows
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.rows import (
    floor_rows,
    heterogeneity_rows,
    persistence_rows,
    rank_rows,
    scenario_rows,
    survival_rows,
)
from offrecord.estimates.frames.table import DEFAULT_BY, estimate_table
from offrecord.estimates.measured import (
    agreement_estimates,
    attribution_estimates,
    survey_estimates,
    text_estimates,
)
from offrecord.estimates.views import split_dicts, study_views
from offrecord.measures.codes.awareness import AWARENESS_FILE, aware_flags
from offrecord.measures.codes.awareness import without_aware as leave_out_aware
from offrecord.measures.draws import draws_of, stance_draws
from offrecord.measures.parsed import pairs_of, parse, stances_of
from offrecord.measures.stored import stored_measures
from offrecord.records import OffrecordError
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import (
    STUDY_FILE,
    TRANSCRIPT_FILE,
    read_json,
    write_text,
)

ESTIMATES_FILE: Final = "estimates.json"

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be estimated."""

    by: tuple[str, ...] = DEFAULT_BY
    contrasts: tuple[str, ...] = ()
    """Beside those that the study's design declares primary."""
    scope: Scope = Scope.RUNS
    """Whom the intervals of the split speak about."""
    margin: float | None = None
    """A difference that does not matter, as a fraction of 1."""
    against: Path | None = None
    """An earlier study, for non-inferiority by the margin."""
    without_aware: bool = False
    """Whether to leave out pairs that name a test or a role play, or doubt privacy."""
    bayes: bool = False
    """Whether to sample the hierarchical model, which needs the extra `bayes`."""
    views: bool = True
    """Whether to estimate what a report shows (`study_views`) as well."""
    seed: int = 0


def estimate_study(study: Record, wanted: Wanted) -> dict[str, Any]:
    """Every estimate of a study.

    Args:
        study: The study.
        wanted: Keys, contrasts, scope and seed.

    Returns:
        One entry per kind of estimate, rows of plain values; what is undefined is NaN,
        and `reason` says why. `rates` are the rows that `estimate --json` prints.

    Raises:
        OffrecordError: If a key or a contrast is none of this study.
    """
    if wanted.margin is not None and not wanted.margin > 0:
        raise OffrecordError("--margin: give a number of points above 0")
    pairs = _pairs(study, without_aware=wanted.without_aware)
    by = list(dict.fromkeys(wanted.by))
    rng = np.random.default_rng(wanted.seed)
    draws = stance_draws(study.transcript, stances_of(study))
    if pairs.height < pairs_of(study).height:
        draws = draws_of(draws, pairs, study.spoken)
    within = [key for key in by if key not in {"round"}]
    surveys = cache(lambda scope: list(survey_estimates(study, pairs, ["kind"], scope)))
    return {
        **_head(study, pairs, wanted, by),
        "rates": estimate_table(pairs, by),
        "split": list(split_dicts(pairs, by, wanted.scope)),
        "gap": channel_gap_rows(pairs, by, rng),
        "floor": floor_rows(draws, study.spoken, within, rng),
        "missing": missing_rows(pairs, by),
        "persistence": persistence_rows(pairs, within),
        "first_divergence": survival_rows(pairs, within),
        "heterogeneity": heterogeneity_rows(pairs, within),
        "hierarchical": (
            hierarchical_rows(pairs, within, wanted.seed) if wanted.bayes else []
        ),
        "ranks": rank_rows(pairs, within),
        "scenarios": scenario_rows(pairs, within),
        **contrast_estimates(study, pairs, wanted.contrasts, by, wanted.margin, rng),
        "against": _against(pairs, wanted),
        "surveys": surveys(wanted.scope),
        "texts": list(text_estimates(study, pairs, within, wanted.scope)),
        "attribution": list(attribution_estimates(study, pairs, by)),
        "agreement": list(agreement_estimates(study)),
        "views": (
            study_views(study, pairs, draws, surveys(Scope.RUNS), wanted.seed)
            if wanted.views
            else {}
        ),
    }


def _head(
    study: Record, pairs: pl.DataFrame, wanted: Wanted, by: list[str]
) -> dict[str, Any]:
    """What was asked for, and of what."""
    return {
        "version": version("offrecord"),
        "by": by,
        "scope": str(wanted.scope),
        "seed": wanted.seed,
        "runs": study.ended_runs,
        "without_aware": wanted.without_aware,
        "pairs_left_out": pairs_of(study).height - pairs.height,
        "note": unlike_partners(pairs),
        "measured": study.facts.get("measured", {}),
    }


def write_estimates(study: Record, estimates: Mapping[str, Any]) -> None:
    """Write `estimates.json` whole: what is undefined is null.

    Raises:
        OffrecordError: If the study's folder cannot be written.
    """
    text = json.dumps(plain(estimates), indent=1, allow_nan=False)
    write_text(study.path / ESTIMATES_FILE, text + "\n")


def stored_estimates(study: Record, wanted: Wanted) -> dict[str, Any]:
    """The estimates of a study as `estimates.json` holds them.

    Args:
        study: The study.
        wanted: What to estimate if the file is absent, older than the study's tables,
            or by another version.

    Returns:
        The content of the file; what is undefined is None.

    Raises:
        OffrecordError: If the study cannot be read, or the file cannot be written.
    """
    parse(study)
    path = study.path / ESTIMATES_FILE
    if path.is_file() and path.stat().st_mtime_ns >= _newest(study):
        stored = dict[str, Any]()
        with suppress(OffrecordError):  # no JSON: it is made anew, as an older one is
            stored = read_json(path)
        if stored.get("version") == version("offrecord") and stored.get("views"):
            return stored
    return fresh_estimates(study, wanted)


def fresh_estimates(study: Record, wanted: Wanted) -> dict[str, Any]:
    """Estimate a study, write `estimates.json`, and give what stands there.

    Raises:
        OffrecordError: If the study cannot be read, or the file cannot be written.
    """
    write_estimates(study, estimate_study(study, wanted))
    return read_json(study.path / ESTIMATES_FILE)


def _newest(study: Record) -> int:
    """When the last of the tables that estimates rest on was written."""
    tables = [study.path / TRANSCRIPT_FILE, study.path / STUDY_FILE]
    tables += (study.path / "measures").glob("*.parquet")
    return max(table.stat().st_mtime_ns for table in tables)


def _pairs(study: Record, *, without_aware: bool) -> pl.DataFrame:
    if not without_aware:
        return pairs_of(study)
    table = stored_measures(study, AWARENESS_FILE)
    if table is None:
        raise OffrecordError(
            f"{study.path / AWARENESS_FILE}: no such file; run 'offrecord measure "
            f"{study.path} --measures markers' first"
        )
    rows = study.transcript.select("run", "attempt", "ended")
    kept = first_ended(rows).select("run", "attempt").unique()
    flags = aware_flags(table, study.transcript)
    counted = flags.join(kept, on=["run", "attempt"], how="semi")
    return leave_out_aware(pairs_of(study), counted, study.spoken)


def _against(pairs: pl.DataFrame, wanted: Wanted) -> Rows:
    if wanted.against is None:
        return []
    if wanted.margin is None:
        raise OffrecordError("--against: give --margin, above 0 points, as well")
    old = pairs_of(open_record(wanted.against))
    by = [key for key in wanted.by if key != "model"]
    return noninferiority_rows(pairs, old, by, wanted.margin)
