"""Means and gaps of any numeric measure (survey items, cosine, entailment), clustered.

The spread is that of clusters within strata, as for rates, with a t quantile. A rate
has better intervals (`intervals`); these are for values without bounds to respect.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, shortfall
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.variance import (
    Sample,
    Totals,
    counted,
    covariances,
    totals,
    variance,
)

METHOD = "t"

_ROUNDING = 1e-10  # of the largest value: a smaller standard error is no spread


def mean_estimate(
    sample: Sample, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """A mean with its t interval; a gap is the mean of what each turn differs by.

    Args:
        sample: Values in any unit, NaN where missing.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.

    Returns:
        Without bounds, and with a reason, where there is one cluster or all are alike.
    """
    sums = totals(sample)
    if sums is None:
        return _put_together((sample,), scope, reason="no turn has a value")
    error = _error(sums, sample)
    half = error * float(stats.t.ppf((1 + level) / 2, max(sums.freedom, 1)))
    return _put_together(
        (sample,),
        scope,
        value=float(sums.mean),
        half=half,
        se=math.nan if sums.alone else error,
        reason=shortfall(sums, math.isnan(half)),
    )


def mean_difference(
    first: Sample, second: Sample, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """First mean minus second, with its t interval: a level shift against baseline.

    Of different runs the errors are independent, with degrees of freedom by Welch and
    Satterthwaite; where the scope's clusters are in both samples, their covariance is
    taken out, with the fewer degrees of freedom of the two.

    Args:
        first: Values of one group of turns, in any unit.
        second: Values of the other, in the same unit.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    a, b = totals(first), totals(second)
    if a is None or b is None:
        return _put_together((first, second), scope, reason="no turn has a value")
    shared = float(covariances((first, second))[0, 1])
    covariance = 0.0 if math.isnan(shared) else shared
    squares = float(variance(a)), float(variance(b))
    error = math.sqrt(max(sum(squares) - 2 * covariance, 0.0))
    if not error > _ROUNDING * max(_largest(first), _largest(second)):
        error = math.nan
    freedom: float = max(min(a.freedom, b.freedom), 1)
    if covariance == 0 and not math.isnan(error):
        parts = squares[0] ** 2 / a.freedom + squares[1] ** 2 / b.freedom
        freedom = error**4 / parts
    half = error * float(stats.t.ppf((1 + level) / 2, freedom))
    unbounded = math.isnan(half)
    return _put_together(
        (first, second),
        scope,
        value=float(a.mean - b.mean),
        half=half,
        se=math.nan if a.alone or b.alone else error,
        reason=shortfall(a, unbounded) or shortfall(b, unbounded),
    )


def _largest(sample: Sample) -> float:
    return float(np.nanmax(np.abs(sample.values)))


def _error(sums: Totals, sample: Sample) -> float:
    error = math.sqrt(float(variance(sums)))
    return error if error > _ROUNDING * _largest(sample) else math.nan


def _put_together(
    samples: tuple[Sample, ...],
    scope: Scope,
    *,
    value: float = math.nan,
    half: float = math.nan,
    se: float = math.nan,
    reason: str | None,
) -> Estimate:
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        se=se,
        method=METHOD,
        scope=str(scope),
        reason=reason,
        **counted(*samples),
    )
