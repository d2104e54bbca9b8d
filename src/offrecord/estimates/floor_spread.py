"""How sure the noise floor is: the interval of D* and its test."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.floor import Counts, Draws, Units, count_draws, full_units
from offrecord.estimates.permutation import (
    DRAWS,
    Piece,
    PValue,
    listed_piece,
    no_test,
    p_value,
)
from offrecord.estimates.rates import Ids, Values

RUNS_SCOPE: Final = "new runs of these cells"
CELLS_SCOPE: Final = "new cells like these"

NO_UNIT: Final = "no unit has two draws of each channel"


class Interval(NamedTuple):
    """Bounds, or why there are none."""

    low: float
    high: float
    reason: str


def floor_interval(
    draws: Draws, *, over_cells: bool = False, level: float = 0.95
) -> Interval:
    """The interval of D* by a jackknife over runs, or over cells.

    A bootstrap would pair a run with itself, where draws never differ, and so bring D*
    out of place. Runs are left out within their cells, with a t quantile of runs less
    cells degrees of freedom; cells (for what holds beyond them) all in one stratum.

    Args:
        draws: The draws.
        over_cells: Whether cells are left out instead of runs.
        level: How often such intervals hold the truth.
    """
    units = full_units(draws)
    inside = units.draws
    clusters = inside.cells if over_cells else inside.runs
    strata = np.zeros_like(clusters) if over_cells else inside.cells
    ids, first, groups = np.unique(clusters, return_index=True, return_inverse=True)
    _, stratum = np.unique(strata[first], return_inverse=True)
    sizes = np.bincount(stratum)
    if not ids.size:
        return Interval(math.nan, math.nan, NO_UNIT)
    if (sizes < 2).any():
        what = "a single cell" if over_cells else "a cell has a single run"
        return Interval(math.nan, math.nan, what)
    left = _left_out(units, groups, ids.size, keep_weight=over_cells)
    if left is None:
        return Interval(math.nan, math.nan, "a cell has fewer than three runs")
    centred = left - (np.bincount(stratum, left) / sizes)[stratum]
    variance = float((np.bincount(stratum, centred**2) * (sizes - 1) / sizes).sum())
    if variance < 1e-18:
        return Interval(math.nan, math.nan, "no spread among the runs")
    excess = float(np.average(units.counts.excess, weights=units.weights))
    reach = math.sqrt(variance) * float(
        stats.t.ppf((1 + level) / 2, ids.size - sizes.size)
    )
    return Interval(excess - reach, excess + reach, "")


def _left_out(
    units: Units, groups: Ids, size: int, *, keep_weight: bool
) -> Values | None:
    """D* without each cluster; None where a unit does not survive the loss of one."""
    parts = groups * units.weights.size + units.members  # (cluster, unit)
    ids, members = np.unique(parts, return_inverse=True)
    cluster, unit = np.divmod(ids, units.weights.size)
    rest = units.counts.at(unit).less(count_draws(units.draws, members, ids.size))
    gone = (rest.n == 0) & (rest.m == 0)
    if not (gone | rest.full).all():
        return None
    before = units.weights[unit]
    after = np.where(gone, 0.0, before if keep_weight else before - 1)
    excess = np.zeros(ids.size)
    excess[~gone] = rest.at(~gone).excess
    weighted = units.weights * units.counts.excess
    total = weighted.sum() + np.bincount(
        cluster, after * excess - weighted[unit], minlength=size
    )
    weight = units.weights.sum() + np.bincount(cluster, after - before, minlength=size)
    return np.asarray(total / weight)


def floor_test(
    draws: Draws, rng: np.random.Generator, arrangements: int = DRAWS
) -> PValue:
    """Test that the audience changes nothing, by the draws dealt anew within units.

    Without an effect of the channel all draws of a unit come from one urn. Committed
    public draws keep their place, since later histories hold them; the others are
    dealt between the channels, all ways alike. So the test is exact at any size.
    """
    units = full_units(draws)
    if not units.weights.size:
        return no_test(NO_UNIT)
    counts, fixed = units.counts, _held(units)
    weights = units.weights / units.weights.sum()
    pieces = [
        _dealt(counts.at(np.array([i])), int(fixed.n[i]), int(fixed.s[i]), weights[i])
        for i in range(weights.size)
    ]
    observed = float((weights * counts.excess).sum())
    return p_value(observed, pieces, rng, draws=arrangements, two_sided=False)


def _held(units: Units) -> Counts:
    inside = units.draws
    values = np.where(inside.fixed, inside.values, math.nan)
    return count_draws(
        inside._replace(values=values), units.members, units.weights.size
    )


def _dealt(unit: Counts, held: int, held_there: int, weight: float) -> Piece:
    """The share of one unit in D*, with its free draws dealt between the channels."""
    n, s, m, t = (int(array[0]) for array in unit)
    there = s + t - held_there
    urn = stats.hypergeom(n + m - held, there, n - held)
    first = np.arange(max(0, there - m), min(n - held, there) + 1)
    spoken = (first + held_there).astype(np.float64)
    ones = np.ones_like(spoken)
    excess = Counts(n * ones, spoken, m * ones, s + t - spoken).excess
    return listed_piece(weight * excess, urn.pmf(first))
