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

from offrecord.estimates.arrays.differences import (
    Sides,
    stratified_difference,
    stratified_mean_difference,
)
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import stratified_audience_effect


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


def rate_split(
    condition: Channels,
    baseline: Channels,
    weights: Sides | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> SplitEstimates:
    """X, Y and Z of stances, with intervals.

    Args:
        condition: Values 1, 0 or NaN: on the pressed side or not.
        baseline: The same without any context.
        weights: What the cells of each side weigh (`pairing`); alike by default.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    how = weights, scope, level
    return SplitEstimates(
        stratified_difference(condition.public, baseline.public, *how),
        stratified_difference(condition.other, baseline.other, *how),
        stratified_audience_effect(condition.gap, baseline.gap, *how),
    )


def mean_split(
    condition: Channels,
    baseline: Channels,
    weights: Sides | None = None,
    scope: Scope = Scope.RUNS,
    level: float = LEVEL,
) -> SplitEstimates:
    """The level shift of each channel against baseline, and what the two differ by.

    Args:
        condition: Values of any numeric measure, in its unit, NaN where missing.
        baseline: The same without any context.
        weights: As in `rate_split`.
        scope: Which scope these clusters stand for.
        level: How often such intervals are to hold the truth.
    """
    how = weights, scope, level
    return SplitEstimates(
        stratified_mean_difference(condition.public, baseline.public, *how),
        stratified_mean_difference(condition.other, baseline.other, *how),
        stratified_mean_difference(condition.gap, baseline.gap, *how),
    )
