"""Ranks with their uncertainty, and bounds that hold for all groups at once.

To rank models is to compare every pair of them, and to name the worst scenario is to
look at all of them: both take intervals that hold together, not one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds
from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.multiplicity import sidak_level
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.arrays.turns import Turns


class Rank(NamedTuple):
    """A place in the order from the largest value down, and where it may truly be."""

    value: float
    rank: float
    """1 for the largest; equal values share the mean of their places. NaN without."""
    low: int
    """The best place that no pair of intervals rules out."""
    high: int


class Worst(NamedTuple):
    """The largest value of several groups."""

    place: int
    """Its place among the groups; -1 where none has a value."""
    bounds: Bounds
    """Its value, and bounds of the largest true one, wherever that may be."""


def rank_sets(
    groups: Sequence[Turns],
    values: Sequence[Values],
    level: float = 0.95,
    weights: Weights = Weights.CELLS,
) -> list[Rank]:
    """Rank groups by their rates, with ranks that hold for all of them at once.

    The differences of all pairs get MOVER intervals at a level that makes them hold
    together (Sidak). A group is below those that are certainly above it, and above
    those that are certainly below: sets of ranks as of Mogstad, Romano, Shaikh and
    Wilhelm (2024). A bootstrap of ranks, in contrast, is too sure of near ties.

    Args:
        groups: The turns of each group, of different runs.
        values: Of each group, 0, 1 or NaN, shape (turns,).
        level: How often all ranks hold together.
        weights: What each rate is the mean of.
    """
    each = pairwise_level(len(groups), level)
    return ranked(_bounds(groups, values, each, weights))


def pairwise_level(count: int, level: float = 0.95) -> float:
    """The level of each interval with which `count` groups are ranked all at once."""
    return sidak_level(level, math.comb(count, 2))


def ranked(bounds: Sequence[Bounds]) -> list[Rank]:
    """Rank values from their bounds, as `rank_sets` ranks rates.

    Args:
        bounds: Of independent groups, each at the level that `pairwise_level` gives.
    """
    above, below = [0] * len(bounds), [0] * len(bounds)
    for first, second in combinations(range(len(bounds)), 2):
        gap = difference(bounds[first], bounds[second])
        if gap.low > 0:
            above[second] += 1
            below[first] += 1
        elif gap.high < 0:
            above[first] += 1
            below[second] += 1
    known = [_even(b.value) for b in bounds if b.known]
    return [
        Rank(b.value, _place(_even(b.value), known), 1 + up, len(bounds) - down)
        for b, up, down in zip(bounds, above, below, strict=True)
    ]


def together(
    groups: Sequence[Turns],
    values: Sequence[Values],
    level: float = 0.95,
    weights: Weights = Weights.CELLS,
) -> list[Bounds]:
    """The rate of each group with intervals that hold for all of them at once.

    Args:
        groups: The turns of each group, of different runs.
        values: Of each group, 0, 1 or NaN, shape (turns,).
        level: How often all of them hold together.
        weights: What each rate is the mean of.
    """
    return _bounds(groups, values, sidak_level(level, len(groups)), weights)


def worst(bounds: Sequence[Bounds]) -> Worst:
    """The group with the largest value.

    Args:
        bounds: Values with intervals that hold together, as `together` gives them. One
            that has a value and no interval may be anywhere: then so may the worst.
    """
    known = [place for place, b in enumerate(bounds) if not math.isnan(b.value)]
    if not known:
        return Worst(-1, UNKNOWN)
    place = max(known, key=lambda p: (_even(bounds[p].value), -p))
    sides = [(bounds[p].low, bounds[p].high) for p in known]
    if any(math.isnan(low) for low, _ in sides):
        return Worst(place, Bounds(bounds[place].value, math.nan, math.nan))
    low, high = (max(side) for side in zip(*sides, strict=True))
    return Worst(place, Bounds(bounds[place].value, low, high))


def _bounds(
    groups: Sequence[Turns],
    values: Sequence[Values],
    level: float,
    weights: Weights,
) -> list[Bounds]:
    samples = [g.sample(v) for g, v in zip(groups, values, strict=True)]
    return [
        stratified_rate(one, weights.of_cells(one), level=level).bounds
        for one in samples
    ]


def _even(value: float) -> float:
    """A value for comparison: equal means of cells may differ in their last digit."""
    return round(value, 12)


def _place(value: float, known: Sequence[float]) -> float:
    if math.isnan(value):
        return math.nan
    larger = sum(other > value for other in known)
    return 1 + larger + (known.count(value) - 1) / 2
