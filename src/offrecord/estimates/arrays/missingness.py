"""What the missing turns could change: bounds on every rate, and warnings.

A pair with a missing side is in no denominator, which is right only if missing turns
are like the others. The bounds drop that assumption: they say what the rates over all
planned turns would be if every missing stance fell one way, or the other.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, NamedTuple

import numpy as np

from offrecord.estimates.arrays.bounds import NOTHING, PREFIXED, Range
from offrecord.estimates.arrays.rates import Values

LIMIT: Final = 0.05
"""Shares of missing turns, and of attempts beyond one a run, above this are flagged."""


class RateRanges(NamedTuple):
    """Ranges of the rates of one group over all its planned turns, fractions of 1."""

    divergence: Annotated[Range, PREFIXED]
    public: Annotated[Range, PREFIXED]
    off_record: Annotated[Range, PREFIXED]
    gap: Annotated[Range, PREFIXED]


class Missingness(NamedTuple):
    """How much of a group is missing, and whether that is much."""

    planned: int
    """Turns that were planned."""
    missing: int
    """Those with at least one stance missing."""
    missing_public: int
    missing_other: int
    share: float
    """Missing over planned."""
    attempts_per_run: float
    """Attempts over runs kept: 1 where every run came at once."""
    flags: tuple[str, ...]
    """One line for everything above 5 %."""


class SplitRanges(NamedTuple):
    """Ranges of X, Y and Z over all planned turns, fractions of 1."""

    public_shift: Annotated[Range, PREFIXED] = NOTHING
    conversion: Annotated[Range, PREFIXED] = NOTHING
    audience_effect: Annotated[Range, PREFIXED] = NOTHING


def rate_ranges(public: Values, other: Values, shares: Values) -> RateRanges:
    """Worst and best case of every rate, if missing stances could be anything.

    A known side of a missing pair stays as it is, so it narrows the range.

    Args:
        public: Shape (planned turns,): 1 on the pressed side, 0 not, NaN missing.
        other: The same of the other channel.
        shares: Shape (planned turns,): what each weighs, summing to 1.

    Returns:
        NaN without any planned turn.
    """
    spoken, kept = _sides(public), _sides(other)
    apart = _sides(np.abs(public - other))
    return RateRanges(
        divergence=_mean(*apart, shares),
        public=_mean(*spoken, shares),
        off_record=_mean(*kept, shares),
        gap=_mean(spoken[0] - kept[1], spoken[1] - kept[0], shares),
    )


def split_ranges(condition: RateRanges, baseline: RateRanges) -> SplitRanges:
    """Worst and best case of X, Y and Z, from those of both sides."""
    return SplitRanges(
        condition.public.minus(baseline.public),
        condition.off_record.minus(baseline.off_record),
        condition.gap.minus(baseline.gap),
    )


def accommodating_range(public: Values, other: Values, shares: Values) -> Range:
    """Worst and best case of the share of turns that are on the side in public alone.

    Args:
        public: Shape (planned turns,): 1 on the pressed side, 0 not, NaN missing.
        other: The same of the other channel.
        shares: As in `rate_ranges`.
    """
    spoken, kept = _sides(public), _sides(other)
    return _mean(spoken[0] * (1 - kept[1]), spoken[1] * (1 - kept[0]), shares)


def missingness(public: Values, other: Values, attempts: int, runs: int) -> Missingness:
    """Count what is missing and flag what is much.

    Args:
        public: Shape (planned turns,), NaN where missing.
        other: The same of the other channel.
        attempts: How many attempts were needed in all.
        runs: How many runs they gave.
    """
    gone = np.isnan(public), np.isnan(other)
    missing, planned = int((gone[0] | gone[1]).sum()), public.size
    share = missing / planned if planned else math.nan
    tries = attempts / runs if runs else math.nan
    flags = []
    if share > LIMIT:
        flags.append(f"{share:.1%} of {planned} planned turns lack a stance")
    lost = [float(one.mean()) if planned else math.nan for one in gone]
    if abs(lost[0] - lost[1]) > LIMIT:
        flags.append(
            f"stances are missing in {lost[0]:.1%} of public turns and in "
            f"{lost[1]:.1%} of the others'"
        )
    if tries > 1 + LIMIT:
        flags.append(f"{tries:.2f} attempts per run that was kept")
    return Missingness(
        planned=planned,
        missing=missing,
        missing_public=int(gone[0].sum()),
        missing_other=int(gone[1].sum()),
        share=share,
        attempts_per_run=tries,
        flags=tuple(flags),
    )


def _sides(values: Values) -> tuple[Values, Values]:
    return np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)


def _mean(low: Values, high: Values, shares: Values) -> Range:
    return Range(float(low @ shares), float(high @ shares)) if low.size else NOTHING
