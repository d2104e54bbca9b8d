"""What cells weigh: alike, or by their turns; and in a difference, what is paired.

A difference is one of pairs of cells that share a link: a cell and its baseline, or the
same cell of two studies. Every pair weighs alike, so a baseline that serves two
conditions weighs as both, and a cell without a counterpart weighs nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.weighed import known_turns


class Weights(StrEnum):
    """What a figure over several cells is the mean of."""

    CELLS = "cells"
    """Every cell with a value counts the same."""
    TURNS = "turns"
    """Every turn with a value does: the paper's pooling."""

    def of(self, turns: Values) -> Values:
        """What cells weigh that have so many turns with a value, shape (cells,)."""
        return turns if self is Weights.TURNS else (turns > 0).astype(np.float64)

    def of_cells(self, sample: Sample) -> Values:
        """What the cells of a sample weigh, in the order of their ids."""
        return self.of(known_turns(sample))


class Linked(NamedTuple):
    """The cells of one side of a difference, in the order of their ids."""

    turns: Values
    """Shape (cells,): turns with a value."""
    links: Ids
    """Shape (cells,): cells of the other side with the same link are counterparts."""

    def beside(self, other: Linked) -> NDArray[np.bool_]:
        """Which cells have a value, and a counterpart that has one."""
        return (self.turns > 0) & np.isin(self.links, other.links[other.turns > 0])


def linked(sample: Sample, links: Ids) -> Linked:
    """The cells of a sample.

    Args:
        sample: Values with their cells.
        links: Shape (turns,), one for a cell.
    """
    _, first = np.unique(sample.weighted, return_index=True)
    return Linked(known_turns(sample), links[first])


def paired(first: Linked, second: Linked, weights: Weights) -> tuple[Values, Values]:
    """What the cells of both sides of a difference weigh.

    Args:
        first: The one side.
        second: The other.
        weights: Whether pairs of cells weigh alike, or turns of cells with a pair.
    """
    return _weigh(first, second, weights), _weigh(second, first, weights)


def _weigh(own: Linked, other: Linked, weights: Weights) -> Values:
    counts = own.beside(other)
    if weights is Weights.TURNS:
        return own.turns * counts
    return counts * _by_link(
        (other.turns > 0).astype(np.float64), other.links, own.links
    )


def following(given: Values, first: Linked, second: Linked, weights: Weights) -> Values:
    """What the cells of a baseline weigh: as those paired with them.

    Args:
        given: Shape (cells,): what the cells of the condition weigh.
        first: These cells.
        second: The cells of baseline.
        weights: As in `paired`.
    """
    total = _by_link(given, first.links, second.links)
    if weights is Weights.TURNS:
        return second.turns * (total > 0)
    there = (second.turns > 0).astype(np.float64)
    same = _by_link(there, second.links, second.links)
    return there * total / np.maximum(same, 1)


def turn_shares(cells: Ids, weights: Values) -> Values:
    """What each turn weighs, summing to 1.

    Args:
        cells: Shape (turns,).
        weights: Shape (cells,), in the order of their ids.
    """
    _, place, turns = np.unique(cells, return_inverse=True, return_counts=True)
    return np.asarray((weights / weights.sum() / turns)[place])


def _by_link(values: Values, links: Ids, wanted: Ids) -> Values:
    """The sum of the values with each of the wanted links."""
    _, place = np.unique(np.concatenate([links, wanted]), return_inverse=True)
    sums = np.bincount(place[: links.size], values, int(place.max(initial=-1)) + 1)
    return np.asarray(sums[place[links.size :]])
