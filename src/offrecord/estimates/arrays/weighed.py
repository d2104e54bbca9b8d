"""Turns added up by run, in cells that each have a weight.

What a run adds to the error of a weighted mean of cells stands here once, so that
variances, covariances and degrees of freedom of all such figures agree.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.variance import Sample


class Layout:
    """Which run is in which cell, and what a cell weighs.

    Args:
        sizes: Shape (runs,): turns with a value, none of them zero, in order of cell.
        cells: Shape (runs,): 0, 1, ... in ascending order, each of them there.
        weights: Shape (cells,), positive; only their ratios count.
    """

    def __init__(self, sizes: Values, cells: Ids, weights: Values) -> None:
        self.sizes = sizes
        self.cells = cells
        self.weights = weights / weights.sum()

    @cached_property
    def starts(self) -> Ids:
        """Shape (cells,): where each cell begins."""
        return np.flatnonzero(np.diff(self.cells, prepend=-1))

    @cached_property
    def runs(self) -> Ids:
        """Shape (cells,): runs of each cell."""
        return np.bincount(self.cells)

    @cached_property
    def turns(self) -> Values:
        """Shape (cells,): turns with a value."""
        return self.per_cell(self.sizes)

    @cached_property
    def strata(self) -> Ids:
        """Shape (cells,): 0, 1, ...; the cells of a single run are in the last one."""
        single = self.runs == 1
        numbers = np.cumsum(~single) - 1
        return np.where(single, (~single).sum(), numbers)

    @property
    def singles(self) -> int:
        """How many cells have a single run."""
        return int((self.runs == 1).sum())

    @cached_property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom from the design; 0 for a single run."""
        if self.sizes.size < 2:
            return 0.0
        parts = self.per_stratum(self.weights**2 / self.runs)
        runs = self.per_stratum(self.runs)
        return float(parts.sum() ** 2 / (parts**2 / np.maximum(runs - 1, 1)).sum())

    def per_cell(self, values: Values) -> Values:
        """Add values of runs up: (..., runs) to (..., cells)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def per_stratum(self, values: Values | Ids) -> Values:
        """Add values of cells up: (..., cells) to (..., strata)."""
        return np.asarray(values @ np.eye(int(self.strata.max()) + 1)[self.strata])


class Weighed(NamedTuple):
    """Sums of the runs of a layout."""

    sums: Values
    """Shape (..., runs): leading axes hold further samples of one design."""
    layout: Layout

    @property
    def rates(self) -> Values:
        """Shape (..., cells): the mean of each cell."""
        return np.asarray(self.layout.per_cell(self.sums) / self.layout.turns)

    @property
    def value(self) -> Values:
        """Shape (...): the weighted mean of the cells."""
        return np.asarray(self.rates @ self.layout.weights)


def weighed(sample: Sample, weights: Values | None = None) -> Weighed | None:
    """Add turns up by run; None where a cell that counts has no value.

    Args:
        sample: Values with their runs (`clusters`) and cells (`strata`).
        weights: Shape (cells,), in the order of `np.unique(sample.strata)`; only their
            ratios count, and a cell of weight 0 is left out. Alike by default.

    Raises:
        ValueError: If there are other weights than cells, or a weight is negative or
            not finite, or all are 0.
    """
    names = np.unique(sample.strata)
    given = np.ones(names.size) if weights is None else np.asarray(weights, float)
    if given.shape != names.shape:
        raise ValueError(f"{given.size} weights for {names.size} cells")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("weights of cells are finite and not negative")
    if names.size and not given.any():
        raise ValueError("no cell has a weight")
    counting = names[given > 0]
    known = ~np.isnan(sample.values) & np.isin(sample.strata, counting)
    if not counting.size or np.unique(sample.strata[known]).size < counting.size:
        return None
    _, first, members = np.unique(
        sample.clusters[known], return_index=True, return_inverse=True
    )
    cells = np.searchsorted(counting, sample.strata[known][first])
    order = np.argsort(cells, kind="stable")
    sums = np.bincount(members, weights=sample.values[known]).astype(np.float64)
    sizes = np.bincount(members).astype(np.float64)
    return Weighed(sums[order], Layout(sizes[order], cells[order], given[given > 0]))


def errors(data: Weighed) -> Values:
    """What each run adds to the error of the value.

    Returns:
        Shape (..., runs). Squares sum to the variance, products with those of other
        values of the same turns to the covariance.
    """
    layout, rates = data.layout, data.rates
    weight, turns = layout.weights, layout.turns
    single = layout.runs == 1
    share = np.where(single, weight, 0.0)
    centre = data.value[..., None]
    stretch = np.sqrt(layout.runs / np.maximum(layout.runs - 1, 1))
    if layout.singles > 1:
        whole, squares, cubes = share.sum(), (share**2).sum(), (share**3).sum()
        centre = (rates @ share / whole)[..., None]
        # What is left of equal variances by taking squares about the common mean.
        left = squares - 2 * cubes / whole + squares**2 / whole**2
        stretch = np.where(single, math.sqrt(squares / left), stretch)
    level = np.where(single, centre, rates)
    residual = data.sums - level[..., layout.cells] * layout.sizes
    return np.asarray(residual * (weight * stretch / turns)[layout.cells])


def variance(data: Weighed) -> Values:
    """The variance of the value for new runs of these cells, shape (...).

    NaN for a single run.
    """
    if data.layout.sizes.size < 2:
        return np.full(data.sums.shape[:-1], math.nan)
    return np.asarray((errors(data) ** 2).sum(axis=-1))


def paired_weights(
    counterparts: Ids, weights: Values | None = None
) -> tuple[Ids, Values]:
    """What the cells of a baseline weigh in a difference: as those paired with them.

    Args:
        counterparts: Shape (cells,): the baseline cell of each cell of a condition.
        weights: Shape (cells,): what these weigh; alike by default.

    Returns:
        The baseline cells in ascending order, and the weight of each; both have shape
        (baseline cells,), and the weights the sum of those given, or 1.
    """
    ids, place = np.unique(counterparts, return_inverse=True)
    if weights is None:
        weights = np.full(counterparts.shape, 1 / max(counterparts.size, 1))
    return ids, np.bincount(place, weights, ids.size).astype(np.float64)


def paired_sides(
    condition: Ids,
    baseline: Ids,
    counterparts: Ids | None = None,
    weights: Values | None = None,
) -> tuple[Values, Values] | None:
    """What the cells of both sides of a difference weigh, each side's summing to 1.

    Args:
        condition: Shape (cells,), ids in ascending order.
        baseline: The same of baseline.
        counterparts: Shape (condition cells,): the id of the baseline cell of each. A
            baseline cell weighs as the cells paired with it, and one that is paired
            with none weighs nothing. By default all baseline cells weigh alike.
        weights: Shape (condition cells,), alike by default.

    Returns:
        None where a cell that counts has a counterpart that is not there.

    Raises:
        ValueError: If there are other weights or counterparts than cells, a weight is
            negative or not finite, or all are 0.
    """
    first = np.ones(condition.size) if weights is None else np.asarray(weights, float)
    paired_with = condition if counterparts is None else counterparts
    if not condition.shape == first.shape == paired_with.shape:
        given = f"{first.size} weights and {paired_with.size} counterparts"
        raise ValueError(f"{given} for {condition.size} cells")
    if not np.isfinite(first).all() or (first < 0).any() or not first.any():
        raise ValueError("weights of cells are finite, not negative and not all 0")
    first = first / first.sum()
    if counterparts is None:
        return first, np.full(baseline.size, 1 / max(baseline.size, 1))
    ids, paired = paired_weights(counterparts[first > 0], first[first > 0])
    if not np.isin(ids, baseline).all():
        return None
    second = np.zeros(baseline.size)
    second[np.searchsorted(baseline, ids)] = paired
    return first, second
