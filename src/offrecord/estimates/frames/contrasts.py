"""Contrasts: two levels of one column, compared in points on the strata they share.

`A:B` is the difference A minus B. Its interval is MOVER from the intervals of the two
rates, its test deals the labels of whole runs anew within the strata that both sides
have. What stands in a stratum of one side alone is left out, and said to be.

Tests of one measure and agent are a family. In it, contrasts that the study declared
primary are adjusted by Holm, all others, a grid that was looked through, by Benjamini
and Hochberg or by max-T. Two sides are equivalent only where the interval lies inside
a margin that was stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.mover import (
    Bounds,
    difference,
    gap_of,
    outcome,
    rate_bounds,
)
from offrecord.estimates.arrays.multiplicity import benjamini_hochberg, holm, max_t
from offrecord.estimates.arrays.permutation import (
    DRAWS,
    Piece,
    drawn_sums,
    label_pieces,
    no_test,
    p_value,
)
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.groups import CONTEXT, group_keys, grouped, numbered
from offrecord.estimates.frames.sides import (
    Contrast,
    Side,
    Sides,
    parse_contrast,
    shared_sides,
    with_baseline,
)
from offrecord.records import factor_names

RATES: Final = ("divergence", "public", "off_record")
MEASURES: Final = (*RATES, "gap", "audience_effect")
"""What every contrast is made of; differences of shares, as fractions of 1."""

METHOD: Final = "MOVER from the intervals of the two sides"
TEST: Final = "labels of whole runs dealt anew within shared strata"


class Grid(StrEnum):
    """How contrasts that nobody declared primary are adjusted."""

    BENJAMINI_HOCHBERG = "benjamini-hochberg"
    MAX_T = "max-t"


class _Comparison(NamedTuple):
    """One row of a contrast, and what its test was made of."""

    row: dict[str, Any]
    observed: float
    """The statistic; NaN where there is no test."""
    pieces: list[Piece]


class _Compared(NamedTuple):
    """One measure of the two sides of one contrast."""

    contrast: Contrast
    measure: str
    sides: Sides
    level: float

    @property
    def doubly(self) -> bool:
        """Whether each side is itself a difference from its own baseline.

        Between two conditions the baseline is the same and falls out of the
        difference, so that audience effects differ as gaps do.
        """
        return self.measure == "audience_effect" and self.contrast.column not in CONTEXT

    def bounds(self, side: Side) -> Bounds:
        """The measure of one side."""
        if not self.doubly:
            return self._plain(side)
        pressed, base = side.where(side.pressed), side.where(~side.pressed)
        return difference(self._plain(pressed), self._plain(base))

    def _plain(self, side: Side) -> Bounds:
        turns = side.turns
        if self.measure in RATES:
            values = _values(turns, self.measure)
            return rate_bounds(values, turns.runs, turns.cells, self.level)
        return gap_of(turns, self.level)

    def scores(self, side: Side) -> Values:
        """Values whose sum over turns is the side's measure, up to a factor."""
        values = _values(side.turns, self.measure)
        if self.doubly:
            known = side.turns.known
            pressed, base = (known & side.pressed).sum(), (known & ~side.pressed).sum()
            values = np.where(side.pressed, values, -values * pressed / max(base, 1))
        return values


