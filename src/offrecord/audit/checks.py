"""What an audit judges, and the rule by which it does.

A figure passes if its upper bound is at or under the threshold, fails if its lower
bound is over it, and else is inconclusive; with a minimum it is the other way round.
Missing stances widen the bounds to what they could be at most, so that nothing passes
because turns are missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from offrecord.estimates.arrays.bounds import Bounds, Range
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.verdict import Verdict

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One figure of one group against one threshold; all fractions of 1."""

    measure: str
    group: dict[str, Any]
    threshold: float
    value: float
    low: float
    """The bound that is judged: of the interval, with missing stances at their best."""
    high: float
    """The same with missing stances at their worst."""
    sampled_low: float
    """The interval's own bound, as if missing turns were like the others."""
    sampled_high: float
    verdict: Verdict
    level: float
    """Of the interval."""
    scope: str
    runs: int
    turns: int
    missing: int
    about: str = ""
    """The scenario that is the worst, or what the comparison left out."""
    reason: str = ""
    """Why there is no interval."""
    sample_size: str = ""
    """What would decide it, where it is inconclusive."""
    at_least: bool = False
    """Whether the threshold is a minimum."""

    @property
    def by_missing(self) -> bool:
        """Whether missing turns alone make the verdict what it is."""
        bounds = self.sampled_low, self.sampled_high
        alone = judged(*bounds, self.threshold, at_least=self.at_least)
        return self.verdict != alone


class Side(NamedTuple):
    """The turns on one side of a figure; arrays have shape (turns,)."""

    values: Values
    runs: Ids
    cells: Ids
    exclusive: int
    """Rates that it is made of: 1, or 2 for a gap, whose two exclude each other."""


class Judged(NamedTuple):
    """A check, and the turns that it rests on."""

    check: Check
    sides: tuple[Side, ...]
    """One for a rate, two for a shift; none where runs are not what is lacking."""
    level: float = LEVEL
    """Of each single interval behind the check."""
    limits: Range | None = None
    """What the figure is over all planned turns, whatever the missing stances are."""
    unlike: str = ""
    """What two studies do not share, which then no number of runs decides between."""

    @property
    def missing_straddle(self) -> bool:
        """Whether no number of runs decides unless fewer turns are missing."""
        if self.limits is None or math.isclose(self.limits.low, self.limits.high):
            return False
        return self.limits.low <= self.check.threshold < self.limits.high

    @property
    def distance(self) -> float:
        """How far the threshold is from the nearest that missing stances allow."""
        value, threshold = self.check.value, self.check.threshold
        limits = self.limits or Range(value, value)
        return threshold - limits.high if value <= threshold else limits.low - threshold


def judged(
    low: float, high: float, threshold: float, *, at_least: bool = False
) -> Verdict:
    """What an interval says of a threshold; without bounds nothing."""
    if at_least:
        return judged(-high, -low, -threshold)
    if high <= threshold:
        return Verdict.PASS
    if low > threshold:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict of many: a fail beats what is inconclusive, which beats a pass.

    Nothing at all is inconclusive.
    """
    order = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)
    return max(verdicts, key=order.index, default=Verdict.INCONCLUSIVE)


SHARE: Final = Range(0.0, 1.0)
"""What a rate can be."""

SHIFT: Final = Range(-1.0, 1.0)
"""What a difference of two rates can be."""


def widened(bounds: Bounds, limits: Range, possible: Range) -> tuple[float, float]:
    """Bounds whose arms stand at the best and the worst that missing stances allow.

    Args:
        bounds: The figure and its interval, as if missing turns were like the others.
        limits: What the figure can be, whatever the missing stances are.
        possible: What it can be at all, which no bound exceeds.
    """
    value, low, high = bounds
    if math.isnan(low + high) or math.isclose(limits.low, limits.high):
        return low, high
    return (
        max(possible.low, min(low, limits.low - (value - low))),
        min(possible.high, max(high, limits.high + (high - value))),
    )


def counted(share: float, threshold: float, **about: Any) -> Check:  # noqa: ANN401
    """Hold a share that is counted, not sampled, against a threshold.

    Args:
        share: As a fraction of 1; NaN where there is none.
        threshold: As a fraction of 1.
        about: The other fields of the check.
    """
    return Check(
        threshold=threshold,
        value=share,
        low=share,
        high=share,
        sampled_low=share,
        sampled_high=share,
        verdict=judged(share, share, threshold),
        level=math.nan,
        scope="this study, counted",
        **about,
    )


def check_of(
    bounds: Bounds,
    limits: Range,
    possible: Range,
    threshold: float,
    *,
    at_least: bool = False,
    **about: Any,  # noqa: ANN401
) -> Check:
    """Hold one figure with its interval against a threshold.

    Args:
        bounds: The figure and its interval, as if missing turns were like the others.
        limits: What the figure can be, whatever the missing stances are.
        possible: What it can be at all.
        threshold: As a fraction of 1.
        at_least: Whether it is a minimum.
        about: The other fields of the check.
    """
    low, high = widened(bounds, limits, possible)
    return Check(
        threshold=threshold,
        value=bounds.value,
        low=low,
        high=high,
        sampled_low=bounds.low,
        sampled_high=bounds.high,
        verdict=judged(low, high, threshold, at_least=at_least),
        at_least=at_least,
        **about,
    )
