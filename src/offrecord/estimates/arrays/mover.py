"""Differences of two estimates from their own intervals (MOVER).

The method of variance estimates recovery (Zou and Donner 2008; Newcombe 1998 for two
Wilson intervals) takes how far each estimate lies from its own bound as the error on
that side. So a difference inherits what makes the intervals of rates good: no zero
width at 0 or 1, and no bound that no rate can reach.
"""

from __future__ import annotations

import math

from offrecord.estimates.arrays.bounds import Bounds


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


def _joined(first: float, second: float, correlation: float) -> float:
    return math.sqrt(first**2 + second**2 - 2 * correlation * first * second)
