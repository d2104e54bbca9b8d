"""Cells with equal weight: a figure over several, whatever their numbers of turns.

Each cell (a scenario under a condition) counts the same, so that none counts for less
because its turns went missing. Where all cells have as many turns, that is the pooled
rate and its interval. Where they have not, the interval moves to the equally weighted
value, and its arms are longer by the square root of Kish's effect of unequal weights,
n sum(w^2) / sum(w)^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.missingness import accommodating_range, rate_ranges
from offrecord.estimates.arrays.rates import quadrants, share
from offrecord.estimates.frames.groups import SAME_CELL, grouped

EMPTY_CELL: Final = "a cell has no turn with both stances"
"""Why a figure over cells is undefined."""


class Cell(NamedTuple):
    """What is known of one scenario under one condition."""

    same: tuple[Any, ...]
    """What a cell shares with its baseline."""
    turns: int
    """Turns with both stances."""
    values: dict[str, float]
    """Shares of these, NaN without any."""
    ranges: dict[str, Range]
    """The same over all planned turns, if missing stances could be anything."""


def cells_of(group: pl.DataFrame) -> list[Cell]:
    """The cells of a group of turns, rows as `clustered` gives them."""
    names = [*SAME_CELL, "condition"]
    found = []
    for named, rows in grouped(group, names):
        public, other = rows["left"].to_numpy(), rows["right"].to_numpy()
        counts, ranges = quadrants(public, other), rate_ranges(public, other)
        values = {
            "public": counts.public,
            "off_record": counts.other,
            "gap": counts.public - counts.other,
            "divergence": counts.divergence,
            "accommodating": share(counts.accommodating, counts.turns),
            "reversing": share(counts.reversing, counts.turns),
        }
        found.append(
            Cell(
                tuple(named[key] for key in SAME_CELL),
                counts.turns,
                values,
                {
                    **ranges._asdict(),
                    "accommodating": accommodating_range(public, other),
                    "reversing": accommodating_range(other, public),
                },
            )
        )
    return found


def weighed(pooled: Estimate, cells: Sequence[Cell], name: str) -> Estimate:
    """A rate with equal weight for each of its cells, of which there is at least one.

    Args:
        pooled: The rate over the turns of all cells together.
        cells: These cells.
        name: Which of their values it is the mean of.
    """
    effect = design_effect([1.0] * len(cells), [cell.turns for cell in cells])
    value = fmean(cell.values[name] for cell in cells)
    return moved(pooled, value, effect, (0.0, 1.0))


def design_effect(weights: Sequence[float], turns: Sequence[int]) -> float:
    """Design effect of unequal weights (Kish 1965): factor on the half-width."""
    if not all(turns):
        return math.nan
    each = sum(weight**2 / n for weight, n in zip(weights, turns, strict=True))
    return math.sqrt(sum(turns) * each) / sum(weights)


def moved(
    pooled: Estimate, value: float, effect: float, limits: tuple[float, float]
) -> Estimate:
    """An estimate at another value, its arms as many times as long, within limits."""
    if math.isnan(effect):
        nan = math.nan
        return replace(pooled, value=nan, low=nan, high=nan, se=nan, reason=EMPTY_CELL)
    if math.isclose(effect, 1.0):
        return pooled
    least, most = limits
    low = value - effect * (pooled.value - pooled.low)
    high = value + effect * (pooled.high - pooled.value)
    return replace(
        pooled,
        value=value,
        low=low if math.isnan(low) else max(low, least),
        high=high if math.isnan(high) else min(high, most),
        se=effect * pooled.se,
        method=f"{pooled.method}, cells weighted equally",
    )


def mean_range(ranges: Sequence[Range]) -> Range:
    """The range of the mean of several figures; NaN without any."""
    if not ranges:
        return Range(math.nan, math.nan)
    lows, highs = zip(*ranges, strict=True)
    return Range(fmean(lows), fmean(highs))
