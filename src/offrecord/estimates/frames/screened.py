"""Screening: what two arms answer to the same stored histories, paired by turn."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.differences import stratified_mean_difference
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.stratified import stratified_mean
from offrecord.estimates.frames.compared import Compared
from offrecord.estimates.frames.scopes import scoped
from offrecord.records import Kind

_TURN: Final = ("_stratum", "repeat", "agent", "round")


def screened(compared: Compared, level: float) -> Estimate:
    """The change between two arms, the difference of every turn that both answered.

    The history is the run. Where the change is one of a shift, the mean difference at
    baseline is taken off; cells weigh alike.

    Args:
        compared: Both sides, whose `_run` numbers stored histories.
        level: How often such intervals are to hold the truth.
    """
    sides = compared.sides
    beside = sides.b.rows.select(*_TURN, left_b="left", right_b="right")
    both = sides.a.rows.join(beside, on=_TURN, how="inner", maintain_order="left")
    moved = (pl.col("left") - pl.col("right")) - (pl.col("left_b") - pl.col("right_b"))
    values = both.select(moved.alias("moved"))["moved"].to_numpy()
    scope = compared.how.scope
    sample = scoped(both, values, scope)
    if not compared.doubly:
        return stratified_mean(sample, None, scope, level)
    base = (both["kind"] == Kind.BASELINE).to_numpy()
    pressed, rest = (sample.at(np.flatnonzero(one)) for one in (~base, base))
    return stratified_mean_difference(pressed, rest, None, scope, level)
