"""The headline: the public shift, and how much of it holds off the record too.

Against baseline, the public value moved by X; Y of it is found off the record too, and
Z = X - Y only in public. It holds for stances, as shares on the pressed side, and for
any numeric measure of both channels. It needs no correction for noise: two samples of
one channel have the same expectation, so noise moves none of the three on average.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL, METHOD, rate_estimate
from offrecord.estimates.arrays.means import mean_difference, mean_estimate
from offrecord.estimates.arrays.mover import difference, gap_of
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.arrays.variance import (
    Sample,
    counted,
    covariances,
    shared_correlation,
)


class Split(NamedTuple):
    """Shares against baseline, as fractions of 1; `public_shift` is the others' sum."""

    public_shift: float
    """X: how far the public stance moved toward the pressed side."""
    conversion: float
    """Y: how far the stance off the record moved."""
    audience_effect: float
    """Z = X - Y: what appears only in public."""


class SplitEstimates(NamedTuple):
    """The three parts with their intervals, in the unit of what was measured."""

    public_shift: Estimate
    conversion: Estimate
    audience_effect: Estimate


class Channels(NamedTuple):
    """Both channels of the same turns; a turn counts only with both values."""

    public: Sample
    other: Sample

    @property
    def gap(self) -> Sample:
        """Public minus other, by turn."""
        return self.public.of(self.public.values - self.other.values)


def channels(public: Sample, other: Sample) -> Channels:
    """Pair two channels: a turn with one value missing has none."""
    missing = np.isnan(public.values) | np.isnan(other.values)
    hidden = np.where(missing, math.nan, 0.0)
    return Channels(public.of(public.values + hidden), other.of(other.values + hidden))


def rate_gap(
    pair: Channels, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """The gap between two shares of the same turns.

    Its interval is MOVER's from the shares of accommodating and reversing turns, so it
    keeps a width where no turn diverges.

    Args:
        pair: Values 1, 0 or NaN: on the pressed side or not.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    gap = pair.gap
    base = rate_estimate(gap.of(np.abs(gap.values)), scope, level=level)
    bounds = _gap_bounds(pair, level)
    return _from_bounds(bounds, _error((1.0,), (gap,)), base.reason, scope, gap)


def rate_difference(
    first: Sample, second: Sample, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """One share minus another, by MOVER from their default intervals.

    Args:
        first: Values 1, 0 or NaN of one group of turns.
        second: The same of the other: different runs, or other turns of the same
            clusters, whose covariance then counts.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    a, b = (rate_estimate(sample, scope, level=level) for sample in (first, second))
    bounds = difference(
        a.bounds,
        b.bounds,
        shared_correlation(first, second),
    )
    reason = a.reason or b.reason
    error = _error((1.0, -1.0), (first, second))
    return _from_bounds(bounds, error, reason, scope, first, second)


def rate_split(
    condition: Channels,
    baseline: Channels,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> SplitEstimates:
    """X, Y and Z of stances, with intervals.

    Within a run public and off record depend on each other; that of a condition and of
    baseline only where the scope's clusters hold both.

    Args:
        condition: Values 1, 0 or NaN: on the pressed side or not.
        baseline: The same without any context.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    gaps = condition.gap, baseline.gap
    bounds = difference(
        _gap_bounds(condition, level),
        _gap_bounds(baseline, level),
        shared_correlation(*gaps),
    )
    public_shift = rate_difference(condition.public, baseline.public, scope, level)
    return SplitEstimates(
        public_shift,
        rate_difference(condition.other, baseline.other, scope, level),
        _from_bounds(
            bounds, _error((1.0, -1.0), gaps), public_shift.reason, scope, *gaps
        ),
    )


def mean_split(
    condition: Channels,
    baseline: Channels,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> SplitEstimates:
    """The level shift of each channel against baseline, and what the two differ by.

    Args:
        condition: Values of any numeric measure, in its unit, NaN where missing.
        baseline: The same without any context.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    return SplitEstimates(
        mean_difference(condition.public, baseline.public, scope, level),
        mean_difference(condition.other, baseline.other, scope, level),
        mean_difference(condition.gap, baseline.gap, scope, level),
    )


def mean_gap(
    pair: Channels, scope: Scope = Scope.RUNS, level: float = LEVEL
) -> Estimate:
    """The mean of public minus other, in the unit of the measure."""
    return mean_estimate(pair.gap, scope, level)


def _gap_bounds(pair: Channels, level: float) -> Bounds:
    public = pair.public
    return gap_of(
        Turns(
            public=public.values,
            other=pair.other.values,
            runs=public.clusters,
            cells=public.strata,
            rounds=np.zeros_like(public.runs),
        ),
        level,
    )


def _error(weights: tuple[float, ...], samples: tuple[Sample, ...]) -> float:
    weighed = np.array(weights)
    squared = float(weighed @ covariances(samples) @ weighed)
    return math.sqrt(max(squared, 0.0)) if not math.isnan(squared) else math.nan


def _from_bounds(
    bounds: Bounds, se: float, reason: str | None, scope: Scope, *samples: Sample
) -> Estimate:
    flat = not bounds.high - bounds.low > 0 and reason is None
    return Estimate(
        value=bounds.value,
        low=math.nan if flat else bounds.low,
        high=math.nan if flat else bounds.high,
        se=se,
        method=f"MOVER from {METHOD}",
        scope=str(scope),
        reason="both groups moved alike in every cluster" if flat else reason,
        **counted(*samples),
    )
