"""Gaps and audience effects from signs: one stratified interval, not several joined.

A turn's gap, public less other, is 1, -1 or 0. Its mean is the share of turns that are
*towards* (1) less that of turns that are *away* (-1). For the audience effect Z the
turns of baseline count with the negative of their gap: *towards* is accommodating under
the condition or reversing in baseline, *away* the other two. Each side weighs one half,
so that the mean gap is Z / 2. A difference of two gaps, or of two audience effects, is
made alike, of two or of four sides.

Both shares get the weighted interval (`stratified`) and are joined by MOVER with the
correlation of two exclusive outcomes, or with that over runs within cells where it is
more negative. Where four intervals are joined, each has an effective number and degrees
of freedom from its own few runs; two over the runs of both sides have more of both.

A figure is no better known than any of its sides, so no arm is shorter than that of one
side alone, times the side's weight and with the same quantile. Else runs of one side
that show their spread would speak for the other: beside a baseline of 200 runs, 10
without an event had an interval less than a quarter as wide as these 10 alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.differences import Sides
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, Limits
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample, Side, counted
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.scoped import anew, by_clusters
from offrecord.estimates.arrays.stratified import (
    empty_reason,
    rate_limits,
    shortfall,
    undefined,
)
from offrecord.estimates.arrays.weighed import Weighed, errors, variance, weighed

METHOD: Final = "MOVER from wilson, by signs"
"""How the intervals are made."""


class Signed(NamedTuple):
    """Turns by sign: two rates of the same turns, over one layout."""

    towards: Weighed
    away: Weighed
    sides: tuple[NDArray[np.bool_], ...] = ()
    """Shape (runs,) each: the runs of each side, where there are several."""

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
        weights: Shape (cells,), in the order of `np.unique(gaps.weighted)`; alike by
            default.

    Raises:
        ValueError: If the weights are none.
    """
    known = ~np.isnan(gaps.values)
    towards = weighed(gaps.of(np.where(known, gaps.values > 0, math.nan)), weights)
    away = weighed(gaps.of(np.where(known, gaps.values < 0, math.nan)), weights)
    return None if towards is None or away is None else Signed(towards, away)


def signed_limits(
    data: Signed,
    level: float = LEVEL,
    *,
    capped: bool = True,
    freedom: float | None = None,
) -> Limits:
    """The interval of the mean sign of each sample of one design, within -1 and 1.

    Args:
        data: Counts of signs.
        level: How often such intervals are to hold the truth.
        capped: As in `effective_turns`.
        freedom: As in `rate_limits`.

    Returns:
        As `rate_limits`.
    """
    towards, away = data.towards, data.away
    a, b = towards.value, away.value
    to, back = (
        rate_limits(one, level, capped=capped, freedom=freedom)
        for one in (towards, away)
    )
    joint = _opposed(data)
    gap, layout = a - b, towards.layout
    low = gap - _joined(a - to.low, back.high - b, joint)
    high = gap + _joined(to.high - a, b - back.low, joint)
    for runs in data.sides:
        one = Signed(towards.part(runs), away.part(runs))
        own = signed_limits(one, level, capped=capped, freedom=layout.freedom)
        weight = layout.weights[np.unique(layout.cells[runs])].sum()
        low = np.minimum(low, gap - weight * (one.value - own.low))
        high = np.maximum(high, gap + weight * (own.high - one.value))
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
    return stratified_gaps([Side(gaps, 1, weights)], scope, level)


def stratified_audience_effect(
    condition: Sample,
    baseline: Sample,
    weights: Sides | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> Estimate:
    """Z: the mean gap under a condition less that in baseline, over weighted cells.

    Args:
        condition: Gaps by turn, NaN where either side is missing.
        baseline: The same without any context, of other runs.
        weights: What the cells of each side weigh (`pairing`); alike by default.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Returns:
        Z with bounds between -2 and 2.

    Raises:
        ValueError: If the weights are none.
    """
    one, two = weights or (None, None)
    sides = [Side(condition, 1, one), Side(baseline, -1, two)]
    return stratified_gaps(sides, scope, level)


def stratified_gaps(
    sides: Sequence[Side], scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """A sum of gaps, some of them subtracted, each over its own weighted cells.

    Args:
        sides: The gaps. Cells of two sides are two cells, whatever their ids.
        scope: Whom the interval is said to speak about.
        level: How often such intervals are to hold the truth.

    Raises:
        ValueError: If the weights are none.
    """
    samples, scale = [side.sample for side in sides], len(sides)
    for side in sides:
        if weighed(side.sample, side.weights) is None:
            return undefined(METHOD, scope, empty_reason(side.sample), *samples)
    if by_clusters(sides, scope, difference=True):
        return anew(sides, scope, level, Range(-scale, scale))
    data = signed(*joint(sides))
    assert data is not None
    layout = data.towards.layout
    data = data._replace(sides=_of_each(samples, layout.names))
    limits = signed_limits(data, level, capped=scope is not Scope.MODELS)
    return Estimate(
        value=scale * float(data.value),
        low=scale * float(limits.low),
        high=scale * float(limits.high),
        se=math.nan if layout.singles else scale * math.sqrt(float(data.variance)),
        method=METHOD,
        scope=str(scope),
        reason=shortfall(layout),
        **counted(*samples),
    )


def joint(sides: Sequence[Side]) -> tuple[Sample, Values]:
    """All sides in one sample, those subtracted negated, and what each cell weighs.

    Strata are those of the sides, unless clusters are in several of these.
    """
    samples = [side.sample for side in sides]
    clusters = [np.unique(sample.clusters) for sample in samples]
    each = [np.unique(sample.weighted) for sample in samples]
    given = [
        np.ones(cells.size) if side.weights is None else side.weights
        for side, cells in zip(sides, each, strict=True)
    ]
    shared = np.unique(np.concatenate(clusters)).size < sum(map(len, clusters))
    strata = [sample.strata for sample in samples]
    joint = Sample(
        np.concatenate([side.sign * side.sample.values for side in sides]),
        np.concatenate([sample.runs for sample in samples]),
        np.concatenate([sample.clusters for sample in samples]),
        np.concatenate(strata) if shared else _apart(strata),
        _apart([sample.weighted for sample in samples])
        if any(sample.cells is not None for sample in samples)
        else None,
    )
    return joint, np.concatenate([own / own.sum() for own in given]) / len(sides)


def _apart(ids: Sequence[Ids]) -> Ids:
    """Numbers for ids of several sides, no side using those of another."""
    found, last = [], 0
    for side in ids:
        names, numbers = np.unique(side, return_inverse=True)
        found.append(numbers + last)
        last += names.size
    return np.concatenate(found)


def _of_each(samples: Sequence[Sample], names: Ids) -> tuple[NDArray[np.bool_], ...]:
    """Which clusters are of which side; none where sides share some."""
    sides = tuple(np.isin(names, sample.clusters) for sample in samples)
    apart = len(sides) > 1 and int(np.sum(sides)) == names.size
    return sides if apart else ()


def _opposed(data: Signed) -> Values:
    """The correlation with which the errors of the two rates are joined."""
    towards, away = data.towards, data.away
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
