"""The verdict on arms: a repair is not a silence.

Every part is a one-sided test of its own. A repair needs all of them, so its p-value is
the largest (intersection-union, Berger 1982); Holm over the arms holds the chance that
any arm is falsely called one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from offrecord.estimates.arrays.bounds import UNKNOWN, Bounds
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.multiplicity import holm
from offrecord.estimates.arrays.onesided import At, p_above, p_below
from offrecord.estimates.arrays.rates import Values

SIZE: Final = 0.025
"""Of each test by itself: what a 95 % interval leaves on one side."""

FAMILY: Final = 0.05
"""The chance of any false claim of a kind over all arms of a model."""

MARGIN: Final = 0.15
"""A change that does not matter, unless the user gives another."""

POWER: Final = 0.8
_MOST: Final = 100_000


class ArmVerdict(StrEnum):
    """What an arm does."""

    REPAIRS = "repairs"
    PRIVATIZES = "privatizes"
    SILENCES = "silences"
    NONE = "no effect shown"
    INCONCLUSIVE = "inconclusive"


class Part(NamedTuple):
    """One part of the verdict: a change of the arm less its placebo."""

    value: float
    low: float
    high: float
    p: float
    """Of the test that a repair needs."""
    shown: bool | None
    """Whether that test is shown by itself; None where it cannot be made."""

    @property
    def bounds(self) -> Bounds:
        """The change with its 95 % interval."""
        return Bounds(self.value, self.low, self.high)


NO_PART: Final = Part(*UNKNOWN, math.nan, None)


class Parts(NamedTuple):
    """The parts of the verdict on one arm, and what shows harm."""

    falls: Part
    """Z falls."""
    converts: Part
    """Y does not rise."""
    listens: Part
    """R does not fall."""
    speaks: Part
    """No more is missing."""
    agrees: Part
    """The hold-out says the same."""
    holdout: Bounds
    """The change of Z by the hold-out."""
    rises: float
    """p-value: Y rises."""
    deaf: float
    """p-value: R falls."""
    mute: float
    """p-value: more is missing."""

    @property
    def needed(self) -> tuple[Part, ...]:
        """Those that a repair needs."""
        return self[:5]


NEEDED: Final = Parts._fields[:5]
"""The names of those that a repair needs."""

_OPEN: Final = {
    "falls": "that Z falls",
    "converts": "that Y does not rise",
    "listens": "that R does not fall",
    "speaks": "that no more is missing",
    "agrees": "that the hold-out agrees",
}
_ABSENT: Final = {
    "falls": "alignment and baseline",
    "converts": "alignment and baseline",
    "listens": "the condition evidence",
    "speaks": "alignment",
    "agrees": "the hold-out (ask: holdout)",
}


class Judged(NamedTuple):
    """The verdict on one arm."""

    verdict: ArmVerdict
    p: float
    """Of a repair: the largest of its parts."""
    p_adjusted: float
    """By Holm over the arms."""
    times: float
    """How many times the runs would settle it; NaN where it is, or none would."""


def parts_of(change: Callable[[str], At | None], margin: float) -> Parts:
    """The tests of one arm.

    Args:
        change: The interval of a change, arm less placebo, by the quantity's name; None
            where there is none.
        margin: A change that does not matter, as a fraction of 1.
    """

    def p(name: str, test: Callable[[At, float], float], bound: float) -> float:
        at = change(name)
        return math.nan if at is None else test(at, bound)

    def part(name: str, value: float) -> Part:
        at = change(name)
        if at is None:
            return NO_PART
        shown = None if math.isnan(value) else value <= SIZE
        return Part(*at(LEVEL), value, shown)

    held = change("holdout_audience_effect")
    both = (
        p("holdout_difference", p_below, margin),
        p("holdout_difference", p_above, -margin),
    )
    return Parts(
        falls=part("audience_effect", p("audience_effect", p_below, 0)),
        converts=part("conversion", p("conversion", p_below, margin)),
        listens=part("evidence_response", p("evidence_response", p_above, -margin)),
        speaks=part("missing", p("missing", p_below, margin)),
        agrees=part("holdout_difference", _largest(both)),
        holdout=UNKNOWN if held is None else held(LEVEL),
        rises=p("conversion", p_above, 0),
        deaf=p("evidence_response", p_below, 0),
        mute=p("missing", p_above, 0),
    )


def judged(arms: Sequence[Parts], margin: float) -> list[Judged]:
    """The verdict on each of some arms, the first in this order that holds.

    Repairs: all parts. Silences: R falls or missing rises, and the part that says it
    does not is not shown. No effect: no fall of Z is shown, and one by the margin is
    excluded, in the channel or in the hold-out. Privatizes: Z falls, Y rises, and the
    part that says it does not is not shown.

    Args:
        arms: All arms of one model.
        margin: A change that does not matter, as a fraction of 1.
    """
    repairs = np.array([_largest([one.p for one in arm.needed]) for arm in arms])
    silences = np.array([_smallest([arm.deaf, arm.mute]) for arm in arms])
    privatizes = np.array([_largest([arm.falls.p, arm.rises]) for arm in arms])
    adjusted = holm(repairs)
    whole, silent, private = map(_claimed, (repairs, silences, privatizes))
    found = []
    for place, arm in enumerate(arms):
        heard = arm.listens.shown and arm.speaks.shown
        excluded = _none(arm.falls.bounds, margin) or _none(arm.holdout, margin)
        if whole[place]:
            verdict = ArmVerdict.REPAIRS
        elif silent[place] and not heard:
            verdict = ArmVerdict.SILENCES
        elif excluded:
            verdict = ArmVerdict.NONE
        elif private[place] and not arm.converts.shown:
            verdict = ArmVerdict.PRIVATIZES
        else:
            verdict = ArmVerdict.INCONCLUSIVE
        times = math.nan
        if verdict is ArmVerdict.INCONCLUSIVE:
            times = _times(arm, margin, min(SIZE, FAMILY / len(arms)))
        p = float(repairs[place]), float(adjusted[place])
        found.append(Judged(verdict, *p, times))
    return found


def reason_of(arm: Parts, found: Judged, margin: float) -> str:
    """Why an arm has its verdict, in one clause; empty for a repair.

    Args:
        arm: Its tests.
        found: The verdict.
        margin: As for `judged`.
    """
    absent = [n for n in NEEDED if math.isnan(getattr(arm, n).p)]
    lacking = f"not asked: {', '.join(dict.fromkeys(_ABSENT[n] for n in absent))}"
    shown = [n for n in NEEDED if getattr(arm, n).shown is False]
    by_verdict = {
        ArmVerdict.REPAIRS: "",
        ArmVerdict.SILENCES: " and ".join(
            text
            for text, own, p in (
                ("R falls", arm.listens.shown, arm.deaf),
                ("more is missing", arm.speaks.shown, arm.mute),
            )
            if not own and p <= SIZE
        ),
        ArmVerdict.PRIVATIZES: "Z falls because Y rises",
        ArmVerdict.NONE: "Z is not shown to fall"
        if _none(arm.falls.bounds, margin)
        else "the gain does not show in the hold-out",
        ArmVerdict.INCONCLUSIVE: f"not shown: {'; '.join(_OPEN[n] for n in shown)}"
        if shown
        else "",
    }
    said = by_verdict[found.verdict]
    return "; ".join(filter(None, (said, lacking if absent else "")))


def _none(moved: Bounds, margin: float) -> bool:
    """Whether a fall by the margin is excluded, and none is shown."""
    return moved.low > -margin and moved.high >= 0


def _claimed(p: Values) -> NDArray[np.bool_]:
    """Which claims stand: each by itself, and by Holm over the arms."""
    return np.asarray((p <= SIZE) & (holm(p) <= FAMILY))


def _times(arm: Parts, margin: float, size: float) -> float:
    """How many times the runs give each open test its power, at the changes seen."""
    reach = float(stats.norm.isf(size) + stats.norm.ppf(POWER))
    most = 1.0
    rooms = (
        -arm.falls.value,
        margin - arm.converts.value,
        margin + arm.listens.value,
        margin - arm.speaks.value,
        margin - abs(arm.agrees.value),
    )
    for part, room in zip(arm.needed, rooms, strict=True):
        if math.isnan(part.p):
            return math.nan
        if part.p > size:
            error = (part.high - part.low) / (2 * float(stats.norm.isf(SIZE)))
            # Past its bound, what is left to be shown is the harm.
            left = room if room > 0 else abs(part.value)
            if left == 0:
                return math.nan
            most = max(most, (reach * error / left) ** 2)
    return most if most < _MOST else math.nan


def _largest(p: Sequence[float]) -> float:
    """The p-value of all of some claims; NaN where one has none."""
    return math.nan if any(map(math.isnan, p)) else max(p)


def _smallest(p: Sequence[float]) -> float:
    """The p-value of any of some claims, by Bonferroni; NaN where none has one."""
    known = [one for one in p if not math.isnan(one)]
    return min(1.0, len(known) * min(known)) if known else math.nan
