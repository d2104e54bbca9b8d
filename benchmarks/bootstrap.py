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
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.weighed import Weighed, variance, weighed

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
    sums: Weighed, rng: np.random.Generator, draws: int = DRAWS
) -> Values:
    """Means of cells of which each has its clusters drawn anew.

    From a cell of G clusters G - 1 are drawn (Rao and
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
    layout, drawn = sums.layout, np.zeros(draws)
    pairs = np.stack([sums.sums, layout.sizes], axis=-1)
    cells = zip(layout.starts, layout.runs, layout.weights, strict=True)
    for start, count, weight in cells:
        cell = pairs[start : start + count]
        most = max(count - 1, 1)
        times = rng.multinomial(most, np.full(count, 1 / count), size=draws)
        both = times @ cell
        drawn += weight * both[:, 0] / both[:, 1]
    return drawn


def _groups(rng: np.random.Generator) -> Iterator[Weighed]:
    runs = np.repeat(np.arange(CELLS * RUNS), TURNS)
    for _ in range(GROUPS):
        own = rng.beta(1, 2, CELLS * RUNS)
        values = (rng.random(runs.size) < own[runs]).astype(np.float64)
        group = weighed(Sample(values, runs, runs, runs // RUNS))
        assert group is not None
        yield group
