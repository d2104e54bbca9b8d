"""Reading files that may come from anyone: plain files only, of a bounded size.

A pipe or a device would hang its reader or never end, a file of any size would fill
the memory, and a link may lead anywhere.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO, Final

from offrecord.records import OffrecordError

STUDY_FILE: Final = "study.json"
"""What makes a folder a study, out of which no link is followed."""

LARGEST: Final = 1_000_000_000
"""Bytes that a file has at most, unless its reader says less or more."""

AGAIN: Final = "remove it, and call 'offrecord run' or 'import' as before"
"""What to do about a file of a study that cannot be read."""

_LARGEST_TEXT: Final = 1_000_000  # bytes; a content file is a few kilobytes


def read_file(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a plain file.

    Args:
        path: The file; a link to one is followed.
        most: The largest size that is read, in bytes.

    Raises:
        FileNotFoundError: If there is none, so that callers can say what to do.
        OffrecordError: If it cannot be read, is no plain file, or is larger.
    """
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise OffrecordError(f"{path}: larger than {most:,} bytes")
            # Not `read(most)`, which sets that much memory aside first.
            return file.read(size)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OffrecordError(f"{path}: {error.strerror}") from None
    except ValueError:  # a NUL in the name, which no file can have
        raise OffrecordError(f"{str(path)!a}: no name of a file") from None


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file to read, whatever its size.

    Args:
        path: The file; a link to one is followed.

    Raises:
        OSError: If it cannot be opened.
        ValueError: If no file can have that name.
        OffrecordError: If it is no plain file.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 - of a caller
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OffrecordError(f"{path}: not a plain file")
    return file


def _at_once(path: str, flags: int) -> int:
    # Opening a pipe without its writer would wait for ever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: Path) -> str:
    r"""The text of a file that people write, its line ends as `\n`.

    Raises:
        OffrecordError: If there is none, or it is no UTF-8 text of a bounded size.
    """
    try:
        text = read_file(path, _LARGEST_TEXT).decode("utf-8-sig")
    except FileNotFoundError:
        raise OffrecordError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise OffrecordError(f"{path}: not UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object of a study.

    Raises:
        OffrecordError: If there is no such file, or it is not a JSON object.
    """
    refuse_leaving(path)
    try:
        value = json.loads(read_file(path), parse_constant=_refused)
    except FileNotFoundError:
        raise absent(path) from None
    except (ValueError, RecursionError):
        raise OffrecordError(f"{path}: not JSON; {AGAIN}") from None
    if not isinstance(value, dict):
        raise OffrecordError(f"{path}: not a JSON object; {AGAIN}")
    return value


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path is, or lies behind, a link that leaves a folder."""
    whole = Path(os.path.realpath(path))
    return not whole.is_relative_to(os.path.realpath(folder))


def refuse_leaving(path: Path) -> None:
    """Refuse a file of a study that is a link out of it, or lies behind one.

    Args:
        path: The file, in a study's folder or in a folder of that.

    Raises:
        OffrecordError: If it is elsewhere.
    """
    for study in (path.parent.parent, path.parent):
        if (study / STUDY_FILE).is_file():
            if leads_out(path, study):
                raise OffrecordError(
                    f"{path}: a link that leaves the study's folder, not followed"
                )
            return


def absent(path: Path) -> OffrecordError:
    """The error of a study's file that is not there."""
    return OffrecordError(
        f"{path}: no such file; make the study with 'offrecord run' or 'import' first"
    )


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
