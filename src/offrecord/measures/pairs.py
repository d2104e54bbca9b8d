"""Pairs: what an agent said at one turn in two channels, missing sides included.

The rows are those that were planned, not those that came back: a run that stopped
early, or was interrupted every time, has its missing turns here with their reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from offrecord.records import Ended, Form, OffrecordError, Status
from offrecord.transcript.measured import measured
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

CELL: Final = (
    "model",
    "partner",
    "scenario",
    "condition",
    "kind",
    "timing",
    "protocol",
    "factors",
)
"""The columns that name a cell: the stratum of every statistic."""

INTERRUPTED: Final = "interrupted"
"""The status of a side where no attempt at its run ended by itself."""

NOT_RECORDED: Final = "not_recorded"
"""The status of a side for which a completed run has no row."""

_TURN: Final = ("run", "agent", "round")


def stance_pairs(
    transcript: pl.DataFrame, stances: pl.DataFrame, facts: Mapping[str, Any]
) -> pl.DataFrame:
    """Pair the spoken channel's stance with that of each other channel, draw 0 each.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        stances: Their stances, as `stance_table` gives them.
        facts: The content of study.json: `rounds`, `channels` and `attempts`.

    Returns:
        One row per run, agent, round and other channel, as planned: the columns of
        `CELL`, one column per factor, `run`, `attempts` (at the run), `agent`,
        `round`, `channel` (the other one), then `public` and `other`: whether that
        stance is on the partner's side, null if it is missing; `public_status` and
        `other_status` say what became of each.

    Raises:
        OffrecordError: If study.json does not say what was planned.
    """
    rounds, channels = plan_of(facts)
    sides = _sides(transcript, stances)
    planned = (
        _runs(transcript, facts.get("attempts", {}))
        .join(transcript.select("agent").unique(maintain_order=True), how="cross")
        .join(column("round", range(1, rounds + 1)), how="cross")
        .join(column("channel", channels[1:]), how="cross")
    )
    public = sides.filter(channel=channels[0]).drop("channel")
    return (
        planned.join(
            public.rename({"on_side": "public", "status": "public_status"}),
            on=list(_TURN),
            how="left",
        )
        .join(
            sides.rename({"on_side": "other", "status": "other_status"}),
            on=[*_TURN, "channel"],
            how="left",
        )
        .with_columns(pl.col("public_status", "other_status").fill_null(why_absent()))
        .drop("ended")
    )


def factor_names(pairs: pl.DataFrame) -> list[str]:
    """The factors of a study, sorted: each is a column of its pairs."""
    stated = pairs["factors"].unique().to_list()
    return sorted({name for text in stated for name in json.loads(text)})


def plan_of(facts: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The rounds and the channels that were planned, the spoken channel first.

    Args:
        facts: The content of study.json.

    Raises:
        OffrecordError: If it does not say.
    """
    rounds, channels = facts.get("rounds"), facts.get("channels")
    if not isinstance(rounds, int) or not isinstance(channels, list):
        raise OffrecordError(
            "study.json: says no 'rounds' or no 'channels'; import the study again"
        )
    return rounds, channels


def why_absent() -> pl.Expr:
    """Why a planned row is not there, from the column `ended` of its run."""
    return (
        pl.when(pl.col("ended").is_null())
        .then(pl.lit(INTERRUPTED))
        .when(pl.col("ended") == Ended.COMPLETED)
        .then(pl.lit(NOT_RECORDED))
        .otherwise("ended")
    )


def column(name: str, values: Iterable[object]) -> pl.DataFrame:
    """Values as a table of one column, in the transcript's type for it."""
    return pl.DataFrame({name: list(values)}, schema={name: TRANSCRIPT_SCHEMA[name]})


def _runs(transcript: pl.DataFrame, attempts: Mapping[str, int]) -> pl.DataFrame:
    """One row per run: its cell, factors spelled out, attempts, how it ended."""
    rows = transcript.select("run", "attempt", "ended")
    ended = measured(rows).select("run", "ended").unique("run")
    runs = (
        transcript.group_by("run", maintain_order=True)
        .agg(pl.col(*CELL).first(), recorded=pl.col("attempt").n_unique())
        .with_columns(
            attempts=pl.col("run")
            .replace_strict(dict(attempts), default=None, return_dtype=pl.Int64)
            .fill_null(pl.col("recorded"))
        )
        .drop("recorded")
        .join(ended, on="run", how="left", maintain_order="left")
    )
    taken = {*runs.columns, "agent", "round", "channel"}
    for name in factor_names(runs):
        if name in taken:
            raise OffrecordError(
                f"factor '{name}': a column has this name; rename the factor"
            )
    levels = [json.loads(text) for text in runs["factors"]]
    return runs.with_columns(
        pl.Series(name, [level.get(name) for level in levels], dtype=pl.String)
        for name in factor_names(runs)
    )


def _sides(transcript: pl.DataFrame, stances: pl.DataFrame) -> pl.DataFrame:
    """Of each committed utterance: on the partner's side or not, or why not known."""
    valued = pl.col("status").is_in([Status.OK, Status.REPAIRED])
    return (
        measured(transcript.select(*ROW_KEY, "round", "partner_side", "ended"))
        .filter(pl.col("form") == Form.UTTERANCE, pl.col("draw") == 0)
        .join(stances.select(*ROW_KEY, "label", "status"), on=list(ROW_KEY), how="left")
        .select(
            *_TURN,
            "channel",
            "status",
            on_side=pl.when(valued).then(pl.col("label") == pl.col("partner_side")),
        )
    )
