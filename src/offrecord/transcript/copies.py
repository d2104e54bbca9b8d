"""Copies: replies that came back in the very words of an earlier one.

A gateway with a cache, or a temperature of 0, sends again what it sent before. Such a
reply is no further sample, and a debate of such replies is no further debate. Blanks
and line ends do not matter, since gateways add and drop some. Only what models say can
be a copy, at a length at which it is no coincidence.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.records import CELL, Form, Kind, Status
from offrecord.transcript.ended import first_ended
from offrecord.transcript.schema import ROW_KEY

LEAST_WORDS: Final = 8
"""Words from which two replies are hardly equal by coincidence."""

LEAST_REPLIES: Final = 4
"""Replies from which two debates are not equal by coincidence. Of the published runs,
1 first reply in 200 equals one of another run, and no debate another."""

SHARE: Final = 0.9
"""The share of a debate's replies from which it is the copy of another; a reply that
was lost in one of them makes no other debate of it."""

FEW: Final = 0.1
"""The share of further samples that may equal an earlier one by coincidence."""

_WRITTEN: Final = "^(simulated|scripted)/"
"""Who says what was written before, by the name of its model."""

_PLACE: Final = (*CELL, "turn", "agent", "channel")


def copied_samples(transcript: pl.DataFrame) -> pl.DataFrame:
    """Whose further samples are copies of earlier replies to the same request.

    Further samples are shadows, or without any the first replies of further runs, which
    have the same request.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        `agent_model` and `channel`, with how many of their `further` samples are
        `copies`: more than `FEW`.
    """
    said = _comparable(transcript)
    draws = pl.col("draw") > 0
    request = [*_PLACE, "run"]
    if said.filter(draws).is_empty():
        # Conversations that were recorded elsewhere begin with requests of their own.
        said = said.filter(pl.col("kind").ne_missing(pl.lit(Kind.OBSERVED)), turn=1)
        request, draws = [*_PLACE], pl.lit(value=True)
    ordered = said.sort("started", "run", "draw", nulls_last=True)
    nth = pl.int_range(pl.len())
    return (
        ordered.with_columns(
            further=draws & (nth.over(request) > 0),
            copies=draws & (nth.over([*request, "text"]) > 0),
        )
        .group_by("agent_model", "channel")
        .agg(pl.col("further", "copies").sum())
        .filter(pl.col("copies") > FEW * pl.col("further"))
        .sort("agent_model", "channel")
    )


def copied_runs(transcript: pl.DataFrame) -> pl.DataFrame:
    """The measured runs whose debate is the copy of an earlier one of the same cell.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        `run`, and `copy_of`: the first run with the same debate.
    """
    said = _comparable(transcript).filter(draw=0)
    begun = pl.col("started").min().over("run")
    led = said.sort(begun, "run", nulls_last=True).with_columns(
        copy_of=pl.col("run").first().over([*_PLACE, "text"])
    )
    shared = led.group_by("run", "copy_of").agg(same=pl.len())
    replies = pl.col("same").sum().over("run")
    copies = (
        (replies >= LEAST_REPLIES)
        & (pl.col("same") >= SHARE * replies)
        & (pl.col("copy_of") != pl.col("run"))
    )
    return shared.filter(copies).select("run", "copy_of").sort("run")


def clusters(transcript: pl.DataFrame) -> pl.DataFrame:
    """Every run with its cluster: itself, or the run whose debate it is a copy of.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Returns:
        `run` and `cluster`.
    """
    runs = transcript.select("run").unique(maintain_order=True)
    copies = runs.join(copied_runs(transcript), on="run", how="left")
    return copies.select("run", cluster=pl.coalesce("copy_of", "run"))


def copies_told(transcript: pl.DataFrame, *, samples: bool = True) -> str:
    """How many runs and further samples are copies, in words; empty where none are.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        samples: Whether to look at further samples, which the noise floor rests on.
    """
    parts, runs = [], copied_runs(transcript).height
    if runs:
        of = first_ended(transcript.select("run", "attempt", "ended"))["run"].n_unique()
        parts.append(f"{runs} of {of} runs")
    again = copied_samples(transcript).select(pl.col("copies", "further").sum())
    copies, further = again.row(0)
    if copies and samples:
        parts.append(f"{copies} of {further} further samples (shadows)")
    if not parts:
        return ""
    return (
        f"{' and '.join(parts)} are copies of earlier ones (the same words, as from a "
        "cache or at temperature 0): they are no further evidence"
    )


def _comparable(transcript: pl.DataFrame) -> pl.DataFrame:
    """The measured utterances of models that are long enough to be compared."""
    wanted = ["started", "ended", "status", "prompt_hash", "agent_model", "text"]
    rows = transcript.select(*dict.fromkeys([*ROW_KEY, *_PLACE, *wanted]))
    words = pl.col("text").str.count_matches(r"\S+")
    return (
        first_ended(rows)
        .filter(
            pl.col("form") == Form.UTTERANCE,
            pl.col("status").is_in([Status.OK, Status.TRUNCATED]),
            words >= LEAST_WORDS,
            ~pl.coalesce("agent_model", "model").str.contains(_WRITTEN),
        )
        .with_columns(pl.col("text").str.replace_all(r"\s+", " ").str.strip_chars())
    )
