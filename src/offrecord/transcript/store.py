"""A study folder's files: read with clear errors, written whole, renamed into place.

A reader of the folder sees the old file or the new one, never a part of either. Writing
makes the folder of measures, never that of a study: one that was removed while it is
worked on does not come back in part.
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from offrecord.content.boundary.files import STUDY_FILE, read_json, refuse_leaving
from offrecord.content.boundary.secrets import all_redacted
from offrecord.content.boundary.tables import read_table, without_secrets
from offrecord.records import OffrecordError, first_line
from offrecord.transcript.facts import FORMAT, fault_of
from offrecord.transcript.imported import Imported
from offrecord.transcript.rows import fault_of as row_fault
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

__all__ = [
    "ASKED_FILE",
    "GIVEN_FILE",
    "LOCK_FILE",
    "MEASURES_FOLDER",
    "OWN_FILES",
    "PROMPTS_FILE",
    "SAMPLED_FILE",
    "STUDY_FILE",
    "TRANSCRIPT_FILE",
    "Imported",
    "UnwritableError",
    "is_empty",
    "make_folder",
    "read_json",
    "read_study_json",
    "read_table",
    "read_transcript",
    "refuse_gone",
    "write_bytes",
    "write_json",
    "write_output",
    "write_study_json",
    "write_table",
    "write_text",
    "write_transcript",
]

TRANSCRIPT_FILE: Final = "transcripts.parquet"
PROMPTS_FILE: Final = "prompts.json"
GIVEN_FILE: Final = "given.parquet"
ASKED_FILE: Final = "asked.parquet"
SAMPLED_FILE: Final = "sampled.parquet"
LOCK_FILE: Final = ".lock"
MEASURES_FOLDER: Final = "measures"

OWN_FILES: Final = frozenset(
    {
        *(STUDY_FILE, TRANSCRIPT_FILE, PROMPTS_FILE),
        *(GIVEN_FILE, ASKED_FILE, SAMPLED_FILE),
        "study.yaml",
        "estimates.json",
        "report.html",
        "audits.jsonl",
    }
)
"""What is in a study's folder, beside hidden files; the tests make one with each."""

_SYSTEM: Final = re.compile(r"os error|IO error|transport error")
"""How polars passes on what the system says of a file."""

_SAID: Final = ("stop_reason", "settings", "model_answered", "provider")
"""What a provider says of itself."""

_PART: Final = ".part"
_ABANDONED: Final = 3600
"""Seconds after which a part that no one writes to is what a killed process left."""


class UnwritableError(OffrecordError):
    """A study takes nothing more: its folder is gone, closed, or on a full disk."""


def write_transcript(study: Path, transcript: pl.DataFrame) -> None:
    """Write the raw record of a study.

    Args:
        study: The study's folder.
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Raises:
        OffrecordError: If the columns are not those declared, or nothing can be
            written there.
    """
    if transcript.schema != pl.Schema(TRANSCRIPT_SCHEMA):
        raise OffrecordError("transcript: columns differ from the declared schema")
    write_table(study / TRANSCRIPT_FILE, without_secrets(transcript, _SAID))


def read_transcript(study: Path) -> pl.DataFrame:
    """Read the raw record of a study.

    Raises:
        OffrecordError: If there is none, or it is not a transcript.
    """
    path = study / TRANSCRIPT_FILE
    declared = pl.Schema(TRANSCRIPT_SCHEMA)
    transcript = read_table(path, declared.names())
    try:
        transcript = transcript.cast(declared)
    except pl.exceptions.PolarsError as error:
        raise OffrecordError(f"{path}: {first_line(error)}; import it again") from None
    fault = row_fault(transcript, path.stat().st_size)
    if fault:
        raise OffrecordError(f"{path}: {fault}; import it again")
    if transcript.select(ROW_KEY).is_duplicated().any():
        raise OffrecordError(f"{path}: two rows for one output; import it again")
    return transcript


