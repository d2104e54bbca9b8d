"""A record: a study's folder as the stages take it, whatever its runs came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from offrecord.protocol.design import Design, read_design
from offrecord.records import OffrecordError
from offrecord.transcript.ended import first_ended
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.store import (
    ASKED_FILE,
    GIVEN_FILE,
    PROMPTS_FILE,
    SAMPLED_FILE,
    STUDY_FILE,
    Imported,
    is_empty,
    read_study_json,
    read_transcript,
    write_json,
    write_study_json,
    write_table,
    write_transcript,
)
from offrecord.transcript.usage import usage_of


@dataclass(frozen=True)
class Record:
    """A study's folder: its facts and its raw rows, read when first asked for."""

    path: Path
    """The folder."""
    _derived: dict[str, pl.DataFrame] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What came back: versions, hashes, attempts, rounds, channels."""
        return read_study_json(self.path)

    @cached_property
    def transcript(self) -> pl.DataFrame:
        """One row per attempt at an elicitation (`TRANSCRIPT_SCHEMA`)."""
        return read_transcript(self.path)

    @cached_property
    def design(self) -> Design:
        """What was asked for; a study that was imported has none.

        Raises:
            OffrecordError: If there is no design.
        """
        return read_design(self.path / DESIGN_FILE)

    @cached_property
    def usage(self) -> dict[str, dict[str, Any]]:
        """What each model used, as the providers reported it (see `usage_of`)."""
        stored: dict[str, dict[str, Any]] | None = self.facts.get("usage")
        return usage_of(self.transcript) if stored is None else stored

    @property
    def name(self) -> str:
        """What the study is called: its own name, or else its folder's."""
        return str(self.facts.get("study", self.path.name))

    @property
    def spoken(self) -> str:
        """The channel whose draw 0 enters the history.

        Raises:
            OffrecordError: If no log was read yet, as where its run was killed.
        """
        spoken = self.facts.get("spoken") or self.facts.get("channels")
        if not spoken:
            raise OffrecordError(
                f"{self.path}: its run has not ended: 'offrecord run --out "
                f"{self.path}' resumes it"
            )
        return str(spoken[0])

    @property
    def target(self) -> str:
        """The agent under pressure."""
        seats = self.transcript.select("role", "agent").unique().sort("agent")
        roles = dict(seats.iter_rows())
        return str(roles.get("target", "alpha"))

    @property
    def ended_runs(self) -> int:
        """How many runs have an attempt that ended by itself."""
        rows = self.transcript.select("run", "attempt", "ended")
        return first_ended(rows)["run"].n_unique()

    def derived(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """A table that follows from the record, made once.

        Args:
            name: What the table is called.
            make: Makes it.
        """
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]


def open_record(path: str | Path) -> Record:
    """Open a study's folder.

    Args:
        path: A folder that `offrecord run` or `offrecord import` made.

    Returns:
        The record; tables are read from disk when first asked for.

    Raises:
        OffrecordError: If there is no study.
    """
    folder = Path(path)
    if not (folder / STUDY_FILE).is_file():
        raise OffrecordError(
            f"{folder}: no study here (no {STUDY_FILE}): give the folder that "
            "'offrecord run' or 'offrecord import' made"
        )
    return Record(folder)


def refuse_other_study(out: Path, source: str, file: str = "") -> None:
    """Refuse to write an import over something else.

    Args:
        out: The folder that is to hold the study.
        source: What is imported: `llmagora`, `inspect` or `transcripts`.
        file: The name of what is read, where another one is another study.

    Raises:
        OffrecordError: If the folder holds a run study, another kind of import, or
            files that are no study.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise OffrecordError(f"{out}: not a folder: name another --out")
    if (out / DESIGN_FILE).exists():
        raise OffrecordError(
            f"{out}: a study made by 'offrecord run', which imports its own logs: name "
            "another --out"
        )
    if (out / STUDY_FILE).exists():
        facts = read_study_json(out)
        other = file and facts.get("imported", file) != file
        if facts.get("source") != source or other:
            raise OffrecordError(f"{out}: another import: name another --out")
    elif not is_empty(out):
        raise OffrecordError(f"{out}: not empty and not a study: name another --out")


def write_import(out: Path, imported: Imported) -> Record:
    """Write an import as a study.

    Args:
        out: The study's folder.
        imported: What an importer read.

    Raises:
        OffrecordError: If the folder cannot be written.
    """
    facts = dict(imported.facts)
    if (out / STUDY_FILE).exists():
        facts = {**read_study_json(out), **facts}
    else:
        out.mkdir(parents=True, exist_ok=True)
    facts["left_out"] = list(imported.left_out)
    facts["usage"] = usage_of(imported.transcript, facts.pop("bills", None))
    # First what says whose folder this is: an import that was killed can begin anew.
    write_study_json(out, facts)
    write_transcript(out, imported.transcript)
    for name, table in (
        (GIVEN_FILE, imported.given),
        (ASKED_FILE, imported.asked),
        (SAMPLED_FILE, imported.sampled),
    ):
        if table is not None:
            write_table(out / name, table)
    if imported.prompts is not None:
        write_json(out / PROMPTS_FILE, imported.prompts)
    return Record(out)
