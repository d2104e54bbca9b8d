"""The anytime gate: wrong verdicts on the limit, and blocks to a verdict.

Studies are drawn as run means, without prompts: one run of each cell a block, turns of
a run correlated by each run having rates of its own (beta). Planted are a share
over cells around 30 points, the audience effect Z around 10 with few divergent turns in
baseline, and conversion Y around 10 on top of 40 off the record, cells unlike in each.

Last, what the gate rests on is broken: all runs of a block are shifted together, up or
down by so many points at random, as if a provider changed from block to block.

A gate looks after every block, up to 100. On the limit it may pass or fail in 2.5 % of
studies each. Off the limit, the blocks to a verdict stand beside those of a fixed
design: the normal one-sided 2.5 % test with 90 % power at 5 points off, which knows the
variance of a block that was planted.

    python -m benchmarks anytime
    python -m benchmarks.anytime        prints the table of the docs
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from benchmarks import Figure
from offrecord.estimates.arrays.anytime import (
    ALPHA,
    Check,
    difference_check,
    gate,
    share_check,
)
from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.rates import Values

STUDIES: Final = 2000
SEEN: Final = 400
"""Studies whose blocks to a verdict are counted."""
BLOCKS: Final = 100
LONGEST: Final = 400
OFF: Final = 0.08
POWER: Final = 0.9
POWERED: Final = 0.05

SHOCKS: Final = (0.05, 0.1, 0.15)

FIGURES: Final = {"share": 0.3, "Z": 0.1, "Y": 0.1}
"""Each figure with its limit."""
CELLS: Final = (1, 6)
TURNS: Final = (2, 5)
CORRELATIONS: Final = (0.2, 0.65)

BASELINE_ACCOMMODATING: Final = 0.03
REVERSING: Final = 0.02
OFF_THE_RECORD: Final = 0.4
UNLIKE: Final = 0.6
"""How far rates of cells reach, in shares of the way from their mean to 0 or 1."""


class Design(NamedTuple):
    """What is planted."""

    figure: str
    cells: int
    """Of each side."""
    turns: int
    correlation: float

    @property
    def limit(self) -> float:
        """What the figure is held against."""
        return FIGURES[self.figure]

    def __str__(self) -> str:
        return (
            f"{self.figure}, {self.cells} cells, {self.turns} turns, "
            f"correlation {self.correlation}"
        )


class Speed(NamedTuple):
    """Blocks to a verdict with the truth 8 points off."""

    blocks: float
    """On average; a study without a verdict counts with the longest."""
    fixed: float
    """Those of the fixed design."""
    right: float
    """Share of studies with the right verdict."""

    def __str__(self) -> str:
        least = "" if self.right > 0.99 else "at least "
        return f"{least}{self.blocks:.0f}"


def designs() -> Iterator[Design]:
    """All designs."""
    for design in product(FIGURES, CELLS, TURNS, CORRELATIONS):
        yield Design(*design)


def spread(mean: float, cells: int) -> Values:
    """Unlike rates of so many cells, with this mean."""
    reach = UNLIKE * min(mean, 1 - mean)
    return mean + reach * (np.linspace(-1, 1, cells) if cells > 1 else np.zeros(1))


def shares(
    rates: Values, design: Design, rng: np.random.Generator, shape: tuple[int, int]
) -> RunMeans:
    """Shares of runs, (studies, blocks, cells)."""
    scale = 1 / design.correlation - 1
    own = rng.beta(rates * scale, (1 - rates) * scale, (*shape, rates.shape[-1]))
    means = rng.binomial(design.turns, own) / design.turns
    return RunMeans(means, means)


def gaps(
    rates: Values, design: Design, rng: np.random.Generator, shape: tuple[int, int]
) -> RunMeans:
    """Gaps of runs whose turns accommodate at these rates, and some reverse."""
    scale = 1 / design.correlation - 1
    size = (*shape, rates.size)
    reversing = rng.beta(REVERSING * scale, (1 - REVERSING) * scale, size)
    back = rng.binomial(design.turns, reversing)
    rest = rates / (1 - REVERSING)  # of the turns that do not reverse
    own = rng.beta(rest * scale, (1 - rest) * scale, size)
    means = (rng.binomial(design.turns - back, own) - back) / design.turns
    return RunMeans(means, means)


def planted(
    design: Design, truth: float, rng: np.random.Generator, shape: tuple[int, int]
) -> Check:
    """Studies whose figure is the truth.

    Args:
        design: The design.
        truth: The figure.
        rng: Draws the studies.
        shape: Studies and blocks.
    """
    cells = design.cells
    if design.figure == "share":
        return share_check(shares(spread(truth, cells), design, rng, shape), 0.3)
    if design.figure == "Y":
        sides = [
            shares(spread(mean, cells), design, rng, shape)
            for mean in (OFF_THE_RECORD + truth, OFF_THE_RECORD)
        ]
        return difference_check(sides[0], sides[1], design.limit, signed=False)
    sides = [
        gaps(spread(mean, cells), design, rng, shape)
        for mean in (BASELINE_ACCOMMODATING + truth, BASELINE_ACCOMMODATING)
    ]
    return difference_check(sides[0], sides[1], design.limit)


def border(
    design: Design, rng: np.random.Generator, studies: int = STUDIES
) -> tuple[float, float]:
    """Shares of studies on the limit that pass and that fail."""
    found = gate([planted(design, design.limit, rng, (studies, BLOCKS))])
    return float((found.passed > 0).mean()), float((found.failed > 0).mean())


def shocked(
    shock: float, rng: np.random.Generator, studies: int = STUDIES
) -> tuple[float, float]:
    """`border` of a share in 6 cells whose blocks are shifted as a whole."""
    design = Design("share", 6, 5, 0.4)
    signs = rng.choice([-1.0, 1.0], size=(studies, BLOCKS, 1))
    rates = np.broadcast_to(design.limit + shock * signs, (studies, BLOCKS, 6))
    means = shares(rates, design, rng, (studies, BLOCKS))
    found = gate([share_check(means, design.limit)])
    return float((found.passed > 0).mean()), float((found.failed > 0).mean())


def fixed_blocks(design: Design, truth: float, rng: np.random.Generator) -> float:
    """Blocks of a fixed design for a truth that is 5 points off."""
    check = planted(design, truth, rng, (1, 20_000))
    halves = 1.0 if design.figure == "share" else 2.0
    variance = float((check.means.low @ check.weights * halves).var())
    needed = stats.norm.ppf(1 - ALPHA) + stats.norm.ppf(POWER)
    return float(math.ceil(float(needed) ** 2 * variance / POWERED**2))


def speed(
    design: Design, side: int, rng: np.random.Generator, studies: int = SEEN
) -> Speed:
    """Blocks to a verdict, with the truth below (-1) or above (1) the limit."""
    found = gate([planted(design, design.limit + side * OFF, rng, (studies, LONGEST))])
    right = found.passed if side < 0 else found.failed
    ended = np.maximum(found.passed, found.failed)
    fixed = fixed_blocks(design, design.limit + side * POWERED, rng)
    blocks = float(np.where(ended > 0, ended, LONGEST).mean())
    return Speed(blocks, fixed, float((right > 0).mean()))


def run(seed: int = 1, studies: int = STUDIES, seen: int = SEEN) -> list[Figure]:
    """The worst and the mean over designs."""
    rng = np.random.default_rng(seed)
    every = list(designs())
    wrong = {design: border(design, rng, studies) for design in every}
    figures = [
        Figure(
            "Monte Carlo error of an error of 2.5 %",
            f"{math.sqrt(ALPHA * (1 - ALPHA) / studies):.2%}",
        )
    ]
    for place, name in enumerate(("pass", "fail")):
        worst = max(every, key=lambda design: wrong[design][place])
        figures.append(
            Figure(
                f"wrong {name} on the limit, most of {len(every)} designs",
                f"{wrong[worst][place]:.2%} ({worst})",
                f"{ALPHA:.1%} at most",
            )
        )
    for side, name in ((-1, "below"), (1, "above")):
        for figure in FIGURES:
            # With one cell many studies end without a verdict: see the table.
            some = [d for d in every if d.figure == figure and d.cells == CELLS[-1]]
            done = [speed(design, side, rng, seen) for design in some]
            blocks, fixed = (
                np.mean([getattr(s, n) for s in done]) for n in ("blocks", "fixed")
            )
            figures.append(
                Figure(
                    f"{figure} 8 points {name}, {CELLS[-1]} cells: blocks, if fixed",
                    f"{blocks:.0f}, {fixed:.0f} ({blocks / fixed:.0%}); "
                    f"right in {min(s.right for s in done):.1%} or more",
                )
            )
    for shock in SHOCKS:
        passed, failed = shocked(shock, rng, studies)
        figures.append(
            Figure(
                f"blocks shifted by {100 * shock:.0f} points at random",
                f"{passed:.2%} wrong passes, {failed:.2%} wrong fails",
                "what the gate rests on is broken",
            )
        )
    return figures


def table(rng: np.random.Generator) -> Iterator[str]:
    """Lines of Markdown, one per design."""
    yield (
        "| figure | cells | turns | correlation | wrong pass | wrong fail "
        "| 8 below: blocks | fixed | 8 above: blocks | fixed |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for design in designs():
        passed, failed = border(design, rng)
        below, above = (speed(design, side, rng) for side in (-1, 1))
        yield (
            f"| {design.figure} | {design.cells} | {design.turns} "
            f"| {design.correlation} | {passed:.2%} | {failed:.2%} "
            f"| {below} | {below.fixed:.0f} "
            f"| {above} | {above.fixed:.0f} |"
        )


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
