"""Coverage of persistence: the chance that an agent's next turn has the same state.

Planted: a turn keeps the state of the one before with a chance k, else it is drawn anew
at the rate r of its cell, so that the state lasts with k + (1 - k) r. Cells of unlike
rates and numbers of runs; turns in the state weigh alike, as in the estimate.

    python -m benchmarks persistence
    python -m benchmarks.persistence        prints the table of the docs
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from benchmarks import Figure
from benchmarks.nominal import chains
from benchmarks.signed import HOLDS, Outcome, outcome
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.stratified import stratified_rate

ROUNDS: Final = 5
DRAWS: Final = 1500
KEPT: Final = (0.2, 0.65)


class Cells(NamedTuple):
    """Runs of each cell, and the rate of the state."""

    runs: tuple[int, ...]
    rates: tuple[float, ...]


DESIGNS: Final[dict[str, Cells]] = {
    "3 cells of 5 runs at .3": Cells((5, 5, 5), (0.3, 0.3, 0.3)),
    "5, 5, 5 runs at .1, .4, .8": Cells((5, 5, 5), (0.1, 0.4, 0.8)),
    "20, 5, 3 runs at .1, .4, .8": Cells((20, 5, 3), (0.1, 0.4, 0.8)),
    "3, 5, 20 runs at .1, .4, .8": Cells((3, 5, 20), (0.1, 0.4, 0.8)),
    "10, 10 runs at .1, .9": Cells((10, 10), (0.1, 0.9)),
}


def lasting(
    cells: Cells, kept: float, rng: np.random.Generator, draws: int = DRAWS
) -> Outcome:
    """The interval of how often a state lasts; studies without it are left out."""
    rates = np.array(cells.rates)
    cell = np.repeat(np.arange(rates.size), cells.runs)
    seen = rates * cells.runs
    truth = float(seen @ (kept + (1 - kept) * rates) / seen.sum())
    bounds = list[tuple[float, float]]()
    while len(bounds) < draws:
        state = chains(rates[cell], cell.shape, ROUNDS, kept, rng)
        runs, places = np.nonzero(state[:, :-1])
        if not runs.size:
            continue
        same = state[runs, places + 1].astype(np.float64)
        sample = Sample(same, runs, runs, cell[runs])
        found = stratified_rate(sample, Weights.TURNS.of_cells(sample))
        bounds.append((found.low, found.high))
    low, high = np.array(bounds).T
    return outcome(low, high, truth)


def outcomes(
    rng: np.random.Generator, draws: int = DRAWS
) -> Iterator[tuple[str, float, Outcome]]:
    """Each design and chance of keeping."""
    for name, kept in product(DESIGNS, KEPT):
        yield name, kept, lasting(DESIGNS[name], kept, rng, draws)


def run(seed: int = 1, draws: int = DRAWS) -> list[Figure]:
    """Coverage in each design."""
    rng = np.random.default_rng(seed)
    return [
        Figure(f"{name}, kept {kept}: coverage", f"{one.covered:.1%}", str(HOLDS))
        for name, kept, one in outcomes(rng, draws)
    ]


def table(rng: np.random.Generator) -> Iterator[str]:
    """Lines of Markdown, one per design."""
    yield "| cells | kept | coverage | ends below | begins above | width |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, kept, one in outcomes(rng):
        yield (
            f"| {name} | {kept} | {one.covered:.1%} | {one.below:.1%} "
            f"| {one.above:.1%} | {100 * one.width:.1f} |"
        )


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
