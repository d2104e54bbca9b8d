"""The files that a command is told to write: looked at before anything is done.

What is in a study is never written over, no two results share a file, and a place that
cannot be written is named at once: not after an hour's work, and not by an exit code
that a pipeline takes for a verdict.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offrecord.records import OffrecordError
from offrecord.transcript.folder import LOGS_FOLDER
from offrecord.transcript.store import MEASURES_FOLDER, OWN_FILES, STUDY_FILE

OWN_FOLDERS: Final = frozenset({LOGS_FOLDER, MEASURES_FOLDER})


def check_outputs(files: Mapping[str, Path | None], *inputs: Path | None) -> None:
    """Refuse files that cannot be written, or that must not be overwritten.

    Args:
        files: The option that named each file; absent ones are passed over.
        inputs: Files that the command reads.

    Raises:
        OffrecordError: Naming the option and what is wrong with its file.
    """
    read = {path.resolve() for path in inputs if path is not None}
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        fault = _fault(path)
        whole = path.resolve()
        if not fault and whole in read:
            fault = "is read by this command"
        if not fault and whole in taken:
            fault = f"is also what {taken[whole]} writes"
        if fault:
            raise OffrecordError(f"{option} {path}: {fault}: name another file")
        taken[whole] = option


def check_folder(option: str, folder: Path | None) -> None:
    """Refuse a folder for new files in which a study keeps its own.

    Args:
        option: What named it.
        folder: The folder, or nothing.

    Raises:
        OffrecordError: If it is one of a study's own folders, or in one.
    """
    if folder is not None and _of_a_study(folder.resolve() / "file"):
        raise OffrecordError(
            f"{option} {folder}: has files of a study: name another folder"
        )


def _fault(path: Path) -> str:
    if str(path) == "-":
        return "nothing but --json can be printed"
    if path.is_symlink() or (path.exists() and not (path.is_file() or path.is_dir())):
        return "is a link or a device, not a plain file"
    if path.is_dir():
        return "is a folder"
    if _of_a_study(path.resolve()):
        return "is a file of a study"
    return _unwritable(path)


def _of_a_study(path: Path) -> bool:
    """Whether a path is that of something that a study has or may come to have."""
    for folder in path.parents:
        if (folder / STUDY_FILE).is_file():
            first, *rest = path.relative_to(folder).parts
            name = first.casefold()  # a file system may not tell cases apart
            own = name in OWN_FOLDERS
            if own or (not rest and (name in OWN_FILES or name[0] == ".")):
                return True
    return False


def _unwritable(path: Path) -> str:
    """Why nothing can be written there; empty where it can, which leaves no trace."""
    place = next(folder for folder in path.absolute().parents if folder.exists())
    try:
        # As long a name as that of the part which the file is written to first.
        begin, end = f".{path.name}.", f".{os.getpid()}.part"
        with tempfile.NamedTemporaryFile(prefix=begin, suffix=end, dir=place):
            return ""
    except OSError as error:
        return f"cannot be written ({error.strerror})"
