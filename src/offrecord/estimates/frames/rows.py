"""Rows for tables: what is estimated of each group of a study beside its rates.

All rows are plain dictionaries of a group's keys and figures, as fractions of 1; what
is undefined is NaN, and `reason` says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.floor import Draws, noise_floor
from offrecord.estimates.arrays.floor_spread import (
    CELLS_SCOPE,
    floor_interval,
    floor_test,
)
from offrecord.estimates.arrays.heterogeneity import variance_components
from offrecord.estimates.arrays.persistence import (
    first_divergence,
    persistence,
    run_correlation,
)
from offrecord.estimates.arrays.ranks import rank_sets, together, worst
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.groups import group_keys, grouped, numbered, turns_of
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.records import CELL

Rows = list[dict[str, Any]]

SHADOWS: Final = "shadows"
REPEATS: Final = "repeats of turn 1"


def floor_rows(
    draws: pl.DataFrame,
    spoken: str,
    by: Sequence[str],
    rng: np.random.Generator,
    *,
    over_cells: bool = False,
    level: float = 0.95,
) -> Rows:
    """The noise floor of each group, from its shadows or from repeats of turn 1.

    Args:
        draws: Rows as `stance_draws` gives them.
        spoken: The channel whose draw 0 enters the history.
        by: Keys to group by.
        rng: Deals draws anew where the ways are too many to count.
        over_cells: Whether the interval is for new cells, not new runs of these.
        level: Of the interval.

    Raises:
        OffrecordError: If a key is unknown.
    """
    others = draws.filter(pl.col("channel") != spoken)
    keys, found = group_keys(others.rename({"channel": "right_channel"}), by), Rows()
    for channel in sorted(others["channel"].unique()):
        two = (
            draws.filter(pl.col("channel").is_in([spoken, channel]))
            .with_columns(
                _other=pl.col("channel") == channel, right_channel=pl.lit(channel)
            )
            .with_columns(_held=(pl.col("draw") == 0) & ~pl.col("_other"))
        )
        for named, group in grouped(_numbered_draws(two), keys):
            shadows = group["draw"].max() != 0
            arrays = _draw_arrays(group, shadows)
            floor = noise_floor(arrays)
            interval = floor_interval(arrays, over_cells=over_cells, level=level)
            test = floor_test(arrays, rng)
            found.append(
                {
                    **named,
                    "source": SHADOWS if shadows else REPEATS,
                    **floor._asdict(),
                    **interval._asdict(),
                    "level": level,
                    **test._asdict(),
                    "reason": test.reason or interval.reason,
                    "scope": CELLS_SCOPE if over_cells else str(Scope.RUNS),
                }
            )
    return found


def persistence_rows(
    pairs: pl.DataFrame, by: Sequence[str], *, level: float = 0.95
) -> Rows:
    """How often each state lasts to the next turn, and how alike turns of a run are.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by.
        level: Of the intervals.

    Raises:
        OffrecordError: If a key is unknown.
    """
    found = Rows()
    for named, group in grouped(numbered(pairs), group_keys(pairs, by)):
        turns = turns_of(group)
        alike = run_correlation(_divergence(turns), turns.runs, turns.cells)
        for one in persistence(turns, level):
            found.append(
                {
                    **named,
                    "state": one.state,
                    "turns": one.turns,
                    **one.same._asdict(),
                    "level": level,
                    "correlation_pooled": alike.pooled,
                    "correlation_within_cells": alike.within_cells,
                    "scope": str(Scope.RUNS),
                    "reason": one.reason,
                }
            )
    return found


def survival_rows(
    pairs: pl.DataFrame, by: Sequence[str], *, level: float = 0.95
) -> Rows:
    """The share of runs that have not diverged up to each round (product limit).

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by.
        level: Of the intervals.

    Raises:
        OffrecordError: If a key is unknown.
    """
    return [
        {
            **named,
            "round": one.round,
            "at_risk": one.at_risk,
            "events": one.events,
            "censored": one.censored,
            **one.undiverged._asdict(),
            "level": level,
        }
        for named, group in grouped(numbered(pairs), group_keys(pairs, by))
        for one in first_divergence(turns_of(group), level)
    ]


def heterogeneity_rows(pairs: pl.DataFrame, by: Sequence[str]) -> Rows:
    """What of the spread of divergence over cells lies in models, scenarios, or both.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; model and scenario, which are split, are none.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = [key for key in group_keys(pairs, by) if key not in {"model", "scenario"}]
    ids = [
        pl.col(name).rank("dense").cast(pl.Int64).alias(f"_{name}")
        for name in ("model", "scenario")
    ]
    return [
        {
            **named,
            "measure": "divergence",
            **variance_components(
                _divergence(turns_of(group)),
                group["_run"].to_numpy(),
                group["_model"].to_numpy(),
                group["_scenario"].to_numpy(),
            )._asdict(),
            "note": unlike_partners(group),
        }
        for named, group in grouped(numbered(pairs).with_columns(ids), keys)
    ]


