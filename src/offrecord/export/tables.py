"""A study as tidy tables: turns, pairs and surveys, measures joined to what was said.

These are joins of what the stages have left. A value that is missing is null, and a
column beside it says why. What has several forms stands in its
first one (the variants of similarity and entailment); `measures/` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import polars as pl

from offrecord.estimates.frames.groups import dosed
from offrecord.export.columns import SIDES, Column, beside, columns, with_measures
from offrecord.measures.declare import Table
from offrecord.measures.pairs import channel_view, quadrant, with_quadrants
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.registry import known_tables
from offrecord.measures.survey_gap import SKIPPED, instrument_items
from offrecord.records import Form, Status, factor_names
from offrecord.transcript.ended import first_ended
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

_VALUED: Final = (Status.OK, Status.REPAIRED)
_TURN: Final = ("run", "agent", "round")


def turns(study: Record) -> pl.DataFrame:
    """Every utterance that came back, with its parse and what was measured of it.

    Returns:
        The columns of `turns`, and one column for each factor, in the record's order.
    """
    texts = [of for of in known_tables(study.facts) if of.row == "text"]
    return _declared(with_measures(_stated(study), study, texts), study, "turns")


def pairs(study: Record) -> pl.DataFrame:
    """Every planned pair of the spoken channel and another one, missing ones included.

    Returns:
        The columns of `pairs`, and one column for each factor, in the order of
        `Study.pairs`.
    """
    runs = study.transcript.group_by("run").agg(pl.col("study", "repeat").first())
    flagged = with_quadrants(pairs_of(study)).with_columns(quadrant=quadrant())
    table = beside(channel_view(flagged).drop("repeat"), runs, ["run"])
    measures = known_tables(study.facts)
    others = [of for of in measures if of.row != "text"]
    table = with_measures(_with_sides(table, study, measures), study, others)
    return _declared(table, study, "pairs")


def surveys(study: Record) -> pl.DataFrame:
    """Every item of every survey that came back, one row each.

    Returns:
        The columns of `surveys`, and one column for each factor, in the record's order.
    """
    answers = surveys_of(study).select(
        *ROW_KEY,
        pl.col("items").alias("item"),
        pl.col("answers").alias("answer"),
        pl.col("status").alias("survey_status"),
        pl.col("repairs").alias("survey_repairs"),
    )
    items = instrument_items(study.facts.get("instruments", {}))
    valued = pl.col("survey_status").is_in(_VALUED)
    why = pl.when(valued).then(pl.lit(SKIPPED)).otherwise("survey_status")
    table = beside(_rows(study, Form.SURVEY), answers).explode("item", "answer")
    table = beside(table, items, ["instrument", "item"]).with_columns(
        reason=pl.when(pl.col("answer").is_null()).then(why)
    )
    return _declared(table, study, "surveys")


TABLES: Final[Mapping[str, Callable[[Record], pl.DataFrame]]] = MappingProxyType(
    {"turns": turns, "pairs": pairs, "surveys": surveys}
)
"""The tidy tables by name."""


def dictionary(study: Record, names: Sequence[str]) -> pl.DataFrame:
    """What every column of some tidy tables means: the data dictionary.

    Args:
        study: The study, whose factors and measures add columns.
        names: Which tables.
    """
    measures = known_tables(study.facts)
    factors = [
        Column(name, pl.String, "", "level of this factor of the design")
        for name in factor_names(with_factors(study.transcript).columns)
    ]
    rows = [
        (name, one.name, one.kind, one.unit, one.meaning)
        for name in names
        for one in [*columns(name, measures), *factors]
    ]
    schema = ("table", "column", "type", "unit", "meaning")
    return pl.DataFrame(rows, dict.fromkeys(schema, pl.String), orient="row")


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


def _with_sides(
    table: pl.DataFrame, study: Record, measures: Sequence[Table]
) -> pl.DataFrame:
    """Pairs with the label of each of their two texts, and what was measured of it."""
    own = [of for of in measures if of.row == "text" and of.sides]
    counted = _stated(study).filter(pl.col("measured"), pl.col("draw") == 0)
    why = {f"{of.prefix}_reason": next(iter(of.exported)) for of in own}
    names = ["stance", *(name for of in own for name in of.exported), *why]
    sides = with_measures(counted, study, own).select(*_TURN, "channel", *names)
    spoken = sides.filter(channel=study.spoken).drop("channel")
    parts = ((spoken, [*_TURN]), (sides, [*_TURN, "channel"]))
    for side, (part, key) in zip(SIDES, parts, strict=True):
        named = part.rename({name: f"{side}_{name}" for name in names})
        table = beside(table, named, key).with_columns(
            pl.when(pl.col(f"{side}_{name}").is_null())
            .then(pl.coalesce(f"{side}_{reason}", f"{side}_status"))
            .alias(f"{side}_{reason}")
            for reason, name in why.items()
        )
    return table


def _declared(table: pl.DataFrame, study: Record, name: str) -> pl.DataFrame:
    """The declared columns, and the factors spelled out."""
    declared = columns(name, known_tables(study.facts))
    known = {one.name for one in declared}
    others = [column for column in table.columns if column not in known]
    table = with_factors(dosed(table).drop(factor_names(others)))
    cast = [pl.col(one.name).cast(one.type) for one in declared]
    return table.select(*cast, *factor_names(table.columns))
