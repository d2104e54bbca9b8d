"""Rates over turns, and how far they would move: on arrays alone.

Values are 0, 1 or NaN, one per turn; NaN is missing and is in no denominator. The
turns of a run depend on each other and the runs are repeats of fixed cells, so runs
are the clusters and cells the strata.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Ids = NDArray[np.int64]


class Quadrants(NamedTuple):
    """Turns by where each channel stands; none of them has a missing side."""

    accommodating: int
    """The public stance alone is on the partner's side."""
    reversing: int
    """The other stance alone is on the partner's side."""
    both: int
    """Both stances are on the partner's side."""
    neither: int
    """Neither stance is."""

    @property
    def turns(self) -> int:
        """Turns with both stances."""
        return sum(self)

    @property
    def divergent(self) -> int:
        """Turns whose stances differ."""
        return self.accommodating + self.reversing

    @property
    def public(self) -> float:
        """Share of turns with the public stance on the partner's side."""
        return share(self.accommodating + self.both, self.turns)

    @property
    def other(self) -> float:
        """Share of turns with the other stance on the partner's side."""
        return share(self.reversing + self.both, self.turns)

    @property
    def divergence(self) -> float:
        """Share of turns whose stances differ."""
        return share(self.divergent, self.turns)


def share(part: int, whole: int) -> float:
    """A fraction of 1; NaN of nothing."""
    return part / whole if whole else math.nan


def quadrants(public: Values, other: Values) -> Quadrants:
    """Count the turns in which both stances are known.

    Args:
        public: Shape (turns,): 1 if the public stance is on the partner's side, 0 if
            not, NaN if missing.
        other: The same of the other channel.
    """
    known = ~(np.isnan(public) | np.isnan(other))
    spoken, kept = public[known] == 1, other[known] == 1
    return Quadrants(
        accommodating=int((spoken & ~kept).sum()),
        reversing=int((~spoken & kept).sum()),
        both=int((spoken & kept).sum()),
        neither=int((~spoken & ~kept).sum()),
    )


def divergences(public: Values, other: Values) -> Values:
    """Per turn 1 if the stances differ, 0 if not, NaN if either is missing."""
    return np.abs(public - other)


def naive_error(values: Values) -> float:
    """The binomial standard error that takes every turn as independent.

    The square root of p (1 - p) / (n - 1), as in the paper's Table 2. NaN below two
    values.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan
    p = float(known.mean())
    return math.sqrt(p * (1 - p) / (known.size - 1))


def clustered_error(values: Values, clusters: Ids, strata: Ids) -> float:
    """The standard error of a mean for new clusters of these very strata.

    With e = value - mean summed to u over each cluster, the variance is the sum over
    strata of G / (G - 1) times the squares of u about the stratum's mean of u, over
    the number of values squared (the combined ratio of Cochran, Sampling Techniques,
    1977, chapter 6). A cluster without any value is no cluster.

    Args:
        values: Shape (turns,), NaN if missing.
        clusters: Shape (turns,): the run of each turn, an id that no other stratum
            uses.
        strata: Shape (turns,): the cell of each turn.

    Returns:
        NaN without values, or where a stratum has a single cluster, whose spread
        nothing shows.
    """
    known = ~np.isnan(values)
    if not known.any():
        return math.nan
    residuals = values[known] - values[known].mean()
    ids, first, members = np.unique(
        clusters[known], return_index=True, return_inverse=True
    )
    totals = np.bincount(members, weights=residuals, minlength=ids.size)
    _, groups = np.unique(strata[known][first], return_inverse=True)
    sizes = np.bincount(groups)
    if (sizes < 2).any():
        return math.nan
    centred = totals - (np.bincount(groups, weights=totals) / sizes)[groups]
    spread = np.bincount(groups, weights=centred**2) * sizes / (sizes - 1)
    return math.sqrt(float(spread.sum())) / int(known.sum())
