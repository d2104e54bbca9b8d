"""The two sides of a contrast: what `A:B` names, on the strata that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offrecord.estimates.arrays.pairing import Linked, linked
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.groups import CONTEXT, matching, turns_of
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.scopes import scoped
from offrecord.estimates.frames.weighing import NO_VALUE, left_out
from offrecord.records import (
    CELL,
    CELL_JSON,
    Kind,
    OffrecordError,
    contrastable,
    factor_names,
    split_contrast,
)

ONE_SIDE: Final = "no counterpart on the other side"
"""Why a cell is left out."""


class Contrast(NamedTuple):
    """Two levels of one column."""

    contrast: str
    """As the user wrote it."""
    column: str
    a: str
    b: str


class Side(NamedTuple):
    """The rows of one level, each with its `_stratum`."""

    rows: pl.DataFrame

    @property
    def turns(self) -> Turns:
        """Their arrays."""
        return turns_of(self.rows)

    @property
    def strata(self) -> Ids:
        """What both levels have in common, by turn."""
        return self.rows["_stratum"].to_numpy()

    @property
    def pressed(self) -> NDArray[np.bool_]:
        """Whether the turn is of another condition than baseline."""
        return (self.rows["kind"] != Kind.BASELINE).to_numpy()

    def where(self, *, pressed: bool) -> Side:
        """The rows of baseline, or all others."""
        return Side(self.rows.filter((pl.col("kind") != Kind.BASELINE) == pressed))

    @property
    def empty(self) -> str:
        """Which cells have no turn with a value."""
        known = self.cells(self.turns.divergent).turns > 0
        return left_out(self.rows, ~known, NO_VALUE) if known.any() else ""

    def sample(self, values: Values, scope: Scope = Scope.RUNS) -> Sample:
        """Values of these rows with the clusters of a scope."""
        return scoped(self.rows, values, scope)

    def cells(self, values: Values, link: str = "_stratum") -> Linked:
        """The cells, and what links them to those that they are set against."""
        return linked(self.sample(values), self.rows[link].to_numpy())


class Sides(NamedTuple):
    """Both levels, with nothing but shared strata."""

    a: Side
    b: Side
    note: str
    """What was left out."""


def parse_contrast(pairs: pl.DataFrame, text: str) -> Contrast:
    """The two levels of one column that a contrast compares.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        text: `A:B`.

    Raises:
        OffrecordError: If no column has both as levels.
    """
    levels = contrast_levels(pairs)
    found = split_contrast(text, levels)
    if found:
        return Contrast(text, *found)
    raise OffrecordError(
        f"--contrast {text}: needs A:B, two levels of one column "
        f"({contrastable(levels) or 'no column of this study has two'})"
    )


def contrast_levels(pairs: pl.DataFrame) -> dict[str, set[str]]:
    """The levels of every column that contrasts can be of."""
    named = [name for name in CELL if name not in {*CELL_JSON, "dose"}]
    columns = named + factor_names(pairs.columns)
    return {name: set(pairs[name].drop_nulls()) for name in columns}


def with_baseline(
    group: pl.DataFrame, rows: pl.DataFrame, named: Mapping[str, Any]
) -> pl.DataFrame:
    """A group's pressed rows and the baseline rows that they are set against."""
    others = {key: value for key, value in named.items() if key not in CONTEXT}
    return pl.concat(
        [
            group.filter(pl.col("kind") != Kind.BASELINE),
            matching(rows, others).filter(pl.col("kind") == Kind.BASELINE),
        ]
    )


def shared_sides(
    rows: pl.DataFrame, contrast: Contrast, factors: Sequence[str]
) -> Sides:
    """The two levels on the strata that both have (see `shared_strata`)."""
    shared, note = shared_strata(rows, contrast, factors)
    a, b = (Side(shared.filter(pl.col(contrast.column) == x)) for x in contrast[2:])
    return Sides(a, b, note)


def shared_strata(
    rows: pl.DataFrame, contrast: Contrast, factors: Sequence[str]
) -> tuple[pl.DataFrame, str]:
    """The rows of strata that both levels have: all other columns of the cell.

    A column in which the levels have nothing in common belongs to the contrast: a
    model's partner where each meets itself, the kind of a condition.

    Args:
        rows: Numbered pairs of the two levels.
        contrast: Which levels.
        factors: The study's factors.

    Returns:
        The rows with their `_stratum`, and a note on what was left out or is unlike.
    """
    two = [rows.filter(pl.col(contrast.column) == side) for side in contrast[2:]]
    names = [name for name in CELL if name != "factors"] + list(factors)
    common = [
        name
        for name in names
        if name != contrast.column
        and set(two[0][name].unique()) & set(two[1][name].unique())
    ]
    stratum = (
        pl.struct(common).rank("dense").cast(pl.Int64)
        if common
        else pl.lit(1, pl.Int64)
    )
    placed = rows.with_columns(stratum.alias("_stratum"))
    both = pl.col(contrast.column).n_unique().over("_stratum") == 2
    shared = placed.filter(both)
    cells = placed["_cell"].unique().sort()
    out = ~cells.is_in(shared["_cell"].unique().implode()).to_numpy()
    notes = [text for text in [left_out(placed, out, ONE_SIDE)] if text]
    if contrast.column == "model":
        notes += [text for text in [unlike_partners(shared)] if text]
    return shared, "; ".join(notes)
