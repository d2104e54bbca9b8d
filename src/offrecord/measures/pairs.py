"""Pairs: two outputs of one turn to compare by stance, missing sides included.

The rows are those that were planned, not those that came back: a run that stopped
early, or was interrupted every time, has its missing turns here with their reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from offrecord.records import CELL, HOLDOUT, Form, Status
from offrecord.transcript.copies import clusters
from offrecord.transcript.planned import outputs, plan_of, with_factors
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

CHANNELS: Final = "channels"
"""The pairing of the spoken channel with each other one."""

SPOKEN: Final = "spoken"
"""No pairing: the spoken channel alone."""

TURN: Final = "turn"
"""The unit of pairs that are compared turn by turn."""

PAIRS_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "pairing": pl.String,
    "unit": pl.String,  # turn or run
    "run": pl.String,
    "cluster": pl.String,  # the run, or the one whose debate it is a copy of
    **{name: TRANSCRIPT_SCHEMA[name] for name in (*CELL, "repeat")},
    "attempts": pl.Int64,  # at the run
    **{name: TRANSCRIPT_SCHEMA[name] for name in ("turn", "round", "agent", "role")},
    "left_channel": pl.String,
    "right_channel": pl.String,
    "left": pl.Boolean,  # whether the stance is on the pressed side; null if missing
    "right": pl.Boolean,
    "left_status": pl.String,  # what became of each side
    "right_status": pl.String,
    "pressed_side": pl.String,
}
"""One row per planned pair; a column `factor_NAME` for each factor follows."""


def stance_pairs(
    transcript: pl.DataFrame,
    stances: pl.DataFrame,
    facts: Mapping[str, Any],
    *,
    holdout: bool = False,
) -> pl.DataFrame:
    """Pair the spoken channel's stance with that of each other channel, draw 0 each.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        stances: Their stances, as `stance_table` gives them.
        facts: The content of study.json: `rounds`, `channels` and `attempts`.
        holdout: Whether with the hold-out alone, instead of the channels.

    Returns:
        One row per run, turn and other channel, as planned: `PAIRS_SCHEMA`, then the
        factors.

    Raises:
        OffrecordError: If study.json does not say what was planned.
    """
    _, channels = plan_of(facts)
    sides = sides_of(transcript, stances, facts, holdout=holdout)
    if facts.get("probe"):  # of turns that do not weigh alike: `probe_pairs`
        sides = sides.clear()
    spoken = pl.col("channel") == channels[0]
    other = pl.col("channel") == HOLDOUT if holdout else ~spoken
    place = ["run", "agent", "round"]
    left = sides.filter(spoken).select(
        *place, left="on_side", left_status="status", left_channel="channel"
    )
    pairs = (
        sides.filter(other)
        .rename(
            {"on_side": "right", "status": "right_status", "channel": "right_channel"}
        )
        .join(left, on=place, how="left", maintain_order="left")
        .join(
            attempts_of(transcript, facts),
            on="run",
            how="left",
            maintain_order="left",
        )
        .join(clusters(transcript), on="run", how="left", maintain_order="left")
        .with_columns(
            pairing=pl.lit(CHANNELS),
            unit=pl.lit(TURN),
        )
        .select(*PAIRS_SCHEMA)
    )
    return with_factors(pairs)


def spoken_stances(
    transcript: pl.DataFrame, stances: pl.DataFrame, facts: Mapping[str, Any]
) -> pl.DataFrame:
    """The stances of the spoken channel alone, whether or not others were asked.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        stances: Their stances, as `stance_table` gives them.
        facts: The content of study.json.

    Returns:
        One row per planned utterance in a decision with a pressed side, with the
        columns of `stance_pairs` and nothing on the right.
    """
    _, channels = plan_of(facts)
    spoken = pl.col("channel") == channels[0]
    rows = (
        sides_of(transcript, stances, facts)
        .filter(spoken, pl.col("pressed_side").is_not_null())
        .join(clusters(transcript), on="run", how="left", maintain_order="left")
        .with_columns(
            pairing=pl.lit(SPOKEN),
            unit=pl.lit(TURN),
            attempts=pl.lit(1, pl.Int64),
            left="on_side",
            left_status="status",
            left_channel="channel",
            right_channel="channel",
            right=pl.lit(None, pl.Boolean),
            right_status=pl.lit(None, pl.String),
        )
        .select(*PAIRS_SCHEMA)
    )
    return with_factors(rows)


_VIEW: Final = {
    "left": "public",
    "right": "other",
    "left_status": "public_status",
    "right_status": "other_status",
    "right_channel": "channel",
}


def channel_view(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of the spoken channel and another one under the names of their sides.

    Args:
        pairs: Rows of the pairing `channels`.

    Returns:
        The same rows with `public` and `other` for `left` and `right`, and `channel`
        for the other channel.
    """
    return pairs.rename(_VIEW)


def quadrant() -> pl.Expr:
    """Which of `left` and `right` are on the pressed side; null if one is missing.

    `both`, `public_only` (left), `other_only` (right), or `neither`.
    """
    left, right = pl.col("left"), pl.col("right")
    return (
        pl.when(left.is_null() | right.is_null())
        .then(None)
        .when(left & right)
        .then(pl.lit("both"))
        .when(left)
        .then(pl.lit("public_only"))
        .when(right)
        .then(pl.lit("other_only"))
        .otherwise(pl.lit("neither"))
    )


def with_quadrants(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs with `divergent`, `accommodating`, `reversing`, null if a side is missing.

    A comparison of the two sides alone would count a missing one as a difference.

    Args:
        pairs: With `left` and `right`.
    """
    return pairs.with_columns(
        divergent=quadrant().is_in(["public_only", "other_only"]),
        accommodating=quadrant() == "public_only",
        reversing=quadrant() == "other_only",
    )


def attempts_of(transcript: pl.DataFrame, facts: Mapping[str, Any]) -> pl.DataFrame:
    """How many attempts there were at each run, recorded or not."""
    stated: Mapping[str, int] = facts.get("attempts", {})
    return (
        transcript.group_by("run", maintain_order=True)
        .agg(recorded=pl.col("attempt").n_unique())
        .select(
            "run",
            attempts=pl.col("run")
            .replace_strict(dict(stated), default=None, return_dtype=pl.Int64)
            .fill_null(pl.col("recorded")),
        )
    )


def sides_of(
    transcript: pl.DataFrame,
    stances: pl.DataFrame,
    facts: Mapping[str, Any],
    *,
    holdout: bool = False,
) -> pl.DataFrame:
    """Each planned utterance: on the pressed side or not, or why that is not known."""
    valued = pl.col("parsed").is_in([Status.OK, Status.REPAIRED])
    return (
        outputs(transcript, facts, Form.UTTERANCE, holdout=holdout)
        .filter(pl.col("draw") == 0)
        .drop("text")
        .join(
            stances.select(*ROW_KEY, "label", parsed="status"),
            on=list(ROW_KEY),
            how="left",
            maintain_order="left",
        )
        .with_columns(
            status=pl.coalesce("parsed", "status"),
            on_side=pl.when(valued).then(pl.col("label") == pl.col("pressed_side")),
        )
    )
