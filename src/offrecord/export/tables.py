"""A study as tidy tables: turns, pairs and surveys, measures joined to what was said.

These are joins of what the stages have left. A value that is missing is null, and a
column beside it says why. What has several forms stands in its
first one (the variants of similarity and entailment); `measures/` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import polars as pl

from offrecord.export.measured import (
    beside,
    survey_items,
    with_attribution,
    with_awareness,
    with_entailment,
    with_markers,
    with_similarity,
    with_survey_distance,
)
from offrecord.export.schemas import (
    PAIRS_SCHEMA,
    SURVEYS_SCHEMA,
    TURNS_SCHEMA,
    Schema,
)
from offrecord.measures.pairs import channel_view
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.survey_gap import SKIPPED
from offrecord.records import Form, Status, factor_names
from offrecord.transcript.ended import first_ended
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

_VALUED: Final = (Status.OK, Status.REPAIRED)
_TURN: Final = ("run", "agent", "round")


def turns(study: Record) -> pl.DataFrame:
    """Every utterance that came back, with its parse and what was measured of it.

    Args:
        study: The study.

    Returns:
        Rows in `TURNS_SCHEMA`, and one column for each factor, in the record's order.
    """
    table = _stated(study)
    for joined in (with_markers, with_awareness, with_attribution):
        table = joined(table, study)
    return _declared(table, TURNS_SCHEMA)


def pairs(study: Record) -> pl.DataFrame:
    """Every planned pair of the spoken channel and another one, missing ones included.

    Args:
        study: The study.

    Returns:
        Rows in `PAIRS_SCHEMA`, and one column for each factor, in the order of
        `Study.pairs`.
    """
    runs = study.transcript.group_by("run").agg(pl.col("study", "repeat").first())
    table = beside(channel_view(pairs_of(study)).drop("repeat"), runs, ["run"])
    table = table.with_columns(quadrant=_quadrant())
    table = _with_sides(table, study)
    for joined in (with_similarity, with_entailment, with_survey_distance):
        table = joined(table, study)
    return _declared(table, PAIRS_SCHEMA)


def surveys(study: Record) -> pl.DataFrame:
    """Every item of every survey that came back, one row each.

    Args:
        study: The study.

    Returns:
        Rows in `SURVEYS_SCHEMA`, and one column for each factor, in the record's order.
    """
    answers = surveys_of(study).select(
        *ROW_KEY,
        pl.col("items").alias("item"),
        pl.col("answers").alias("answer"),
        pl.col("status").alias("survey_status"),
        pl.col("repairs").alias("survey_repairs"),
    )
    items = survey_items(study.facts.get("instruments", {}))
    valued = pl.col("survey_status").is_in(_VALUED)
    why = pl.when(valued).then(pl.lit(SKIPPED)).otherwise("survey_status")
    table = beside(_rows(study, Form.SURVEY), answers).explode("item", "answer")
    table = beside(table, items, ["instrument", "item"]).with_columns(
        reason=pl.when(pl.col("answer").is_null()).then(why)
    )
    return _declared(table, SURVEYS_SCHEMA)


TABLES: Final[Mapping[str, Callable[[Record], pl.DataFrame]]] = MappingProxyType(
    {"turns": turns, "pairs": pairs, "surveys": surveys}
)
"""The tidy tables by name."""

SCHEMAS: Final[Mapping[str, Schema]] = MappingProxyType(
    {"turns": TURNS_SCHEMA, "pairs": PAIRS_SCHEMA, "surveys": SURVEYS_SCHEMA}
)
"""Their declared columns."""


def _rows(study: Record, form: Form) -> pl.DataFrame:
    """The record's rows of one form, and whether their attempt is the measured one."""
    attempts = study.transcript.select("run", "attempt", "ended")
    counted = first_ended(attempts).select("run", "attempt").unique()
    rows = study.transcript.filter(pl.col("form") == form)
    known = beside(rows, counted.with_columns(measured=True), ["run", "attempt"])
    return known.with_columns(pl.col("measured").fill_null(False)).rename(
        {"status": "reply_status"}
    )


def _stated(study: Record) -> pl.DataFrame:
    """The utterances with the stance that each one states."""
    stances = stances_of(study).select(
        *ROW_KEY,
        pl.col("label").alias("stance"),
        pl.col("status").alias("stance_status"),
        pl.col("rule").alias("stance_rule"),
        pl.col("repairs").alias("stance_repairs"),
    )
    on_side = pl.col("stance") == pl.col("pressed_side")
    valued = pl.col("stance_status").is_in(_VALUED)
    return beside(_rows(study, Form.UTTERANCE), stances).with_columns(
        on_pressed_side=pl.when(valued).then(on_side)
    )


def _quadrant() -> pl.Expr:
    """Which of the two stances are on the partner's side; null if one is missing."""
    public, other = pl.col("public"), pl.col("other")
    return (
        pl.when(public & other)
        .then(pl.lit("both"))
        .when(public & ~other)
        .then(pl.lit("accommodating"))
        .when(~public & other)
        .then(pl.lit("reversing"))
        .when(~public & ~other)
        .then(pl.lit("neither"))
    )


def _with_sides(table: pl.DataFrame, study: Record) -> pl.DataFrame:
    """Pairs with the label and the attribution of each of their two texts."""
    counted = _stated(study).filter(pl.col("measured"), pl.col("draw") == 0)
    said = with_attribution(counted, study)
    codes = ("attribution_lexical", "attribution_judged")
    names = ["stance", *codes, *(f"{code}_reason" for code in codes)]
    sides = said.select(*_TURN, "channel", *names)
    spoken = sides.filter(channel=study.spoken).drop("channel")
    for side, part, key in (
        ("public", spoken, [*_TURN]),
        ("other", sides, [*_TURN, "channel"]),
    ):
        named = part.rename({name: f"{side}_{name}" for name in names})
        table = beside(table, named, key).with_columns(
            pl.when(pl.col(f"{side}_{code}").is_null())
            .then(pl.coalesce(f"{side}_{code}_reason", f"{side}_status"))
            .alias(f"{side}_{code}_reason")
            for code in codes
        )
    return table


def _declared(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The declared columns, and the factors spelled out."""
    names = [name for name in table.columns if name not in schema]
    table = with_factors(table.drop(factor_names(names)))
    declared = [pl.col(name).cast(kind) for name, kind in schema.items()]
    return table.select(*declared, *factor_names(table.columns))
