"""The gate's one-sided errors: verdicts that are wrong while the truth is on the limit.

A study whose true figure is exactly the threshold should neither pass nor fail. Runs
of five turns in cells of equal numbers of runs; turns of a run correlate by .2 or .65
(each run has rates of its own); rates of .05 to .5, alike in all cells or spread around
their mean. A check passes if the upper bound of its 95 % interval is at most the
threshold, and fails if the lower one is above it: 2.5 % each is what such an interval
leaves.

    python -m benchmarks gate_errors
    python -m benchmarks.gate_errors        prints the table of the docs
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from benchmarks import Figure
from benchmarks.coverage import TURNS
from benchmarks.signed import (
    DRAWS,
    Outcome,
    Sides,
    effect_outcome,
    effects,
    events,
    layout_of,
    outcome,
)
from offrecord.estimates.arrays.stratified import rate_limits
from offrecord.estimates.arrays.weighed import Weighed

RUNS: Final = (3, 5, 10, 20)
CELLS: Final = (1, 3, 6)
CORRELATIONS: Final = (0.2, 0.65)
RATES: Final = (0.05, 0.1, 0.3, 0.5)
SPREADS: Final = (0.0, 0.8)


class Errors(NamedTuple):
    """The largest error of each side over some designs, and where it is."""

    passing: float
    failing: float
    worst: str


def shares(cells: int, rate: float, spread: float) -> list[float]:
    """Rates of cells around their mean."""
    return [float(one) for one in rate * (1 + spread * np.linspace(-1, 1, cells))]


def designs(cells: int) -> Iterator[tuple[float, float, float]]:
    """Correlation, rate and spread; a lone cell has nothing to spread over."""
    spreads = SPREADS if cells > 1 else (0.0,)
    return product(CORRELATIONS, RATES, spreads)


def named(rho: float, rate: float, spread: float) -> str:
    """A design in words."""
    return f"rate {rate}, correlation {rho}, spread {spread}"


def rate_errors(
    cells: int, runs: int, rng: np.random.Generator, draws: int = DRAWS
) -> Errors:
    """Of a rate, over correlations, rates and spreads."""
    done = {}
    for rho, rate, spread in designs(cells):
        planted = tuple((runs, one) for one in shares(cells, rate, spread))
        layout, each = layout_of(planted)
        shape = (draws, each.size)
        sums = events(np.broadcast_to(each, shape), rho, rng, np.array(TURNS))
        limits = rate_limits(Weighed(sums, layout))
        done[named(rho, rate, spread)] = outcome(limits.low, limits.high, rate)
    return _largest(done)


def effect_errors(
    cells: int, runs: int, rng: np.random.Generator, draws: int = DRAWS
) -> Errors:
    """Of the audience effect, a baseline cell beside every cell."""
    done = {}
    for rho, rate, spread in designs(cells):
        under = tuple((runs, one) for one in shares(cells, rate, spread))
        sides = Sides(under, ((runs, 0.03),) * cells, 0.02)
        drawn = effects(sides, rho, rng, draws)
        done[named(rho, rate, spread)] = effect_outcome(drawn)
    return _largest(done)


def _largest(done: dict[str, Outcome]) -> Errors:
    worst = max(done, key=lambda name: max(done[name].below, done[name].above))
    return Errors(
        max(one.below for one in done.values()),
        max(one.above for one in done.values()),
        worst,
    )


def run(seed: int = 1, draws: int = DRAWS) -> list[Figure]:
    """The worst of all designs."""
    rng = np.random.default_rng(seed)
    figures = [
        Figure(
            "Monte Carlo error of an error of 2.5 %",
            f"{math.sqrt(0.025 * 0.975 / draws):.2%}",
        )
    ]
    for name, errors in (("rate", rate_errors), ("audience effect", effect_errors)):
        for cells, runs in product(CELLS, RUNS):
            found = errors(cells, runs, rng, draws)
            figures.append(
                Figure(
                    f"{name}, {cells} x {runs} runs, truth on the limit",
                    f"passes {found.passing:.1%}, fails {found.failing:.1%} "
                    f"({found.worst})",
                    "2.5% each",
                )
            )
    return figures


def table(rng: np.random.Generator, draws: int = DRAWS) -> Iterator[str]:
    """Lines of Markdown, the worst design of each size."""
    yield "| cells | runs each | rate passes | fails | Z passes | fails |"
    yield "|--:|--:|--:|--:|--:|--:|"
    for cells, runs in product(CELLS, RUNS):
        both = (
            rate_errors(cells, runs, rng, draws),
            effect_errors(cells, runs, rng, draws),
        )
        shown = [f"{one.passing:.1%} | {one.failing:.1%}" for one in both]
        yield f"| {cells} | {runs} | {' | '.join(shown)} |"


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
