"""Many tests at once: what is left of each when all of them were looked at.

Holm holds the chance of a single false finding among contrasts that were declared
before the data came. Benjamini and Hochberg hold the share of false ones among the
findings of a grid. Max-T does what Holm does and loses less where tests go together.
A test that could not be made (NaN) is none, and makes no other one harder.
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


def max_t(observed: Values, drawn: Values) -> Values:
    """Adjusted p-values of a grid by the largest statistic (Westfall and Young 1993).

    Step-down: each test is held against the largest of the tests that are no further
    out than itself. Statistics are first divided by their spread under the null, else
    the noisiest test would hide all others.

    Args:
        observed: Shape (tests,), NaN where there was no test.
        drawn: Shape (arrangements, tests): each statistic under random arrangements.

    Returns:
        Shape (tests,), (b + 1) / (arrangements + 1), NaN kept. A test whose statistic
        never varies has 1.
    """
    known = ~np.isnan(observed)
    spread = drawn[:, known].std(axis=0)
    scale = np.where(spread > 0, spread, np.inf)
    size, null = np.abs(observed[known]) / scale, np.abs(drawn[:, known]) / scale
    order = np.argsort(-size, kind="stable")
    largest = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    beyond = (largest >= size[order] - 1e-9).sum(axis=0)
    steps = np.maximum.accumulate((beyond + 1) / (drawn.shape[0] + 1))
    return _placed(np.flatnonzero(known)[order], steps, observed.size)


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
