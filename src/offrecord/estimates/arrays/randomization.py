"""Tests that exchange the labels of runs and hold their size where groups are unlike.

A test that counts how far a difference of means is out among all labellings takes both
groups as draws from one population. Where they only have the same mean, and unlike
numbers of runs and unlike spread, its size is off: 5 runs against 15 can reject three
times as often as said. So the difference is divided by its own standard error, anew for
each labelling (Janssen, Statistics & Probability Letters 36, 1997; Chung and Romano,
Annals of Statistics 41, 2013). If the groups are alike the test stays exact; if only
their means are, it has the right size as runs become many. A p-value is never below
that of Welch's t test on run scores, which is nearer with few runs. Five runs whose
turns nearly all agree are too few for either: they may all come out alike by chance.

The statistic is sum a_c p_c over cells with signed weights a_c, p_c the mean over the
turns of a cell's runs, its square error sum a_c^2 s_c^2 / m_c (`weighed`). Labels, the
cells that runs belong to, are exchanged within strata: those cells that would be one
under the null. Whole runs change cells, never turns. For the audience effect a run's
value is its gap, and a condition and its baseline are the cells of one stratum: this
tests that Z is 0, where a test of the public stance alone tests X.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.permutation import DRAWS, PValue, no_test
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.weighed import paired_weights

_AT_ONCE: Final = 2_000_000  # runs that are exchanged at once
_TIE: Final = 1e-9
_NO_SPREAD: Final = 1e-12  # a standard error below this is rounding

NO_PAIR: Final = "no stratum has runs of both"
ONE_RUN: Final = "a cell has a single run, which shows no spread to divide by"


class Studentized(NamedTuple):
    """A difference over its standard error, and what exchanging labels says of it."""

    difference: float
    """In the unit of the values; NaN where there is no test."""
    statistic: float
    """The difference over its standard error; infinite if nothing varies."""
    test: PValue


def randomization_test(
    sample: Sample,
    contrast: Values,
    strata: Ids,
    rng: np.random.Generator,
    *,
    draws: int = DRAWS,
    two_sided: bool = True,
) -> Studentized:
    """Test that a contrast of cells is 0, by runs exchanged within strata.

    Args:
        sample: Values in any unit with their runs (`clusters`) and cells (`strata`).
        contrast: Shape (cells,), in the order of `np.unique(sample.strata)`: the signed
            weight of each, which sum to 0 in each stratum. Cells of 0 are left out.
        strata: Shape (cells,): which cells exchange their runs.
        rng: Draws the labellings.
        draws: How many; p is (as far out, and the one seen) over (draws + 1), or that
            of the t test where this is larger.
        two_sided: Whether far below 0 counts as far out too.

    Returns:
        No test, with a reason, where a cell has no value or a single run.

    Raises:
        ValueError: If there are other weights than cells, or they do not sum to 0.
    """
    names = np.unique(sample.strata)
    if not contrast.shape == strata.shape == names.shape:
        raise ValueError(f"{contrast.size} weights for {names.size} cells")
    sums = np.bincount(np.unique(strata, return_inverse=True)[1], contrast)
    if not (np.abs(sums) < _TIE * np.abs(contrast).sum() + _TIE).all():
        raise ValueError("the weights of a contrast sum to 0 in each stratum")
    data = _exchangeable(sample, contrast, strata)
    if isinstance(data, str):
        return Studentized(math.nan, math.nan, no_test(data))
    ones = np.arange(data.sums.size)[None]
    difference, squares = data.contrast_of(ones)
    observed = float(_ratio(difference, squares)[0])
    beyond_t = _welch(observed, squares[0], data.counts, two_sided)
    beyond, rows = 0, max(1, _AT_ONCE // data.sums.size)
    for start in range(0, draws, rows):
        labels = data.exchanged(rng, min(rows, draws - start))
        statistics = _ratio(*data.contrast_of(labels))
        if two_sided:
            statistics = np.abs(statistics)
        least = abs(observed) if two_sided else observed
        beyond += int((statistics >= least - _TIE * max(1.0, _finite(least))).sum())
    p = max((beyond + 1) / (draws + 1), beyond_t)
    test = PValue(p, exact=False, drawn=draws, reason="")
    return Studentized(float(difference[0]), observed, test)


def audience_effect_test(
    condition: Sample,
    baseline: Sample,
    counterparts: Ids,
    rng: np.random.Generator,
    *,
    weights: Values | None = None,
    draws: int = DRAWS,
) -> Studentized:
    """Test that the audience effect Z is 0, by labels of condition and baseline.

    A condition's cells and the baseline paired with them exchange their runs.

    Args:
        condition: Gaps by turn, public less other, NaN where either is missing.
        baseline: The same without any context, of other runs.
        counterparts: Shape (condition cells,), in the order of their ids: the id of the
            baseline cell of each. Baselines paired with none are left out.
        rng: Draws the labellings.
        weights: Shape (condition cells,), alike by default.
        draws: How many.

    Returns:
        Z, its studentized value and its p-value; no test, with a reason, where a cell
        has no value or a single run.

    Raises:
        ValueError: If there are other counterparts or weights than cells.
    """
    cells = np.unique(condition.strata)
    given = np.ones(cells.size) if weights is None else np.asarray(weights, float)
    if not counterparts.shape == cells.shape == given.shape:
        raise ValueError(f"{counterparts.size} counterparts, {cells.size} cells")
    ids, paired = paired_weights(counterparts, given / given.sum())
    kept = np.isin(baseline.strata, ids)
    if np.unique(baseline.strata[kept]).size < ids.size:
        return Studentized(math.nan, math.nan, no_test(NO_PAIR))
    place = np.searchsorted(cells, condition.strata)
    other = cells.size + np.searchsorted(ids, baseline.strata[kept])
    runs = [
        np.unique(one, return_inverse=True)[1]
        for one in (condition.clusters, baseline.clusters[kept])
    ]
    clusters = np.concatenate([runs[0], runs[1] + condition.clusters.size])
    both = Sample(
        np.concatenate([condition.values, baseline.values[kept]]),
        clusters,
        clusters,
        np.concatenate([place, other]),
    )
    contrast = np.concatenate([given / given.sum(), -paired])
    strata = np.concatenate([np.searchsorted(ids, counterparts), np.arange(ids.size)])
    return randomization_test(both, contrast, strata, rng, draws=draws)


class _Runs(NamedTuple):
    """Runs in order of stratum and cell; each array has shape (runs,) or (cells,)."""

    sums: Values
    sizes: Values
    strata: Ids
    """Of the runs, ascending."""
    starts: Ids
    """Where each cell begins."""
    counts: Ids
    """Runs of each cell."""
    contrast: Values

    def exchanged(self, rng: np.random.Generator, draws: int) -> Ids:
        """Orders of the runs, shape (draws, runs), each stratum's among themselves."""
        keys = rng.random((draws, self.sums.size)) + self.strata
        return np.argsort(keys, axis=1)

    def contrast_of(self, order: Ids) -> tuple[Values, Values]:
        """The contrast, shape (draws,), and what each cell adds to its square error."""
        sums, sizes = self.sums[order], self.sizes[order]
        turns = np.add.reduceat(sizes, self.starts, axis=1)
        rates = np.add.reduceat(sums, self.starts, axis=1) / turns
        residual = sums - np.repeat(rates, self.counts, axis=1) * sizes
        squares = np.add.reduceat(residual**2, self.starts, axis=1) / turns**2
        share = self.contrast**2 * self.counts / (self.counts - 1)
        return rates @ self.contrast, squares * share


