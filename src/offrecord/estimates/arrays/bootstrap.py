"""The cluster bootstrap within strata, all draws at once."""

from __future__ import annotations

from typing import Final

import numpy as np

from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.variance import Totals

DRAWS: Final = 10_000


def bootstrap_means(
    sums: Totals, rng: np.random.Generator, draws: int = DRAWS
) -> Values:
    """Means of clusters drawn anew within each stratum.

    From a stratum of G clusters G - 1 are drawn, each with weight G / (G - 1) (Rao and
    Wu, Journal of the American Statistical Association 83, 1988): drawing G would make
    a variance too small by the factor (G - 1) / G, half of it with two runs a cell. A
    cluster alone in its stratum is always drawn.

    Args:
        sums: One sample; clusters stand in the order of their ids, so the order of
            rows changes nothing.
        rng: The same state gives the same draws.
        draws: How many means.

    Returns:
        Shape (draws,). With runs of unlike length both sum and size are drawn anew.
    """
    pairs = np.stack([sums.sums, sums.sizes], axis=-1)
    drawn = np.zeros((draws, 2))
    for start, count in zip(sums.starts, sums.counts, strict=True):
        stratum = pairs[start : start + count]
        if count == 1:
            drawn += stratum[0]
            continue
        times = rng.multinomial(count - 1, np.full(count, 1 / count), size=draws)
        drawn += times @ stratum * (count / (count - 1))
    return np.asarray(drawn[:, 0] / drawn[:, 1])
