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
ADOPTED: Final = "adopted"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedFigures(Estimate):
    """One observational rate of spoken stances; shares of turns."""

    quantity: str
    """`on_side`, the stance is on the pressed side; `changed`, it is another one than
    the agent's stance before, of turns that have one before; or `adopted`, the text of
    such a change is close to what another agent had said last, of all changes."""


def observed_rows(
    stances: pl.DataFrame, changes: pl.DataFrame, by: Sequence[str], how: How
) -> Iterator[Row[ObservedFigures]]:
    """How often agents took the pressed side aloud, and changed their stance.

    Args:
        stances: Rows as `spoken_stances` gives them.
        changes: Changes of the label as `changes_of` gives them.
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
    close = changes.select("run", "agent", "turn", _adopted=pl.col("close"))
    frame = frame.join(close, on=["run", "agent", "turn"], how="left").with_columns(
        pl.col("_adopted").cast(pl.Float64).fill_null(math.nan)
    )
    keys = group_keys(frame, by)
    for named, group in grouped(frame, keys):
        later = group.filter(pl.col("_before").is_not_null())
        adopted = later.filter(pl.col("_changed") == 1)
        for quantity, rows, column in (
            (ON_SIDE, group, "left"),
            (CHANGED, later, "_changed"),
            (ADOPTED, adopted, "_adopted"),
        ):
            if quantity == ADOPTED and rows["_adopted"].is_nan().all():
                continue  # nothing changed, or it was not measured
            sample = scoped(rows, rows[column].to_numpy(), how.scope)
            weights, left_out = own_weights(rows, sample, how.weights)
            one = stratified_rate(sample, weights, how.scope, how.level)
            figures = asdict(noted(one, left_out)) | {"quantity": quantity}
            yield Row(named, ObservedFigures(**figures))
