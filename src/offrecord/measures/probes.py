"""Pairs of a probe: one turn before two audiences, with what it stands for."""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.measures.draws import stance_draws
from offrecord.measures.pairs import PAIRS_SCHEMA, TURN, attempts_of, sides_of
from offrecord.measures.parsed import stances_of
from offrecord.protocol.probe import PLAIN, STORED
from offrecord.transcript.planned import with_factors
from offrecord.transcript.record import Record
from offrecord.transcript.schema import SAMPLED_SCHEMA
from offrecord.transcript.store import SAMPLED_FILE, read_table

PROBE: Final = "probe"
"""The pairing of a probe."""

REPLAY: Final = "replay"
WORDING: Final = "wording"
AUDIENCE: Final = "audience"

_TURN: Final = ("run", "turn", "agent")
_COUNTS: Final = ("left_draws", "left_on", "right_draws", "right_on")


def is_probe(record: Record) -> bool:
    """Whether a study is a probe of recorded conversations."""
    return bool(record.facts.get("probe"))


def questions(channels: list[str]) -> list[tuple[str, str, str]]:
    """What the channels of a probe answer: question, left channel, right channel.

    Args:
        channels: Those of study.json, the public one first.
    """
    public, *others = [name for name in channels if name != STORED]
    found = []
    if PLAIN in others:
        found = [(REPLAY, STORED, PLAIN), (WORDING, PLAIN, public)]
    others = [name for name in others if name != PLAIN]
    return [*found, *((AUDIENCE, public, name) for name in others)]


def probe_pairs(record: Record) -> pl.DataFrame:
    """One row per question and drawn turn.

    Returns:
        The columns of `PAIRS_SCHEMA`, `question`, `prompt`, `stratum`, `weight`, and of
        each side how many draws have a stance (`left_draws`) and how many of these are
        on the pressed side (`left_on`); then the factors.

    Raises:
        OffrecordError: If the study is no probe, or its sample is not there.
    """
    return record.derived("probe_pairs", lambda: _made(record))


def _made(record: Record) -> pl.DataFrame:
    rows, stances = record.transcript, stances_of(record)
    sides = sides_of(rows, stances, record.facts)
    counts = (
        stance_draws(rows, stances)
        .group_by(*_TURN, "channel")
        .agg(
            draws=pl.col("on_pressed_side").count(),
            on=pl.col("on_pressed_side").sum(),
        )
    )
    sides = sides.join(counts, on=[*_TURN, "channel"], how="left").with_columns(
        pl.col("draws", "on").fill_null(0).cast(pl.Int64)
    )
    parts = [
        _paired(sides, *asked).with_columns(question=pl.lit(asked[0]))
        for asked in questions(record.facts["channels"])
    ]
    sampled = read_table(record.path / SAMPLED_FILE, [*SAMPLED_SCHEMA])
    pairs = (
        pl.concat(parts)
        .join(sampled, on=list(_TURN), how="inner", maintain_order="left")
        .join(attempts_of(rows, record.facts), on="run", maintain_order="left")
        .with_columns(pairing=pl.lit(PROBE), unit=pl.lit(TURN), cluster="source")
        .select(
            *PAIRS_SCHEMA,
            *("question", "prompt", "stratum", "weight"),
            *_COUNTS,
        )
    )
    return with_factors(pairs)


def _paired(sides: pl.DataFrame, _: str, left: str, right: str) -> pl.DataFrame:
    columns = {"on_side": "", "status": "_status", "draws": "_draws", "on": "_on"}

    def named(side: str, channel: str) -> pl.DataFrame:
        renamed = {name: side + end for name, end in columns.items()}
        return (
            sides.filter(channel=channel)
            .rename({**renamed, "channel": f"{side}_channel"})
            .drop("draw", "attempt", "form", strict=False)
        )

    one, two = named("left", left), named("right", right)
    also = ["right_channel", *(f"right{end}" for end in columns.values())]
    return one.join(two.select(*_TURN, *also), on=list(_TURN), maintain_order="left")
