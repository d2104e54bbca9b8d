"""The stored public debates of a study, for a replay."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from offrecord.content.reply import spoken_row
from offrecord.protocol.history import Spoken
from offrecord.records import Form, OffrecordError, Status
from offrecord.transcript.ended import first_ended


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One measured run: its cell, and what was said to someone in it."""

    run: str
    model: str
    """Whose words the target's are."""
    partner: str
    scenario: str
    condition: str
    factors: Mapping[str, str]
    repeat: int
    said: tuple[Spoken, ...]
    """The spoken words up to the first turn that has none, oldest first."""


def stored_runs(
    transcript: pl.DataFrame, facts: Mapping[str, Any]
) -> Iterator[StoredRun]:
    """The public debate of every measured run, in the transcript's order.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        facts: The content of study.json: `channels`, the spoken one first.

    Raises:
        OffrecordError: If study.json does not say which channel is spoken.
    """
    channels = facts.get("channels")
    if not isinstance(channels, list) or not channels:
        raise OffrecordError("study.json: says no 'channels'; import the study again")
    spoken = (
        first_ended(transcript)
        .filter(form=Form.UTTERANCE, channel=channels[0], draw=0)
        .sort("turn")
        .partition_by("run", maintain_order=True)
    )
    for rows in spoken:
        first = rows.row(0, named=True)
        yield StoredRun(
            run=first["run"],
            model=first["model"],
            partner=first["partner"],
            scenario=first["scenario"],
            condition=first["condition"],
            factors=json.loads(first["factors"]),
            repeat=first["repeat"],
            said=tuple(_said(rows)),
        )


def _said(rows: pl.DataFrame) -> Iterator[Spoken]:
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        text = spoken_row(row)
        silent = row["status"] is not None and Status(row["status"]).silent
        if row["turn"] != number or silent or not text:
            return
        yield Spoken(
            turn=row["turn"],
            agent=row["agent"],
            channel=row["channel"],
            audience=tuple(row["audience"]),
            text=text,
            model=row["agent_model"] or "",
        )
