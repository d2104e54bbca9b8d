"""How far a mean over turns would move: variances from clusters within strata.

Turns depend on each other within their cluster, so a turn counts only through its
cluster's sum. All variances here are of a ratio mean, sum of values over number of
values; which turns form a cluster is the scope's business (`scopes`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self, TypedDict

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One value per turn, and where it comes from; each array has shape (turns,)."""

    values: Values
    """NaN is missing and counts nowhere."""
    runs: Ids
    clusters: Ids
    """Ids that no other stratum uses."""
    strata: Ids

    def of(self, values: Values) -> Self:
        """Other values of the same turns."""
        return type(self)(values, self.runs, self.clusters, self.strata)


class Counted(TypedDict):
    """How much an estimate rests on, by the names of its fields."""

    clusters: int
    runs: int
    turns: int
    missing: int


def counted(*samples: Sample) -> Counted:
    """Count clusters and runs with a value, turns with and without, over samples."""
    known = [~np.isnan(sample.values) for sample in samples]
    rows = list(zip(samples, known, strict=True))
    return {
        "clusters": np.unique(np.concatenate([s.clusters[k] for s, k in rows])).size,
        "runs": np.unique(np.concatenate([s.runs[k] for s, k in rows])).size,
        "turns": sum(int(k.sum()) for k in known),
        "missing": sum(int((~k).sum()) for k in known),
    }


class Totals(NamedTuple):
    """What is left of the turns: a sum and a size per cluster, in order of stratum.

    Strata with a single cluster are collapsed into one, since a cluster alone shows no
    spread; if there is just one of them, its spread is taken about the overall mean.
    """

    sums: Values
    """Shape (..., clusters): leading axes hold further samples of one design."""
    sizes: Values
    """Shape (clusters,): turns with a value, none of them zero."""
    strata: Ids
    """Shape (clusters,): 0, 1, ... in ascending order, after collapsing."""
    alone: int
    """How many strata had a single cluster."""

    @property
    def turns(self) -> float:
        """Turns with a value."""
        return float(self.sizes.sum())

    @property
    def mean(self) -> Values:
        """Shape (...): sum of values over number of values."""
        return np.asarray(self.sums.sum(axis=-1) / self.turns)

    @property
    def scores(self) -> Values:
        """Shape (..., clusters): what each cluster adds to the error of the mean."""
        return np.asarray((self.sums - self.mean[..., None] * self.sizes) / self.turns)

    @property
    def starts(self) -> Ids:
        """Shape (strata,): where each stratum begins."""
        return np.flatnonzero(np.diff(self.strata, prepend=-1))

    @property
    def counts(self) -> Ids:
        """Shape (strata,): clusters in each stratum."""
        return np.bincount(self.strata)

    @property
    def freedom(self) -> int:
        """Degrees of freedom: clusters minus strata."""
        return int(self.strata.size - self.counts.size)

    @property
    def length(self) -> float:
        """Turns per cluster as a turn sees it: squares of sizes over sizes."""
        return float((self.sizes**2).sum()) / self.turns

    def per_stratum(self, values: Values) -> Values:
        """Add values of clusters up: (..., clusters) to (..., strata)."""
        return np.add.reduceat(values, self.starts, axis=-1)


def collapsed(strata: Ids) -> tuple[Ids, int]:
    """Put the strata of single clusters together.

    Args:
        strata: Shape (clusters,).

    Returns:
        Numbers 0, 1, ... of the same shape, and how many strata had one cluster.
    """
    _, numbers, counts = np.unique(strata, return_inverse=True, return_counts=True)
    single = counts[numbers] == 1
    merged = np.where(single, counts.size, numbers)
    return np.unique(merged, return_inverse=True)[1], int(single.sum())


