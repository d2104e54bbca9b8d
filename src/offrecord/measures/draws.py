"""Draws: the stance of every utterance, shadows included, for the noise floor."""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.records import CELL, HOLDOUT, Form, Status
from offrecord.transcript.copies import clusters, copied_samples
from offrecord.transcript.ended import first_ended
from offrecord.transcript.planned import with_factors
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

COPIES: Final = "copies"
"""The status of draws that are copies of each other: they show no noise."""

DRAW_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "run": pl.String,
    "cluster": pl.String,  # the run, or the one whose debate it is a copy of
    **{name: TRANSCRIPT_SCHEMA[name] for name in CELL},
    "agent": pl.String,
    "round": pl.Int32,
    "turn": pl.Int32,  # over both agents; the first one has no history
    "channel": pl.String,
    "draw": pl.Int32,  # 0 is the committed sample
    "on_pressed_side": pl.Boolean,  # null if there is no stance
    "status": pl.String,
}
"""One row per utterance of a measured attempt that came back; factors follow."""


def stance_draws(transcript: pl.DataFrame, stances: pl.DataFrame) -> pl.DataFrame:
    """The stance of each draw of each channel.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        stances: Their stances, as `stance_table` gives them.

    Returns:
        Rows in `DRAW_SCHEMA`, and one column per factor, in the transcript's order.
    """
    valued = pl.col("status").is_in([Status.OK, Status.REPAIRED])
    draws = (
        first_ended(
            transcript.select(
                *(*ROW_KEY, *CELL, "round", "pressed_side", "ended", "agent_model")
            )
        )
        .filter(form=Form.UTTERANCE)
        .filter(pl.col("channel") != HOLDOUT)
        .join(
            stances.select(*ROW_KEY, "label", "status"),
            on=list(ROW_KEY),
            how="left",
            maintain_order="left",
        )
        .join(clusters(transcript), on="run", how="left", maintain_order="left")
        .join(
            copied_samples(transcript).select("agent_model", "channel", copies=True),
            on=["agent_model", "channel"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .with_columns(
            status=pl.when("copies").then(pl.lit(COPIES)).otherwise("status"),
            on_pressed_side=pl.when(valued, pl.col("copies").is_null()).then(
                pl.col("label") == pl.col("pressed_side")
            ),
        )
        .select(*DRAW_SCHEMA)
    )
    return with_factors(draws)


def draws_of(draws: pl.DataFrame, pairs: pl.DataFrame, spoken: str) -> pl.DataFrame:
    """The draws of the turns that some pairs are of.

    Args:
        draws: Rows in `DRAW_SCHEMA`.
        pairs: Rows as `stance_pairs` gives them.
        spoken: The channel that the history shows.
    """
    turn = ["run", "agent", "round"]
    said = pl.col("channel") == spoken
    public = draws.filter(said).join(pairs, on=turn, how="semi")
    other = draws.filter(~said).join(
        pairs,
        left_on=[*turn, "channel"],
        right_on=[*turn, "right_channel"],
        how="semi",
    )
    return pl.concat([public, other])
