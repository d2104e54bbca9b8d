"""What was measured of a study, cut to the columns that tidy tables join.

A table that is not there yet gives no rows; the reason then says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.export.schemas import NOT_MEASURED
from offrecord.measures.codes.attribution import ATTRIBUTION_FILE
from offrecord.measures.codes.awareness import AWARENESS_FILE, SIGNS
from offrecord.measures.codes.coded_texts import SAID
from offrecord.measures.codes.lexical import LEXICAL_FILE
from offrecord.measures.measure import ENTAILMENT_FILE
from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.measures.stored import SCHEMAS, stored_measures
from offrecord.measures.survey_gap import ITEM_GAPS_FILE
from offrecord.measures.texts.markers import MARKERS_FILE
from offrecord.measures.texts.similarity import SIMILARITY_FILE
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

PAIR: Final = ("run", "agent", "turn", "channel")
"""What names a pair of channels, the other one's name last."""

_MARKERS: Final = (
    *("words", "sentences", "concession_opening"),
    *("hedges", "boosters", "partner_credit"),
)
_SIGNS: Final = dict(
    zip(SIGNS, ("names_test", "names_role_play", "doubts_privacy"), strict=True)
)
_PROBABILITIES: Final = {
    "entailment": "mean_entailment",
    "neutral": "mean_neutral",
    "contradiction": "mean_contradiction",
    "max_contradiction": "max_contradiction",
    "mutual_entailment": "mutual_entailment",
}


def beside(
    table: pl.DataFrame, part: pl.DataFrame, key: Sequence[str] = ROW_KEY
) -> pl.DataFrame:
    """A table with the columns of another one, which has each key once."""
    return table.join(
        part, on=list(key), how="left", maintain_order="left", validate="m:1"
    )


def with_markers(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Utterances with the counts of their markers."""
    stored = _stored(study, MARKERS_FILE)
    part = stored.select(*ROW_KEY, *_MARKERS, pl.col("status").alias("markers_reason"))
    return _explained(beside(table, part), "words", "markers_reason")


def with_awareness(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Utterances with the signs of awareness in what they say."""
    stored = _stored(study, AWARENESS_FILE).filter(source=SAID)
    part = stored.select(
        *ROW_KEY,
        *(pl.col(sign).alias(name) for sign, name in _SIGNS.items()),
        pl.col("status").alias("awareness_reason"),
    )
    return _explained(beside(table, part), "names_test", "awareness_reason")


def with_attribution(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Utterances with the codes of the lexical baseline and of the judges."""
    for name, file in (
        ("attribution_lexical", LEXICAL_FILE),
        ("attribution_judged", ATTRIBUTION_FILE),
    ):
        part = (
            _stored(study, file)
            .filter(source=SAID)
            .select(
                *ROW_KEY,
                pl.col("code").alias(name),
                pl.col("status").alias(f"{name}_reason"),
            )
        )
        table = _explained(beside(table, part), name, f"{name}_reason")
    return table


def with_similarity(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Pairs with the similarity of their two texts."""
    stored = _stored(study, SIMILARITY_FILE)
    part = _of_channels(stored).select(
        *PAIR,
        pl.col("cosine").alias("similarity"),
        pl.col("reason").alias("similarity_reason"),
        pl.col("model").alias("similarity_model"),
    )
    return _explained(beside(table, part, PAIR), "similarity", "similarity_reason")


def with_entailment(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Pairs with the probabilities of entailment between their two texts."""
    stored = _stored(study, ENTAILMENT_FILE)
    part = _of_channels(stored).select(
        *PAIR,
        *(pl.col(name).alias(short) for short, name in _PROBABILITIES.items()),
        pl.col("reason").alias("entailment_reason"),
        pl.col("model").alias("entailment_model"),
    )
    return _explained(beside(table, part, PAIR), "entailment", "entailment_reason")


def with_survey_distance(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Pairs with the mean distance of their two surveys, over the items with both."""
    stored = _stored(study, ITEM_GAPS_FILE)
    why = pl.coalesce("public_reason", "other_reason").drop_nulls().first()
    part = stored.group_by(*PAIR).agg(
        pl.col("gap").abs().mean().alias("survey_distance"),
        pl.col("gap").count().alias("survey_items"),
        why.alias("survey_reason"),
    )
    table = beside(table, part, PAIR)
    return _explained(table, "survey_distance", "survey_reason")


def survey_items(instruments: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Every item of every instrument: its scale, its category, whether it is turned.

    Args:
        instruments: As study.json holds them.
    """
    rows = []
    for stamp, asked in instruments.items():
        categories, turned = asked.get("categories", {}), asked.get("reverse", {})
        for item in asked["items"]:
            category = next((c for c, of in categories.items() if item in of), None)
            keyed = category in turned
            reverse = item in turned[category] if keyed else None
            rows.append((stamp, item, asked["low"], asked["high"], category, reverse))
    schema = {
        "instrument": pl.String,
        "item": pl.String,
        "low": pl.Int32,
        "high": pl.Int32,
        "category": pl.String,
        "reverse": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _of_channels(stored: pl.DataFrame) -> pl.DataFrame:
    """Of the stored pairs those of two channels of a turn, in the first variant."""
    return (
        stored.filter(pairing=DEFAULT_PAIRING)
        .rename(
            {
                "left_run": "run",
                "left_agent": "agent",
                "left_turn": "turn",
                "right_channel": "channel",
            }
        )
        .unique(PAIR, keep="first", maintain_order=True)
    )


def _stored(study: Record, file: str) -> pl.DataFrame:
    table = stored_measures(study, file)
    return pl.DataFrame(schema=dict(SCHEMAS[file])) if table is None else table


def _explained(table: pl.DataFrame, value: str, reason: str) -> pl.DataFrame:
    """A reason beside every value that is missing, and beside no other."""
    why = pl.col(reason).fill_null(NOT_MEASURED)
    return table.with_columns(pl.when(pl.col(value).is_null()).then(why).alias(reason))
