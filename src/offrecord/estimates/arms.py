"""The turns of a study that arms are compared on: stances, hold-out, sizes."""

from __future__ import annotations

import math
from typing import Final

import polars as pl

from offrecord.measures.parsed import holdout_pairs_of
from offrecord.measures.sizes import turn_sizes
from offrecord.records import Role, Status
from offrecord.transcript.record import Record

_TURN: Final = ("run", "agent", "round")


def arm_turns(study: Record, pairs: pl.DataFrame) -> pl.DataFrame:
    """The target's pairs with the columns that changes are made of.

    Args:
        study: The study.
        pairs: Its pairs, as `stance_pairs` gives them; of several silent channels the
            first counts.

    Returns:
        The pairs with `holdout` (on the pressed side), `missing` (either stance),
        `refused`, `words` of the spoken utterance, and `tokens_in` and `tokens_out` of
        all requests of the turn; NaN where not known.
    """
    silent = [name for name in study.facts["channels"] if name != study.spoken][:1]
    own = pairs.filter(
        pl.col("role") == Role.TARGET, pl.col("right_channel").is_in(silent)
    )
    held = holdout_pairs_of(study).select(*_TURN, holdout="right")
    lost = pl.col("left").is_null() | pl.col("right").is_null()
    refused = Status.REFUSAL
    said = (pl.col("left_status") == refused) | (pl.col("right_status") == refused)
    return (
        own.join(held, on=_TURN, how="left", maintain_order="left")
        .join(turn_sizes(study), on=_TURN, how="left", maintain_order="left")
        .with_columns(missing=lost, refused=said.fill_null(value=False))
        .with_columns(
            pl.col("holdout", "missing", "refused", "words", "tokens_in", "tokens_out")
            .cast(pl.Float64)
            .fill_null(math.nan)
        )
    )
