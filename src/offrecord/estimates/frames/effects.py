"""Whether the audience effect of a group is one at all: its own randomization test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.permutation import PValue
from offrecord.estimates.arrays.randomization import audience_effect_test
from offrecord.estimates.arrays.rates import Ids
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import scoped
from offrecord.estimates.frames.splits import SplitRow

MEASURE: Final = "audience_effect"


@dataclass(frozen=True, kw_only=True)
class EffectFigures:
    """The test that a group's audience effect is 0."""

    value: float
    """Z, every cell with a baseline weighing alike."""
    statistic: float
    """Z over its standard error."""
    outcome: PValue
    measure: str = MEASURE
    test: str = "studentised exchange of whole runs of a condition and its baseline"


def effect_rows(
    rows: Sequence[SplitRow], rng: np.random.Generator
) -> list[Row[EffectFigures]]:
    """The test of every group that has a baseline beside it.

    Args:
        rows: The split of each group.
        rng: Draws the exchanges.
    """
    found = []
    for row in rows:
        if row.baseline is None:
            continue
        condition, baseline = _known(row.turns), _known(row.baseline)
        paired = condition.filter(pl.col("_same").is_in(baseline["_same"].implode()))
        test = audience_effect_test(
            _gaps(paired), _gaps(baseline), _counterparts(paired, baseline), rng
        )
        figures = EffectFigures(
            value=test.difference, statistic=test.statistic, outcome=test.test
        )
        found.append(Row(row.keys, figures))
    return found


def _known(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter((pl.col("left") - pl.col("right")).is_not_nan())


def _gaps(rows: pl.DataFrame) -> Sample:
    return scoped(rows, rows["left"].to_numpy() - rows["right"].to_numpy())


def _counterparts(condition: pl.DataFrame, baseline: pl.DataFrame) -> Ids:
    """The baseline cell of each cell of a condition, in the order of their ids."""
    cells = condition.unique("_cell").sort("_cell").select("_same")
    beside = baseline.unique("_same").select("_same", other="_cell")
    return cells.join(beside, on="_same", maintain_order="left")["other"].to_numpy()
