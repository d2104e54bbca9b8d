"""Every estimate of a study, as declared rows: what `estimates.json` holds.

Estimators are called in the order of their table; nothing is computed here, and neither
does whoever reads the file compute anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.declared import declared_contrasts
from offrecord.estimates.estimator import Source, Wanted
from offrecord.estimates.estimators import (
    CONTRASTS,
    ESTIMATORS,
)
from offrecord.estimates.file import (
    ESTIMATES_FILE,
    Estimates,
    Head,
    read_estimates,
    write_estimates,
)
from offrecord.estimates.frames.groups import arms_apart, arms_left_out
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.splits import DEFAULT_BY, split_rows
from offrecord.estimates.frames.weighing import How
from offrecord.estimates.views import LISTS, views_of
from offrecord.measures.codes.awareness import AWARENESS, aware_flags
from offrecord.measures.codes.awareness import without_aware as leave_out_aware
from offrecord.measures.draws import draws_of, stance_draws
from offrecord.measures.english import said_unread
from offrecord.measures.parsed import pairs_of, parse, stances_of
from offrecord.measures.probes import is_probe
from offrecord.measures.stored import measured_facts, stored_measures
from offrecord.records import OffrecordError
from offrecord.transcript.doubts import doubts
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.store import (
    STUDY_FILE,
    TRANSCRIPT_FILE,
)


def estimate_study(study: Record, wanted: Wanted) -> Estimates:
    """Every estimate of a study.

    Args:
        study: The study.
        wanted: Keys, contrasts, scope and seed.

    Raises:
        OffrecordError: If a key or a contrast is none of this study.
    """
    if wanted.margin is not None and not wanted.margin > 0:
        raise OffrecordError("--margin: give a number of points above 0")
    pairs = _pairs(study, without_aware=wanted.without_aware)
    draws = stance_draws(study.transcript, stances_of(study))
    if is_probe(study):
        draws = draws.clear()
    elif pairs.height < pairs_of(study).height:
        draws = draws_of(draws, pairs, study.spoken)
    asked = wanted.by
    by = arms_apart(pairs, asked) if asked == DEFAULT_BY else [*dict.fromkeys(asked)]
    source = Source(
        study,
        wanted,
        pairs,
        draws,
        np.random.default_rng(wanted.seed),
        split=lru_cache(2)(
            lambda by, scope: split_rows(pairs, by, How(scope, wanted.weights))
        ),
    )
    parts = {one.name: one.made(source, by) for one in ESTIMATORS}
    views = views_of(pairs) if wanted.views else {}
    shown = replace(source, rng=np.random.default_rng(wanted.seed))
    return Estimates(
        head=_head(study, pairs, wanted, by),
        parts=parts,
        views={
            name: {part.name: part.made(shown, view.by) for part in view.parts}
            for name, view in views.items()
        },
        lists={
            part.name: part.made(shown, view.by)
            for view in LISTS
            for part in view.parts
            if views
        },
        keys={name: view.by for name, view in views.items()},
    )


WITHOUT_ARM: Final = "figures that are not by arm are of the runs without one"


def _head(
    study: Record, pairs: pl.DataFrame, wanted: Wanted, by: Sequence[str]
) -> Head:
    return Head(
        version=version("offrecord"),
        by=tuple(by),
        scope=str(wanted.scope),
        weights=str(wanted.weights),
        seed=wanted.seed,
        runs=study.ended_runs,
        without_aware=wanted.without_aware,
        pairs_left_out=pairs_of(study).height - pairs.height,
        note="; ".join(
            filter(
                None,
                (
                    unlike_partners(pairs),
                    WITHOUT_ARM if arms_left_out(pairs, ()) else "",
                    doubts(study.transcript),
                ),
            )
        ),
        measured=measured_facts(study),
        contrasts_to_come=tuple(declared_contrasts(study, pairs).to_come),
    )


class Stored(NamedTuple):
    """The estimates of a study, for whoever shows them."""

    estimates: Estimates
    stale: bool
    """Whether `estimates.json` holds older ones."""


def stored_estimates(study: Record, *, write: bool = True) -> Stored:
    """The estimates of a study as `estimates.json` holds them.

    Where there is no such file it is made, with defaults. One that is there is
    somebody's result and stays as it is: where the study has changed since, the same is
    estimated anew of what the study holds now, and not written.

    Args:
        study: The study.
        write: Whether to make the file where there is none.

    Raises:
        OffrecordError: If the study cannot be read, the file is not what this version
            writes, or it cannot be written.
    """
    parse(study)
    path = study.path / ESTIMATES_FILE
    if not path.is_file():
        estimates = estimate_study(study, Wanted())
        if write:
            write_estimates(study, estimates)
        return Stored(estimates, stale=False)
    estimates = read_estimates(path)
    if path.stat().st_mtime_ns >= _newest(study) and estimates.views:
        return Stored(estimates, stale=False)
    return Stored(estimate_study(study, _wanted(estimates)), stale=True)


def _wanted(estimates: Estimates) -> Wanted:
    """What a file was asked for, as far as a report shows it."""
    head = estimates.head
    return Wanted(
        by=tuple(head.by),
        contrasts=tuple(
            dict.fromkeys(row["contrast"] for row in estimates.of(CONTRASTS))
        ),
        scope=Scope(head.scope),
        weights=Weights(head.weights),
        without_aware=head.without_aware,
        seed=head.seed,
    )


def _newest(study: Record) -> int:
    """When the last of the tables that estimates rest on was written."""
    tables = [study.path / TRANSCRIPT_FILE, study.path / STUDY_FILE]
    tables += (study.path / "measures").glob("*.parquet")
    return max(table.stat().st_mtime_ns for table in tables)


def _pairs(study: Record, *, without_aware: bool) -> pl.DataFrame:
    if not without_aware:
        return pairs_of(study)
    table = stored_measures(study, AWARENESS)
    if table is None:
        raise OffrecordError(
            f"{study.path / AWARENESS.file}: no such file; run 'offrecord measure "
            f"{study.path} --measures awareness' first"
        )
    if unread := said_unread(study.facts, "awareness"):
        raise OffrecordError(f"--without-aware: {unread} (awareness)")
    rows = study.transcript.select("run", "attempt", "ended")
    kept = first_ended(rows).select("run", "attempt").unique()
    flags = aware_flags(table, study.transcript)
    counted = flags.join(kept, on=["run", "attempt"], how="semi")
    return leave_out_aware(pairs_of(study), counted, study.spoken)