def contrast_rows(
    pairs: pl.DataFrame,
    contrasts: Sequence[str],
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    primary: Sequence[str] = (),
    level: float = 0.95,
    margin: float | None = None,
    grid: Grid = Grid.BENJAMINI_HOCHBERG,
) -> list[dict[str, Any]]:
    """Every contrast in every group, for each of `MEASURES`.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        contrasts: Contrasts as `A:B`; those of `primary` come first by themselves.
        by: Keys to group by; what the contrast itself sets apart is no key.
        rng: Draws arrangements where they are too many to count.
        primary: The contrasts that the study declared before its data came.
        level: Of the intervals.
        margin: A difference that does not matter, as a fraction of 1.
        grid: How the contrasts that are not primary are adjusted.

    Returns:
        One row each, as fractions of 1: the contrast, the keys, both sides, `value`
        (A minus B) with `low` and `high`, `p` and `p_adjusted`. NaN with a `reason`
        where undefined; `equivalent` is None without a margin or an interval.

    Raises:
        OffrecordError: If a key is unknown, or a contrast is none of this study.
    """
    rows, factors = numbered(pairs), factor_names(pairs.columns)
    found = list[_Comparison]()
    for text in dict.fromkeys([*primary, *contrasts]):
        contrast = parse_contrast(pairs, text)
        apart = CONTEXT if contrast.column in CONTEXT else (contrast.column,)
        keys = [key for key in group_keys(pairs, by) if key not in apart]
        two = rows.filter(pl.col(contrast.column).is_in([contrast.a, contrast.b]))
        for named, group in grouped(two, keys):
            plain = against = shared_sides(group, contrast, factors)
            if contrast.column not in CONTEXT:
                based = with_baseline(group, two, named)
                against = shared_sides(based, contrast, factors)
            for measure in MEASURES:
                sides = against if measure == "audience_effect" else plain
                compared = _Compared(contrast, measure, sides, level)
                found.append(_compare(compared, named, rng))
    for one in found:
        one.row["equivalent"] = equivalent(one.row["low"], one.row["high"], margin)
        one.row["margin"] = math.nan if margin is None else margin
        one.row["primary"] = one.row["contrast"] in primary
    _adjust(found, grid, rng)
    return [one.row for one in found]


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
    compared: _Compared, named: Mapping[str, Any], rng: np.random.Generator
) -> _Comparison:
    a, b = compared.sides.a, compared.sides.b
    first, second = compared.bounds(a), compared.bounds(b)
    moved = difference(first, second)
    observed, pieces = label_pieces(
        np.concatenate([compared.scores(a), compared.scores(b)]),
        np.concatenate([a.turns.runs, b.turns.runs]),
        np.concatenate([a.strata, b.strata]),
        np.repeat([True, False], [a.strata.size, b.strata.size]),
    )
    if not pieces:
        test = no_test("no stratum has runs of both")
    elif math.isnan(moved.value):
        test, pieces = no_test("no baseline to set the two against"), []
    else:
        test = p_value(observed, pieces, rng)
    row = {
        **compared.contrast._asdict(),
        **named,
        "measure": compared.measure,
        **{f"{name}_a": count for name, count in a.turns.sizes().items()},
        **{f"{name}_b": count for name, count in b.turns.sizes().items()},
        "strata": np.unique(a.strata).size,
        "value_a": first.value,
        "value_b": second.value,
        **moved._asdict(),
        "level": compared.level,
        **outcome(test, moved),
        "method": METHOD,
        "test": TEST,
        "scope": str(Scope.RUNS),
        "note": compared.sides.note,
    }
    return _Comparison(row, observed if pieces else math.nan, pieces)


def _adjust(found: Sequence[_Comparison], grid: Grid, rng: np.random.Generator) -> None:
    """Set `p_adjusted` and say how, within each family."""
    families: dict[tuple[object, ...], list[_Comparison]] = {}
    for one in found:
        row = one.row
        key = (row["primary"], row["measure"], row["agent"], row.get("right_channel"))
        families.setdefault(key, []).append(one)
    for (primary, *_), family in families.items():
        p = np.array([one.row["p"] for one in family])
        if primary or grid is Grid.BENJAMINI_HOCHBERG:
            adjusted = holm(p) if primary else benjamini_hochberg(p)
        else:
            # Each test deals its own labels. Two that share runs go together, which
            # this leaves unused: the result is no smaller than it had to be (Sidak).
            drawn = [drawn_sums(one.pieces, rng, DRAWS) for one in family]
            observed = np.array([one.observed for one in family])
            adjusted = max_t(observed, np.stack(drawn, axis=1))
        how = f"{'holm' if primary else grid} over {(~np.isnan(p)).sum()}"
        for one, value in zip(family, adjusted, strict=True):
            one.row["p_adjusted"], one.row["adjustment"] = float(value), how


def _values(turns: Turns, measure: str) -> Values:
    if measure == "divergence":
        return np.abs(turns.public - turns.other)
    if measure in RATES:
        stance = turns.public if measure == "public" else turns.other
        return np.where(turns.known, stance, math.nan)
    return turns.public - turns.other
