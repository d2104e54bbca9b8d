"""Intervals that generalize beyond the cells: to new models, new scenarios, or both.

The figure stays the weighted mean of cells, sum w_c p_c. Clusters are what is drawn
anew. A cluster g weighs W_g, the sum over its cells, and has their weighted mean m_g;

    v = a sum W_g^2 (m_g - p)^2,   a = S2 / (S2 - 2 S3 + S2^2),   Sk = sum W_g^k

which is G / (G - 1) for G clusters that weigh alike, and without bias for means that
vary alike. Degrees of freedom are S2^2 / S4 - 1, G - 1 if they weigh alike: clusters
count by how many of equal weight they are worth. What runs of a cell vary by is in the
m_g and need not be added.

Where models and scenarios are both drawn anew, v is that of models plus that of
scenarios less that of their pairs, which both hold (Cameron, Gelbach and Miller,
Journal of Business & Economic Statistics 29, 2011). It is never taken below either
alone, since the sum can be negative; degrees of freedom are the fewer of the two.

Below six scenarios no interval is given: a variance of so few is itself a guess, and
those that were written for a study are no sample to guess from.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays import intervals
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, wilson
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Counted, Sample, counted
from offrecord.estimates.arrays.stratified import ONE_RUN, empty_reason, undefined
from offrecord.estimates.arrays.weighed import Weighed, weighed

FEWEST: Final = 6
"""Scenarios that an interval takes, and models that show how much models vary."""

ALIKE: Final = "all clusters are alike, without spread"
_ROUNDING: Final = 1e-10  # of the largest value: a smaller standard error is no spread


class Clusters(NamedTuple):
    """Cells put together by what is drawn anew; each array has shape (clusters,)."""

    weights: Values
    """W, summing to 1."""
    means: Values
    """Of the cells of each, by their weights."""
    turns: Values
    """Turns with a value."""

    @property
    def value(self) -> float:
        """The weighted mean."""
        return float(self.weights @ self.means)

    @property
    def freedom(self) -> float:
        """Clusters of equal weight that these are worth, less 1; at least one half."""
        squares = self.weights**2
        return max(float(squares.sum() ** 2 / (squares**2).sum()) - 1, 0.5)

    @property
    def variance(self) -> float:
        """Of the value for new clusters; NaN for a single one."""
        squares = float((self.weights**2).sum())
        left = squares - 2 * float((self.weights**3).sum()) + squares**2
        if self.weights.size < 2:
            return math.nan
        off = self.weights * (self.means - self.value)
        return float((off**2).sum()) * squares / left


def clusters_of(data: Weighed, ids: Ids) -> Clusters:
    """Put the cells of a figure together.

    Args:
        data: Sums of runs, one sample.
        ids: Shape (cells,): the cluster of each cell.
    """
    layout = data.layout
    _, place = np.unique(ids, return_inverse=True)
    whole, sums, turns = (
        np.bincount(place, values).astype(np.float64)
        for values in (layout.weights, layout.weights * data.rates, layout.turns)
    )
    return Clusters(whole, sums / whole, turns)


def two_way_variance(first: Clusters, second: Clusters, pairs: Clusters) -> float:
    """The variance of one value with two ways of clustering.

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


def for_scenarios(
    sample: Sample,
    scenarios: Ids,
    scope: str,
    weights: Values | None = None,
    level: float = LEVEL,
) -> Estimate:
    """A mean with its t interval for new scenarios, the same models asked.

    Args:
        sample: Values in any unit with their runs (`clusters`) and cells (`strata`).
        scenarios: Shape (turns,): the scenario of each turn, one for a cell.
        scope: Whom the interval is said to speak about.
        weights: Shape (cells,), in the order of `np.unique(sample.strata)`; alike by
            default.
        level: How often such intervals are to hold the truth.

    Returns:
        Without bounds, and with a reason, for fewer than six scenarios.

    Raises:
        ValueError: If the weights are none, or a cell is of two scenarios.
    """
    data = weighed(sample, weights)
    if data is None:
        return undefined("t", scope, empty_reason(sample), sample)
    one = clusters_of(data, _of_cells(sample, scenarios, weights))
    reason = _too_few(one, "scenarios")
    spread = _Spread(one.variance, one.freedom, one.weights.size, reason)
    return _t_estimate(float(data.value), spread, sample, scope, level)


