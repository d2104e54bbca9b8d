"""The noise floor of each group: how often samples of one prompt differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.floor import Draws, Floor, noise_floor
from offrecord.estimates.arrays.floor_spread import (
    FloorInterval,
    floor_interval,
    floor_test,
)
from offrecord.estimates.arrays.permutation import PValue
from offrecord.estimates.arrays.scope import RUNS_ONLY, Scope
from offrecord.estimates.frames.groups import dosed, group_keys, grouped, pooled
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.rows import LEVEL
from offrecord.records import CELL

SHADOWS: Final = "shadows"
REPEATS: Final = "repeats of turn 1"


@dataclass(frozen=True, kw_only=True)
class FloorFigures:
    """The noise floor: how often samples of one prompt differ."""

    source: str
    """`SHADOWS`, or `REPEATS` where there are none."""
    floor: Floor
    interval: FloorInterval
    outcome: PValue
    reason: str
    scope: str
    level: float = LEVEL

    @property
    def bounds(self) -> Bounds:
        """D* with its interval."""
        return Bounds(self.floor.d_star, self.interval.low, self.interval.high)


def floor_rows(
    draws: pl.DataFrame,
    spoken: str,
    by: Sequence[str],
    rng: np.random.Generator,
    scope: Scope = Scope.RUNS,
) -> list[Row[FloorFigures]]:
    """The noise floor of each group, from its shadows or from repeats of turn 1.

    Args:
        draws: Rows as `stance_draws` gives them.
        spoken: The channel whose draw 0 enters the history.
        by: Keys to group by.
        rng: Permutes draws where the ways are too many to count.
        scope: What is asked for; there is an interval for new runs alone.

    Raises:
        OffrecordError: If a key is unknown.
    """
    others = draws.filter(pl.col("channel") != spoken)
    keys = group_keys(others.rename({"channel": "right_channel"}), by)
    found = []
    for channel in sorted(others["channel"].unique()):
        two = (
            draws.filter(pl.col("channel").is_in([spoken, channel]))
            .with_columns(
                _other=pl.col("channel") == channel, right_channel=pl.lit(channel)
            )
            .with_columns(_held=(pl.col("draw") == 0) & ~pl.col("_other"))
        )
        for named, group in grouped(pooled(_numbered_draws(two), keys), keys):
            shadows = group["draw"].max() != 0
            arrays = _draw_arrays(group, shadows)
            interval, test = _interval(arrays, scope), floor_test(arrays, rng)
            figures = FloorFigures(
                source=SHADOWS if shadows else REPEATS,
                floor=noise_floor(arrays),
                interval=interval,
                outcome=test,
                reason=test.reason or interval.reason,
                scope=str(scope),
            )
            found.append(Row(named, figures))
    return found


def _interval(draws: Draws, scope: Scope) -> FloorInterval:
    if scope is Scope.RUNS:
        return floor_interval(draws)
    return FloorInterval(math.nan, math.nan, RUNS_ONLY)


def _numbered_draws(draws: pl.DataFrame) -> pl.DataFrame:
    return (
        dosed(draws)
        .with_columns(
            pl.col("cluster").rank("dense").cast(pl.Int64).alias("_run"),
            pl.struct(CELL).rank("dense").cast(pl.Int64).alias("_cell"),
            pl.struct("run", "agent", "turn")
            .rank("dense")
            .cast(pl.Int64)
            .alias("_turn"),
        )
        .sort("_turn", "_other", "draw")
    )


def _draw_arrays(group: pl.DataFrame, shadows: bool) -> Draws:
    """The draws of turns with shadows, or those of the first turn of every run.

    Draws of a first turn that are repeats enter nobody else's history: none is held.
    """
    rows = group if shadows else group.filter(pl.col("turn") == 1)
    held = rows["_held"] if shadows else pl.zeros(rows.height, pl.Boolean, eager=True)
    return Draws(
        rows["on_pressed_side"].cast(pl.Float64).fill_null(math.nan).to_numpy(),
        rows["_other"].to_numpy(),
        rows["_turn" if shadows else "_cell"].to_numpy(),
        rows["_run"].to_numpy(),
        rows["_cell"].to_numpy(),
        held.to_numpy(),
    )
