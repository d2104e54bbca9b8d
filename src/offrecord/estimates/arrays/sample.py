"""Values of turns, and where they come from: what every estimator of a mean takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypedDict

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
    """What clusters are drawn anew within: for new runs their cells."""
    cells: Ids | None = None
    """What has a weight, where that is not the strata: for new models they reach over
    cells. A cell is of one stratum."""
    ways: tuple[Ids, ...] = ()
    """Where models or scenarios are drawn anew, the model of each turn, its scenario,
    or both in this order (`scoped`). A cell is of one of each."""

    @property
    def weighted(self) -> Ids:
        """The ids of what has a weight."""
        return self.strata if self.cells is None else self.cells

    def at(self, places: Ids) -> Self:
        """Some of the turns."""
        return replace(
            self,
            values=self.values[places],
            runs=self.runs[places],
            clusters=self.clusters[places],
            strata=self.strata[places],
            cells=None if self.cells is None else self.cells[places],
            ways=tuple(ids[places] for ids in self.ways),
        )

    def of(self, values: Values) -> Self:
        """Other values of the same turns."""
        return replace(self, values=values)


class Side(NamedTuple):
    """One side of a sum of figures."""

    sample: Sample
    sign: int = 1
    """-1 if the side is subtracted."""
    weights: Values | None = None
    """Shape (cells,), in the order of their ids; alike by default."""


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
