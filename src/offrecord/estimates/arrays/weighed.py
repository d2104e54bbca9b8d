"""Turns added up by run, in cells that each have a weight.

What a run adds to the error of a weighted mean of cells stands here once, so that
variances, covariances and degrees of freedom of all such figures agree.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample

_SHOWN: Final = 3
"""Clusters from which on they say how two errors go together."""


class Layout:
    """Which run is in which cell, and what a cell weighs.

    Args:
        sizes: Shape (runs,): turns with a value, none of them zero, in order of cell.
        cells: Shape (runs,): 0, 1, ... in ascending order, each of them there.
        weights: Shape (cells,), positive; only their ratios count.
        names: Shape (runs,): their ids, by which figures know what runs they share.
    """

    def __init__(
        self, sizes: Values, cells: Ids, weights: Values, names: Ids | None = None
    ) -> None:
        self.sizes = sizes
        self.cells = cells
        self.weights = weights / weights.sum()
        self.names = np.arange(sizes.size) if names is None else names

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
        rates = self.rates
        first = rates[..., :1]  # so that cells that are all alike give exactly theirs
        return np.asarray(first[..., 0] + (rates - first) @ self.layout.weights)

    def part(self, runs: NDArray[np.bool_]) -> Weighed:
        """Some of the runs alone, with all runs of their cells; shape (runs,)."""
        whole = self.layout
        cells, numbers = np.unique(whole.cells[runs], return_inverse=True)
        sizes, names = whole.sizes[runs], whole.names[runs]
        layout = Layout(sizes, numbers, whole.weights[cells], names)
        return Weighed(self.sums[..., runs], layout)


def weighed(sample: Sample, weights: Values | None = None) -> Weighed | None:
    """Add turns up by run; None where a cell that counts has no value, or none counts.

    Where clusters reach over cells, as models do, the layout's runs are these clusters
    and its cells their strata; turns weigh as their cells do, and on average 1.

    Args:
        sample: Values with their runs (`clusters`) and cells (`weighted`).
        weights: Shape (cells,), in the order of `np.unique(sample.weighted)`; only
            their ratios count, and a cell of weight 0 is left out. Alike by default.

    Raises:
        ValueError: If there are other weights than cells, or a weight is negative or
            not finite.
    """
    counts = counting(sample, weights)
    if counts is None:
        return None
    cell, given, known, turns = counts
    share: Values = (given / np.maximum(turns, 1))[cell[known]]
    clusters, first, members = np.unique(
        sample.clusters[known], return_index=True, return_inverse=True
    )
    # A cluster is in one stratum: that of its first turn, if copies reach over several.
    names = sample.strata[known]
    _, strata = np.unique(names[first], return_inverse=True)
    stratum = strata[members]
    whole = np.bincount(stratum, share).astype(np.float64)
    each = np.ones(share.size)
    if sample.cells is not None or (names != names[first][members]).any():
        each = share * (np.bincount(stratum) / whole)[stratum]
    order = np.argsort(strata, kind="stable")
    sums, sizes = (
        np.bincount(members, one).astype(np.float64)
        for one in (sample.values[known] * each, each)
    )
    layout = Layout(sizes[order], strata[order], whole, clusters[order])
    return Weighed(sums[order], layout)


class Counting(NamedTuple):
    """Which turns count, and the cell of each."""

    cell: Ids
    given: Values
    """Shape (cells,): what each weighs."""
    known: NDArray[np.bool_]
    turns: Ids
    """Shape (cells,): those that count."""


def counting(sample: Sample, weights: Values | None) -> Counting | None:
    """Which turns count in a weighted mean; None where a cell that counts has none.

    Args:
        sample: Values with their cells (`weighted`).
        weights: As in `weighed`.

    Raises:
        ValueError: As `weighed`.
    """
    names, cell = np.unique(sample.weighted, return_inverse=True)
    given = np.ones(names.size) if weights is None else np.asarray(weights, float)
    if given.shape != names.shape:
        raise ValueError(f"{given.size} weights for {names.size} cells")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("weights of cells are finite and not negative")
    known = ~np.isnan(sample.values) & (given > 0)[cell]
    turns = np.bincount(cell[known], minlength=names.size)
    if not given.any() or not turns[given > 0].all():
        return None
    return Counting(cell, given, known, turns)


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


def covariance(first: Weighed, second: Weighed) -> float:
    """The covariance of two values, one sample each; 0 where they share no runs."""
    _, a, b = np.intersect1d(
        first.layout.names, second.layout.names, return_indices=True
    )
    return float(errors(first)[a] @ errors(second)[b])


def correlation(first: Weighed, second: Weighed) -> float:
    """The correlation of the errors of two values, for the interval of a difference.

    Returns:
        0 where nothing shows it. -1, with which the interval is widest, where one or
        two clusters are shared: two are always in line, whatever the truth is.
    """
    shared = np.intersect1d(first.layout.names, second.layout.names).size
    if 0 < shared < _SHOWN:
        return -1.0
    scale = math.sqrt(float(variance(first) * variance(second)))
    return covariance(first, second) / scale if scale > 0 else 0.0


def clustered_error(values: Values, clusters: Ids, strata: Ids) -> float:
    """The standard error of a mean over turns, for new clusters of the same strata.

    A cluster without any value is no cluster.

    Args:
        values: Shape (turns,), NaN if missing.
        clusters: Shape (turns,): the run of each turn, an id that no other stratum
            uses.
        strata: Shape (turns,): the cell of each turn.

    Returns:
        NaN without values, or where a stratum has a single cluster, whose spread
        nothing shows.
    """
    sample = Sample(values, clusters, clusters, strata)
    data = weighed(sample, known_turns(sample))
    if data is None or data.layout.singles:
        return math.nan
    return math.sqrt(float(variance(data)))


def known_turns(sample: Sample) -> Values:
    """Shape (cells,): the turns with a value in each cell."""
    names, cell = np.unique(sample.weighted, return_inverse=True)
    known = ~np.isnan(sample.values)
    return np.bincount(cell[known], minlength=names.size).astype(np.float64)


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
