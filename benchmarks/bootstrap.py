"""The cluster bootstrap within strata, as a reference for the clustered error.

A study of 600 runs is simulated (8 models, 5 conditions, 3 scenarios, 5 runs, 5 turns)
and 10,000 draws made of each model and condition.

    python -m benchmarks bootstrap
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Final

import numpy as np

from benchmarks import Figure
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.variance import Sample, Totals, totals, variance

DRAWS: Final = 10_000
GROUPS: Final = 40
CELLS: Final = 3
RUNS: Final = 5
TURNS: Final = 5


def run() -> list[Figure]:
    """Compare the spread of the draws with the error of the formula."""
    rng = np.random.default_rng(1)
    groups = list(_groups(rng))
    started = time.perf_counter()
    drawn = [bootstrap_means(group, rng).std() for group in groups]
    taken = time.perf_counter() - started
    ours = [math.sqrt(float(variance(group))) for group in groups]
    ratio = np.mean(drawn) / np.mean(ours)
    return [
        Figure(
            f"{DRAWS:,} draws of each of {GROUPS} groups, {GROUPS * CELLS * RUNS} runs",
            f"{taken:.2f} s",
            "seconds",
        ),
        Figure("standard error of the draws over ours", f"{ratio:.3f}", "about 1"),
    ]


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


def _groups(rng: np.random.Generator) -> Iterator[Totals]:
    runs = np.repeat(np.arange(CELLS * RUNS), TURNS)
    for _ in range(GROUPS):
        own = rng.beta(1, 2, CELLS * RUNS)
        values = (rng.random(runs.size) < own[runs]).astype(np.float64)
        group = totals(Sample(values, runs, runs, runs // RUNS))
        assert group is not None
        yield group
