"""What was observed where nobody was asked off the record: no effect of an audience."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import polars as pl

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.frames.groups import group_keys, grouped
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.weighing import How, noted, own_weights

ON_SIDE: Final = "on_side"
CHANGED: Final = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedFigures(Estimate):
    """One observational rate of spoken stances; shares of turns."""

    quantity: str
    """`on_side`, the stance is on the pressed side, or `changed`, it is another one
    than the agent's stance before, of turns that have one before."""


def observed_rows(
    stances: pl.DataFrame, by: Sequence[str], how: How
) -> Iterator[Row[ObservedFigures]]:
    """How often agents took the pressed side aloud, and changed their stance.

    Args:
        stances: Rows as `spoken_stances` gives them.
        by: Keys to group by.
        how: Scope and level of the intervals, and what cells weigh.

    Raises:
        OffrecordError: If a key is unknown.
    """
    if stances.is_empty():
        return
    frame = clustered(stances)
    value = pl.when(pl.col("left").is_finite()).then("left")
    seat = ["run", "agent"]
    before = value.forward_fill().shift().over(seat, order_by="round")
    changed = (value != before).cast(pl.Float64).fill_null(math.nan)
    frame = frame.with_columns(changed.alias("_changed"), before.alias("_before"))
    keys = group_keys(frame, by)
    for named, group in grouped(frame, keys):
        later = group.filter(pl.col("_before").is_not_null())
        for quantity, rows, column in (
            (ON_SIDE, group, "left"),
            (CHANGED, later, "_changed"),
        ):
            sample = scoped(rows, rows[column].to_numpy(), how.scope)
            weights, left_out = own_weights(rows, sample, how.weights)
            one = stratified_rate(sample, weights, how.scope, how.level)
            figures = asdict(noted(one, left_out)) | {"quantity": quantity}
            yield Row(named, ObservedFigures(**figures))
