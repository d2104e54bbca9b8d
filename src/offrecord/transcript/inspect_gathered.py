"""What is gathered of Inspect logs, and the record that it comes to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from offrecord.transcript.attempts import Attempts
from offrecord.transcript.inspect_evals import Naming
from offrecord.transcript.schema import SAMPLED_SCHEMA, TRANSCRIPT_SCHEMA
from offrecord.transcript.usage import Bills


@dataclass(slots=True)
class Gathering:
    """What has been read of a folder of logs so far."""

    study: str
    frames: list[pl.DataFrame] = field(default_factory=list)
    """One per log, so that a row lives as a Python object for one log only."""
    left_out: list[str] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    content: dict[str, str] = field(default_factory=dict)
    leaning: dict[str, str] = field(default_factory=dict)
    seats: dict[str, dict[str, str]] = field(default_factory=dict)
    arms: dict[str, dict[str, Any]] = field(default_factory=dict)
    instruments: dict[str, dict[str, Any]] = field(default_factory=dict)
    sampled: dict[tuple[str, int, str], dict[str, Any]] = field(default_factory=dict)
    """The turns that a probe drew, by run, turn and agent."""
    attempts: Attempts = field(default_factory=Attempts)
    naming: Naming = field(default_factory=Naming)
    withdrawn: set[str] = field(default_factory=set)
    """The uuids of samples that were invalidated; another log may have copies."""
    bills: Bills = field(default_factory=Bills)
    seen: set[str] = field(default_factory=set)
    """Sample uuids; a retried log holds the samples of the one before it again."""
    logs: int = 0
    announced: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Eval to how many samples it is to have, by each of its logs."""

    def frame(self) -> pl.DataFrame:
        """The transcript, in `TRANSCRIPT_SCHEMA`."""
        attempts = self.attempts.numbers()
        uuid = pl.col("uuid")
        numbered = pl.concat(self.frames).with_columns(
            uuid.replace_strict(attempts, return_dtype=pl.Int32).alias("attempt"),
            # What was withdrawn was paid for, and counts as no end of its run.
            pl.when(~uuid.is_in(self.withdrawn)).then("ended").alias("ended"),
        )
        order = ["model", "partner", "scenario", "condition", "factors", "repeat"]
        inner = ["attempt", "turn", "form", "channel", "draw"]
        return numbered.select(*TRANSCRIPT_SCHEMA).sort([*order, *inner])

    def facts(self) -> dict[str, Any]:
        """The content of study.json."""
        return {
            "study": self.study,
            "source": "inspect",
            **self.asked,
            "content": self.content,
            "leaning": self.leaning,
            "seats": self.seats,
            "arms": self.arms,
            "instruments": self.instruments,
            "attempts": self.attempts.counts(),
            "logs": self.logs,
            "announced": sum(map(max, self.announced.values())),
            "bills": self.bills.sums(),
        }

    def sample(self) -> pl.DataFrame | None:
        """The turns that a probe drew, in `SAMPLED_SCHEMA`; None where it is none."""
        rows = [*self.sampled.values()]
        return pl.DataFrame(rows, schema=SAMPLED_SCHEMA) if rows else None
