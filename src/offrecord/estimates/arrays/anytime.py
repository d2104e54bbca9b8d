"""A gate that may be looked at after every block: e-processes of a stratified mean.

A block holds one run of each cell. Run i of a block has the mean x_i over its turns, of
conditional mean mu_i given the blocks before, the cell weight c_i in the figure (all of
them sum to 1) and the target tau_i; n runs are in the block, w_i = n c_i. For targets
and a bet lambda >= 0 that are known before the block and leave all factors nonnegative,

    E prod_i (1 + lambda w_i (tau_i - x_i)) = prod_i (1 + lambda w_i (tau_i - mu_i))
        <= (1 + lambda (sum c_i tau_i - sum c_i mu_i))^n <= 1

if sum c_i mu_i >= sum c_i tau_i: the runs of a block are independent given the past,
and a geometric mean is at most the arithmetic one. So the product is an e-value against
"the figure is at its limit or above", its product over blocks a test supermartingale,
and so is the average over a fixed grid of bets. By Ville's inequality it ever reaches
1 / alpha with a chance of at most alpha. With x_i - tau_i it is one against "the figure
is at its limit or below" (Waudby-Smith and Ramdas, JRSS B 86, 2024, bet on one mean;
Turner, Ly and Grunwald 2024 have the product over groups).

Only sum c_i tau_i is fixed. The inequality loses what the differences tau_i - mu_i
differ by: with one target for all, a cell near 0 beside one near 1 says almost nothing.
So a target is what blocks before say of its cell, all moved alike until they meet the
limit, and drawn toward the middle until they are well inside what x can be.

A difference to baseline counts baseline's runs with the negative of their value, and
each side's weights sum to 1. Halved, they sum to 1 together; the mean is then half the
difference, and the target half the limit.

What this rests on: the limit is met or not in every block (the figure may move, but not
from one side of the limit to the other and back), and runs of one block share nothing
but the past. A provider that changes from block to block and moves all cells together
breaks both: at random by 5 points that does no harm, by 15 points 7 to 10 % of verdicts
are wrong each way (`benchmarks/anytime.py`). Blocks are taken in the order of their
repeats, each once all its runs have ended. Nothing is assumed of turns within a run. A
missing turn counts as what speaks most for the hypothesis that is tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from scipy.special import logsumexp

from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.verdict import Verdict

ALPHA: Final = 0.025
"""How often a gate may pass, or fail, at most, where the truth is on the limit."""

BETS: Final = np.geomspace(0.03, 1.0, 16)
"""The grid: shares of the largest bet that leaves all factors nonnegative."""

_PRIOR: Final = 2.0  # blocks' worth of the first target in each cell's own
_INSIDE: Final = 0.9  # of the way from the first target to an end of the range


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One figure that a gate holds against a limit, in blocks of one run of each cell.

    Raises:
        ValueError: If shapes do not fit, weights are not positive with sum 1, a target
            is not inside the range, or a mean is outside it or NaN.
    """

    means: RunMeans
    """The x of each run, for either hypothesis, shape (..., blocks, runs)."""
    weights: Values
    """Shape (runs,): c, summing to 1."""
    targets: Values
    """Shape (runs,): tau of the first block; `weights @ targets` is the limit."""
    least: Values
    """Shape (runs,): the lowest that x can be."""
    most: Values
    """Shape (runs,): the highest."""
    signs: Values
    """Shape (runs,): -1 for runs of baseline, whose negative value counts; else 1."""

    @property
    def limit(self) -> float:
        """What the figure is held against: of a difference, of all of it."""
        sides = np.unique(self.signs).size
        return sides * float(self.weights @ self.targets)

    def __post_init__(self) -> None:
        shape = self.weights.shape
        given = (self.targets, self.least, self.most, self.signs)
        ends = (self.means.low.shape[-1:], self.means.high.shape[-1:])
        if {one.shape for one in given} | set(ends) != {shape} or len(shape) != 1:
            raise ValueError("a block has one mean, weight and target for each run")
        if not (self.weights > 0).all() or not math.isclose(self.weights.sum(), 1.0):
            raise ValueError("weights of the runs of a block are positive and sum to 1")
        if not ((self.least < self.targets) & (self.targets < self.most)).all():
            raise ValueError("a limit lies inside what the figure can be")
        low, high = self.means
        if not ((self.least <= low) & (low <= high) & (high <= self.most)).all():
            raise ValueError("a run's mean is outside its range, or missing")


class Paths(NamedTuple):
    """Logarithms of e-values after each block, shape (..., blocks)."""

    below: Values
    """Against "at the limit or above": large if the figure is below."""
    above: Values
    """Against "at the limit or below": large if the figure is above."""


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """What several checks say together after each block."""

    paths: tuple[Paths, ...]
    """One per check."""
    passed: Ids
    """Shape (...): the block (1, 2, ...) that brought "pass"; 0 for none."""
    failed: Ids
    """The same for "fail". At most one of the two is not 0."""

    def verdict(self, blocks: int) -> Verdict:
        """The verdict after so many blocks, of a gate of one study; it stays."""
        if 0 < int(self.failed) <= blocks:
            return Verdict.FAIL
        return Verdict.PASS if 0 < int(self.passed) <= blocks else Verdict.INCONCLUSIVE


def share_check(means: RunMeans, limit: float, weights: Values | None = None) -> Check:
    """Hold a share over weighted cells against a limit.

    Args:
        means: Shares of each run, between 0 and 1.
        limit: As a fraction of 1, more than 0 and less than 1.
        weights: Shape (cells,); only their ratios count, alike by default.

    Raises:
        ValueError: As `Check`.
    """
    cells = means.low.shape[-1]
    zero = np.zeros(cells)
    return Check(means, _shares(weights, cells), zero + limit, zero, zero + 1, zero + 1)