def _exchangeable(sample: Sample, contrast: Values, strata: Ids) -> _Runs | str:
    """The runs of all cells that count, or why they do not do."""
    cell = np.unique(sample.strata, return_inverse=True)[1]
    counting = np.flatnonzero(contrast)
    known = ~np.isnan(sample.values) & (contrast != 0)[cell]
    if not counting.size or np.unique(cell[known]).size < counting.size:
        return NO_PAIR
    _, first, members = np.unique(
        sample.clusters[known], return_index=True, return_inverse=True
    )
    cells = cell[known][first]
    order = np.lexsort((cells, strata[cells]))
    sums = np.bincount(members, sample.values[known]).astype(np.float64)[order]
    sizes = np.bincount(members).astype(np.float64)[order]
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    counts = np.diff(starts, append=cells.size)
    if (counts < 2).any():
        return ONE_RUN
    numbers = np.unique(strata[cells[order]], return_inverse=True)[1]
    return _Runs(sums, sizes, numbers, starts, counts, contrast[cells[order][starts]])


def _ratio(difference: Values, squares: Values) -> Values:
    """The difference over its error; without an error infinite, or 0 of nothing."""
    error = np.sqrt(squares.sum(axis=-1))
    flat = np.where(np.abs(difference) > _NO_SPREAD, math.inf, 0.0)
    found = np.copysign(flat, difference)
    np.divide(difference, error, out=found, where=error > _NO_SPREAD)
    return found


def _welch(statistic: float, squares: Values, runs: Ids, two_sided: bool) -> float:
    """The p-value of Welch's t test; 0 where nothing varies."""
    if math.isinf(statistic) or not squares.any():
        return 0.0
    freedom = float(squares.sum() ** 2 / (squares**2 / (runs - 1)).sum())
    if two_sided:
        return 2 * float(stats.t.sf(abs(statistic), freedom))
    return float(stats.t.sf(statistic, freedom))


def _finite(value: float) -> float:
    return 1.0 if math.isinf(value) else abs(value)
