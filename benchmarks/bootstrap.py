"""The cluster bootstrap: all draws at once, against one draw after another.

A study of 600 runs is simulated (8 models, 5 conditions, 3 scenarios, 5 runs, 5 turns)
and 10,000 draws made of each model and condition. The loop does the same for a share of
the draws, its time scaled up.

    python -m benchmarks bootstrap
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np

from benchmarks import Figure
from offrecord.estimates.arrays.bootstrap import DRAWS, bootstrap_means
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.variance import Sample, Totals, totals

GROUPS: Final = 40
CELLS: Final = 3
RUNS: Final = 5
TURNS: Final = 5
LOOPED: Final = 100
"""Draws that the loop makes."""


def run() -> list[Figure]:
    """Time both, and compare the spread that they find."""
    rng = np.random.default_rng(1)
    groups = list(_groups(rng))
    started = time.perf_counter()
    spreads = [bootstrap_means(group, rng).std() for group in groups]
    at_once = time.perf_counter() - started
    started = time.perf_counter()
    looped = [_loop(group, rng, LOOPED) for group in groups]
    one_by_one = (time.perf_counter() - started) * DRAWS / LOOPED
    ratio = np.mean([s.std() for s in looped]) / np.mean(spreads)
    return [
        Figure(
            f"{DRAWS:,} draws of each of {GROUPS} groups, {GROUPS * CELLS * RUNS} runs",
            f"{at_once:.2f} s",
            "seconds",
        ),
        Figure("the same in a plain loop", f"{one_by_one:.0f} s"),
        Figure("times as fast", f"{one_by_one / at_once:.0f}"),
        Figure("standard error of the loop over ours", f"{ratio:.3f}", "about 1"),
    ]


def _groups(rng: np.random.Generator) -> Iterator[Totals]:
    runs = np.repeat(np.arange(CELLS * RUNS), TURNS)
    for _ in range(GROUPS):
        own = rng.beta(1, 2, CELLS * RUNS)
        values = (rng.random(runs.size) < own[runs]).astype(np.float64)
        group = totals(Sample(values, runs, runs, runs // RUNS))
        assert group is not None
        yield group


def _loop(sums: Totals, rng: np.random.Generator, draws: int) -> Values:
    strata = [np.flatnonzero(sums.strata == h) for h in range(sums.counts.size)]
    means = []
    for _ in range(draws):
        drawn = [rng.choice(runs, size=runs.size - 1) for runs in strata]
        chosen = list(chain.from_iterable(drawn))
        means.append(
            sum(float(sums.sums[run]) for run in chosen)
            / sum(float(sums.sizes[run]) for run in chosen)
        )
    return np.array(means)
