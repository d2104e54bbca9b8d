"""Texts for measures that know English alone: those in another language are missing.

A word list finds nothing in a language that it does not know, and a model that was
trained on English says something of it all the same. Neither is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from offrecord.records import ENGLISH, Status

NOT_ENGLISH: Final = "not English"
"""Why a text has no value: it is in a language that the measure does not know."""

_READ: Final = [str(Status.OK), str(Status.TRUNCATED)]


def _is_other() -> pl.Expr:
    return ~pl.col("language").fill_null(ENGLISH).str.contains(rf"^{ENGLISH}(-|$)")


def in_english(texts: pl.DataFrame) -> pl.DataFrame:
    """Rows of a transcript: those in another language have no text.

    Args:
        texts: Rows in `TRANSCRIPT_SCHEMA`, or some of its columns with `language`.

    Returns:
        The same rows. Of one in another language, `text` and `reasoning` are null, and
        a status that promises a text is `NOT_ENGLISH`.
    """
    read = _is_other() & pl.col("status").is_in(_READ)
    return texts.with_columns(
        pl.when(~_is_other()).then("text"),
        pl.when(~_is_other()).then("reasoning"),
        status=pl.when(read).then(pl.lit(NOT_ENGLISH)).otherwise("status"),
    )


def pairs_in_english(pairs: pl.DataFrame) -> pl.DataFrame:
    """The same for both sides of rows in `PAIR_SCHEMA`."""
    sides = ("left", "right")
    return pairs.with_columns(
        *(pl.when(~_is_other()).then(f"{side}_text") for side in sides),
        *(
            pl.when(_is_other() & pl.col(f"{side}_status").is_in(_READ))
            .then(pl.lit(NOT_ENGLISH))
            .otherwise(f"{side}_status")
            .alias(f"{side}_status")
            for side in sides
        ),
    )


def unread_of(reasons: pl.Series) -> str:
    """What a measure's line says of texts in other languages; empty without any.

    Args:
        reasons: Why rows have no value.
    """
    missing = int(reasons.str.ends_with(NOT_ENGLISH).sum())
    return f"; {missing} of {len(reasons)} missing: {NOT_ENGLISH}" if missing else ""


def said_unread(facts: Mapping[str, Any], measure: str) -> str:
    """What a measure that was taken said of texts in other languages, if anything.

    Args:
        facts: With `measured`, as study.json has it.
        measure: Its name.
    """
    lines = facts.get("measured", {}).get(measure, {}).get("lines", [])
    said = [line.rpartition("; ")[2] for line in lines if NOT_ENGLISH in line]
    return "; ".join(said)
