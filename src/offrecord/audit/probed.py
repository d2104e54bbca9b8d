"""Judging recorded conversations: what a probe of them found, and what is missing.

Nothing else can be: without a condition there is no baseline, and what agents said
aloud is no audience effect. Turns whose prompt was not recorded are left out, and
counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.audit.checks import LEVEL, SHARE, Check, Judged, check_of, counted
from offrecord.audit.gate import FIELDS, Gate
from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.frames.groups import KEYS, grouped, known_key
from offrecord.estimates.frames.probed import SCOPE, figures_of, probed, weighted_mean
from offrecord.measures.parsed import spoken_of
from offrecord.measures.probes import AUDIENCE, is_probe, probe_pairs
from offrecord.measures.reading import is_recorded
from offrecord.records import OffrecordError, Status
from offrecord.transcript.deployed.prompts import RECORDED
from offrecord.transcript.planned import INTERRUPTED, NOT_RECORDED
from offrecord.transcript.record import Record

PROBE_DIVERGENCE: Final = "probe_divergence"
MISSING: Final = "missing"
NONE_RECORDED: Final = "no turn that was asked has its prompt as it was recorded"


def refuse_unfit(study: Record, gate: Gate) -> None:
    """Refuse a threshold that a study has no figure for.

    Raises:
        OffrecordError: Naming the first one.
    """
    fit = {PROBE_DIVERGENCE, MISSING} if is_recorded(study) else set(FIELDS)
    if not is_probe(study):
        fit = fit - {PROBE_DIVERGENCE}
    for measure in gate.thresholds:
        if measure in fit:
            continue
        field = f"--{FIELDS[measure].replace('_', '-')}"
        if measure == PROBE_DIVERGENCE:
            raise OffrecordError(
                f"{field}: no turn was asked again: give a probe, made by "
                "'offrecord run --on' on an import of transcripts"
            )
        raise OffrecordError(
            f"{field}: of recorded conversations only --max-probe-divergence (of a "
            "probe) and --max-missing can be judged"
        )
    if gate.margin is not None and is_recorded(study):
        raise OffrecordError("--margin: recorded conversations are judged alone")


def recorded_checks(study: Record, gate: Gate) -> Iterator[Judged]:
    """Hold recorded conversations, or a probe of them, against a gate.

    Args:
        study: The study.
        gate: With thresholds that `refuse_unfit` lets pass.
    """
    rows = _asked(study) if is_probe(study) else _said(study)
    frame = probed(rows) if rows.height else rows
    keys = [known_key(key, KEYS, rows.columns) for key in gate.by]
    groups = list(grouped(frame, [*keys, "right_channel"]))
    several = rows["right_channel"].n_unique() > 1
    for named, group in groups:
        shown = {k: v for k, v in named.items() if several or k != "right_channel"}
        for measure, threshold in gate.thresholds.items():
            make = _missing if measure == MISSING else _divergence
            yield Judged(make(group, shown, threshold), ())


def _asked(study: Record) -> pl.DataFrame:
    return probe_pairs(study).filter(question=AUDIENCE)


def _said(study: Record) -> pl.DataFrame:
    """What was said aloud; without a decision, whether anything was."""
    rows = spoken_of(study)
    if rows.is_empty():
        words = study.transcript.with_columns(
            left=pl.when(pl.col("status") == Status.OK).then(pl.lit(value=True)),
            right_channel="channel",
            left_status="status",
        )
        rows = words.with_columns(cluster="run")
    known = pl.col("left").is_not_null()
    return rows.with_columns(
        right=pl.when(known).then(pl.lit(value=False)),
        right_status="left_status",
        prompt=pl.lit(RECORDED),
        stratum=pl.lit("all"),
        weight=pl.lit(1.0),
    )


def _divergence(rows: pl.DataFrame, group: dict[str, Any], threshold: float) -> Check:
    own = rows.filter(prompt=RECORDED)
    about = _left_out(rows.height - own.height)
    if own.is_empty():
        return _counted(PROBE_DIVERGENCE, own, group, threshold, math.nan, about)
    values = np.abs(own["left"].to_numpy() - own["right"].to_numpy())
    limits = Range(
        *(weighted_mean(own, np.nan_to_num(values, nan=worst)) for worst in (0.0, 1.0))
    )
    found = figures_of(own, LEVEL)
    return check_of(
        found.divergence,
        limits,
        SHARE,
        threshold,
        measure=PROBE_DIVERGENCE,
        group=group,
        level=LEVEL,
        scope=SCOPE,
        runs=found.runs,
        turns=found.turns,
        missing=found.missing,
        about=about,
        reason=found.reason if math.isnan(found.divergence.high) else "",
    )


def _missing(rows: pl.DataFrame, group: dict[str, Any], threshold: float) -> Check:
    own = rows.filter(prompt=RECORDED).with_columns(
        _with_words(side) for side in ("left", "right")
    )
    about = _left_out(rows.height - own.height)
    gaps = own["left"].to_numpy() - own["right"].to_numpy()
    share = float(np.isnan(gaps).mean()) if gaps.size else math.nan
    return _counted(MISSING, own, group, threshold, share, about)


def _with_words(side: str) -> pl.Expr:
    """A side; where no decision is declared, 0 if anything was said."""
    silent = [str(one) for one in Status if one.silent]
    words = ~pl.col(f"{side}_status").is_in([*silent, INTERRUPTED, NOT_RECORDED])
    undecided = pl.col("pressed_side").is_null() & words
    return pl.when(undecided).then(0.0).otherwise(side).alias(side)


def _counted(
    measure: str,
    rows: pl.DataFrame,
    group: dict[str, Any],
    threshold: float,
    share: float,
    about: str,
) -> Check:
    """A share that is counted, not sampled; NaN where there is none."""
    both = rows.filter((pl.col("left") - pl.col("right")).is_not_nan())
    return counted(
        share,
        threshold,
        measure=measure,
        group=group,
        runs=both["run"].n_unique(),
        turns=both.height,
        missing=rows.height - both.height,
        about=about,
        reason=NONE_RECORDED if math.isnan(share) else "",
    )


def _left_out(turns: int) -> str:
    if not turns:
        return ""
    return f"{turns} turns left out, whose prompt was not recorded but reconstructed"
