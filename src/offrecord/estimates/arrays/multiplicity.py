"""Many tests at once: what is left of each when all of them were looked at.

Holm holds the chance of a single false finding among contrasts that were declared
before the data came. Benjamini and Hochberg hold the share of false ones among the
findings of a grid. A test that could not be made (NaN) is none, and makes no other one
harder.
"""

from __future__ import annotations

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values


def holm(p: Values) -> Values:
    """Adjusted p-values that hold the family-wise error (Holm 1979).

    Args:
        p: Shape (tests,), NaN where there was no test.

    Returns:
        Shape (tests,), NaN kept.
    """
    places, count = _ordered(p)
    steps = p[places] * np.arange(count, 0, -1)
    return _placed(places, np.maximum.accumulate(steps), p.size)


def benjamini_hochberg(p: Values) -> Values:
    """Adjusted p-values that hold the false discovery rate (1995).

    Args:
        p: Shape (tests,), NaN where there was no test.

    Returns:
        Shape (tests,), NaN kept.
    """
    places, count = _ordered(p)
    steps = p[places] * count / np.arange(1, count + 1)
    return _placed(places, np.minimum.accumulate(steps[::-1])[::-1], p.size)


def sidak_level(level: float, count: int) -> float:
    """The level of each of several intervals that hold together.

    Args:
        level: How often all of them are to hold, such as 0.95.
        count: How many there are.

    Returns:
        level^(1/count): exact for independent intervals, and no less than `level`
        where they go together (Sidak 1967).
    """
    return float(level ** (1 / max(count, 1)))


def _ordered(p: Values) -> tuple[Ids, int]:
    """The places of the tests that there are, smallest first, and their number."""
    places = np.flatnonzero(~np.isnan(p))
    return places[np.argsort(p[places], kind="stable")], places.size


def _placed(places: Ids, steps: Values, count: int) -> Values:
    adjusted = np.full(count, np.nan)
    adjusted[places] = np.minimum(steps, 1.0)
    return adjusted
