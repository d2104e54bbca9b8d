"""How long a turn is: words of what was said, tokens of all that was asked."""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.records import Form
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record

_TURN: Final = ("run", "agent", "round")


def turn_sizes(study: Record) -> pl.DataFrame:
    """Words said and tokens used by turn.

    Args:
        study: The study.

    Returns:
        By run, agent and round: `words` of the spoken utterance, `tokens_in` and
        `tokens_out` of all its requests; null where no reply says.
    """
    rows = first_ended(study.transcript)
    spoken = (
        (pl.col("channel") == study.spoken)
        & (pl.col("form") == Form.UTTERANCE)
        & (pl.col("draw") == 0)
    )
    words = pl.col("text").str.extract_all(r"\S+").list.len()
    return rows.group_by(_TURN, maintain_order=True).agg(
        words=words.filter(spoken).first(),
        tokens_in=_total("input_tokens"),
        tokens_out=_total("output_tokens"),
    )


def _total(name: str) -> pl.Expr:
    """A sum over a turn's requests; null where no reply says."""
    known = pl.col(name).is_not_null()
    return pl.when(known.any()).then(pl.col(name).sum())