def totals(sample: Sample) -> Totals | None:
    """Add turns up by cluster; None without any value."""
    known = ~np.isnan(sample.values)
    if not known.any():
        return None
    _, first, members = np.unique(
        sample.clusters[known], return_index=True, return_inverse=True
    )
    strata, alone = collapsed(sample.strata[known][first])
    order = np.argsort(strata, kind="stable")
    return Totals(
        np.bincount(members, weights=sample.values[known]).astype(np.float64)[order],
        np.bincount(members).astype(np.float64)[order],
        strata[order],
        alone,
    )


def stratum_variances(sums: Totals) -> Values:
    """Each stratum's part of the variance of the mean.

    With u a cluster's score, G / (G - 1) times the squares of u about their mean in
    the stratum (the combined ratio of Cochran, Sampling Techniques, 1977, chapter 6).

    Returns:
        Shape (..., strata).
    """
    scores, counts = sums.scores, sums.counts
    centre = np.where(counts > 1, sums.per_stratum(scores) / counts, 0.0)
    centred = scores - np.repeat(centre, counts, axis=-1)
    return sums.per_stratum(centred**2) * counts / np.maximum(counts - 1, 1)


def variance(sums: Totals) -> Values:
    """The variance of the mean for new clusters of these strata, shape (...).

    NaN where there is a single cluster.
    """
    if sums.freedom < 1:
        return np.full(sums.sums.shape[:-1], math.nan)
    return np.asarray(stratum_variances(sums).sum(axis=-1))


def clustered_error(values: Values, clusters: Ids, strata: Ids) -> float:
    """The standard error of a mean for new clusters of these very strata.

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
    sums = totals(Sample(values, clusters, clusters, strata))
    if sums is None or sums.alone:
        return math.nan
    return math.sqrt(float(variance(sums)))


def covariances(samples: Sequence[Sample]) -> Values:
    """The covariance matrix of several means that may share clusters.

    Means over different runs come out independent, those over the same runs, or over
    different runs of one model where models are the clusters, do not.

    Returns:
        Shape (samples, samples); NaN where a stratum has a single cluster, or a sample
        no value.
    """
    undefined = np.full((len(samples), len(samples)), math.nan)
    known = [~np.isnan(sample.values) for sample in samples]
    if not all(mask.any() for mask in known):
        return undefined
    rows = list(zip(samples, known, strict=True))
    clusters = np.concatenate([sample.clusters[mask] for sample, mask in rows])
    strata = np.concatenate([sample.strata[mask] for sample, mask in rows])
    ids, first = np.unique(clusters, return_index=True)
    numbers, alone = collapsed(strata[first])
    if alone:
        return undefined
    scores = np.zeros((len(samples), ids.size))
    for row, (sample, mask) in enumerate(rows):
        residuals = sample.values[mask] - sample.values[mask].mean()
        place = np.searchsorted(ids, sample.clusters[mask])
        scores[row] = np.bincount(place, residuals, ids.size) / residuals.size
    counts = np.bincount(numbers)
    member = np.eye(counts.size)[numbers]
    centred = scores - ((scores @ member) / counts)[:, numbers]
    weights = (counts / (counts - 1))[numbers]
    return np.asarray((centred * weights) @ centred.T)


def correlation(first: Sample, second: Sample) -> float:
    """The correlation of the errors of two means; 0 where nothing shows it."""
    matrix = covariances((first, second))
    scale = math.sqrt(matrix[0, 0] * matrix[1, 1])
    return float(matrix[0, 1]) / scale if scale > 0 else 0.0


_SHOWN: Final = 3
"""Clusters from which on they say how two errors go together: two are always in line,
so that their correlation is 1 or -1 whatever the truth is."""


def shared_correlation(first: Sample, second: Sample) -> float:
    """The correlation of the errors of two means, for the interval of their difference.

    Returns:
        -1, with which the interval is widest, where one or two clusters are shared.
    """
    known = [s.clusters[~np.isnan(s.values)] for s in (first, second)]
    if 0 < np.intersect1d(known[0], known[1]).size < _SHOWN:
        return -1.0
    return correlation(first, second)
