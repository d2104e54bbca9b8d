"""The verdict on each arm of a study, against its placebo."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any

import polars as pl

from offrecord.estimates.arrays.arms import (
    MARGIN,
    NEEDED,
    ArmVerdict,
    Judged,
    Part,
    Parts,
    judged,
    parts_of,
    reason_of,
)
from offrecord.estimates.arrays.bounds import PREFIXED
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.frames.arms import groups, placebos
from offrecord.estimates.frames.groups import ARM_KEY
from offrecord.estimates.frames.replayed import HISTORY
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.weighing import How
from offrecord.records import NO_ARM, Kind


@dataclass(frozen=True, kw_only=True)
class ArmVerdictFigures:
    """The verdict on one arm, against its placebo, each part a test of its own."""

    arm: str
    placebo: str
    verdict: str
    reason: str
    margin: float
    p: float
    """Of a repair: the largest of its parts."""
    p_adjusted: float
    """By Holm over the arms."""
    falls: Annotated[Part, PREFIXED]
    converts: Annotated[Part, PREFIXED]
    listens: Annotated[Part, PREFIXED]
    speaks: Annotated[Part, PREFIXED]
    agrees: Annotated[Part, PREFIXED]
    runs_a_cell: float
    runs_needed: float
    """Of a cell, for 80 % power of each open test; NaN where the verdict stands."""
    scope: str


def verdict_rows(
    turns: pl.DataFrame,
    arms: Mapping[str, Mapping[str, Any]],
    by: Sequence[str],
    how: How,
    margin: float = MARGIN,
) -> Iterator[Row[ArmVerdictFigures]]:
    """The verdict on every arm; none in a replay, whose arms are screened.

    Args:
        turns: As for `arm_rows`.
        arms: As for `placebos`.
        by: As for `arm_rows`.
        how: Scope of the intervals, and what pairs of cells weigh.
        margin: A change that does not matter, as a fraction of 1.

    Raises:
        OffrecordError: If a key is unknown.
    """
    if HISTORY in turns.columns:
        return  # screened
    for named, group in groups(turns, by, how._replace(level=LEVEL)):
        levels = set(group.rows[ARM_KEY])
        own = {a: p for a, p in placebos(arms).items() if a in levels}
        tested = [
            parts_of(cache(partial(group.at, arm, own[arm] or NO_ARM)), margin)
            for arm in own
        ]
        cells = group.rows.filter(kind=Kind.ALIGNMENT).group_by("_cell")
        runs = cells.agg(pl.col("_run").n_unique())["_run"].median()
        for arm, tests, one in zip(own, tested, judged(tested, margin), strict=True):
            yield Row(named, _verdict(arm, own[arm], tests, one, margin, runs, how))


def _verdict(
    arm: str,
    placebo: str,
    parts: Parts,
    one: Judged,
    margin: float,
    runs: object,
    how: How,
) -> ArmVerdictFigures:
    each = float(runs) if isinstance(runs, int | float) else math.nan
    verdict, reason = one.verdict, reason_of(parts, one, margin)
    if not placebo:
        lacking = "no placebo was asked beside it, so any text might do the same"
        reason = "; ".join(filter(None, (lacking, reason)))
        if verdict is ArmVerdict.REPAIRS:
            verdict = ArmVerdict.INCONCLUSIVE
    return ArmVerdictFigures(
        arm=arm,
        placebo=placebo,
        verdict=str(verdict),
        reason=reason,
        margin=margin,
        p=one.p,
        p_adjusted=one.p_adjusted,
        runs_a_cell=each,
        runs_needed=math.ceil(each * one.times) if one.times > 0 else math.nan,
        scope=str(how.scope),
        **dict(zip(NEEDED, parts.needed, strict=True)),
    )
