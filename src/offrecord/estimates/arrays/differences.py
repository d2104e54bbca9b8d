"""A mean less another, each over its own weighted cells: X, Y, and changes of measures.

The interval of rates is MOVER from their two intervals (`stratified`, `mover`), that of
other means t from both variances.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample, Side, counted
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.scoped import anew, by_clusters
from offrecord.estimates.arrays.stratified import (
    ALIKE,
    MEAN_METHOD,
    ROUNDING,
    empty_reason,
    shortfall,
    stratified_rate,
    undefined,
)
from offrecord.estimates.arrays.weighed import (
    Weighed,
    correlation,
    covariance,
    variance,
    weighed,
)

METHOD: Final = "MOVER from wilson"
"""How the interval of a difference of rates is made."""

Sides = tuple[Values, Values]
"""What the cells of both sides of a difference weigh."""


def stratified_difference(
    first: Sample,
    second: Sample,
    weights: Sides | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """One rate less another (X, Y), each over its own weighted cells.

    Both intervals are joined by MOVER (`mover`), with the correlation of their errors
    where they share clusters.

    Args:
        first: Values 0, 1 or NaN with their runs and cells.
        second: The same of what is subtracted.
        weights: What the cells of each side weigh (`pairing`); alike by default.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        ValueError: If the weights are none.
    """
    one, two = weights or (None, None)
    a = stratified_rate(first, one, scope, level)
    b = stratified_rate(second, two, scope, level)
    data = weighed(first, one), weighed(second, two)
    sides = [Side(first, 1, one), Side(second, -1, two)]
    if None not in data and by_clusters(sides, scope, difference=True):
        return anew(sides, scope, level, Range(-1.0, 1.0))
    shared = 0.0
    if data[0] is not None and data[1] is not None:
        shared = correlation(data[0], data[1])
    moved = difference(a.bounds, b.bounds, shared)
    flat = not moved.high - moved.low > 0 and not (a.reason or b.reason)
    return Estimate(
        value=moved.value,
        low=math.nan if flat else moved.low,
        high=math.nan if flat else moved.high,
        se=_difference_error(*data),
        method=METHOD,
        scope=str(scope),
        reason=ALIKE if flat else a.reason or b.reason,
        **counted(first, second),
    )


def stratified_mean_difference(
    first: Sample,
    second: Sample,
    weights: Sides | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """One mean less another, each over its own weighted cells, with its t interval.

    Of different runs the errors are independent, with degrees of freedom by Welch and
    Satterthwaite; where clusters are in both samples, their covariance is taken out,
    with the fewer degrees of freedom of the two.

    Args:
        first: Values in any unit, NaN where missing.
        second: Values of the other, in the same unit.
        weights: As in `stratified_difference`.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        ValueError: If the weights are none.
    """
    one, two = weights or (None, None)
    a, b = weighed(first, one), weighed(second, two)
    if a is None or b is None:
        empty = first if a is None else second
        return undefined(MEAN_METHOD, scope, empty_reason(empty), first, second)
    sides = [Side(first, 1, one), Side(second, -1, two)]
    if by_clusters(sides, scope):
        return anew(sides, scope, level)
    shared = covariance(a, b)
    squares = float(variance(a)), float(variance(b))
    error = math.sqrt(max(sum(squares) - 2 * shared, 0.0))
    reason = shortfall(a.layout) or shortfall(b.layout)
    largest = max(float(np.nanmax(np.abs(side.values))) for side in (first, second))
    if not error > ROUNDING * largest:
        error, reason = math.nan, reason or ALIKE
    each = [max(side.layout.freedom, 1.0) for side in (a, b)]
    freedom = min(each)
    if shared == 0 and not math.isnan(error):
        parts = (v**2 / own for v, own in zip(squares, each, strict=True))
        freedom = error**4 / sum(parts)
    value = float(a.value - b.value)
    half = error * float(stats.t.ppf((1 + level) / 2, freedom))
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        se=math.nan if a.layout.singles or b.layout.singles else error,
        method=MEAN_METHOD,
        scope=str(scope),
        reason=reason,
        **counted(first, second),
    )


def _difference_error(first: Weighed | None, second: Weighed | None) -> float:
    """The standard error of a difference; NaN where a cell has a single run."""
    if first is None or second is None:
        return math.nan
    if first.layout.singles or second.layout.singles:
        return math.nan
    squares = float(variance(first) + variance(second))
    return math.sqrt(max(squares - 2 * covariance(first, second), 0.0))