def difference_check(
    condition: RunMeans,
    baseline: RunMeans,
    limit: float,
    *,
    signed: bool = True,
    weights: tuple[Values | None, Values | None] = (None, None),
) -> Check:
    """Hold the mean under a condition less that in baseline against a limit.

    Args:
        condition: Of each run: the gap for the audience effect, the share off the
            record for conversion, the public share for the public shift.
        baseline: The same without any context. Each block has all cells of both.
        limit: Of the difference, as a fraction of 1.
        signed: Whether values are gaps, between -1 and 1, or shares, between 0 and 1.
        weights: Of the cells of each side; only ratios within a side count. Alike by
            default; a baseline should weigh as the cells paired with it.

    Raises:
        ValueError: As `Check`.
    """
    sides = condition.low.shape[-1], baseline.low.shape[-1]
    first, second = (np.full(cells, 1.0) for cells in sides)
    means = RunMeans(
        np.concatenate([condition.low, -baseline.high], axis=-1),
        np.concatenate([condition.high, -baseline.low], axis=-1),
    )
    shares = [_shares(w, n) / 2 for w, n in zip(weights, sides, strict=True)]
    least = -1.0 if signed else 0.0
    # Shares of the two sides have ranges of their own: each target starts inside.
    apart = 0.0 if signed else (1 + abs(limit)) / 4
    targets = (limit / 2 + apart) * first, (limit / 2 - apart) * second
    return Check(
        means,
        np.concatenate(shares),
        np.concatenate(targets),
        np.concatenate([least * first, -1 * second]),
        np.concatenate([first, -least * second]),
        np.concatenate([first, -second]),
    )


def e_paths(check: Check) -> Paths:
    """The logarithms of both e-values after each block, averaged over the grid."""
    size, targets = check.weights.size * check.weights, block_targets(check)
    room = size * (check.most - targets), size * (targets - check.least)
    high = size * (targets - check.means.high)
    low = size * (check.means.low - targets)
    return Paths(
        _path(high, 1 / room[0].max(axis=-1)), _path(low, 1 / room[1].max(axis=-1))
    )


def block_targets(check: Check) -> Values:
    """The target of each run, from the blocks before it alone.

    Returns:
        Shape (..., blocks, runs), inside the range; `weights` make of each block's the
        limit.
    """
    first, middle = check.targets, (check.means.low + check.means.high) / 2
    before = np.cumsum(middle, axis=-2) - middle
    blocks = np.arange(middle.shape[-2])[:, None]
    own = (_PRIOR * first + before) / (_PRIOR + blocks) - first
    moved = own - (own @ check.weights)[..., None]
    room = np.where(moved > 0, check.most - first, first - check.least)
    share = np.full_like(moved, math.inf)
    np.divide(_INSIDE * room, np.abs(moved), out=share, where=moved != 0)
    return np.asarray(first + np.minimum(share.min(axis=-1), 1.0)[..., None] * moved)


def gate(checks: Sequence[Check], alpha: float = ALPHA, of: int = 0) -> Gate:
    """Judge several figures after each block.

    It passes once every check has shown its figure below the limit, each at 1 / alpha:
    a wrong pass needs that of one wrong check. It fails once one of k checks shows
    its figure above the limit at k / alpha. What comes first stays; of both in one
    block it is "fail".

    Args:
        checks: Of the same blocks, at least one.
        alpha: How often each verdict may be wrong.
        of: How many checks there are in all, where these are those of one group.

    Raises:
        ValueError: Without a check, or if they have other blocks.
    """
    paths = tuple(e_paths(check) for check in checks)
    if not paths:
        raise ValueError("a gate has at least one check")
    if len({path.below.shape for path in paths}) > 1:
        raise ValueError("all checks of a gate have the same blocks")
    # A check that has once been shown stays shown: each may take its best block.
    best = np.stack([np.maximum.accumulate(path.below, axis=-1) for path in paths])
    worst = np.stack([path.above for path in paths])
    passed = _first(best.min(axis=0) >= -math.log(alpha))
    failed = _first(worst.max(axis=0) >= math.log((of or len(paths)) / alpha))
    failing = (failed > 0) & ((passed == 0) | (failed <= passed))
    return Gate(paths, np.where(failing, 0, passed), np.where(failing, failed, 0))


def _shares(weights: Values | None, cells: int) -> Values:
    given = np.ones(cells) if weights is None else np.asarray(weights, float)
    return np.asarray(given / given.sum())


def _path(steps: Values, largest: Values) -> Values:
    """Average over the grid of products of 1 + bet times step, as logarithms.

    Args:
        steps: Shape (..., blocks, runs).
        largest: Shape (..., blocks): the largest bet of each block.
    """
    scaled = steps * largest[..., None]
    total = np.empty((*largest.shape, BETS.size))
    with np.errstate(divide="ignore"):
        for place, bet in enumerate(BETS):
            # Rounding must not make a factor of zero negative.
            factors = np.maximum(1 + bet * scaled, 0.0)
            total[..., place] = np.log(factors).sum(axis=-1)
    return np.asarray(logsumexp(total.cumsum(axis=-2), axis=-1) - math.log(BETS.size))


def _first(reached: Values) -> Ids:
    """The first block, counted from 1, in which something is true; 0 for none."""
    if not reached.shape[-1]:
        return np.zeros(reached.shape[:-1], dtype=np.int64)
    at = reached.argmax(axis=-1) + 1
    return np.asarray(np.where(reached.any(axis=-1), at, 0))
