"""Intervals for new scenarios, and for new models in new scenarios.

The figure stays what it is for new runs: a sum of sides, each the weighted mean of
its cells, some subtracted. Clusters are what is drawn anew. A cluster g weighs W_g, the
mean over sides of the sum over its cells, and is off by e_g, the sum over its cells of
w_c (p_c - p) with the sign of their side, p that side's mean;

    v = a sum e_g^2,   a = S2 / (S2 - 2 S3 + S2^2),   Sk = sum W_g^k

which is G / (G - 1) for G clusters that weigh alike, and without bias for means that
vary alike. Degrees of freedom are S2^2 / S4 - 1, G - 1 if they weigh alike: clusters
count by how many of equal weight they are worth. What runs of a cell vary by is in the
p_c and need not be added.

Where models and scenarios are both drawn anew, v is that of models plus that of
scenarios less that of their pairs, which both hold (Cameron, Gelbach and Miller,
Journal of Business & Economic Statistics 29, 2011). It is never taken below either
alone, since the sum can be negative; degrees of freedom are the fewer of the two.

For new models with the same scenarios, differences have such an interval too once six
models differ from 0: their spread then shows, where intervals of each side, with what
guards them against too few events, are several times as wide. Rates keep Wilson's.

Below six scenarios the interval is refused: a variance of so few is itself a guess, and
those that were written for a study are no sample to guess from. It is there all the
same, with the reason, for whoever knows better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.cell_means import cell_means
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Side, counted
from offrecord.estimates.arrays.scope import Scope

FEWEST: Final = 6
"""Clusters that an interval takes, and that show how much they vary."""

ALIKE: Final = "all clusters are alike, without spread"
METHOD: Final = "t, clusters of cells"
ANYTHING: Final = Range(-math.inf, math.inf)
_ROUNDING: Final = 1e-10  # of the largest value: a smaller standard error is no spread
_WAYS: Final = {
    Scope.SCENARIOS: ("scenarios",),
    Scope.MODELS: ("models",),
    Scope.BOTH: ("models", "scenarios"),
}
"""What is drawn anew, in the order of `Sample.ways`."""


class Clusters(NamedTuple):
    """What is drawn anew in one way; each array has shape (clusters,)."""

    weights: Values
    """W, summing to 1."""
    off: Values
    """e, summing to 0."""

    @property
    def freedom(self) -> float:
        """Clusters of equal weight that these are worth, less 1; at least one half."""
        squares = self.weights**2
        return max(float(squares.sum() ** 2 / (squares**2).sum()) - 1, 0.5)

    @property
    def variance(self) -> float:
        """Of the figure for new clusters; NaN for a single one."""
        if self.weights.size < 2:
            return math.nan
        squares = float((self.weights**2).sum())
        left = squares - 2 * float((self.weights**3).sum()) + squares**2
        return float((self.off**2).sum()) * squares / left


class Cells(NamedTuple):
    """The cells of all sides of a figure; each array has shape (cells,)."""

    value: float
    weights: Values
    """Summing to 1 over all sides."""
    off: Values
    ways: Sequence[Ids]
    """The cluster of each, for each way of clustering."""

    def clusters(self, ids: Ids) -> Clusters:
        """Put cells together by the cluster of each."""
        _, place = np.unique(ids, return_inverse=True)
        weights, off = (np.bincount(place, one) for one in (self.weights, self.off))
        return Clusters(weights.astype(np.float64), off.astype(np.float64))


def cells_of(sides: Sequence[Side]) -> Cells | None:
    """The cells of a figure; None where one that counts has no value.

    Raises:
        ValueError: If a cell is of two clusters.
    """
    value, weights, off = 0.0, [], []
    ways: list[list[Ids]] = [[] for _ in sides[0].sample.ways]
    for side in sides:
        means = cell_means(side.sample, side.weights)
        if means is None:
            return None
        mean = float(means.weights @ means.values)
        value += side.sign * mean
        weights.append(means.weights / len(sides))
        off.append(side.sign * means.weights * (means.values - mean))
        for found, ids in zip(ways, side.sample.ways, strict=True):
            found.append(means.of_each(ids))
    joined = [np.concatenate(way) for way in ways]
    return Cells(value, np.concatenate(weights), np.concatenate(off), joined)


def two_way_variance(first: Clusters, second: Clusters, pairs: Clusters) -> float:
    """The variance of one figure with two ways of clustering.

    Args:
        first: By models.
        second: By scenarios.
        pairs: By both.

    Returns:
        NaN where one way has a single cluster.
    """
    ways = first.variance, second.variance
    if math.isnan(sum(ways)):
        return math.nan
    return max(sum(ways) - pairs.variance, *ways)


def by_clusters(
    sides: Sequence[Side], scope: Scope, *, difference: bool = False
) -> bool:
    """Whether a figure has the interval of `anew` in a scope.

    Args:
        sides: Its sides.
        scope: The scope.
        difference: Whether it is one, of two rates or of two channels.
    """
    if scope is not Scope.MODELS:
        return scope in _WAYS
    cells = cells_of(sides) if difference else None
    if cells is None:
        return False
    models = cells.clusters(cells.ways[0])
    moved = models.off / models.weights + cells.value
    return int((np.abs(moved) > _ROUNDING).sum()) >= FEWEST


def anew(
    sides: Sequence[Side],
    scope: Scope,
    level: float = LEVEL,
    within: Range = ANYTHING,
) -> Estimate:
    """A figure with its t interval for what the samples' `ways` say is drawn anew.

    Args:
        sides: Values in any unit, of which some are subtracted.
        scope: What is drawn anew.
        level: How often such intervals are to hold the truth.
        within: What the figure cannot leave.

    Returns:
        An interval that is `refused`, with a reason, for fewer than six scenarios, or
        models where these are drawn anew too.

    Raises:
        ValueError: If the weights are none, or a cell is of two clusters.
    """
    samples = [side.sample for side in sides]
    cells = cells_of(sides)
    assert cells is not None, "callers ask first"
    ways = [cells.clusters(ids) for ids in cells.ways]
    few = [
        _too_few(one.weights.size, what)
        for one, what in zip(ways, _WAYS[scope], strict=True)
    ]
    variance = ways[0].variance
    if len(ways) > 1:
        pairs = np.unique(np.stack(cells.ways), axis=1, return_inverse=True)[1].ravel()
        variance = two_way_variance(ways[0], ways[1], cells.clusters(pairs))
    error, reason = math.sqrt(variance), next(filter(None, few), None)
    largest = max(float(np.nanmax(np.abs(one.values))) for one in samples)
    if not error > _ROUNDING * largest:
        error, reason = math.nan, reason or ALIKE
    freedom = min(one.freedom for one in ways)
    half = error * float(stats.t.ppf((1 + level) / 2, freedom))
    counts = counted(*samples)
    counts["clusters"] = min(one.weights.size for one in ways)
    return Estimate(
        value=cells.value,
        low=max(cells.value - half, within.low) if half >= 0 else math.nan,
        high=min(cells.value + half, within.high) if half >= 0 else math.nan,
        se=error,
        method=METHOD,
        scope=str(scope),
        reason=reason,
        refused=any(few),
        **counts,
    )


def _too_few(number: int, what: str) -> str:
    if number >= FEWEST:
        return ""
    have = f"only {number} {what}" if number > 1 else f"a single one of its {what}"
    return f"{have}: an interval for new {what} takes at least {FEWEST}"
