"""Judging one group: each of its figures against its threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.audit.checks import (
    LEVEL,
    SHARE,
    SHIFT,
    Check,
    Judged,
    Side,
    check_of,
    counted,
    judged,
    widened,
)
from offrecord.estimates.arrays.bounds import Bounds, Range
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.missingness import missingness
from offrecord.estimates.arrays.multiplicity import sidak_level
from offrecord.estimates.arrays.ranks import worst
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.groups import turns_of
from offrecord.estimates.frames.hardest import ScenarioRate, scenario_divergence
from offrecord.estimates.frames.pressed import (
    BASELINE,
    NO_ALIGNMENT,
    Pressed,
)

MISSING: Final = "missing"
WORST: Final = "worst_scenario"
EVIDENCE_RESPONSE: Final = "evidence_response"
"""The one figure whose threshold is a minimum."""
EMPTY_SCENARIO: Final = "a scenario has no turn with both stances"

_ESTIMATES: Final = {
    "audience_effect": "audience_effect",
    "divergence": "divergence",
    "accommodation": "accommodating",
    "conversion": "conversion",
    "baseline": BASELINE,
    EVIDENCE_RESPONSE: EVIDENCE_RESPONSE,
}
_POSSIBLE: Final = {
    "conversion": SHIFT,
    EVIDENCE_RESPONSE: SHIFT,
    "audience_effect": SHIFT.minus(SHIFT),
}
"""What a figure can be, where it is no share."""


def checks_of(row: Pressed, thresholds: Mapping[str, float]) -> Iterator[Judged]:
    """Hold one group against every threshold.

    Args:
        row: The group's estimates.
        thresholds: Measure to threshold, as fractions of 1.
    """
    for measure, threshold in thresholds.items():
        if measure == MISSING:
            yield Judged(_missing(row, threshold), ())
        elif measure == WORST:
            yield _worst(row, threshold)
        else:
            name = _ESTIMATES[measure]
            one, limits = row.estimates[name], row.ranges[name]
            check = _check(measure, row.keys, threshold, one, limits)
            yield Judged(check, _sides(row, measure), limits=limits)


def _check(
    measure: str,
    group: dict[str, Any],
    threshold: float,
    one: Estimate,
    limits: Range,
) -> Check:
    return check_of(
        one.bounds,
        limits,
        _POSSIBLE.get(measure, SHARE),
        threshold,
        at_least=measure == EVIDENCE_RESPONSE,
        measure=measure,
        group=group,
        level=LEVEL,
        scope=one.scope,
        runs=one.runs,
        turns=one.turns,
        missing=one.missing,
        reason=(one.reason or "") if math.isnan(one.high) else "",
    )


def _missing(row: Pressed, threshold: float) -> Check:
    """What is missing is counted, not sampled: it has no interval."""
    public, other = row.planned["left"].to_numpy(), row.planned["right"].to_numpy()
    runs = row.planned.unique("run")
    found = missingness(public, other, int(runs["attempts"].sum()), runs.height)
    return counted(
        found.share,
        threshold,
        measure=MISSING,
        group=row.keys,
        **turns_of(row.planned).sizes._asdict(),
    )


def _worst(row: Pressed, threshold: float) -> Judged:
    """Divergence where it is largest, by bounds that hold for all scenarios at once."""
    parts = scenario_divergence(row.pressed, LEVEL)
    bounds = [one.bounds for one in parts]
    at_worst = [
        Bounds(one.bounds.value, *widened(one.bounds, one.limits, SHARE))
        for one in parts
    ]
    # A scenario without any value could be the worst: then it is inconclusive.
    unknown = not parts or any(math.isnan(b.value) for b in bounds)
    sampled, most = worst(bounds), worst(at_worst)
    place = most.place
    low, high = most.bounds.low, math.nan if unknown else most.bounds.high
    check = Check(
        measure=WORST,
        group=row.keys,
        threshold=threshold,
        value=most.bounds.value,
        low=low,
        high=high,
        sampled_low=sampled.bounds.low,
        sampled_high=math.nan if unknown else sampled.bounds.high,
        verdict=judged(low, high, threshold),
        level=LEVEL,
        scope=str(Scope.RUNS),
        about=parts[place].scenario if place >= 0 else "",
        reason="" if not math.isnan(high) else _unbounded(parts, unknown),
        **turns_of(parts[place].turns if place >= 0 else row.pressed).sizes._asdict(),
    )
    if place < 0:
        return Judged(check, ())
    one = parts[place]
    side = _side(one.turns, "divergence")
    return Judged(check, (side,), sidak_level(LEVEL, len(parts)), one.limits)


def _unbounded(parts: Sequence[ScenarioRate], unknown: bool) -> str:
    if not parts:
        return NO_ALIGNMENT
    return EMPTY_SCENARIO if unknown else "too few runs for an interval"


def _sides(row: Pressed, measure: str) -> tuple[Side, ...]:
    if measure == "baseline":
        return (_side(row.baseline, "divergence"),)
    if measure == EVIDENCE_RESPONSE:
        return _side(row.evidence, "conversion"), _side(row.baseline, "conversion")
    if measure in {"audience_effect", "conversion"}:
        return _side(row.pressed, measure), _side(row.baseline, measure)
    return (_side(row.pressed, measure),)


def _side(rows: pl.DataFrame, measure: str) -> Side:
    turns = turns_of(rows)
    gap = turns.public - turns.other
    values = {
        "audience_effect": gap,
        "conversion": np.where(np.isnan(gap), math.nan, turns.other),
        "accommodation": np.maximum(gap, 0),
    }.get(measure, np.abs(gap))
    exclusive = 2 if measure == "audience_effect" else 1
    return Side(values, turns.runs, turns.cells, exclusive)
