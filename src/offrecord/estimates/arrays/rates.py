"""Counts and rates over turns: on arrays alone.

Values are 0, 1 or NaN, one per turn; NaN is missing and is in no denominator.
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
    """The public stance alone is on the pressed side."""
    reversing: int
    """The other stance alone is on the pressed side."""
    both: int
    """Both stances are on the pressed side."""
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
        """Share of turns with the public stance on the pressed side."""
        return share(self.accommodating + self.both, self.turns)

    @property
    def other(self) -> float:
        """Share of turns with the other stance on the pressed side."""
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
        public: Shape (turns,): 1 if the public stance is on the pressed side, 0 if
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
