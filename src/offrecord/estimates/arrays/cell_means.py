"""The cells of a figure by their means: what clusters are put together from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.weighed import counting


class CellMeans(NamedTuple):
    """The cells of a figure that count; each array has shape (cells,)."""

    weights: Values
    """Summing to 1."""
    values: Values
    first: Ids
    """A turn of each."""
    cell: Ids
    """Shape (turns,): the cell of each turn, -1 where it does not count."""

    def of_each(self, ids: Ids) -> Ids:
        """What each cell has one of.

        Args:
            ids: Shape (turns,).

        Raises:
            ValueError: If a cell has two.
        """
        counts = self.cell >= 0
        found: Ids = ids[self.first]
        if (found[self.cell[counts]] != ids[counts]).any():
            raise ValueError("a cell is of one model and of one scenario")
        return found


def cell_means(sample: Sample, weights: Values | None = None) -> CellMeans | None:
    """The mean of each cell; None where `weighed` has none.

    Args:
        sample: Values with their cells (`weighted`).
        weights: As in `weighed`.

    Raises:
        ValueError: As `weighed`.
    """
    found = counting(sample, weights)
    if found is None:
        return None
    cell, given, known, turns = found
    means = np.bincount(cell[known], sample.values[known], given.size)
    counts = given > 0
    place = np.where(counts, np.cumsum(counts) - 1, -1)
    return CellMeans(
        given[counts] / given.sum(),
        means[counts] / turns[counts],
        np.unique(sample.weighted, return_index=True)[1][counts],
        place[cell],
    )
