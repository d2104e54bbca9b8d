"""What was measured of a study, joined to the rows of tidy tables.

A table that is not there yet gives no rows; the reason then says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from offrecord.export.schemas import NOT_MEASURED
from offrecord.measures.codes.coded_texts import SAID
from offrecord.measures.declare import Table
from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.measures.stored import stored_measures
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

_PAIR: Final = ("run", "agent", "turn", "channel")
# What names a pair of channels, the other one's name last.

_UNKNOWN: Final = "no reason given"


def beside(
    table: pl.DataFrame, part: pl.DataFrame, key: Sequence[str] = ROW_KEY
) -> pl.DataFrame:
    """A table with the columns of another one, which has each key once."""
    return table.join(
        part, on=list(key), how="left", maintain_order="left", validate="m:1"
    )


def with_texts(
    table: pl.DataFrame, study: Record, measures: Iterable[Table]
) -> pl.DataFrame:
    """Utterances with what was measured of each: of what was said, not of reasoning."""
    for of in measures:
        if of.row == "text" and of.exported:
            stored = _stored(study, of)
            if "source" in of.extra_key:
                stored = stored.filter(source=SAID)
            table = _joined(table, stored, of, ROW_KEY)
    return table


def with_pairs(
    table: pl.DataFrame, study: Record, measures: Iterable[Table]
) -> pl.DataFrame:
    """Pairs of channels with what was measured of each, in the first variant."""
    names = {
        **{f"left_{name}": name for name in ("run", "agent", "turn")},
        "right_channel": "channel",
    }
    for of in measures:
        if of.row == "pair" and of.exported:
            stored = _stored(study, of).filter(pairing=DEFAULT_PAIRING).rename(names)
            table = _joined(table, stored, of, _PAIR)
        elif of.row == "item" and of.exported:
            table = _with_distance(table, study, of)
    return table


def _joined(
    table: pl.DataFrame, stored: pl.DataFrame, of: Table, key: Sequence[str]
) -> pl.DataFrame:
    own, reason = of.exported, f"{of.prefix}_reason"
    said = [pl.col(name) for name in ("reason", "status") if name in stored.columns]
    model = {f"{of.prefix}_model": "model"} if "model" in of.extra_key else {}
    part = stored.unique(key, keep="first", maintain_order=True).select(
        *key,
        *(pl.col(one.column).alias(name) for name, one in own.items()),
        *(pl.col(column).alias(name) for name, column in model.items()),
        pl.coalesce(*said, pl.lit(_UNKNOWN)).alias(reason),
    )
    return _explained(beside(table, part, key), next(iter(own)), reason)


def _with_distance(table: pl.DataFrame, study: Record, of: Table) -> pl.DataFrame:
    """Pairs with the mean distance of their two surveys, over the items with both."""
    distance, reason = f"{of.prefix}_distance", f"{of.prefix}_reason"
    [one] = of.exported.values()
    why = pl.coalesce("public_reason", "other_reason").drop_nulls().first()
    part = (
        _stored(study, of)
        .group_by(*_PAIR)
        .agg(
            pl.col(one.column).abs().mean().alias(distance),
            pl.col(one.column).count().alias(f"{of.prefix}_answered"),
            why.alias(reason),
        )
    )
    return _explained(beside(table, part, _PAIR), distance, reason)


def _stored(study: Record, table: Table) -> pl.DataFrame:
    found = stored_measures(study, table)
    return pl.DataFrame(schema=table.schema) if found is None else found


def _explained(table: pl.DataFrame, value: str, reason: str) -> pl.DataFrame:
    """A reason beside every value that is missing, and beside no other."""
    why = pl.col(reason).fill_null(NOT_MEASURED)
    return table.with_columns(pl.when(pl.col(value).is_null()).then(why).alias(reason))
