"""Pairs as arrays: what estimators of stances take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offrecord.estimates.arrays.rates import Ids, Values


class Turns(NamedTuple):
    """Pairs as arrays, all of shape (turns,)."""

    public: Values
    """1 on the partner's side, 0 not, NaN missing."""
    other: Values
    runs: Ids
    cells: Ids
    rounds: Ids

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether both stances are known."""
        return ~np.isnan(self.public - self.other)

    def sizes(self) -> dict[str, int]:
        """How many runs have a turn with both stances, and turns with and without."""
        return {
            "runs": np.unique(self.runs[self.known]).size,
            "turns": int(self.known.sum()),
            "missing": int((~self.known).sum()),
        }

    def where(self, rows: NDArray[np.bool_]) -> Turns:
        """Some of the turns."""
        return Turns(
            self.public[rows],
            self.other[rows],
            self.runs[rows],
            self.cells[rows],
            self.rounds[rows],
        )
