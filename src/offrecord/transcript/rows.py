"""What a row of transcripts.parquet may hold, and what it must not.

A table may come from anyone. Types are cast before; here are the words and the ranges
that later stages rely on, so that a damaged table is one line and not a wrong figure.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Final

import polars as pl

from offrecord.protocol.factors import check_name
from offrecord.records import (
    CELL,
    CELL_JSON,
    Ended,
    Form,
    Kind,
    OffrecordError,
    Role,
    Status,
    Timing,
)
from offrecord.transcript.facts import MOST_ROUNDS

_WORDS: Final[dict[str, type[StrEnum]]] = {
    "kind": Kind,
    "timing": Timing,
    "role": Role,
    "form": Form,
    "status": Status,
    "ended": Ended,
}
_NEEDED: Final = (
    *("run", *(name for name in CELL if name != "dose")),
    *("round", "turn", "agent", "labels", "channel"),
    *("form", "draw", "attempt", "status"),
)
_RANGES: Final = {
    "repeat": 2**31,
    "round": MOST_ROUNDS + 1,  # the interviews after the last one
    "turn": 100 * MOST_ROUNDS,
    "draw": 1000,
    "attempt": 2**31,
    "transport_retries": 2**31,
    "input_tokens": 2**53,
    "cached_tokens": 2**53,
    "output_tokens": 2**53,
}
_NAMES: Final = (
    "run",
    "model",
    "partner",
    "scenario",
    "condition",
    "protocol",
    "language",
    "agent",
    "channel",
)
LONGEST_NAME: Final = 300
"""Letters of a run, a model, an agent and the like."""
_LONGEST_TEXT: Final = 20_000_000
_SWELLING: Final = 500
"""How many times larger than its file a column's text may be."""
_SMALL: Final = 200_000_000
"""Bytes of a column's text that are read whatever the size of the file."""


def fault_of(rows: pl.DataFrame, size: int) -> str | None:
    """The first thing in a transcript that no transcript holds, or nothing.

    Args:
        rows: In `TRANSCRIPT_SCHEMA`.
        size: Bytes of the file that they came from.
    """
    wrong: dict[str, pl.Expr] = {}
    for name in _NEEDED:
        wrong[f"column '{name}' is empty in some row"] = pl.col(name).is_null()
    for name, words in _WORDS.items():
        allowed = ", ".join(words)
        text = f"column '{name}' holds none of: {allowed}"
        wrong[text] = ~pl.col(name).is_in([str(word) for word in words])
    for name, most in _RANGES.items():
        text = f"column '{name}' is not between 0 and {most}"
        wrong[text] = ~pl.col(name).is_between(0, most)
    seconds = pl.col("seconds")
    wrong["column 'seconds' is no time"] = ~seconds.is_finite() | (seconds < 0)
    for name in _NAMES:
        text = f"column '{name}' holds more than {LONGEST_NAME} letters"
        wrong[text] = pl.col(name).str.len_chars() > LONGEST_NAME
    for name, kind in rows.schema.items():
        if kind == pl.String:
            text = f"column '{name}' holds a text of more than {_LONGEST_TEXT} bytes"
            wrong[text] = pl.col(name).str.len_bytes() > _LONGEST_TEXT
            text = f"column '{name}' is far larger than its file"
            most = max(_SMALL, _SWELLING * size)
            wrong[text] = pl.col(name).str.len_bytes().cast(pl.UInt64).sum() > most
    flags = rows.select(
        expression.any(ignore_nulls=True).alias(text)
        for text, expression in wrong.items()
    )
    for text, [flag] in flags.to_dict(as_series=False).items():
        if flag:
            return text
    return next(filter(None, (_object(rows[name]) for name in CELL_JSON)), None)


def _object(column: pl.Series) -> str | None:
    """What is wrong with a column of JSON objects, names to plain values."""
    plain = (str, int, float) if column.name == "sampling" else str
    for text in column.unique().drop_nulls():
        try:
            levels = json.loads(text)
        except (ValueError, RecursionError):
            levels = None
        if not isinstance(levels, dict) or not all(
            isinstance(level, plain) for level in levels.values()
        ):
            return f"column '{column.name}' holds no JSON object of names and levels"
        for name in levels if column.name == "factors" else ():
            try:
                check_name(name)
            except OffrecordError as error:
                return f"column 'factors': {error}"
    return None