def write_study_json(study: Path, facts: Mapping[str, Any]) -> None:
    """Write what came back from a study: versions, attempts, what was left out.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    write_json(study / STUDY_FILE, {"format": FORMAT, **facts})


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    plain = all_redacted(value)
    write_text(
        path, json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def read_study_json(study: Path) -> dict[str, Any]:
    """Read what came back from a study.

    Raises:
        OffrecordError: If there is no such file, it is not a JSON object, or a field
            of it is not what it must be, or it is of another format.
    """
    facts = read_json(study / STUDY_FILE)
    if facts.get("format") != FORMAT:
        held = facts.get("format", "none")
        raise OffrecordError(
            f"{study / STUDY_FILE}: a study of format {held!r}, and this offrecord "
            f"reads {FORMAT}: run or import it again"
        )
    fault = fault_of(facts)
    if fault:
        raise OffrecordError(f"{study / STUDY_FILE}: {fault}; import the study again")
    return facts


def write_text(path: Path, text: str) -> None:
    """Write one text file as UTF-8 into a folder that is there.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    write_bytes(path, text.encode())


def write_output(path: Path, text: str) -> None:
    """Write one text file to a place that a user named, its folder made if absent.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write one file into a folder that is there.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    _replace(path, lambda file: file.write(data))


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write one Parquet file into a folder that is there, or into one of measures.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    _replace(
        path,
        lambda file: table.write_parquet(file, compression="zstd", compression_level=1),
    )


def refuse_gone(path: Path) -> None:
    """Refuse to go on with a study that was removed while it is worked on.

    Args:
        path: One of its files.

    Raises:
        OffrecordError: If its study is gone.
    """
    study = _keeper(path)
    if not study.exists():
        raise UnwritableError(
            f"{study}: the study was removed while it was worked on: nothing more is "
            "written there"
        )


def make_folder(folder: Path) -> None:
    """Make a folder where it is absent, but never anew the study that it belongs to.

    Raises:
        OffrecordError: If its study is gone.
        OSError: If it cannot be made.
    """
    study = _keeper(folder / "file")
    if study == folder:
        folder.mkdir(parents=True, exist_ok=True)
        return
    try:
        for part in reversed([folder, *folder.parents]):
            if part != study and part.is_relative_to(study):
                part.mkdir(exist_ok=True)
    except FileNotFoundError:
        refuse_gone(folder / "file")
        raise


def _keeper(path: Path) -> Path:
    """The folder without which a file is not written: of what measures keep, the study.

    It follows from the path alone, so that no process has to remember what it opened.
    """
    if path.name not in OWN_FILES:  # a study may itself lie in a folder of that name
        for folder in path.parents:
            if folder.name == MEASURES_FOLDER:
                return folder.parent
    return path.parent


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a killed process may leave in it."""
    return all(
        entry.name == LOCK_FILE or (entry.name[0] == "." and entry.suffix == _PART)
        for entry in folder.iterdir()
    )


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write beside the target, so that the rename stays on one file system."""
    refuse_gone(path)
    refuse_leaving(path)
    part = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    try:
        if _keeper(path) != path.parent:
            make_folder(path.parent)
        with part.open("wb") as file:
            write(file)
        part.replace(path)
        _sweep(path)
    except (OSError, pl.exceptions.ComputeError) as error:
        if not isinstance(error, OSError) and not _SYSTEM.search(str(error)):
            raise
        refuse_gone(path)
        reason = getattr(error, "strerror", None) or f"{first_line(error)}; disk full?"
        raise UnwritableError(f"{path}: cannot be written ({reason})") from None
    finally:
        with suppress(OSError):
            part.unlink()


def _sweep(path: Path) -> None:
    """Remove the parts of a file that killed processes left beside it."""
    with suppress(OSError):
        for part in path.parent.glob(f".{glob.escape(path.name)}.*{_PART}"):
            if time.time() - part.stat().st_mtime > _ABANDONED:
                part.unlink()
