"""One-sided tests against any bound, read off the interval of a figure.

A limit at level 1 - 2a leaves the bound out exactly where the test of size a rejects,
so the p-value is the a at which the limit meets the bound. A test and the interval
beside it can then not disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from scipy import optimize, stats

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.intervals import LEVEL

At = Callable[[float], Bounds]
"""The interval of a figure at a level, between 0 and 1."""

_SURE: Final = 7.0
"""Standard errors at which a p-value is no longer told from 0: it is 1.3e-12."""

_NONE: Final = 0.01


def p_below(at: At, bound: float) -> float:
    """The p-value for a figure that is below a bound; NaN where it has no interval.

    Args:
        at: Its interval at any level.
        bound: What the upper limit must be under.
    """
    return _inverted(lambda level: at(level).high - bound, at, bound)


def p_above(at: At, bound: float) -> float:
    """The p-value for a figure that is above a bound; NaN where it has no interval.

    Args:
        at: Its interval at any level.
        bound: What the lower limit must be over.
    """
    return _inverted(lambda level: bound - at(level).low, at, bound, -1)


def _inverted(
    beyond: Callable[[float], float], at: At, bound: float, sign: int = 1
) -> float:
    """The size at which a limit meets its bound, found on the scale of z."""
    found = at(LEVEL)
    if math.isnan(found.low) or math.isnan(found.high):
        return math.nan
    if sign * (found.value - bound) >= 0:
        return 1.0

    def over(z: float) -> float:
        return beyond(float(1 - 2 * stats.norm.sf(z)))

    if over(_SURE) < 0:
        z = _SURE
    elif over(_NONE) > 0:
        z = _NONE
    else:
        z = float(optimize.brentq(over, _NONE, _SURE, xtol=1e-5))
    return float(stats.norm.sf(z))
