"""Non-inferiority: is a study no worse than another one, by more than a margin?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.mover import Bounds, difference, rate_bounds
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.groups import group_keys, grouped, numbered
from offrecord.estimates.frames.sides import Contrast, Side, shared_sides
from offrecord.records import factor_names

_STUDY = "_study"

NO_SHARED: Final = "the two studies share no stratum with a value"
"""Why there is no difference."""


class Verdict(StrEnum):
    """What the interval says of the margin."""

    PASS = "pass"
    """Even the upper bound is below the margin."""
    FAIL = "fail"
    """Even the lower bound is above it."""
    INCONCLUSIVE = "inconclusive"
    """The margin is inside, or there is no interval."""


def verdict(moved: Bounds, margin: float) -> Verdict:
    """Judge a difference, new minus old, of a figure that is worse when larger.

    Args:
        moved: The difference with its interval. A two-sided 95 % interval makes this a
            one-sided test of size 2.5 %.
        margin: The largest difference that does not matter, in the same unit.
    """
    if moved.high < margin:
        return Verdict.PASS
    if moved.low > margin:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE


def noninferiority_rows(
    new: pl.DataFrame,
    old: pl.DataFrame,
    by: Sequence[str],
    margin: float,
    *,
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """Divergence of a study less that of another, on the strata that both have.

    Args:
        new: Pairs of the study that is judged, as `stance_pairs` gives them.
        old: Pairs of the study that it is judged by.
        by: Keys to group by. Models with other names in the two studies are compared
            as long as the model is no key.
        margin: The largest difference that does not matter, as a fraction of 1.
        level: Of the intervals.

    Raises:
        OffrecordError: If a key is unknown.
    """
    # Equal designs give equal run ids: one hash names one run in each study.
    both = pl.concat(
        [
            pairs.with_columns(
                pl.lit(name).alias(_STUDY), run=pl.format("{} {}", pl.lit(name), "run")
            )
            for name, pairs in (("new", new), ("old", old))
        ],
        how="diagonal",
    )
    factors = factor_names(both.columns)
    found = []
    for named, group in grouped(numbered(both), group_keys(both, by)):
        sides = shared_sides(group, Contrast("", _STUDY, "new", "old"), factors)
        first, second = _divergence(sides.a, level), _divergence(sides.b, level)
        moved = difference(first, second)
        found.append(
            {
                **named,
                "measure": "divergence",
                **{f"{k}_new": v for k, v in sides.a.turns.sizes().items()},
                **{f"{k}_old": v for k, v in sides.b.turns.sizes().items()},
                "value_new": first.value,
                "value_old": second.value,
                **moved._asdict(),
                "level": level,
                "margin": margin,
                "verdict": str(verdict(moved, margin)),
                "scope": str(Scope.RUNS),
                "note": sides.note,
                "reason": _reason(moved),
            }
        )
    return found


def _divergence(side: Side, level: float) -> Bounds:
    turns = side.turns
    return rate_bounds(
        np.abs(turns.public - turns.other), turns.runs, turns.cells, level
    )


def _reason(moved: Bounds) -> str:
    if math.isnan(moved.value):
        return NO_SHARED
    return "too few runs for an interval" if math.isnan(moved.low) else ""
