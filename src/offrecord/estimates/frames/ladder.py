"""The ladder of audiences: the stance by rung, rung against rung, and its trend.

The rungs of one turn answer the same history, so differences are taken turn by turn.
The trend is the slope of the least-squares line through a turn's rungs, counted 0, 1,
2, ... from the lowest, averaged over turns that have all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.stratified import stratified_mean, stratified_rate
from offrecord.estimates.frames.groups import group_keys, grouped, pooled
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.weighing import How, noted, own_weights

FEWEST: Final = 3
"""Rungs that make a ladder: two are a pair of channels, which the split is about."""

_Estimator = Callable[[Sample, Values, Scope, float], Estimate]
_TURN: Final = ("run", "agent", "round")


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderFigures(Estimate):
    """One estimate of a ladder; shares of turns on the pressed side."""

    quantity: str
    """`level` of a rung, `step` from the rung below, `against` the spoken channel, or
    `trend`, per rung."""
    rung: str
    """Which rung; of a trend, the highest."""


def ladder_rows(
    pairs: pl.DataFrame, by: Sequence[str], rungs: Sequence[str], how: How
) -> Iterator[Row[LadderFigures]]:
    """The ladder of every group.

    Args:
        pairs: Rows as `stance_pairs` gives them; the spoken channel is on the left.
        by: Keys to group by.
        rungs: The channels of the ladder, lowest first.
        how: Scope and level of the intervals, and what cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    heard = {*pairs["left_channel"], *pairs["right_channel"]}
    found = [rung for rung in rungs if rung in heard]
    if len(found) < FEWEST:
        return
    spoken = str(pairs["left_channel"][0])
    frame = clustered(_turns(pairs, found, spoken))
    keys = group_keys(frame, by)
    for named, group in grouped(pooled(frame, keys), keys):
        for quantity, rung, one in _figures(group, found, spoken, how):
            figures = asdict(one) | {"quantity": quantity, "rung": rung}
            yield Row(named, LadderFigures(**figures))


def _turns(pairs: pl.DataFrame, rungs: Sequence[str], spoken: str) -> pl.DataFrame:
    """One row per turn, with a column for the stance in each rung."""
    turns = pairs.unique(_TURN, maintain_order=True)
    side = pl.col("left").cast(pl.Float64).alias(_column(spoken))
    turns = turns.with_columns(side) if spoken in rungs else turns
    for rung in rungs:
        if rung != spoken:
            own = pairs.filter(right_channel=rung)
            stance = pl.col("right").cast(pl.Float64).alias(_column(rung))
            turns = turns.join(own.select(*_TURN, stance), on=_TURN, how="left")
    return turns.with_columns(right_channel=pl.lit("ladder"))


def _column(rung: str) -> str:
    """The stance in a rung: a rung may have the name of a column of the cell."""
    return f"_in {rung}"


def _figures(
    group: pl.DataFrame, rungs: Sequence[str], spoken: str, how: How
) -> Iterator[tuple[str, str, Estimate]]:
    columns = {rung: group[_column(rung)] for rung in rungs}
    stances = {
        rung: one.fill_null(math.nan).to_numpy() for rung, one in columns.items()
    }
    below = None
    for rung, values in stances.items():
        yield "level", rung, _taken(stratified_rate, group, values, how)
        if below is not None:
            step = values - stances[below]
            yield "step", rung, _taken(stratified_gap, group, step, how)
        if spoken in stances and rung != spoken:
            apart = values - stances[spoken]
            yield "against", rung, _taken(stratified_gap, group, apart, how)
        below = rung
    places = np.arange(len(rungs)) - (len(rungs) - 1) / 2
    slopes = places @ np.array([*stances.values()]) / (places**2).sum()
    yield "trend", rungs[-1], _taken(stratified_mean, group, slopes, how)


def _taken(
    estimate: _Estimator, group: pl.DataFrame, values: Values, how: How
) -> Estimate:
    sample = scoped(group, values, how.scope)
    weights, left_out = own_weights(group, sample, how.weights)
    return noted(estimate(sample, weights, how.scope, how.level), left_out)
