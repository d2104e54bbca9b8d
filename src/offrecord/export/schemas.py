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

from offrecord.measures.declare import Table
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


def _measured(table: str, of: Table) -> Iterator[Column]:
    if not of.exported:
        return
    if table == "turns" and of.row == "text":
        yield from _own(of)
    elif table == "pairs" and of.row == "text" and of.sides:
        for side in SIDES:
            yield from (
                one._replace(
                    name=f"{side}_{one.name}", meaning=f"of {side}: {one.meaning}"
                )
                for one in _own(of)
            )
    elif table == "pairs" and of.row == "pair":
        yield from _own(of)
        yield Column(f"{of.prefix}_model", pl.String, "", "the model that read them")
    elif table == "pairs" and of.row == "item":
        [one] = of.quantities
        about = f"{one.title}: mean distance over items answered in both"
        yield Column(f"{of.prefix}_distance", pl.Float64, one.unit, about)
        yield Column(f"{of.prefix}_answered", pl.UInt32, "count", "items in both")
        yield Column(f"{of.prefix}_reason", pl.String, "", "why it is missing")


def _own(of: Table) -> Iterator[Column]:
    """What a table has of each row, then why it has nothing."""
    for name, one in of.exported.items():
        column = Column(name, of.schema[one.column], one.unit or "of 1", one.title)
        number = column.kind in {"number", "integer"}
        yield column if number else column._replace(unit="")
    yield Column(f"{of.prefix}_reason", pl.String, "", "why they are missing")