def rank_rows(pairs: pl.DataFrame, by: Sequence[str], *, level: float = 0.95) -> Rows:
    """The models of each group by divergence, with the ranks that they may have.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by beside the model.
        level: How often all ranks of a group hold together.

    Raises:
        OffrecordError: If a key is unknown.
    """
    found = Rows()
    keys = [key for key in group_keys(pairs, by) if key != "model"]
    for named, group in grouped(numbered(pairs), keys):
        models, turns = _parts(group, "model")
        ranks = rank_sets(turns, [_divergence(t) for t in turns], level)
        for model, rank in zip(models, ranks, strict=True):
            found.append(
                {
                    **named,
                    "model": model,
                    "measure": "divergence",
                    **rank._asdict(),
                    "of": len(models),
                    "level": level,
                    "scope": str(Scope.RUNS),
                    "note": unlike_partners(group),
                }
            )
    return found


def scenario_rows(
    pairs: pl.DataFrame, by: Sequence[str], *, level: float = 0.95
) -> Rows:
    """Divergence of each scenario, bounds holding together, and which is the worst.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by beside the scenario.
        level: How often all bounds of a group hold together.

    Raises:
        OffrecordError: If a key is unknown.
    """
    found = Rows()
    keys = [key for key in group_keys(pairs, by) if key != "scenario"]
    for named, group in grouped(numbered(pairs), keys):
        scenarios, turns = _parts(group, "scenario")
        bounds = together(turns, [_divergence(t) for t in turns], level)
        largest = worst(bounds)
        rows = [*zip(scenarios, bounds, strict=True)]
        if largest.place >= 0:
            rows.append((scenarios[largest.place], largest.bounds))
        for place, (scenario, one) in enumerate(rows):
            unbounded = "too few runs for an interval" if math.isnan(one.low) else ""
            found.append(
                {
                    **named,
                    "scenario": scenario,
                    "worst": place == len(scenarios),
                    "measure": "divergence",
                    **one._asdict(),
                    "level": level,
                    "scope": str(Scope.RUNS),
                    "reason": unbounded,
                }
            )
    return found


def _divergence(turns: Turns) -> Values:
    return np.abs(turns.public - turns.other)


def _parts(group: pl.DataFrame, column: str) -> tuple[list[Any], list[Turns]]:
    parts = [(keys[column], part) for keys, part in grouped(group, [column])]
    return [name for name, _ in parts], [turns_of(part) for _, part in parts]


def _numbered_draws(draws: pl.DataFrame) -> pl.DataFrame:
    return draws.with_columns(
        pl.col("run").rank("dense").cast(pl.Int64).alias("_run"),
        pl.struct(CELL).rank("dense").cast(pl.Int64).alias("_cell"),
        pl.struct("run", "agent", "turn").rank("dense").cast(pl.Int64).alias("_turn"),
    ).sort("_turn", "_other", "draw")


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
