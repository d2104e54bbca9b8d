"""Which models answered under one name: routers and fallbacks send others in."""

from __future__ import annotations

import polars as pl

from offrecord.content.boundary.shown import escaped
from offrecord.records import SCRIPTED, Status
from offrecord.transcript.ended import first_ended


def mixed_answers(transcript: pl.DataFrame) -> str:
    """Where several models answered for one, so that who answered differs as well.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        A sentence that names them by channel, or nothing.
    """
    spoke = [str(status) for status in Status if not status.silent]
    counts = (
        first_ended(transcript)
        .filter(pl.col("status").is_in(spoke), pl.col("model_answered").is_not_null())
        .filter(pl.col("provider").ne_missing(SCRIPTED))  # what a guard let out
        .group_by("agent_model", "channel", "model_answered")
        .len()
        .sort("agent_model", "channel", "model_answered")
        .with_columns(by=pl.format("{} ({})", "model_answered", "len"))
    )
    several = pl.col("model_answered").n_unique().over("agent_model") > 1
    by = pl.format("{} by {}", pl.first("channel"), pl.col("by").str.join(", "))
    named = (
        counts.filter(several)
        .group_by("agent_model", "channel", maintain_order=True)
        .agg(said=by)
        .group_by("agent_model", maintain_order=True)
        .agg(pl.col("said").str.join("; "))
    )
    return "; ".join(
        escaped(f"several models answered for {model}: {said}")
        for model, said in named.iter_rows()
    )
