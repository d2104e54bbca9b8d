"""Pairs as arrays: what estimators of stances take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample


class Sizes(NamedTuple):
    """How much is known of some turns."""

    runs: int
    """Runs that have a turn with both stances."""
    turns: int
    """Turns with both."""
    missing: int
    """Planned turns without."""


class Turns(NamedTuple):
    """Pairs as arrays, all of shape (turns,)."""

    public: Values
    """1 on the pressed side, 0 not, NaN missing."""
    other: Values
    runs: Ids
    cells: Ids
    rounds: Ids

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether both stances are known."""
        return ~np.isnan(self.public - self.other)

    @property
    def divergent(self) -> Values:
        """1 if the stances differ, 0 if not, NaN if either is missing."""
        return np.abs(self.public - self.other)

    @property
    def sizes(self) -> Sizes:
        """How much is known of them."""
        known = self.known
        runs = np.unique(self.runs[known]).size
        return Sizes(runs, int(known.sum()), int((~known).sum()))

    def sample(self, values: Values) -> Sample:
        """Values of these turns, for new runs of their cells."""
        return Sample(values, self.runs, self.runs, self.cells)

    def where(self, rows: NDArray[np.bool_]) -> Turns:
        """Some of the turns."""
        return Turns(
            self.public[rows],
            self.other[rows],
            self.runs[rows],
            self.cells[rows],
            self.rounds[rows],
        )
