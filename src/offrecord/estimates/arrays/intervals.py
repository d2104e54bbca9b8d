"""Wilson's interval of a rate from an effective number of turns.

With few events a variance is itself a guess, and at 0 or 1 it is zero. So the number of
turns that an interval may claim is capped at what the design allows if turns of a run
correlate by 0.35, and the cap fades as runs that show how much they vary come in. How
it is taken over cells is in `stratified`; `benchmarks/coverage.py` shows that it holds.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Values

LEVEL: Final = 0.95
NO_SPREAD: Final = 1e-20
"""A variance of rates below this is rounding: the clusters are all alike."""

CORRELATION: Final = 0.35
"""Of turns within a cluster, until the data speak."""
INFORMATIVE: Final = 20
"""Clusters that halve its weight."""
PULL: Final = 0.25
"""Clusters' worth of the whole figure in each stratum's own rate."""


class Limits(NamedTuple):
    """Bounds, each of the shape of the samples given."""

    low: Values
    high: Values


def wilson(rate: Values, number: Values | float, quantile: float) -> Limits:
    """Wilson's interval of a rate from an effective number of turns."""
    extra = quantile**2 / number
    middle = (rate + extra / 2) / (1 + extra)
    half = np.sqrt(extra * (rate * (1 - rate) + extra / 4)) / (1 + extra)
    return Limits(
        np.where(rate > 0, middle - half, 0.0), np.where(rate < 1, middle + half, 1.0)
    )
