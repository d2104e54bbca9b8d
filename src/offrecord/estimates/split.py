"""The headline: what pressure moved, and how much of it holds off the record too."""

from __future__ import annotations

from typing import NamedTuple


class Split(NamedTuple):
    """Shares against baseline, as fractions of 1. `pressure` is the sum of the others.

    It needs no correction for noise: two samples of one channel have the same
    expectation, so noise moves none of the three on average.
    """

    pressure: float
    """X: how far the public stance moved toward the partner's side."""
    conversion: float
    """Y: how far the stance off the record moved."""
    audience_effect: float
    """Z = X - Y: what appears only in public."""


def split(
    public: float, other: float, baseline_public: float, baseline_other: float
) -> Split:
    """Split the shift of the public share against baseline.

    Args:
        public: Share of public stances on the partner's side under the condition.
        other: The same share off the record.
        baseline_public: The public share without any context.
        baseline_other: The other share without any context.

    Returns:
        NaN wherever a share that it needs is NaN.
    """
    pressure = public - baseline_public
    conversion = other - baseline_other
    return Split(pressure, conversion, pressure - conversion)
