"""The scenario in which a group diverges most, by bounds that hold for all at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.bounds import Bounds, Range
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.multiplicity import sidak_level
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.frames.groups import grouped
from offrecord.estimates.frames.scopes import scoped
from offrecord.estimates.frames.weighing import ranges_of


class ScenarioRate(NamedTuple):
    """Divergence in one scenario, every cell of it with equal weight."""

    scenario: str
    bounds: Bounds
    """The rate, and an interval that holds together with those of the others."""
    limits: Range
    """What it is over all planned turns, if missing stances could be anything."""
    turns: pl.DataFrame


def scenario_divergence(
    pressed: pl.DataFrame, level: float = LEVEL
) -> list[ScenarioRate]:
    """The divergence of a group in each of its scenarios, in their order.

    Args:
        pressed: Turns of one group, as `clustered` numbers them.
        level: How often all intervals hold together.
    """
    parts = list(grouped(pressed, ["scenario"]))
    each = sidak_level(level, len(parts))
    found = []
    for named, part in parts:
        values = np.abs(part["left"].to_numpy() - part["right"].to_numpy())
        rate = stratified_rate(scoped(part, values), level=each)
        limits = ranges_of(part, Weights.CELLS).divergence
        found.append(ScenarioRate(named["scenario"], rate.bounds, limits, part))
    return found
