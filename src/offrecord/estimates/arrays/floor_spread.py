"""How sure the noise floor is: the interval of D* and its test."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.floor import (
    Counts,
    Draws,
    Units,
    count_draws,
    full_units,
)
from offrecord.estimates.arrays.permutation import (
    DRAWS,
    PValue,
    listed_piece,
    no_test,
    p_value,
)
from offrecord.estimates.arrays.rates import Ids, Values

NO_UNIT: Final = "no unit has two draws of each channel"


class FloorInterval(NamedTuple):
    """The interval of D*, or why there is none."""

    low: float
    high: float
    reason: str


def _none(reason: str) -> FloorInterval:
    return FloorInterval(math.nan, math.nan, reason)


def floor_interval(draws: Draws, level: float = 0.95) -> FloorInterval:
    """The interval of D* for new runs, by a jackknife over runs.

    A bootstrap would pair a run with itself, where draws never differ, and so bring D*
    out of place. Runs are left out within their cells, with a t quantile of runs less
    cells degrees of freedom.

    Where the channels do not differ at all, leaving one run of a cell out moves nothing
    to first order and the jackknife is too sure. So the variance is no less than what
    the draws' own noise gives.

    Args:
        draws: The draws.
        level: How often such intervals hold the truth.
    """
    units = full_units(draws)
    inside = units.draws
    ids, first, groups = np.unique(inside.runs, return_index=True, return_inverse=True)
    _, stratum = np.unique(inside.cells[first], return_inverse=True)
    sizes = np.bincount(stratum)
    if not ids.size:
        return _none(NO_UNIT)
    if (sizes < 2).any():
        return _none("a cell has a single run")
    left = _left_out(units, groups, stratum)
    if left is None:
        return _none("a cell has fewer than three runs")
    centred = left - (np.bincount(stratum, left) / sizes)[stratum]
    squares = np.bincount(stratum, centred**2) * (sizes - 1) / sizes
    variance = max(float(squares.sum()), _noise(units))
    if variance < 1e-18:
        return _none("no spread among the runs")
    d_star = float(np.average(units.counts.d_star, weights=units.weights))
    reach = math.sqrt(variance) * float(
        stats.t.ppf((1 + level) / 2, ids.size - sizes.size)
    )
    return FloorInterval(d_star - reach, d_star + reach, "")


def _noise(units: Units) -> float:
    """The variance of D* where p = q: 2 c^2 of a unit, c the variance of its gap."""
    counts, weights = units.counts, units.weights / units.weights.sum()
    public, other = counts.within
    gap = public / 2 / counts.n + other / 2 / counts.m
    return float((2 * (weights * gap) ** 2).sum())


def _left_out(units: Units, groups: Ids, stratum: Ids) -> Values | None:
    """D* without each cluster; None where a unit does not survive the loss of one.

    What is left of the stratum takes the weight of what is left out.
    """
    parts = groups * units.weights.size + units.members  # (cluster, unit)
    ids, members = np.unique(parts, return_inverse=True)
    cluster, unit = np.divmod(ids, units.weights.size)
    rest = units.counts.at(unit).less(count_draws(units.draws, members, ids.size))
    gone = (rest.n == 0) & (rest.m == 0)
    if not (gone | rest.full).all():
        return None
    home = np.zeros(units.weights.size, dtype=np.int64)  # the stratum of each unit
    home[unit] = stratum[cluster]
    sizes = np.bincount(stratum)
    scale = (sizes / (sizes - 1))[stratum]

    def without(whole: Values, after: Values) -> Values:
        """A sum over units, with what it becomes in those that lose the cluster."""
        parts = np.bincount(home, whole, sizes.size)[stratum]
        lost = np.bincount(cluster, after - whole[unit], stratum.size)
        return np.asarray(whole.sum() - parts + scale * (parts + lost))

    before = units.weights
    after = np.where(gone, 0.0, before[unit] - 1)
    d_star = np.zeros(ids.size)
    d_star[~gone] = rest.at(~gone).d_star
    total = without(before * units.counts.d_star, after * d_star)
    return np.asarray(total / without(before, after))


def floor_test(
    draws: Draws, rng: np.random.Generator, arrangements: int = DRAWS
) -> PValue:
    """Test that the audience changes nothing, by permuting the draws within units.

    Without an effect of the channel all draws of a unit come from one urn. Committed
    public draws keep their place, since later histories hold them; the others are
    permuted between the channels, all ways alike. So the test is exact at any size.
    """
    units = full_units(draws)
    if not units.weights.size:
        return no_test(NO_UNIT)
    counts, fixed = units.counts, _held(units)
    weights = units.weights / units.weights.sum()
    rows = np.stack(
        [weights, counts.n, counts.m, counts.s + counts.t, fixed.n, fixed.s], axis=1
    )
    kinds, members = np.unique(rows, axis=0, return_inverse=True)
    made = []  # one piece a kind of unit: there are few
    for weight, *unit in kinds:
        values, chances = _dealt(*map(int, unit))
        made.append(listed_piece(weight * values, chances))
    pieces = [made[kind] for kind in members]
    observed = float((weights * counts.d_star).sum())
    return p_value(observed, pieces, rng, draws=arrangements, two_sided=False)


def _held(units: Units) -> Counts:
    inside = units.draws
    values = np.where(inside.fixed, inside.values, math.nan)
    return count_draws(
        inside._replace(values=values), units.members, units.weights.size
    )


@lru_cache(maxsize=4096)  # the units of a study are of few kinds
def _dealt(
    n: int, m: int, there: int, held: int, held_there: int
) -> tuple[Values, Values]:
    """D* of a unit whose free draws are dealt between the channels, with its chances.

    Args:
        n: Public draws.
        m: Draws of the other channel.
        there: Draws on the pressed side, of both.
        held: Public draws that stay where they are.
        held_there: Of these on the pressed side.
    """
    free = there - held_there
    urn = stats.hypergeom(n + m - held, free, n - held)
    dealt = np.arange(max(0, free - m), min(n - held, free) + 1)
    spoken = (dealt + held_there).astype(np.float64)
    ones = np.ones_like(spoken)
    unit = Counts(n * ones, spoken, m * ones, there - spoken)
    return unit.d_star, np.asarray(urn.pmf(dealt))
