"""Replies that hold thinking which no mark parts from what is said."""

from __future__ import annotations

import polars as pl

from offrecord.content.reply import is_guessed
from offrecord.records import Form
from offrecord.transcript.ended import first_ended


def guessed_replies(transcript: pl.DataFrame) -> pl.DataFrame:
    """The measured utterances of which only what a label parts off counts as said.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        Its rows of this kind.
    """
    said = first_ended(transcript).filter(form=Form.UTTERANCE)
    guessed = [
        bool(labels) and is_guessed(text or "", labels)
        for text, labels in said.select("text", "labels").iter_rows()
    ]
    return said.filter(pl.Series(guessed, dtype=pl.Boolean))
