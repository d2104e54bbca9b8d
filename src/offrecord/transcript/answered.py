"""Which models answered under one name: routers and fallbacks send others in."""

from __future__ import annotations

from itertools import combinations
from typing import Final

import polars as pl

from offrecord.content.boundary.shown import escaped
from offrecord.records import SCRIPTED, Status
from offrecord.transcript.ended import first_ended

_LEAST: Final = 8
"""Replies of a channel from which it is no coincidence that it shares no server."""


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
    several_told = [
        escaped(f"several models answered for {model}: {said}")
        for model, said in named.iter_rows()
    ]
    return "; ".join([*several_told, *_parted_servers(transcript)])


def _parted_servers(transcript: pl.DataFrame) -> list[str]:
    """Where two channels of a model were served by servers that they do not share.

    A name that hardly ever comes twice (some servers number their replies) names none.
    """
    replies = first_ended(transcript).filter(pl.col("provider").is_not_null())
    served = (
        replies.group_by("agent_model", "channel")
        .agg(pl.len(), by=pl.col("provider").unique().sort())
        .filter(pl.col("len") >= _LEAST, 2 * pl.col("by").list.len() <= pl.col("len"))
        .sort("agent_model", "channel")
    )
    rows = served.select("agent_model", "channel", "by").rows()
    return [
        escaped(
            f"different servers answered for {model}: "
            f"{first} by {', '.join(one)}; {second} by {', '.join(other)}"
        )
        for (model, first, one), (other_model, second, other) in combinations(rows, 2)
        if model == other_model and not {*one} & {*other}
    ]
