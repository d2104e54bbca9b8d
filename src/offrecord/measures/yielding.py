"""Yielding without new words: a changed stance in what the counterpart just said."""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.measures.parsed import stances_of
from offrecord.measures.stored import stored_measures
from offrecord.measures.texts.similarity import SIMILARITY
from offrecord.records import Form, Status
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

HEARD: Final = "heard"
"""The pairing of a text with what another agent had said last."""

CLOSE: Final = 0.9
"""The cosine from which two texts say the same in nearly the same words."""

_TURN: Final = ("run", "agent", "turn")


def changes_of(record: Record) -> pl.DataFrame:
    """Every turn whose spoken label is another than the agent's last one before it.

    Returns:
        `run`, `agent`, `turn`, `before`, `label`, and `close`: whether the text is
        close to what another agent had said last; null where that was not measured
        (`--measures similarity --pairing heard`).
    """
    valued = pl.col("status").is_in([Status.OK, Status.REPAIRED])
    spoken = first_ended(record.transcript.select(*ROW_KEY, "ended")).filter(
        form=Form.UTTERANCE, channel=record.spoken, draw=0
    )
    labels = spoken.join(stances_of(record).filter(valued), on=list(ROW_KEY))
    before = pl.col("label").shift().over(["run", "agent"], order_by="turn")
    changed = (
        labels.sort("run", "turn")
        .with_columns(before=before)
        .filter(pl.col("label") != pl.col("before"))
        .select(*_TURN, "before", "label")
    )
    stored = stored_measures(record, SIMILARITY)
    if stored is None:
        return changed.with_columns(close=pl.lit(None, pl.Boolean))
    heard = (
        stored.filter(pairing=HEARD)
        .unique([f"left_{name}" for name in ROW_KEY], keep="first", maintain_order=True)
        .select(
            *(pl.col(f"left_{name}").alias(name) for name in _TURN),
            close=pl.col("cosine") >= CLOSE,
        )
    )
    return changed.join(heard, on=list(_TURN), how="left", maintain_order="left")
