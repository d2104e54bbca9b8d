"""What the cells of a group weigh, and which of them a figure leaves out.

Cells weigh alike, or by their turns (`Weights`). One without a value is left out, and
so is, in a difference, one without a counterpart that has a value; both are named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offrecord.estimates.arrays.bounds import Range
from offrecord.estimates.arrays.differences import Sides
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import LEVEL
from offrecord.estimates.arrays.missingness import (
    RateRanges,
    SplitRanges,
    accommodating_range,
    rate_ranges,
    split_ranges,
)
from offrecord.estimates.arrays.pairing import (
    Linked,
    Weights,
    following,
    linked,
    turn_shares,
)
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.records import CELL, CELL_JSON, factor_names

NO_VALUE: Final = "no turn has a value"
NO_BASELINE: Final = "no baseline with a value"
"""Why a cell is left out."""

_UNNAMED: Final = {*CELL_JSON, "kind", "timing", "dose"}  # other columns say them
_SHOWN: Final = 3  # cells that are named


class How(NamedTuple):
    """How figures over cells are taken."""

    scope: Scope = Scope.RUNS
    """What the intervals generalize to."""
    weights: Weights = Weights.CELLS
    """What they are means of."""
    level: float = LEVEL
    """How often such intervals are to hold the truth."""


class Own(NamedTuple):
    """What the cells of a group weigh in its own figures."""

    weights: Values
    left_out: str
    """Which cells are, and why; empty where none is."""


class Against(NamedTuple):
    """What the cells of a group and of its baseline weigh in a difference."""

    sides: Sides
    left_out: str


def own_weights(rows: pl.DataFrame, sample: Sample, weights: Weights) -> Own:
    """What the cells of a group weigh.

    Args:
        rows: As `numbered` gives them.
        sample: Their values.
        weights: What the figure is the mean of.
    """
    given = weights.of_cells(sample)
    return Own(given, left_out(rows, given == 0, NO_VALUE) if given.any() else "")


def against_baseline(
    rows: pl.DataFrame,
    sample: Sample,
    baseline: pl.DataFrame,
    beside: Sample,
    weights: Weights,
) -> Against:
    """What the cells of a group and those of its baseline weigh.

    Args:
        rows: The group, as `numbered` gives it.
        sample: Its values.
        baseline: The baseline rows of its cells.
        beside: Their values.
        weights: What the figures are means of.
    """
    first = linked(sample, rows["_same"].to_numpy())
    second = linked(beside, baseline["_same"].to_numpy())
    empty, paired = first.turns == 0, first.beside(second)
    notes = [
        left_out(rows, empty, NO_VALUE) if not empty.all() else "",
        left_out(rows, ~empty & ~paired, NO_BASELINE),
    ]
    return Against(
        _sides(first, second, weights), "; ".join(note for note in notes if note)
    )


def _sides(first: Linked, second: Linked, weights: Weights) -> Sides:
    given = weights.of(first.turns) * first.beside(second)
    return given, following(given, first, second, weights)


def noted(estimate: Estimate, note: str) -> Estimate:
    """An estimate that says which cells it leaves out."""
    return replace(estimate, left_out=note or None)


def left_out(rows: pl.DataFrame, out: NDArray[np.bool_], why: str) -> str:
    """Name the cells that are left out; nothing where none is.

    Args:
        rows: As `numbered` gives them.
        out: Shape (cells,), in the order of their ids.
        why: The reason.
    """
    if not out.any():
        return ""
    cells = np.unique(rows["_cell"].to_numpy())[out]
    names = named_cells(rows, cells)
    number = f"{len(names)} cell{'s' if len(names) > 1 else ''}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{number} left out, {why}: {', '.join(names[:_SHOWN])}{more}"


def named_cells(rows: pl.DataFrame, cells: Ids) -> list[str]:
    """Cells by the columns in which they differ from others, in order.

    Args:
        rows: As `numbered` gives them.
        cells: Ids of the cells to name.
    """
    alone = (rows["partner"] == rows["model"]).all()
    unnamed = {*_UNNAMED, "partner"} if alone else _UNNAMED
    possible = [name for name in CELL if name not in unnamed]
    columns = [
        name
        for name in (*possible, *factor_names(rows.columns))
        if rows[name].n_unique() > 1
    ] or ["scenario", "condition"]
    named = rows.filter(pl.col("_cell").is_in(cells)).unique("_cell")
    table = named.select(columns).sort(columns).rows()
    return [" ".join(str(one) for one in row if one is not None) for row in table]


def ranges_of(rows: pl.DataFrame, weights: Weights) -> RateRanges:
    """Worst and best case of a group's rates over all its planned turns.

    Args:
        rows: As `numbered` gives them.
        weights: What the rates are means of.
    """
    return rate_ranges(*_planned(rows, weights.of(_turns(rows).turns)))


def accommodating_ranges(rows: pl.DataFrame) -> tuple[Range, Range]:
    """The same of accommodating and of reversing turns, cells weighing alike."""
    given = _planned(rows, Weights.CELLS.of(_turns(rows).turns))
    public, other, shares = given
    return (
        accommodating_range(public, other, shares),
        accommodating_range(other, public, shares),
    )


def split_ranges_of(
    rows: pl.DataFrame, baseline: pl.DataFrame | None, weights: Weights
) -> SplitRanges:
    """Worst and best case of X, Y and Z over all planned turns.

    Args:
        rows: The group, as `numbered` gives it.
        baseline: The baseline rows of its cells, if any.
        weights: What the figures are means of.
    """
    if baseline is None:
        return SplitRanges()
    one, two = _sides(_turns(rows), _turns(baseline), weights)
    return split_ranges(
        rate_ranges(*_planned(rows, one)), rate_ranges(*_planned(baseline, two))
    )


def _turns(rows: pl.DataFrame) -> Linked:
    """The cells of a group with all their planned turns."""
    cells = rows["_cell"].to_numpy()
    every = Sample(np.zeros(cells.size), cells, cells, cells)
    return linked(every, rows["_same"].to_numpy())


def _planned(rows: pl.DataFrame, weights: Values) -> tuple[Values, Values, Values]:
    shares = turn_shares(rows["_cell"].to_numpy(), weights)
    return rows["left"].to_numpy(), rows["right"].to_numpy(), shares
