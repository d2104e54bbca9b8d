"""Differences of two estimates from their own intervals (MOVER).

The method of variance estimates recovery (Zou and Donner 2008; Newcombe 1998 for two
Wilson intervals) takes how far each estimate lies from its own bound as the error on
that side. So a difference inherits what makes the intervals of rates good: no zero
width at 0 or 1, and no bound that no rate can reach.
"""

from __future__ import annotations

import math

import numpy as np

from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds
from offrecord.estimates.arrays.intervals import rate_interval
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.arrays.variance import Sample, correlation


def rate_bounds(values: Values, clusters: Ids, strata: Ids, level: float) -> Bounds:
    """The mean of values 0 and 1 with its default interval."""
    known = values[~np.isnan(values)]
    if not known.size:
        return UNKNOWN
    return Bounds(float(known.mean()), *rate_interval(values, clusters, strata, level))


def difference(first: Bounds, second: Bounds, correlation: float = 0.0) -> Bounds:
    """First minus second.

    Each value has the units of its bounds; the difference keeps them.

    Args:
        first: What is subtracted from.
        second: What is subtracted.
        correlation: Of the two errors; 0 for independent runs.
    """
    value = first.value - second.value
    down = _joined(first.value - first.low, second.high - second.value, correlation)
    up = _joined(first.high - first.value, second.value - second.low, correlation)
    return Bounds(value, value - down, value + up)


def gap_of(turns: Turns, level: float) -> Bounds:
    """The gap between two channels of the same turns.

    The gap is the share of accommodating turns less that of reversing ones, so that
    turns that agree add nothing to its error. The two exclude each other, so their
    errors are joined with the correlation of two outcomes of one draw, or with that
    over runs within cells where it is more negative.

    Args:
        turns: The turns.
        level: How often such intervals hold the truth.
    """
    towards = np.where(turns.known, turns.public > turns.other, math.nan)
    away = np.where(turns.known, turns.public < turns.other, math.nan)
    a = rate_bounds(towards, turns.runs, turns.cells, level)
    b = rate_bounds(away, turns.runs, turns.cells, level)
    shown = correlation(
        *(Sample(v, turns.runs, turns.runs, turns.cells) for v in (towards, away))
    )
    exclusive = -_multinomial(a.value, b.value)
    opposed = exclusive if math.isnan(shown) else min(shown, exclusive)
    down = _joined(a.value - a.low, b.high - b.value, opposed)
    up = _joined(a.high - a.value, b.value - b.low, opposed)
    gap = a.value - b.value
    # NaN stays NaN: without bounds of its parts a gap has none, not the widest.
    low, high = np.clip([gap - down, gap + up], -1.0, 1.0).tolist()
    return Bounds(gap, low, high)


def _multinomial(p: float, q: float) -> float:
    """The size of the (negative) correlation of two exclusive outcomes' shares."""
    odds = p * q / ((1 - p) * (1 - q)) if p < 1 and q < 1 else 0.0
    return math.sqrt(odds)


def _joined(first: float, second: float, correlation: float) -> float:
    return math.sqrt(first**2 + second**2 - 2 * correlation * first * second)
