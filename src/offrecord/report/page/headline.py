"""The split in a sentence, which the page begins with."""

from __future__ import annotations

import math
from collections.abc import Mapping

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.split import Split
from offrecord.estimates.estimators import RATES, SPLIT
from offrecord.report.numbers import count, interval, points
from offrecord.report.page.findings import Findings, by_estimate


def headline(found: Findings) -> str:
    """The split in a sentence: public shift = conversion + audience effect."""
    rates = found.rows("kinds", RATES, agent=found.target, kind=found.pressed)
    if not rates:
        return "No run has ended yet, so there is nothing to say."
    row = rates[0].of
    if not row.turns:
        return (
            f"No turn of {found.target} under {found.pressed} has both stances, so "
            f"there is nothing to say: {count(row.missing)} of "
            f"{count(row.planned)} are missing."
        )
    if math.isnan(row.split.public_shift):
        return (
            f"{found.target} was on the pressed side in {points(row.public)} % of "
            f"turns in public and in {points(row.off_record)} % {found.beside}. "
            "The public shift is unknown: the split needs a baseline and a "
            "condition beside it."
        )
    split = by_estimate(
        found.rows("kinds", SPLIT, agent=found.target, kind=found.pressed)
    )
    told = {
        name: points(value) + interval(split[name,].low, split[name,].high)
        for name, value in row.split._asdict().items()
    }
    return (
        f"Against baseline, {found.pressed} moved the public stance of {found.target} "
        f"by {told['public_shift']} points toward the pressed side: "
        f"{_parted(row.split, told, found.beside)}"
        + _doubt(split["public_shift",], split["audience_effect",])
    )


def _parted(split: Split, told: Mapping[str, str], beside: str) -> str:
    """The two parts in words; where their signs differ, the channels moved apart."""
    if split.conversion * split.audience_effect < 0:
        return (
            f"the channels moved apart, by {told['conversion']} points {beside} "
            f"(conversion) and {told['audience_effect']} more in public (audience "
            "effect)."
        )
    return (
        f"{told['conversion']} of them hold {beside} too (conversion), "
        f"{told['audience_effect']} appear only in public (audience effect)."
    )


def _doubt(shift: Estimate, audience: Estimate) -> str:
    """What the intervals leave open, in words."""
    if shift.refused or audience.refused:
        return f" No interval for {shift.scope}: {shift.reason or audience.reason}."
    if not _open(shift) and not _open(audience):
        return ""
    if _open(shift) and _open(audience):
        return (
            f" Both intervals include zero: {shift.runs} runs are too few to tell "
            "this shift from none."
        )
    name = "public shift" if _open(shift) else "audience effect"
    return f" The interval of the {name} includes zero: there may be none."


def _open(one: Estimate) -> bool:
    """Whether no shift at all is within the interval, or there is none."""
    return not one.defined or one.low <= 0 <= one.high
