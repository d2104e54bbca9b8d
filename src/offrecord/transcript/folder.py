"""A study folder from the side of its design: made, locked, and held to its content."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from offrecord.protocol.cases import cases
from offrecord.protocol.design import FIXED, Design, read_design, write_design
from offrecord.protocol.script import material_of
from offrecord.records import OffrecordError, digest
from offrecord.transcript.store import (
    LOCK_FILE,
    STUDY_FILE,
    is_empty,
    read_study_json,
    write_study_json,
    write_text,
)

DESIGN_FILE: Final = "study.yaml"
LOGS_FOLDER: Final = "logs"

MOVED: Final = "OFFRECORD_STUDY"
"""Environment variable: where a study lies now, if its folder was renamed.

Inspect tells a study's tasks by their argument. That argument must stay what it was
at the first call, or every run would be made again."""


def study_design_path(study: str) -> Path:
    """The design file of a study, by the argument that the task was given.

    Args:
        study: The study's folder, or its design file.
    """
    path = Path(os.environ.get(MOVED) or study)
    return path if path.suffix in {".yaml", ".yml"} else path / DESIGN_FILE


def existing_design(study: Path) -> Design | None:
    """The design of a study, or nothing where there is no study yet.

    Raises:
        OffrecordError: If the folder holds something else, such as an import, or the
            design was edited in what cannot change.
    """
    if (study / DESIGN_FILE).exists():
        design = read_design(study / DESIGN_FILE)
        if (study / STUDY_FILE).exists():
            _refuse_edited(study, design, read_study_json(study))
        return design
    if study.is_dir() and not is_empty(study):
        raise OffrecordError(
            f"{study}: not empty and not a study that 'offrecord run' made: "
            "name another --out"
        )
    if study.exists() and not study.is_dir():
        raise OffrecordError(f"{study}: not a folder")
    return None


def save_design(
    study: Path,
    design: Design,
    content: Mapping[str, str],
    planned: int | None = None,
) -> dict[str, Any]:
    """Write a study's design, and check that its content is what it was.

    Args:
        study: The study's folder.
        design: The design, new or grown.
        content: What its content is, name to `id@version:hash`.
        planned: How many runs it has, where the study is whole.

    Returns:
        The study's facts (study.json).

    Raises:
        OffrecordError: If content that was already asked has changed since.
    """
    facts: dict[str, Any] = {"study": study.name, "argument": str(study.resolve())}
    if (study / STUDY_FILE).exists():
        facts = read_study_json(study)
    known = facts.setdefault("content", {})
    for name, stamp in content.items():
        if known.setdefault(name, stamp) != stamp:
            raise OffrecordError(
                f"{name} is now {stamp}, and this study was made with {known[name]}: "
                "restore it, or make a new study with another --out"
            )
    _refuse_edited(study, design, facts)
    facts["design"] = _fixed(design)
    facts["versions"] = {
        "offrecord": version("offrecord"),
        "inspect_ai": version("inspect-ai"),
    }
    facts["rounds"] = design.rounds
    if planned is not None:  # for where its scenarios' folders are no longer there
        before = facts.get("planned", 0)
        if planned < before:
            raise OffrecordError(
                f"{study / DESIGN_FILE}: asks for {planned} runs, and this study was "
                f"begun with {before}: restore it, or make a new study with another "
                "--out"
            )
        facts["planned"] = planned
    write_text(study / DESIGN_FILE, write_design(design))
    write_study_json(study, facts)
    return facts


def _fixed(design: Design) -> str:
    """A hash of what cannot change."""
    return digest(design.fixed)


def _refuse_edited(study: Path, design: Design, facts: Mapping[str, Any]) -> None:
    """Refuse a design whose fixed fields are not those that the study was made with."""
    if facts.get("design", fixed := _fixed(design)) != fixed:
        raise OffrecordError(
            f"{study / DESIGN_FILE}: was edited in what cannot change "
            f"({', '.join(FIXED)}): restore it, or make a new study with another --out"
        )


def is_locked(lock: Path) -> bool:
    """Whether another process, on this machine, keeps a file locked.

    Args:
        lock: The file; it need not be there, and is not made.
    """
    if not lock.is_file():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that cannot be written to, which no process can run in
        return False


def design_content(design: Design) -> dict[str, str]:
    """What a design's content is: name to `id@version:hash`."""
    load = cache(partial(material_of, design))
    content: dict[str, str] = {}
    for case in cases(design):
        asked = load(case.scenario)
        content.update(asked.stamps(case, surveys=design.ask.surveys))
    return content


@contextmanager
def locked(study: Path, patience: float = 0) -> Iterator[None]:
    """Hold a study alone: two eval sets in one folder delete each other's logs.

    Args:
        study: Its folder.
        patience: Seconds to wait for another process to let go of it.

    Raises:
        OffrecordError: If another process holds it.
    """
    try:
        study.mkdir(parents=True, exist_ok=True)
        lock = FileLock(study / LOCK_FILE, timeout=patience)
        lock.acquire()
    except Timeout:
        raise OffrecordError(
            f"{study}: another process is running this study: wait for it to end"
        ) from None
    except OSError as error:
        raise OffrecordError(f"{study}: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()