def for_both(
    sample: Sample,
    models: Ids,
    scenarios: Ids,
    scope: str,
    weights: Values | None = None,
    level: float = LEVEL,
) -> Estimate:
    """A mean with its t interval for new models in new scenarios.

    Args:
        sample: Values in any unit with their runs (`clusters`) and cells (`strata`).
        models: Shape (turns,): the model of each turn, one for a cell.
        scenarios: Shape (turns,): the scenario of each turn, one for a cell.
        scope: Whom the interval is said to speak about.
        weights: As in `for_scenarios`.
        level: How often such intervals are to hold the truth.

    Returns:
        Without bounds, and with a reason, for fewer than six of either.

    Raises:
        ValueError: If the weights are none, or a cell is of two models or scenarios.
    """
    data = weighed(sample, weights)
    if data is None:
        return undefined("t", scope, empty_reason(sample), sample)
    names = [_of_cells(sample, ids, weights) for ids in (models, scenarios)]
    pairs = np.unique(np.stack(names), axis=1, return_inverse=True)[1].ravel()
    first, second, third = (clusters_of(data, ids) for ids in (*names, pairs))
    reason = _too_few(first, "models") or _too_few(second, "scenarios")
    spread = _Spread(
        two_way_variance(first, second, third),
        min(first.freedom, second.freedom),
        min(first.weights.size, second.weights.size),
        reason,
    )
    return _t_estimate(float(data.value), spread, sample, scope, level)


def rate_for_models(
    sample: Sample,
    models: Ids,
    scope: str,
    weights: Values | None = None,
    level: float = LEVEL,
) -> Estimate:
    """A rate with Wilson's interval for new models, the same scenarios asked.

    The effective number of turns is p (1 - p) / v. The cap of `intervals` guards
    against a variance that nothing shows yet. From six models with an event and six
    with a turn without one on, models show it, and the cap is left out: it would take
    the dozens of turns of a model for as many guesses.

    Args:
        sample: Values 0, 1 or NaN with their runs (`clusters`) and cells (`strata`).
        models: Shape (turns,): the model of each turn, one for a cell.
        scope: Whom the interval is said to speak about.
        weights: As in `for_scenarios`.
        level: How often such intervals are to hold the truth.

    Returns:
        Without bounds, and with a reason, for a single model.

    Raises:
        ValueError: If the weights are none, or a cell is of two models.
    """
    data = weighed(sample, weights)
    if data is None:
        return undefined("wilson", scope, empty_reason(sample), sample)
    one = clusters_of(data, _of_cells(sample, models, weights))
    p, v = min(max(one.value, 0.0), 1.0), one.variance
    low = high = math.nan
    if not math.isnan(v):
        quantile = float(stats.t.ppf((1 + level) / 2, one.freedom))
        shown = p * (1 - p) / v if v > intervals.NO_SPREAD else math.inf
        limits = wilson(np.asarray(p), min(shown, _cap(one, p)), quantile)
        low, high = float(limits.low), float(limits.high)
    return Estimate(
        value=p,
        low=low,
        high=high,
        se=math.sqrt(v),
        method="wilson",
        scope=scope,
        reason=ONE_RUN if math.isnan(v) else None,
        **_counted(sample, one.weights.size),
    )


def _cap(clusters: Clusters, p: float) -> float:
    """The most independent turns that so few informative clusters may claim."""
    some = int((clusters.means > 0).sum())
    short = int((clusters.means < 1).sum())
    informative = max(min(some, short) - 1, 0)
    if informative + 1 >= FEWEST:
        return math.inf
    fading = intervals.INFORMATIVE / (intervals.INFORMATIVE + informative)
    floor = 1 + intervals.CORRELATION * (clusters.turns - 1) * fading
    cap = 1 / float((clusters.weights**2 * floor / clusters.turns).sum())
    if not informative:
        return cap
    keep = (clusters.weights.size - 1) / (clusters.weights.size - 1 + intervals.PULL)
    binomial = p * (1 - p)
    return cap * binomial / (binomial + keep**2 * clusters.variance)


def _of_cells(sample: Sample, ids: Ids, weights: Values | None) -> Ids:
    """The cluster of each cell that counts, from that of its turns."""
    _, first, place = np.unique(sample.strata, return_index=True, return_inverse=True)
    found: Ids = ids[first]
    if (found[place] != ids).any():
        raise ValueError("a cell is of one model and of one scenario")
    return found if weights is None else found[np.asarray(weights) > 0]


def _too_few(clusters: Clusters, what: str) -> str | None:
    number = clusters.weights.size
    if number >= FEWEST:
        return None
    have = f"only {number} {what}" if number > 1 else f"a single one of its {what}"
    return f"{have}: an interval for new {what} takes at least {FEWEST}"


class _Spread(NamedTuple):
    variance: float
    freedom: float
    clusters: int
    reason: str | None
    """Why it gives no interval."""


def _t_estimate(
    value: float, spread: _Spread, sample: Sample, scope: str, level: float
) -> Estimate:
    half = error = math.nan
    reason = spread.reason
    if reason is None:
        error = math.sqrt(spread.variance)
        if not error > _ROUNDING * float(np.nanmax(np.abs(sample.values))):
            error, reason = math.nan, ALIKE
        half = error * float(stats.t.ppf((1 + level) / 2, spread.freedom))
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        se=error,
        method="t",
        scope=scope,
        reason=reason,
        **_counted(sample, spread.clusters),
    )


def _counted(sample: Sample, clusters: int) -> Counted:
    counts = counted(sample)
    counts["clusters"] = clusters
    return counts
