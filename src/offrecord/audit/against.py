"""Non-inferiority as a check: is a study at most a margin above an earlier one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.audit.checks import (
    LEVEL,
    SHIFT,
    Check,
    Judged,
    Side,
    check_of,
)
from offrecord.estimates.against import against_rows
from offrecord.estimates.arrays.bounds import NOTHING, UNKNOWN
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.comparable import compared
from offrecord.estimates.frames.groups import matching, numbered, pooled, turns_of
from offrecord.measures.parsed import target_pairs
from offrecord.records import Kind
from offrecord.transcript.record import Record

AGAINST: Final = "against"
NEITHER: Final = "neither study has an alignment condition"


def against_checks(
    study: Record, earlier: Record, by: Sequence[str], margin: float
) -> list[Judged]:
    """Is divergence under alignment at most a margin above an earlier study's?

    Args:
        study: The study that is judged.
        earlier: The earlier one.
        by: What is judged one by one.
        margin: As a fraction of 1.
    """
    new, old = (
        pooled(target_pairs(one), by).filter(kind=Kind.ALIGNMENT)
        for one in (study, earlier)
    )
    alike = compared(study, earlier)
    found = []
    for row in against_rows(new, old, by, margin, alike):
        group, of = dict(row.group), row.of
        check = check_of(
            of.bounds,
            of.possible,
            SHIFT,
            margin,
            measure=AGAINST,
            group=group,
            level=of.level,
            scope=of.scope,
            runs=of.runs_new + of.runs_old,
            turns=of.turns_new + of.turns_old,
            missing=of.missing_new + of.missing_old,
            about=of.note,
            reason=of.reason,
        )
        if alike.unlike:
            unlike = replace(check, verdict=Verdict.INCONCLUSIVE)
            found.append(Judged(unlike, (), unlike=alike.unlike))
            continue
        two = (_side(new, group), _side(old, group))
        found.append(Judged(check, two if all(s.runs.size for s in two) else ()))
    return found or [Judged(_nothing(margin), ())]


def _side(pairs: pl.DataFrame, group: dict[str, Any]) -> Side:
    turns = turns_of(numbered(matching(pairs, group)))
    gap = turns.public - turns.other
    return Side(np.abs(gap), turns.runs, turns.cells, 1)


def _nothing(margin: float) -> Check:
    return check_of(
        UNKNOWN,
        NOTHING,
        SHIFT,
        margin,
        measure=AGAINST,
        group={},
        level=LEVEL,
        scope=str(Scope.RUNS),
        runs=0,
        turns=0,
        missing=0,
        reason=NEITHER,
    )
