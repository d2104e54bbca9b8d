"""Seats: the place of each agent in a round, and so the turn of every planned pair.

A turn that never came has no row in the record; its number follows from the round and
from where the agent speaks in the others.
"""

from __future__ import annotations

import polars as pl

from offrecord.records import Form


def seats(transcript: pl.DataFrame) -> pl.DataFrame:
    """Where each agent speaks within a round.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        `agent`, `seat` (from 1) and `agents` (how many speak in a round), in order.
    """
    said = transcript.filter(pl.col("form").is_in([Form.UTTERANCE, Form.SURVEY]))
    agents = said["agent"].n_unique()
    place = pl.col("turn") - (pl.col("round") - 1) * agents
    return (
        said.group_by("agent")
        .agg(seat=place.min())
        .with_columns(agents=pl.lit(agents, pl.Int32))
        .sort("seat", "agent")
    )


def turn_number() -> pl.Expr:
    """The turn of a row with `round` and the columns of `seats`."""
    return (pl.col("round") - 1) * pl.col("agents") + pl.col("seat")


def with_turns(pairs: pl.DataFrame, transcript: pl.DataFrame) -> pl.DataFrame:
    """Pairs with the `turn` of each.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
    """
    placed = pairs.join(
        seats(transcript), on="agent", how="left", maintain_order="left"
    )
    return placed.with_columns(turn=turn_number()).drop("seat", "agents")
