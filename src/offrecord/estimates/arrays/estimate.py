"""What every estimator hands on: a value, how far it would move, and for whom."""

from __future__ import annotations

import math
from dataclasses import dataclass

from offrecord.estimates.arrays.bounds import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One figure with its interval. What is undefined is NaN, and `reason` says why."""

    value: float
    """The figure, in the unit of what was measured; rates as fractions of 1."""
    low: float
    """The lower bound of the 95 % interval."""
    high: float
    """The upper bound."""
    se: float
    """The clustered standard error in this scope, NaN where nothing shows it."""
    method: str
    """How the interval was made."""
    scope: str
    """What the interval generalizes to."""
    clusters: int
    """How many clusters the interval rests on."""
    runs: int
    """How many runs have a value."""
    turns: int
    """How many turns have a value."""
    missing: int
    """How many planned turns have none."""
    reason: str | None = None
    """Why a bound or the standard error is NaN, or the interval refused; else None."""
    left_out: str | None = None
    """Which cells the figure leaves out, and why; None where it has them all."""
    refused: bool = False
    """Whether too little is known to show the interval; `reason` says what."""

    @property
    def width(self) -> float:
        """The interval's width."""
        return self.high - self.low

    @property
    def bounds(self) -> Bounds:
        """The figure with its interval alone."""
        return Bounds(self.value, self.low, self.high)

    @property
    def defined(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)
