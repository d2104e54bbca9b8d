"""Coverage of differences: X, Y, contrasts, audience effects of two models, the card.

What is planted stands first. Runs of five turns, turns of a run correlated by .2 or .65
(each run has rates of its own), three scenarios that are unlike. Sizes are runs of each
cell, alike or not within a side and between both.

X, Y, and contrasts of models and of conditions are differences of two rates of unlike
runs, joined by MOVER; resistance is 1 less X, at most 1. A contrast of two audience
effects is one interval by signs of four sides. A figure that ends below the truth is a
false pass of a gate on that limit, one that begins above it a false fail.

    python -m benchmarks differences
    python -m benchmarks.differences        prints the table of the docs
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from benchmarks import Figure
from benchmarks.signed import (
    CORRELATIONS,
    DRAWS,
    HOLDS,
    TURNS,
    Cells,
    Outcome,
    Sides,
    effects,
    events,
    layout_of,
    outcome,
)
from offrecord.estimates.arrays.intervals import Limits
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.signed import Signed, signed_limits
from offrecord.estimates.arrays.stratified import rate_limits
from offrecord.estimates.arrays.weighed import Layout, Weighed

Rates = tuple[float, ...]

FIGURES: Final[dict[str, tuple[Rates, Rates]]] = {
    "X": ((0.2, 0.5, 0.8), (0.05, 0.1, 0.3)),
    "Y": ((0.1, 0.2, 0.3), (0.02, 0.05, 0.1)),
    "divergence of two models": ((0.1, 0.3, 0.6), (0.1, 0.3, 0.6)),
    "divergence of two conditions": ((0.6, 0.4, 0.2), (0.3, 0.2, 0.1)),
    "resistance, two conditions": ((0.1, 0.4, 0.7) * 2, (0.05, 0.1, 0.3)),
    "resistance, no shift": ((0.05, 0.1, 0.3) * 2, (0.05, 0.1, 0.3)),
}
"""Rates of the cells of each side."""

EFFECTS: Final = "Z of two models"
REVERSING: Final = 0.02
ACCOMMODATING: Final[tuple[Rates, Rates]] = ((0.2, 0.4, 0.6), (0.1, 0.2, 0.3))
"""Of each model under the condition."""
AT_BASELINE: Final[Rates] = (0.03, 0.03, 0.03)

SIZES: Final[dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "3": ((3, 3, 3), (3, 3, 3)),
    "5": ((5, 5, 5), (5, 5, 5)),
    "10": ((10, 10, 10), (10, 10, 10)),
    "20": ((20, 20, 20), (20, 20, 20)),
    "20, 5, 3": ((20, 5, 3), (20, 5, 3)),
    "5 against 20": ((5, 5, 5), (20, 20, 20)),
}
"""Runs of each cell of each side; several conditions have them again."""


def cells_of(rates: Rates, runs: tuple[int, ...]) -> Cells:
    """Cells with their runs, which are repeated for each condition."""
    return tuple(zip(runs * (len(rates) // len(runs)), rates, strict=True))


def difference_limits(first: Weighed, second: Weighed) -> Limits:
    """MOVER of two rates of different runs, for many samples at once."""
    (low, high), (less, more) = rate_limits(first), rate_limits(second)
    a, b = first.value, second.value
    return Limits(
        a - b - np.hypot(a - low, more - b), a - b + np.hypot(high - a, b - less)
    )


def drawn(
    cells: Cells, correlation: float, rng: np.random.Generator, draws: int
) -> Weighed:
    """Samples of one side."""
    layout, rates = layout_of(cells)
    each = np.broadcast_to(rates, (draws, rates.size))
    return Weighed(events(each, correlation, rng, np.array(TURNS)), layout)


def rates_outcome(
    name: str,
    size: str,
    correlation: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Outcome:
    """A difference of two rates; of resistance, 1 less it and at most 1."""
    first, second = (
        cells_of(rates, runs)
        for rates, runs in zip(FIGURES[name], SIZES[size], strict=True)
    )
    truth = float(np.mean(FIGURES[name][0]) - np.mean(FIGURES[name][1]))
    found = difference_limits(
        *(drawn(cells, correlation, rng, draws) for cells in (first, second))
    )
    if not name.startswith("resistance"):
        return outcome(found.low, found.high, truth)
    low, high = (np.minimum(1 - end, 1.0) for end in (found.high, found.low))
    return outcome(low, high, 1 - truth)


def effects_outcome(
    size: str, correlation: float, rng: np.random.Generator, draws: int = DRAWS
) -> Outcome:
    """The audience effect of one model less that of another, each with its baseline."""
    one, two = (
        effects(
            Sides(cells_of(rates, runs), cells_of(AT_BASELINE, runs), REVERSING),
            *(correlation, rng, draws),
        )
        for rates, runs in zip(ACCOMMODATING, SIZES[size], strict=True)
    )
    first, second = one.layout, two.layout
    layout = Layout(
        np.concatenate([first.sizes, second.sizes]),
        np.concatenate([first.cells, second.cells + first.runs.size]),
        np.concatenate([first.weights, second.weights]),
    )

    def both(a: Values, b: Values) -> Weighed:
        return Weighed(np.concatenate([a, b], axis=-1), layout)

    whole = np.arange(layout.sizes.size) < first.sizes.size
    under = np.concatenate([one.condition, two.condition])
    limits = signed_limits(
        Signed(
            both(one.towards, two.away),
            both(one.away, two.towards),
            tuple(a & b for a, b in product((whole, ~whole), (under, ~under))),
        )
    )
    return outcome(4 * limits.low, 4 * limits.high, one.truth - two.truth)


def outcomes(
    rng: np.random.Generator, draws: int = DRAWS
) -> Iterator[tuple[str, str, list[Outcome]]]:
    """Each figure and size, with what came out at each correlation."""
    for name, size in product((*FIGURES, EFFECTS), SIZES):
        yield (
            name,
            size,
            [
                effects_outcome(size, rho, rng, draws)
                if name == EFFECTS
                else rates_outcome(name, size, rho, rng, draws)
                for rho in CORRELATIONS
            ],
        )


class Worst(NamedTuple):
    """The worst of several outcomes."""

    covered: float
    below: float
    above: float


def worst(found: list[Outcome]) -> Worst:
    """The least coverage and the largest errors."""
    return Worst(
        min(one.covered for one in found),
        max(one.below for one in found),
        max(one.above for one in found),
    )


def run(seed: int = 1, draws: int = DRAWS) -> list[Figure]:
    """The worst of each figure."""
    rng = np.random.default_rng(seed)
    every: dict[str, list[Outcome]] = {}
    for name, _, found in outcomes(rng, draws):
        every.setdefault(name, []).extend(found)
    return [
        Figure(
            f"{name}, {len(found)} designs: least coverage; most below and above",
            f"{one.covered:.1%}; {one.below:.1%}, {one.above:.1%}",
            str(HOLDS),
        )
        for name, found in every.items()
        for one in [worst(found)]
    ]


def table(rng: np.random.Generator) -> Iterator[str]:
    """Lines of Markdown: both correlations in one, the worse of them but for width."""
    yield "| figure | runs each | coverage | false pass | false fail | width |"
    yield "|---|---|--:|--:|--:|--:|"
    for name, size, found in outcomes(rng):
        one = worst(found)
        widths = ", ".join(f"{100 * each.width:.1f}" for each in found)
        yield (
            f"| {name} | {size} | {one.covered:.1%} | {one.below:.1%} "
            f"| {one.above:.1%} | {widths} |"
        )


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
