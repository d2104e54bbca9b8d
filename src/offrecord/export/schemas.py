"""The columns of the tidy tables, with what each one means: `columns.csv`.

Where a row of that file names no column, those of the measures stand, which follow from
their declarations. A factor adds one more column of text, `factor_` and its name.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.measures.declare import Quantity, Table
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

NOT_MEASURED: Final = "not_measured"
"""The reason where nobody has taken the measure yet: see `offrecord measure`."""

TABLES: Final = ("turns", "pairs", "surveys")
"""The names of the tidy tables."""

SIDES: Final = ("public", "other")
"""The two texts of a pair."""


class Column(NamedTuple):
    """A column of a tidy table."""

    name: str
    type: Any
    """As polars names it."""
    unit: str
    meaning: str

    @property
    def kind(self) -> str:
        """Its type in words."""
        if isinstance(self.type, pl.List):
            return "list of texts"
        if isinstance(self.type, pl.Datetime):
            return "time"
        words = {pl.String: "text", pl.Boolean: "true/false", pl.Float64: "number"}
        return words.get(self.type, "integer")


def columns(table: str, measures: Sequence[Table]) -> list[Column]:
    """The declared columns of a tidy table.

    Args:
        table: Out of `TABLES`.
        measures: The tables of the measures that are joined to it.
    """
    found = list[Column]()
    text = (files(__package__) / "columns.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        name, kind = row["column"], row["type"]
        if row["table"] == table and not name:
            found += [one for of in measures for one in _measured(table, of)]
        elif row["table"] == table:
            known = (
                pl.List(pl.String) if kind == "List" else getattr(pl, kind or "Null")
            )
            dtype = known if kind else TRANSCRIPT_SCHEMA[name]
            found.append(Column(name, dtype, row["unit"], row["meaning"]))
    return found


def exported(table: Table) -> dict[str, Quantity]:
    """The quantities of a measure's table that exports have, by their column there."""
    named = {
        f"{table.prefix}_{one.name}" if one.export is None else one.export: one
        for one in table.quantities
    }
    return {name: one for name, one in named.items() if name}


def _measured(table: str, of: Table) -> Iterator[Column]:
    reason = f"{of.prefix}_reason"
    own = exported(of)
    if table == "turns" and of.row == "text":
        yield from _own(of, "")
    elif table == "pairs" and of.row == "text" and of.sides:
        for side in SIDES:
            yield from _own(of, f"{side}_")
    elif table == "pairs" and of.row == "pair":
        yield from _own(of, "")
        if own and "model" in of.extra_key:
            yield Column(
                f"{of.prefix}_model", pl.String, "", "the model that read them"
            )
    elif table == "pairs" and of.row == "item" and own:
        distance, [one] = f"{of.prefix}_distance", of.quantities
        yield Column(
            distance,
            pl.Float64,
            one.unit,
            f"mean absolute gap of {one.title}, over items answered in both",
        )
        yield Column(f"{of.prefix}_items", pl.UInt32, "count", "items answered in both")
        yield Column(reason, pl.String, "", f"why `{distance}` is missing")


def _own(of: Table, side: str) -> Iterator[Column]:
    own = exported(of)
    reason = f"{side}{of.prefix}_reason"
    for name, one in own.items():
        column = Column(f"{side}{name}", of.schema[one.column], one.unit, "")
        meaning = one.about or one.title
        if side:
            meaning = (
                f"`{name}` of the {'spoken' if side == 'public_' else 'other'} text"
            )
        number = column.kind in {"number", "integer"}
        yield column._replace(
            unit=one.unit if number else "",
            meaning=f"{meaning}; missing: see `{reason}`",
        )
    if own:
        names = ", ".join(f"`{side}{name}`" for name in own)
        verb = "is" if len(own) == 1 else "are"
        yield Column(reason, pl.String, "", f"why {names} {verb} missing")
