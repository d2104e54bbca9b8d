"""Coverage: how often the intervals hold the rate that was planted, and how wide.

Runs of five turns, 2 to 20 of them in each of 1, 3 or 12 strata; rates from .03 to .9,
the same in all strata or spread around their mean; turns within a run correlate by .2
or .65, either because each run has a rate of its own (beta) or because some turns copy
an outcome common to the run (common). What is held against them is Wilson's interval
with the same t quantile and the design effect that was planted, which nobody knows.

    python -m benchmarks coverage
    python -m benchmarks.coverage        prints the table of the docs
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import Figure
from offrecord.estimates.arrays.intervals import wilson
from offrecord.estimates.arrays.stratified import rate_limits
from offrecord.estimates.arrays.weighed import Layout, Weighed

TURNS: Final = 5
DRAWS: Final = 10_000
HOLDS: Final = 0.93
WIDTH: Final = 1.25

RUNS: Final = (2, 3, 5, 10, 20)
STRATA: Final = (1, 3, 12)
RATES: Final = (0.03, 0.1, 0.3, 0.5, 0.7, 0.9)
CORRELATIONS: Final = (0.2, 0.65)
POPULATIONS: Final = ("beta", "common")
SPREADS: Final = {"equal": 0.0, "unlike": 0.4, "very unlike": 0.9}
"""How far the strata's rates reach, in shares of the way from their mean to 0 or 1."""


class Design(NamedTuple):
    """What is planted."""

    strata: int
    runs: int
    rate: float
    correlation: float
    population: str
    spread: str

    @property
    def rates(self) -> NDArray[np.float64]:
        """The rate of each stratum, their mean the planted one."""
        reach = SPREADS[self.spread] * min(self.rate, 1 - self.rate)
        return self.rate + reach * np.linspace(-1, 1, self.strata)

    def __str__(self) -> str:
        return (
            f"{self.strata} x {self.runs} runs, rate {self.rate}, "
            f"correlation {self.correlation}, {self.population}, {self.spread}"
        )


class Outcome(NamedTuple):
    """How an interval did in one design."""

    design: Design
    covered: float
    """Share of draws whose interval holds the planted rate."""
    naive: float
    """The same of the interval that takes turns as independent."""
    reference: float
    """The same of the reference."""
    width: float
    """Mean width over that of the reference."""

    @property
    def rated(self) -> bool:
        """Whether the reference covers, so that its width says something."""
        return self.reference >= HOLDS


def designs(
    spreads: Iterable[str] = SPREADS, populations: Iterable[str] = POPULATIONS
) -> Iterator[Design]:
    """All designs with at least five runs; one stratum has nothing to be unlike."""
    grid = product(STRATA, RUNS, RATES, CORRELATIONS, populations, spreads)
    for design in (Design(*cell) for cell in grid):
        alone = design.strata == 1 and design.spread != "equal"
        if design.strata * design.runs >= 5 and not alone:
            yield design


def simulate(design: Design, rng: np.random.Generator, draws: int) -> Weighed:
    """Draw samples of a design, shape (draws, clusters)."""
    shape = (draws, design.strata, design.runs)
    rates = np.broadcast_to(design.rates[:, None], shape)
    if design.population == "beta":
        scale = 1 / design.correlation - 1
        own = rng.beta(rates * scale, (1 - rates) * scale)
        sums = rng.binomial(TURNS, own)
    else:  # each turn copies with this chance: two do with the correlation's
        copies = rng.binomial(TURNS, math.sqrt(design.correlation), shape)
        sums = copies * (rng.random(shape) < rates)
        sums = sums + rng.binomial(TURNS - copies, rates)
    clusters = design.strata * design.runs
    layout = Layout(
        np.full(clusters, float(TURNS)),
        np.repeat(np.arange(design.strata), design.runs),
        np.ones(design.strata),
    )
    return Weighed(sums.reshape(draws, clusters).astype(np.float64), layout)


def outcome(design: Design, rng: np.random.Generator, draws: int = DRAWS) -> Outcome:
    """Draw samples and hold their intervals against the planted rate."""
    sums = simulate(design, rng, draws)
    rates = design.rates
    effect = 1 + (TURNS - 1) * design.correlation
    turns = float(sums.layout.sizes.sum())
    true = float((rates * (1 - rates)).mean()) * effect / turns
    number = design.rate * (1 - design.rate) / true
    quantile = float(stats.t.ppf(0.975, sums.layout.freedom))
    normal = float(stats.norm.ppf(0.975))
    reference = wilson(sums.value, number, quantile)
    limits = rate_limits(sums)
    return Outcome(
        design,
        _covered(limits, design.rate),
        _covered(wilson(sums.value, turns, normal), design.rate),
        _covered(reference, design.rate),
        float(
            (limits.high - limits.low).mean() / (reference.high - reference.low).mean()
        ),
    )


def run(seed: int = 1, draws: int = DRAWS) -> list[Figure]:
    """The worst designs of each kind."""
    rng = np.random.default_rng(seed)
    error = math.sqrt(HOLDS * (1 - HOLDS) / draws)
    figures = [Figure("Monte Carlo error of a coverage", f"{error:.2%}")]
    for spread in SPREADS:
        done = [outcome(design, rng, draws) for design in designs([spread])]
        least = min(done, key=lambda o: o.covered)
        widest = max((o for o in done if o.rated), key=lambda o: o.width)
        naive = [o.naive for o in done]
        figures += [
            Figure(
                f"{spread} strata, least coverage of {len(done)} designs",
                f"{least.covered:.1%} ({least.design})",
                f"{HOLDS:.0%} or more",
            ),
            Figure(
                f"{spread} strata, widest against the planted design effect",
                f"{widest.width:.2f} ({widest.design})",
                f"{WIDTH} at most" if spread != "very unlike" else "",
            ),
            Figure(
                f"{spread} strata, mean width",
                f"{np.mean([o.width for o in done if o.rated]):.2f}",
            ),
            Figure(
                f"{spread} strata, turns as independent: least coverage",
                f"{min(naive):.1%}; below {HOLDS:.0%} in "
                f"{sum(share < HOLDS for share in naive)} of {len(naive)}",
                "shown failing",
            ),
        ]
    return figures


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of Markdown: the worst over rates, correlations and populations."""
    yield "| strata | runs each | rates | coverage | width | turns as independent |"
    yield "|--:|--:|---|--:|--:|--:|"
    grid = product(STRATA, RUNS, SPREADS)
    for strata, runs, spread in grid:
        some = [
            o for o in outcomes if (o.design.strata, o.design.runs) == (strata, runs)
        ]
        some = [o for o in some if o.design.spread == spread]
        if some:
            yield (
                f"| {strata} | {runs} | {spread} | {min(o.covered for o in some):.1%} "
                f"| {max(o.width for o in some if o.rated):.2f} "
                f"| {min(o.naive for o in some):.1%} |"
            )


def _covered(limits: tuple[NDArray[np.float64], ...], rate: float) -> float:
    low, high = limits
    return float(((low <= rate) & (rate <= high)).mean())


if __name__ == "__main__":
    generator = np.random.default_rng(1)
    print(*table([outcome(design, generator) for design in designs()]), sep="\n")
