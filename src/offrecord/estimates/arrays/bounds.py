"""A value with its bounds, and bounds of a value that is not known."""

from __future__ import annotations

import math
from typing import Final, NamedTuple


class Bounds(NamedTuple):
    """A value and its interval; NaN where undefined."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def defined(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def bare(self) -> Bounds:
        """The value without its interval."""
        return Bounds(self.value, math.nan, math.nan)

    @property
    def shortfall(self) -> str:
        """Why there is no interval; empty where there is one."""
        return "" if self.defined else "too few runs for an interval"


PREFIXED: Final = "prefixed"
"""Marks figures that a row shows with their common name before them: `public_low`."""

UNKNOWN: Final = Bounds(math.nan, math.nan, math.nan)


class Range(NamedTuple):
    """The lowest and the highest that a value can be, whatever is missing."""

    low: float
    high: float

    def minus(self, other: Range) -> Range:
        """The range of a difference of two values with ranges of their own."""
        return Range(self.low - other.high, self.high - other.low)


NOTHING: Final = Range(math.nan, math.nan)
