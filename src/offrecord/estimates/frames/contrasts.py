"""Contrasts: two levels of one column, compared in points on the strata they share.

`A:B` is the difference A minus B, every pair of cells that share a stratum weighing
alike. The interval of rates is MOVER from those of the two, that of gaps and of
audience effects from signs (`signed`); the test exchanges whole runs within the strata
that both sides have (`randomization`). A cell that has no counterpart is left out, and
named.

Tests of one measure and agent are a family. In it, contrasts that the study declared
primary are adjusted by Holm, all others, a grid that was looked through, by Benjamini
and Hochberg. Two sides are equivalent only where the interval lies inside a margin
that was stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.multiplicity import benjamini_hochberg, holm
from offrecord.estimates.arrays.permutation import PValue, no_test
from offrecord.estimates.arrays.randomization import NO_PAIR
from offrecord.estimates.frames.compared import MEASURES, Compared, barred
from offrecord.estimates.frames.groups import CONTEXT, group_keys, grouped, pooled
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered
from offrecord.estimates.frames.sides import (
    Contrast,
    parse_contrast,
    shared_sides,
    with_baseline,
)
from offrecord.estimates.frames.weighing import How
from offrecord.records import factor_names

NO_BASELINE: Final = "no baseline to set the two against"
_DEFAULT: Final = How()


@dataclass(frozen=True, kw_only=True)
class ContrastFigures:
    """A minus B of one measure, with its test."""

    contrast: Contrast
    measure: str
    bounds: Bounds
    outcome: PValue
    reason: str
    note: str
    """What was left out, and unlike partners of models that are compared."""
    method: str
    test: str
    scope: str
    """What the interval generalizes to; the test is of these runs."""
    refused: bool = False
    """Whether too little is known to show the interval; `reason` says what."""
    level: float = LEVEL


@dataclass(frozen=True, kw_only=True)
class UnpairedFigures(ContrastFigures):
    """A contrast of different runs; sizes and values of both sides."""

    runs_a: int
    turns_a: int
    missing_a: int
    runs_b: int
    turns_b: int
    missing_b: int
    strata: int
    value_a: float
    value_b: float
    margin: float
    equivalent: bool | None
    """Whether the interval lies within the margin; None without either."""
    primary: bool
    p_adjusted: float = math.nan
    adjustment: str = ""
    test: str = "studentised exchange of whole runs within shared strata"


def contrast_rows(
    pairs: pl.DataFrame,
    contrasts: Sequence[str | Contrast],
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    primary: Sequence[str] = (),
    margin: float | None = None,
    how: How = _DEFAULT,
) -> list[Row[UnpairedFigures]]:
    """Every contrast in every group, for each of `MEASURES`.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        contrasts: Contrasts, or `A:B`; those of `primary` come first by themselves.
        by: Keys to group by; what the contrast itself sets apart is no key.
        rng: Draws arrangements where they are too many to count.
        primary: The contrasts that the study declared before its data came.
        margin: A difference that does not matter, as a fraction of 1.
        how: Scope and level of the intervals, and what pairs of cells weigh.

    Raises:
        OffrecordError: If a key is unknown, or a contrast is none of this study.
    """
    rows, factors = clustered(pairs), factor_names(pairs.columns)
    found = list[Row[UnpairedFigures]]()
    for one in dict.fromkeys([*primary, *contrasts]):
        contrast = one if isinstance(one, Contrast) else parse_contrast(pairs, one)
        keys = contrast_keys(pairs, by, contrast)
        two = rows.filter(pl.col(contrast.column).is_in([contrast.a, contrast.b]))
        for named, group in grouped(pooled(two, [*keys, contrast.column]), keys):
            plain = against = shared_sides(group, contrast, factors)
            if contrast.column not in CONTEXT:
                based = with_baseline(group, two, named)
                against = shared_sides(based, contrast, factors)
            for measure in MEASURES:
                sides = against if measure == "audience_effect" else plain
                compared = Compared(contrast, measure, sides, how)
                figures = _compare(compared, rng, margin, primary=one in primary)
                found.append(Row(named, figures))
    return _adjusted(found)


def contrast_keys(
    pairs: pl.DataFrame, by: Sequence[str], contrast: Contrast
) -> list[str]:
    """The keys of a contrast's groups: all but what the contrast itself sets apart."""
    apart = CONTEXT if contrast.column in CONTEXT else (contrast.column,)
    return [key for key in group_keys(pairs, by) if key not in apart]


def equivalent(low: float, high: float, margin: float | None) -> bool | None:
    """Whether a difference is shown not to matter.

    Args:
        low: The lower bound of its interval.
        high: The upper bound.
        margin: What does not matter, either way, in the same unit.

    Returns:
        None without a margin or an interval. False says no more than that equivalence
        is not shown.
    """
    if margin is None or math.isnan(low) or math.isnan(high):
        return None
    return -margin < low and high < margin


def _compare(
    compared: Compared,
    rng: np.random.Generator,
    margin: float | None,
    *,
    primary: bool,
) -> UnpairedFigures:
    a, b = compared.sides.a, compared.sides.b
    first, second, moved = compared.moved
    bounds, unfit = moved.bounds, barred(compared.contrast.column, compared.how.scope)
    if unfit:
        bounds = Bounds(moved.value, math.nan, math.nan)
    test = compared.test(rng) if bounds.known else _untested(compared)
    sizes_a, sizes_b = a.turns.sizes, b.turns.sizes
    return UnpairedFigures(
        contrast=compared.contrast,
        measure=compared.measure,
        strata=np.unique(a.strata).size,
        value_a=first.value,
        value_b=second.value,
        bounds=bounds,
        outcome=test,
        reason=unfit
        or (moved.reason if moved.refused else "")
        or test.reason
        or moved.reason
        or bounds.shortfall,
        refused=moved.refused,
        note=compared.note,
        method=moved.method,
        scope=str(compared.how.scope),
        level=compared.how.level,
        margin=math.nan if margin is None else margin,
        equivalent=None
        if moved.refused
        else equivalent(bounds.low, bounds.high, margin),
        primary=primary,
        runs_a=sizes_a.runs,
        turns_a=sizes_a.turns,
        missing_a=sizes_a.missing,
        runs_b=sizes_b.runs,
        turns_b=sizes_b.turns,
        missing_b=sizes_b.missing,
    )


def _untested(compared: Compared) -> PValue:
    """Why two sides without a difference have no test."""
    no_base = compared.doubly and compared.sides.a.strata.size
    return no_test(NO_BASELINE if no_base else NO_PAIR)


def _adjusted(found: Sequence[Row[UnpairedFigures]]) -> list[Row[UnpairedFigures]]:
    """The rows with `p_adjusted`, and how it was made, within each family."""
    families: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(found):
        one = row.of
        key = (one.primary, one.measure, row["agent"], row.get("right_channel"))
        families.setdefault(key, []).append(place)
    adjusted = list(found)
    for (primary, *_), places in families.items():
        p = np.array([found[place].of.outcome.p for place in places])
        made = holm(p) if primary else benjamini_hochberg(p)
        name = "holm" if primary else "benjamini-hochberg"
        how = f"{name} over {(~np.isnan(p)).sum()}"
        for place, value in zip(places, made.tolist(), strict=True):
            one = replace(found[place].of, p_adjusted=value, adjustment=how)
            adjusted[place] = Row(found[place].group, one)
    return adjusted
