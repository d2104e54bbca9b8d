"""Writing a new scenario's folder: a commented one that passes the check."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from offrecord.content import data_folder
from offrecord.records import OffrecordError
from offrecord.scenarios.folder import SCENARIO

_NAMED = "id: my-scenario"


def write_skeleton(path: str | Path) -> Path:
    """Write a commented scenario folder, whole or not at all.

    Its id is made from the folder's name.

    Args:
        path: A folder that does not exist yet, or is empty.

    Returns:
        The folder.

    Raises:
        OffrecordError: If the folder holds anything, or cannot be written.
    """
    if not str(path).strip():
        raise OffrecordError("name the folder of the new scenario")
    target = Path(path)
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise OffrecordError(f"{target}: is in the way; choose another folder")
    try:
        if target.is_dir() and any(target.iterdir()):
            raise OffrecordError(f"{target}: is not empty; choose another folder")
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as scratch:
            whole = Path(scratch) / "scenario"
            _fill(whole, _id(target))
            if target.is_dir():
                # An empty folder that someone may stand in: filled, not replaced.
                for part in sorted(whole.iterdir()):
                    part.rename(target / part.name)
            else:
                whole.rename(target.absolute())
    except OSError as error:
        raise OffrecordError(f"{target}: cannot be written: {error.strerror}") from None
    return target


def _id(target: Path) -> str:
    name = target.absolute().name.lower()
    return re.sub(r"[^a-z0-9_-]+", "-", name).strip("-_") or "my-scenario"


def _fill(folder: Path, scenario: str) -> None:
    source = data_folder("skeleton")
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        written = folder / file.relative_to(source)
        written.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8")
        if file.name == SCENARIO:
            text = text.replace(_NAMED, f"id: {scenario}", 1)
        written.write_text(text, encoding="utf-8")
