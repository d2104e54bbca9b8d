"""The record of a study's audits: one line each, added and never changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from offrecord.content.boundary.files import read_file
from offrecord.records import OffrecordError

AUDITS_FILE: Final = "audits.jsonl"

_Count = Annotated[int, Field(ge=0, lt=2**31)]
_EValues = tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...]


def _both_sides(text: str) -> str:
    left, _, right = text.partition("/")
    if set(left + right) - set("01-") or len(left) != len(right):
        raise ValueError("not two stances a turn")
    return text


_Sides = Annotated[str, AfterValidator(_both_sides)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True)


class EPath(_Line):
    """The e-values of one figure after each block."""

    group: dict[str, str | float | None]
    measure: str
    threshold: Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
    """As a fraction of 1."""
    verdict: str
    e_below: _EValues
    """Evidence that the figure is below its threshold."""
    e_above: _EValues


class Anytime(_Line):
    """What an audit by blocks found."""

    pass_at: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The e-value at which a figure is shown to be below its threshold."""
    fail_at: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    checks: tuple[EPath, ...]


class AuditLine(_Line):
    """One audit."""

    time: str = ""
    transcripts: str
    """A digest of what was said."""
    gate: str
    """A digest of the gate."""
    chance: str = ""
    """A digest of what luck can decide in it; empty where that is nothing."""
    runs: _Count = 0
    exit: _Count = 0
    closed: dict[_Count, dict[str, tuple[str, dict[str, _Sides]]]] = {}
    """Blocks that were judged for the first time: number to its runs, each with a
    digest of what was said, and agent and channel to the stances of its turns."""
    anytime: Anytime | None = None
    """Of an audit by blocks."""


def read_audits(study: Path) -> list[AuditLine]:
    """Read the audits of a study, the oldest first.

    Args:
        study: The study's folder.

    Raises:
        OffrecordError: Naming the line that no audit wrote.
    """
    path = study / AUDITS_FILE
    try:
        lines = read_file(path).decode().splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise OffrecordError(f"{path}: cannot be read ({error})") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
            # Before gates had a chance of their own, each counted as one.
            found.append(AuditLine.model_validate({"chance": value["gate"], **value}))
        except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
            raise OffrecordError(
                f"{path}, line {number}: not a line of an earlier audit: mend it, or "
                "move the file away"
            ) from None
    return found


def add_audit(study: Path, line: AuditLine) -> None:
    """Write down one more audit.

    Raises:
        OffrecordError: If that cannot be done.
    """
    path = study / AUDITS_FILE
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json(exclude_none=True) + "\n")
    except OSError as error:
        raise OffrecordError(f"{path}: cannot be written ({error.strerror})") from None
