"""A study folder's files: read with clear errors, written whole, renamed into place.

A reader of the folder sees the old file or the new one, never a part of either.
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from offrecord.records import OffrecordError
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

TRANSCRIPT_FILE: Final = "transcripts.parquet"
STUDY_FILE: Final = "study.json"
PROMPTS_FILE: Final = "prompts.json"
LOCK_FILE: Final = ".lock"

_SYSTEM: Final = re.compile(r"os error|IO error|transport error")
"""How polars passes on what the system says of a file."""

_PART: Final = ".part"
_ABANDONED: Final = 3600
"""Seconds after which a part that no one writes to is what a killed process left."""


class UnwritableError(OffrecordError):
    """A study takes nothing more: its folder is gone, closed, or on a full disk."""


_opened: set[Path] = set()
"""Studies that this process works on: once one is gone, nothing is written there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an importer makes of a source: rows, facts, and what it could not use."""

    transcript: pl.DataFrame
    """One row per attempt at an elicitation, in `TRANSCRIPT_SCHEMA`."""
    facts: Mapping[str, Any]
    """The content of study.json. Later stages read from it `rounds` (planned turns
    per run and agent), `channels` (the spoken one first), `attempts` (run id to
    number) and `instruments` (stamp to `items`, `low`, `high`, and where they are
    declared `categories`, each with its items, and `reverse`, of each keyed category
    the items that count against it)."""
    left_out: tuple[str, ...]
    """One line for each thing that could not be read: where, and why."""
    prompts: Mapping[str, Any] | None = None
    """What a replay needs where the prompts are not our own content."""


def write_transcript(study: Path, transcript: pl.DataFrame) -> None:
    """Write the raw record of a study.

    Args:
        study: The study's folder, made where it is absent.
        transcript: Rows in `TRANSCRIPT_SCHEMA`.

    Raises:
        OffrecordError: If the columns are not those declared, or nothing can be
            written there.
    """
    if transcript.schema != pl.Schema(TRANSCRIPT_SCHEMA):
        raise OffrecordError("transcript: columns differ from the declared schema")
    write_table(study / TRANSCRIPT_FILE, transcript)


def read_transcript(study: Path) -> pl.DataFrame:
    """Read the raw record of a study.

    Raises:
        OffrecordError: If there is none, or it is not a transcript.
    """
    transcript = read_table(study / TRANSCRIPT_FILE)
    absent = [name for name in TRANSCRIPT_SCHEMA if name not in transcript.columns]
    if absent:
        raise OffrecordError(
            f"{study / TRANSCRIPT_FILE}: no column '{absent[0]}'; import it again"
        )
    try:
        declared = pl.Schema(TRANSCRIPT_SCHEMA)
        transcript = transcript.select(declared.names()).cast(declared)
    except pl.exceptions.PolarsError as error:
        raise OffrecordError(
            f"{study / TRANSCRIPT_FILE}: {_line(error)}; import it again"
        ) from None
    if transcript.select(ROW_KEY).is_duplicated().any():
        raise OffrecordError(
            f"{study / TRANSCRIPT_FILE}: two rows for one output; import it again"
        )
    return transcript


def write_study_json(study: Path, facts: Mapping[str, Any]) -> None:
    """Write what came back from a study: versions, attempts, what was left out.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    write_json(study / STUDY_FILE, facts)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    write_text(
        path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def read_study_json(study: Path) -> dict[str, Any]:
    """Read what came back from a study.

    Raises:
        OffrecordError: If there is no such file, or it is not a JSON object.
    """
    return read_json(study / STUDY_FILE)


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        OffrecordError: If there is no such file, or it is not a JSON object.
    """
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise _absent(path) from None
    except OSError as error:
        raise OffrecordError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise OffrecordError(f"{path}: not JSON; import the study again") from None
    if not isinstance(value, dict):
        raise OffrecordError(f"{path}: not a JSON object; import the study again")
    return value


def write_text(path: Path, text: str) -> None:
    """Write one text file as UTF-8, its folder made where it is absent.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write one file, its folder made where it is absent.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    _replace(path, lambda file: file.write(data))


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write one Parquet file, its folder made where it is absent.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    _replace(
        path,
        lambda file: table.write_parquet(file, compression="zstd", compression_level=1),
    )


def read_table(path: Path) -> pl.DataFrame:
    """Read one Parquet file.

    Raises:
        OffrecordError: If there is none, or it is not Parquet.
    """
    try:
        return pl.read_parquet(path.read_bytes())
    except FileNotFoundError:
        raise _absent(path) from None
    except OSError as error:
        raise OffrecordError(f"{path}: {error.strerror}") from None
    except pl.exceptions.PolarsError as error:
        raise OffrecordError(f"{path}: cannot be read ({_line(error)})") from None


def open_folder(study: Path) -> None:
    """Note that this process works on a study.

    Should its folder be removed meanwhile, writing fails instead of bringing back a
    part of it.
    """
    _opened.add(study.resolve())


def close_folder(study: Path) -> None:
    """Let a study's folder be made anew."""
    _opened.discard(study.resolve())


def refuse_gone(path: Path) -> None:
    """Refuse to write into a study that was removed while it is worked on.

    Args:
        path: What is to be written, or the study's folder.

    Raises:
        OffrecordError: If its study is gone.
    """
    whole = path.resolve()
    for study in _opened:
        if whole.is_relative_to(study) and not (study / STUDY_FILE).is_file():
            raise UnwritableError(
                f"{study}: the study was removed while it was worked on: nothing more "
                "is written there"
            )


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what a killed process may leave in it."""
    return all(
        entry.name == LOCK_FILE or (entry.name[0] == "." and entry.suffix == _PART)
        for entry in folder.iterdir()
    )


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write beside the target, so that the rename stays on one file system."""
    refuse_gone(path)
    part = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            write(file)
        part.replace(path)
        _sweep(path)
    except (OSError, pl.exceptions.ComputeError) as error:
        if not isinstance(error, OSError) and not _SYSTEM.search(str(error)):
            raise
        refuse_gone(path)
        reason = getattr(error, "strerror", None) or f"{_line(error)}; disk full?"
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


def _absent(path: Path) -> OffrecordError:
    return OffrecordError(
        f"{path}: no such file; make the study with 'offrecord run' or 'import' first"
    )


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
