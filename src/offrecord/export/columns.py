"""The columns of the tidy tables: what each one means, and those that measures add.

`columns.csv` has them in order. Where a row of it names no column, those of measures
stand, which follow from their declarations. A factor adds one more column of text,
`factor_` and its name.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.measures.codes.coded_texts import SAID
from offrecord.measures.declare import Table
from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.measures.stored import stored_measures
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

NOT_MEASURED: Final = "not_measured"
"""The reason where nobody has taken the measure yet: see `offrecord measure`."""

TABLES: Final = ("turns", "pairs", "surveys")
"""The names of the tidy tables."""

SIDES: Final = ("public", "other")
"""The two texts of a pair."""

_PAIR: Final = ("run", "agent", "turn", "channel")
# What names a pair of channels, the other one's name last.

_UNKNOWN: Final = "no reason given"


class Column(NamedTuple):
    """A column of a tidy table."""

    name: str
    type: Any
    """As polars names it."""
    unit: str
    meaning: str
    value: pl.Expr | None = None
    """Of a measure: it in the table that is stored."""

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
            found += [one for of in measures for one in _added(table, of)]
        elif row["table"] == table:
            known = (
                pl.List(pl.String) if kind == "List" else getattr(pl, kind or "Null")
            )
            dtype = known if kind else TRANSCRIPT_SCHEMA[name]
            found.append(Column(name, dtype, row["unit"], row["meaning"]))
    return found


def beside(
    table: pl.DataFrame, part: pl.DataFrame, key: Sequence[str] = ROW_KEY
) -> pl.DataFrame:
    """A table with the columns of another one, which has each key once."""
    return table.join(
        part, on=list(key), how="left", maintain_order="left", validate="m:1"
    )


def with_measures(
    table: pl.DataFrame, study: Record, measures: Iterable[Table]
) -> pl.DataFrame:
    """A table with what was measured of each row, and why where it has no value.

    Args:
        table: Utterances, for measures of texts, of which what was said counts and not
            the reasoning; else pairs of channels, for those of pairs, in their first
            variant, and of survey items, as the mean distance over items with both.
        study: The study.
        measures: Tables of measures. One that is not there yet gives no rows; the
            reason then says so.
    """
    for of in measures:
        if not of.exported:
            continue
        found = stored_measures(study, of)
        stored = pl.DataFrame(schema=of.schema) if found is None else found
        if "source" in of.extra_key:
            stored = stored.filter(source=SAID)
        if of.row == "pair":
            names = {f"left_{name}": name for name in ("run", "agent", "turn")}
            stored = stored.filter(pairing=DEFAULT_PAIRING).rename(
                {**names, "right_channel": "channel"}
            )
        key = ROW_KEY if of.row == "text" else _PAIR
        own = list(_own(of))
        values = [one.value.alias(one.name) for one in own if one.value is not None]
        if of.row == "item":
            part = stored.group_by(key).agg(values)
        else:
            part = stored.unique(key, keep="first", maintain_order=True).select(
                *key, *values
            )
        reason = f"{of.prefix}_reason"
        why = pl.col(reason).fill_null(NOT_MEASURED)
        table = beside(table, part, key).with_columns(
            pl.when(pl.col(own[0].name).is_null()).then(why).alias(reason)
        )
    return table


def _added(table: str, of: Table) -> Iterator[Column]:
    """The columns that a measure's table adds to a tidy one."""
    if of.row != "text":
        yield from _own(of) if table == "pairs" and of.exported else ()
    elif table == "turns" and of.exported:
        yield from _own(of)
    elif table == "pairs" and of.exported and of.sides:
        for side in SIDES:
            for one in _own(of):
                told = f"of {side}: {one.meaning}"
                yield one._replace(name=f"{side}_{one.name}", meaning=told)


def _own(of: Table) -> Iterator[Column]:
    """What a measure's table has of each row, then why it has nothing."""
    name, reason = of.prefix, f"{of.prefix}_reason"
    if of.row == "item":
        [one] = of.exported.values()
        gap = pl.col(one.column)
        about = f"{one.title}: mean distance over items answered in both"
        distance = gap.abs().mean()
        yield Column(f"{name}_distance", pl.Float64, one.unit, about, distance)
        answered = f"{name}_answered"
        yield Column(answered, pl.UInt32, "count", "items in both", gap.count())
        why = pl.coalesce("public_reason", "other_reason").drop_nulls().first()
        yield Column(reason, pl.String, "", "why it is missing", why)
        return
    for column, one in of.exported.items():
        kind, value = of.schema[one.column], pl.col(one.column)
        made = Column(column, kind, one.unit or "of 1", one.title, value)
        number = made.kind in {"number", "integer"}
        yield made if number else made._replace(unit="")
    said = [each for each in ("reason", "status") if each in of.schema]
    why = pl.coalesce(*said, pl.lit(_UNKNOWN))
    yield Column(reason, pl.String, "", "why they are missing", why)
    if of.row == "pair":
        model = pl.col("model") if "model" in of.schema else pl.lit(None)
        about = "the model that read them"
        yield Column(f"{name}_model", pl.String, "", about, model)
