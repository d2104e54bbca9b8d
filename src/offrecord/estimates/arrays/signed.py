"""Gaps and the audience effect from signs: one stratified interval, not four joined.

A turn's gap, public less other, is 1, -1 or 0. Its mean is the share of turns that are
*towards* (1) less that of turns that are *away* (-1). For the audience effect Z the
turns of baseline count with the negative of their gap: *towards* is accommodating under
the condition or reversing in baseline, *away* the other two. Each side weighs one half,
so that the mean gap is Z / 2.

Both shares get the weighted interval (`stratified`) and are joined by MOVER with the
correlation of two exclusive outcomes, or with that over runs within cells where it is
more negative. Where four intervals are joined, each has an effective number and degrees
of freedom from its own few runs; two over the runs of both sides have more of both.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, Limits
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.stratified import (
    EMPTY_CELL,
    NO_VALUE,
    UNPAIRED,
    rate_limits,
    shortfall,
    undefined,
)
from offrecord.estimates.arrays.variance import Sample, counted
from offrecord.estimates.arrays.weighed import (
    Weighed,
    errors,
    paired_sides,
    variance,
    weighed,
)

METHOD: Final = "MOVER from wilson, weighted cells"
"""How the intervals are made."""


class Signed(NamedTuple):
    """Turns by sign: two rates of the same turns, over one layout."""

    towards: Weighed
    away: Weighed

    @property
    def value(self) -> Values:
        """Shape (...): the mean of the signs, from -1 to 1."""
        return np.asarray(self.towards.value - self.away.value)

    @property
    def variance(self) -> Values:
        """Shape (...): the variance of `value` for new runs of these cells."""
        sums = self.towards.sums - self.away.sums
        return variance(self.towards._replace(sums=sums))


def signed(gaps: Sample, weights: Values | None = None) -> Signed | None:
    """Count the signs of gaps by run; None where a cell that counts has no value.

    Args:
        gaps: Values -1, 0, 1 or NaN with their runs (`clusters`) and cells (`strata`).
        weights: Shape (cells,), in the order of `np.unique(gaps.strata)`; alike by
            default.

    Raises:
        ValueError: If the weights are none.
    """
    known = ~np.isnan(gaps.values)
    towards = weighed(gaps.of(np.where(known, gaps.values > 0, math.nan)), weights)
    away = weighed(gaps.of(np.where(known, gaps.values < 0, math.nan)), weights)
    return None if towards is None or away is None else Signed(towards, away)


def signed_limits(data: Signed, level: float = LEVEL) -> Limits:
    """The interval of the mean sign of each sample of one design, within -1 and 1.

    Args:
        data: Counts of signs.
        level: How often such intervals are to hold the truth.

    Returns:
        NaN for a single run.
    """
    towards, away = data
    a, b = towards.value, away.value
    to, back = rate_limits(towards, level), rate_limits(away, level)
    joint = _opposed(data)
    gap = a - b
    low = gap - _joined(a - to.low, back.high - b, joint)
    high = gap + _joined(to.high - a, b - back.low, joint)
    return Limits(np.maximum(low, -1.0), np.minimum(high, 1.0))


def stratified_gap(
    gaps: Sample,
    weights: Values | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """The gap between two shares of the same turns, over weighted cells.

    Args:
        gaps: Public less other by turn, NaN where either is missing.
        weights: As in `signed`.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        ValueError: If the weights are none.
    """
    data = signed(gaps, weights)
    if data is None:
        reason = NO_VALUE if np.isnan(gaps.values).all() else EMPTY_CELL
        return undefined(METHOD, scope, reason, gaps)
    return _estimate(data, 1.0, scope, level, gaps)


def stratified_audience_effect(
    condition: Sample,
    baseline: Sample,
    counterparts: Ids | None = None,
    weights: Values | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """Z: the mean gap under a condition less that in baseline, over weighted cells.

    Args:
        condition: Gaps by turn, NaN where either side is missing.
        baseline: The same without any context, of other runs.
        counterparts: Shape (condition cells,), in the order of their ids: the id of the
            baseline cell of each. A baseline cell weighs as the cells paired with it,
            and one that is paired with none is left out. By default all weigh alike.
        weights: Shape (condition cells,), alike by default.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Returns:
        Z with bounds between -2 and 2.

    Raises:
        ValueError: If the weights are none, or there are other counterparts than cells.
    """
    samples = condition, baseline
    if any(np.isnan(sample.values).all() for sample in samples):
        return undefined(METHOD, scope, NO_VALUE, *samples)
    cells, others = (np.unique(sample.strata) for sample in samples)
    sides = paired_sides(cells, others, counterparts, weights)
    if sides is None:
        return undefined(METHOD, scope, UNPAIRED, *samples)
    both = _opposite_sides(condition, baseline)
    data = signed(both, np.concatenate(sides) / 2)
    if data is None:
        return undefined(METHOD, scope, EMPTY_CELL, both)
    return _estimate(data, 2.0, scope, level, both)


def _opposite_sides(condition: Sample, baseline: Sample) -> Sample:
    """Both sides in one, baseline negated, with runs and cells numbered apart."""
    sides = condition, baseline

    def apart(ids: list[Ids]) -> Ids:
        numbers = [np.unique(part, return_inverse=True)[1] for part in ids]
        numbers[1] = numbers[1] + int(numbers[0].max()) + 1
        return np.concatenate(numbers)

    return Sample(
        np.concatenate([condition.values, -baseline.values]),
        apart([side.runs for side in sides]),
        apart([side.clusters for side in sides]),
        apart([side.strata for side in sides]),
    )


def _opposed(data: Signed) -> Values:
    """The correlation with which the errors of the two rates are joined."""
    towards, away = data
    first, second = errors(towards), errors(away)
    scale = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    shown = np.zeros_like(scale)
    np.divide((first * second).sum(axis=-1), scale, out=shown, where=scale > 0)
    a, b = towards.value, away.value
    inside = (1 - a) * (1 - b)
    odds = np.zeros_like(inside)
    np.divide(a * b, inside, out=odds, where=inside > 0)
    return np.asarray(np.minimum(shown, -np.sqrt(np.maximum(odds, 0.0))))


def _joined(first: Values, second: Values, correlation: Values) -> Values:
    squared = first**2 + second**2 - 2 * correlation * first * second
    return np.sqrt(np.maximum(squared, 0.0))


def _estimate(
    data: Signed, scale: float, scope: Scope, level: float, sample: Sample
) -> Estimate:
    layout, limits = data.towards.layout, signed_limits(data, level)
    return Estimate(
        value=scale * float(data.value),
        low=scale * float(limits.low),
        high=scale * float(limits.high),
        se=math.nan if layout.singles else scale * math.sqrt(float(data.variance)),
        method=METHOD,
        scope=str(scope),
        reason=shortfall(layout),
        **counted(sample),
    )
