"""How many blocks a gate takes to its verdict, before anything is spent.

Studies are drawn as run means. All cells of a side are alike, no turn is missing, and
figures are independent of each other. A turn copies an outcome common to its run with
the chance sqrt(r), so that two turns of a run correlate by r.

Beside the mean stands a fixed design: the blocks that a normal one-sided test at the
gate's error takes to have 90 % power for a figure 5 points from its limit. A turn of
variance s^2 gives a run of T turns the variance s^2 (1 + (T - 1) r) / T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from scipy import stats

from offrecord.estimates.arrays.anytime import ALPHA, Check, gate
from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.power import design_effect
from offrecord.estimates.arrays.rates import Values

POWER: Final = 0.9
POWERED: Final = 0.05
"""How far a figure is from its limit that the fixed design shows with that power."""
STUDIES: Final = 100
LONGEST: Final = 400
"""Blocks of a study at most; one without a verdict by then counts with these."""

_SHORTEST: Final = 20
_SPARE: Final = 4  # times a fixed design for the same distance: few studies take more
_GATES: Final = 2000  # draws of the first of several groups that fails


class Outcomes(NamedTuple):
    """What a turn can be worth, and how likely; both of shape (outcomes,)."""

    values: Values
    chances: Values

    @property
    def variance(self) -> float:
        """Of one turn."""
        mean = float(self.chances @ self.values)
        return float(self.chances @ self.values**2) - mean**2


class Assumed(NamedTuple):
    """What a plan takes for granted; all are fractions of 1."""

    off: float
    """How far each figure is from its limit; none is below 0."""
    divergent: float
    """Divergent turns at baseline, as many in one direction as in the other."""
    correlation: float
    """Of turns within a run."""
    pressed: float = 0.4
    """Stances off the record on the pressed side at baseline."""

    def run_variance(self, outcomes: Outcomes, turns: int) -> float:
        """The variance of the mean of a run of so many turns."""
        return outcomes.variance * design_effect(turns, self.correlation) / turns


class Expected(NamedTuple):
    """What it takes to decide a gate, in blocks of one run of each cell."""

    blocks: float
    """On average; at least that where `decided` is less than 1."""
    most: float
    """Enough for 9 studies in 10."""
    decided: float
    """Share of studies with a verdict within the longest."""
    fixed: float
    """Those of the fixed design."""
    sized: float
    """Those of one that knows how far figures are from their limits."""


def expected_blocks(
    checks: Sequence[Check],
    turns: int,
    side: int,
    assumed: Assumed,
    rng: np.random.Generator,
    groups: int = 1,
) -> Expected:
    """Blocks to the verdict of a gate.

    Args:
        checks: Those of one group; their means are not read.
        turns: Those of a run.
        side: -1 if every figure is below its limit, 1 if every one is above.
        assumed: How figures and runs are.
        rng: Draws.
        groups: How many such groups the gate has. All must pass, each with its own
            blocks, but the first that fails ends it.
    """
    fixed, sized = (
        max(_fixed(one, turns, side * off, assumed) for one in checks)
        for off in (POWERED, assumed.off)
    )
    shape = STUDIES, int(min(max(_SPARE * sized, _SHORTEST), LONGEST))
    drawn = [
        _drawn(one, turns, side * assumed.off, assumed, rng, shape) for one in checks
    ]
    judged = gate(drawn, of=len(checks) * groups)
    ended = np.maximum(judged.passed, judged.failed)
    blocks = np.where(ended > 0, ended, shape[1])
    if side > 0:
        blocks = rng.choice(blocks, (_GATES, groups)).min(axis=1)
    return Expected(
        float(blocks.mean()),
        float(np.quantile(blocks, 0.9, method="higher")),
        float((ended > 0).mean()),
        fixed,
        sized,
    )


def run_means(
    outcomes: Outcomes,
    turns: int,
    correlation: float,
    rng: np.random.Generator,
    shape: tuple[int, ...],
) -> Values:
    """Draw means of runs of so many turns, of the shape given."""
    values, chances = outcomes
    common = rng.choice(values, shape, p=chances)
    copies = rng.binomial(turns, math.sqrt(correlation), shape)
    own = rng.multinomial(turns - copies, chances) @ values
    return np.asarray((copies * common + own) / turns)


def outcomes_of(
    check: Check, moved: float, assumed: Assumed
) -> tuple[Outcomes, Outcomes]:
    """The turns under a condition and at baseline.

    Args:
        check: A figure; a share has the same turns on both sides.
        moved: How far it is above its limit.
        assumed: What is known of baseline.
    """
    truth, either = max(check.limit + moved, 0.0), np.array([1.0, 0.0])
    if (check.signs > 0).all():
        rate = min(truth, 1.0)
        one = Outcomes(either, np.array([rate, 1 - rate]))
        return one, one
    if (check.least < 0).all():  # gaps
        half = assumed.divergent / 2
        rate = min(truth, 1 - 2 * half)
        both = np.array([1.0, -1.0, 0.0])
        under = np.array([half + rate, half, 1 - 2 * half - rate])
        return Outcomes(both, under), Outcomes(
            both, np.array([half, half, 1 - 2 * half])
        )
    rate = min(assumed.pressed + truth, 1.0)
    return (
        Outcomes(either, np.array([rate, 1 - rate])),
        Outcomes(either, np.array([assumed.pressed, 1 - assumed.pressed])),
    )


def _drawn(
    check: Check,
    turns: int,
    moved: float,
    assumed: Assumed,
    rng: np.random.Generator,
    shape: tuple[int, int],
) -> Check:
    """The check with means of drawn runs."""
    means = np.empty((*shape, check.signs.size))
    sides = check.signs > 0, check.signs < 0
    for runs, one in zip(sides, outcomes_of(check, moved, assumed), strict=True):
        size = (*shape, int(runs.sum()))
        drawn = run_means(one, turns, assumed.correlation, rng, size)
        means[..., runs] = drawn * check.signs[runs]
    return replace(check, means=RunMeans(means, means))


def _fixed(check: Check, turns: int, moved: float, assumed: Assumed) -> float:
    """Blocks of a fixed design for a figure so far from its limit."""
    under, base = (
        assumed.run_variance(one, turns) for one in outcomes_of(check, moved, assumed)
    )
    weights = check.weights * np.unique(check.signs).size
    variance = float(weights**2 @ np.where(check.signs > 0, under, base))
    needed = float(stats.norm.ppf(1 - ALPHA) + stats.norm.ppf(POWER))
    return float(max(math.ceil((needed / moved) ** 2 * variance), 1))
