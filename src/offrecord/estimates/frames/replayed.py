"""Contrasts on identical histories: what two replays answer to the same words.

A repeat number pairs nothing between runs that were each held anew. Where both sides
answer stored histories, though, the repeat names the history, and every turn has its
counterpart: the differences are paired, and their signs are flipped by history.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.permutation import sign_flip_test
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.stratified import stratified_mean
from offrecord.estimates.frames.compared import barred
from offrecord.estimates.frames.contrasts import (
    ContrastFigures,
    contrast_keys,
)
from offrecord.estimates.frames.groups import grouped
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.sides import Contrast, parse_contrast, shared_strata
from offrecord.records import FACTOR, OffrecordError, factor_names

HISTORY: Final = f"{FACTOR}history"
"""The factor of every replay: whose words its history holds."""

_TURN: Final = ("_stratum", "repeat", "agent", "right_channel", "round")


@dataclass(frozen=True, kw_only=True)
class PairedFigures(ContrastFigures):
    """A contrast of two answers to the same histories."""

    histories: int
    """Stored runs that both sides answered."""
    turns: int
    missing: int
    method: str = "t interval of paired differences"
    test: str = "signs flipped by history"


def replay_contrast_rows(
    pairs: pl.DataFrame,
    text: str,
    by: Sequence[str],
    rng: np.random.Generator,
    scope: Scope = Scope.RUNS,
) -> list[Row[PairedFigures]]:
    """Two levels compared turn by turn on the histories that both answered.

    Args:
        pairs: Pairs of a replay, as `stance_pairs` gives them; `repeat` says which
            stored run each one answers.
        text: The contrast, `A:B`; the value is A minus B.
        by: Keys to group by.
        rng: Draws signs where they are too many to count.
        scope: What the intervals generalize to.

    Raises:
        OffrecordError: If these are no replays, a key is unknown, or the contrast is
            none of this study.
    """
    factors = factor_names(pairs.columns)
    if HISTORY not in factors:
        raise OffrecordError(
            f"--contrast {text}: these runs are no replays of stored histories, so "
            "nothing pairs them"
        )
    contrast = parse_contrast(pairs, text)
    keys = contrast_keys(pairs, by, contrast)
    rows = clustered(pairs)
    two = rows.filter(pl.col(contrast.column).is_in([contrast.a, contrast.b]))
    found = []
    for named, group in grouped(two, keys):
        matched, note = _matched(group, contrast, factors)
        for measure, difference in _differences(matched).items():
            compared = contrast, measure, note
            figures = _figures(matched, difference, rng, compared, scope)
            found.append(Row(named, figures))
    return found


def _matched(
    group: pl.DataFrame, contrast: Contrast, factors: Sequence[str]
) -> tuple[pl.DataFrame, str]:
    """One row per turn that both sides answered, A's columns first, B's with `_b`."""
    shared, note = shared_strata(group, contrast, factors)
    a, b = (shared.filter(pl.col(contrast.column) == x) for x in contrast[2:])
    matched = a.join(b, on=list(_TURN), how="inner", suffix="_b").sort(_TURN)
    history = pl.struct("_stratum", "repeat").rank("dense").cast(pl.Int64)
    return matched.with_columns(history.alias("_history")), note


def _differences(matched: pl.DataFrame) -> Mapping[str, Values]:
    """A minus B of every turn, NaN where one of the four stances is missing."""
    public, other, public_b, other_b = (
        matched[name].to_numpy() for name in ("left", "right", "left_b", "right_b")
    )
    known = np.where(np.isnan(public + other + public_b + other_b), math.nan, 1.0)
    return {
        "divergence": np.abs(public - other) - np.abs(public_b - other_b),
        "public": (public - public_b) * known,
        "off_record": (other - other_b) * known,
        "gap": (public - other) - (public_b - other_b),
    }


def _estimate(matched: pl.DataFrame, difference: Values, scope: Scope) -> Estimate:
    """The mean of paired differences; a history is what a run is elsewhere."""
    histories = matched["_history"].to_numpy()
    sample = Sample(difference, histories, histories, matched["_stratum"].to_numpy())
    if scope is not Scope.RUNS:
        sample = replace(scoped(matched, difference, scope), runs=histories)
    return stratified_mean(sample, Weights.CELLS.of_cells(sample), scope, LEVEL)


def _figures(
    matched: pl.DataFrame,
    difference: Values,
    rng: np.random.Generator,
    compared: tuple[Contrast, str, str],
    scope: Scope,
) -> PairedFigures:
    contrast, measure, note = compared
    mean = _estimate(matched, difference, scope)
    test = sign_flip_test(difference, matched["_history"].to_numpy(), rng)
    bounds, unfit = mean.bounds, barred(contrast.column, scope)
    if unfit:
        bounds = Bounds(mean.value, math.nan, math.nan)
    return PairedFigures(
        contrast=contrast,
        measure=measure,
        histories=mean.runs,
        turns=mean.turns,
        missing=mean.missing,
        bounds=bounds,
        outcome=test,
        reason=unfit or test.reason or mean.reason or bounds.shortfall,
        refused=mean.refused,
        scope=str(scope),
        note=note,
    )
