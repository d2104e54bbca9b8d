"""A study as people hold it: a record, and what the stages do with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from offrecord.measures.parsed import pairs_of, parse, stances_of, surveys_of
from offrecord.transcript.record import Record, open_record


@dataclass(frozen=True)
class Study:
    """A study folder, its tables read when first asked for."""

    record: Record
    """What the stages take."""

    @property
    def path(self) -> Path:
        """The folder."""
        return self.record.path

    @property
    def facts(self) -> dict[str, Any]:
        """What came back: versions, hashes, attempts, rounds, channels."""
        return self.record.facts

    @property
    def transcript(self) -> pl.DataFrame:
        """One row per attempt at an elicitation (`TRANSCRIPT_SCHEMA`)."""
        return self.record.transcript

    @property
    def stances(self) -> pl.DataFrame:
        """One row per utterance (`STANCE_SCHEMA`)."""
        return stances_of(self.record)

    @property
    def surveys(self) -> pl.DataFrame:
        """One row per survey (`SURVEY_SCHEMA`)."""
        return surveys_of(self.record)

    @property
    def pairs(self) -> pl.DataFrame:
        """One row per planned pair of channels (`PAIRS_SCHEMA`)."""
        return pairs_of(self.record)

    def parse(self) -> None:
        """Parse stances and surveys, where that is not done for these rows yet."""
        parse(self.record)


def load_study(path: str | Path) -> Study:
    """Open a study folder.

    Args:
        path: A folder that `offrecord run` or `offrecord import` made.

    Returns:
        The study; tables are read from disk when first asked for.

    Raises:
        OffrecordError: If there is no study.
    """
    return Study(open_record(path))
