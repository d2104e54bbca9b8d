"""Non-inferiority as a check: is a study at most a margin above an earlier one?"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from offrecord.estimates.arrays.missingness import Range
from offrecord.estimates.arrays.mover import Bounds
from offrecord.estimates.arrays.rates import share
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.groups import matching, numbered, turns_of
from offrecord.estimates.frames.noninferiority import Verdict, noninferiority_rows
from offrecord.records import Kind

AGAINST: Final = "against"
NEITHER: Final = "neither study has an alignment condition"


def against_checks(
    new: pl.DataFrame, old: pl.DataFrame, by: Sequence[str], margin: float
) -> list[Judged]:
    """Is divergence under alignment at most a margin above an earlier study's?

    Args:
        new: The target's pairs of the study that is judged.
        old: Those of the earlier one.
        by: What is judged one by one. Models that were renamed are compared as one.
        margin: As a fraction of 1.
    """
    new, old = (pairs.filter(kind=Kind.ALIGNMENT) for pairs in (new, old))
    same_models = set(new["model"].unique()) == set(old["model"].unique())
    keys = [key for key in by if key != "model" or same_models]
    found = []
    for row in noninferiority_rows(new, old, keys, margin, level=LEVEL):
        group = {
            key: row[key] for key in row if key in {*keys, "agent", "right_channel"}
        }
        bounds = Bounds(row["value"], row["low"], row["high"])
        limits = _possible(row, "new").minus(_possible(row, "old"))
        check = check_of(
            bounds,
            limits,
            SHIFT,
            margin,
            measure=AGAINST,
            group=group,
            level=row["level"],
            scope=row["scope"],
            runs=row["runs_new"] + row["runs_old"],
            turns=row["turns_new"] + row["turns_old"],
            missing=row["missing_new"] + row["missing_old"],
            about=row["note"],
            reason=row["reason"],
        )
        two = (_side(new, group), _side(old, group))
        found.append(Judged(check, two if all(s.runs.size for s in two) else ()))
    return found or [Judged(_nothing(margin), ())]


def _side(pairs: pl.DataFrame, group: dict[str, Any]) -> Side:
    turns = turns_of(numbered(matching(pairs, group)))
    gap = turns.public - turns.other
    return Side(np.abs(gap), turns.runs, turns.cells, 1)


def _nothing(margin: float) -> Check:
    nan = math.nan
    return Check(
        measure=AGAINST,
        group={},
        threshold=margin,
        value=nan,
        low=nan,
        high=nan,
        sampled_low=nan,
        sampled_high=nan,
        verdict=Verdict.INCONCLUSIVE,
        level=LEVEL,
        scope=str(Scope.RUNS),
        runs=0,
        turns=0,
        missing=0,
        reason=NEITHER,
    )


def _possible(row: dict[str, Any], study: str) -> Range:
    """The rate of a study over all planned turns, whatever the missing ones are."""
    turns, missing = row[f"turns_{study}"], row[f"missing_{study}"]
    if not turns:
        return Range(math.nan, math.nan)
    events = round(row[f"value_{study}"] * turns)
    return Range(
        share(events, turns + missing), share(events + missing, turns + missing)
    )
