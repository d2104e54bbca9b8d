"""The gap between two channels of the same runs, and whether it is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from offrecord.estimates.arrays.mover import gap_of, outcome
from offrecord.estimates.arrays.permutation import sign_flip_test
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.groups import group_keys, grouped, numbered, turns_of


def channel_gap_rows(
    pairs: pl.DataFrame,
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """The gap between the channels of each group, tested by the signs of whole runs.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by.
        rng: Draws signs where they are too many to count.
        level: Of the intervals.

    Returns:
        One row per group: its keys, `value` with `low` and `high`, and `p`.

    Raises:
        OffrecordError: If a key is unknown.
    """
    rows = []
    for named, group in grouped(numbered(pairs), group_keys(pairs, by)):
        turns = turns_of(group)
        gap = gap_of(turns, level)
        test = sign_flip_test(turns.public - turns.other, turns.runs, rng)
        rows.append(
            {
                **named,
                "measure": "gap",
                **turns.sizes(),
                **gap._asdict(),
                "level": level,
                **outcome(test, gap),
                "method": "MOVER from accommodating and reversing turns",
                "test": "signs of whole runs flipped",
                "scope": str(Scope.RUNS),
            }
        )
    return rows
