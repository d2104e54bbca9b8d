"""Placing: rows of messages in the order in which they were said."""

from __future__ import annotations

import json

import polars as pl

from offrecord.records import Ended
from offrecord.transcript.deployed.entry import Fault, LeftOut
from offrecord.transcript.facts import MOST_ROUNDS
from offrecord.transcript.schema import ROW_KEY


def placed(raw: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Rows in the order in which they were said, with turn, round, cell and repeat.

    Args:
        raw: Messages as they were read: of agents (`is_agent`), and what they were
            given, of which `heard` says that a call of a model was.
        left_out: Counts what has no place.
    """
    said = raw.filter("is_agent").select("run", "text")
    heard = raw.filter("heard").join(said, on=["run", "text"], how="anti")
    rows = pl.concat([raw.filter(~pl.col("heard")), heard]).sort("read")
    begun = pl.col("read").min().over("run")
    rows = rows.sort(begun, "order", "read", nulls_last=True, maintain_order=True)
    spoken = pl.col("is_agent").cast(pl.Int32)
    place = ["run", "channel", "draw"]
    before = spoken.cum_sum().over(place) - spoken
    turn = pl.coalesce("turn", pl.when("is_agent").then(before + 1).otherwise(before))
    own = spoken.cum_sum().over([*place, "agent"])
    rows = rows.with_columns(
        turn=turn,
        round=pl.coalesce("round", pl.when("is_agent").then(own).otherwise(0)),
        attempt=pl.lit(1),
        ended=pl.lit(str(Ended.COMPLETED)),
    )
    nth = pl.int_range(pl.len()).over(["run", "turn", "agent", "channel"])
    rows = rows.with_columns(draw=pl.when("is_agent").then("draw").otherwise(nth))
    rows = _bounded(rows, left_out).with_columns(agent_model="own_model")
    cast = rows.filter("is_agent").group_by("run", maintain_order=True)
    seats = cast.agg(
        models=pl.col("own_model").drop_nulls().unique().sort(),
        seated=pl.struct("agent", "own_model").unique(),
    ).select(
        "run",
        sat=pl.col("models").list.join(" + "),
        seats=pl.col("seated").map_elements(_cast, return_dtype=pl.String),
    )
    rows = rows.join(seats, on="run", how="left", maintain_order="left")
    cell = ["model", "scenario", "condition", "factors"]
    first = pl.col(*cell, "partner", "cast").drop_nulls().first().over("run")
    rows = rows.with_columns(
        model=pl.coalesce("model", pl.col("sat").replace("", "unknown")),
        cast=pl.coalesce("cast", "seats", pl.lit("{}")),
    ).with_columns(partner=pl.coalesce("partner", "model"))
    rows = rows.with_columns(first).filter(pl.col("model").is_not_null())
    order = rows.select("run", *cell).unique("run", maintain_order=True)
    counted = order.with_columns(nth=pl.int_range(1, pl.len() + 1).over(cell))
    rows = rows.join(counted.select("run", "nth"), on="run", maintain_order="left")
    return rows.with_columns(repeat=pl.coalesce("repeat", "nth"))


def _cast(seated: pl.Series) -> str:
    cast = {one["agent"]: one["own_model"] for one in seated if one["own_model"]}
    return json.dumps(cast, sort_keys=True)


def _bounded(rows: pl.DataFrame, left_out: LeftOut) -> pl.DataFrame:
    """Without what a transcript has no room for, or has already."""
    long = (pl.col("round") > MOST_ROUNDS) | (pl.col("draw") > 1000)
    twice = ~pl.struct(ROW_KEY).is_first_distinct()
    for wrong, reason in (
        (long, f"further messages of an agent that has {MOST_ROUNDS:,}"),
        (twice, "a message for a turn that has one"),
    ):
        for place in rows.filter(wrong)["uuid"]:
            left_out.add(Fault(reason, place))
        rows = rows.filter(~wrong)
    return rows
