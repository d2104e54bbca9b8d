"""Nominal coverage: how often two clustered standard errors reach a planted rate.

Drawn from the definition of the simulated population and of the standard error alone,
with no prompt, text or parser, it is what the recovery of a study is held against.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def expected_coverage(
    rates: Sequence[float],
    *,
    runs: int,
    rounds: int,
    persistence: float,
    rng: np.random.Generator,
    samples: int = 2000,
) -> float:
    """The share of samples whose mean is within two clustered errors of the truth.

    Args:
        rates: The true share of divergent turns in each cell, as fractions of 1.
        runs: Runs of each cell.
        rounds: Turns of each run.
        persistence: Probability that a turn keeps the state of the one before.
        rng: Draws the samples.
        samples: How many.
    """
    shape = (samples, len(rates), runs)
    divergent = chains(
        np.asarray(rates)[None, :, None], shape, rounds, persistence, rng
    )
    counts = divergent.sum(axis=-1)  # of each run
    turns = len(rates) * runs * rounds
    error = counts.sum(axis=(1, 2)) / turns - np.mean(rates)
    # The variance of a sum over cells: G times the runs' own variance in each.
    variance = runs * counts.var(axis=-1, ddof=1).sum(axis=-1) / turns**2
    return float((np.abs(error) <= 2 * np.sqrt(variance) + 1e-12).mean())


def chains(
    rates: NDArray[np.float64],
    shape: tuple[int, ...],
    rounds: int,
    persistence: float,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """States of runs, turn by turn: kept from the turn before, or drawn anew.

    Args:
        rates: Probabilities of the state, broadcast to `shape`.
        shape: One entry per run.
        rounds: Turns of each run.
        persistence: Probability of keeping.
        rng: Draws.

    Returns:
        Shape (*shape, rounds): whether the turn is in the state.
    """
    state = rng.random(shape) < rates
    turns = [state]
    for _ in range(rounds - 1):
        state = np.where(
            rng.random(shape) < persistence, state, rng.random(shape) < rates
        )
        turns.append(state)
    return np.stack(turns, axis=-1)
