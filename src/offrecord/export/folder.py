"""The folder that an export is written to: claimed, filled file by file, and swept.

An export may be written again over itself. Anything else in its place is refused, and
of the files there only those that an export has listed are ever taken away.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from offrecord.records import OffrecordError
from offrecord.transcript.store import read_json, write_json

LISTING: Final = ".offrecord-export"
"""The file that makes a folder an export and lists what it holds."""


def claim(out: Path, kind: str, names: Iterable[str]) -> None:
    """Make a folder an export, or take over the same kind of export that it is.

    Args:
        out: The folder.
        kind: What is exported, such as `inspect` or `csv`.
        names: The files that will be written.

    Raises:
        OffrecordError: If the folder holds anything but such an export.
    """
    known = _listed(out, kind)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / LISTING, {"kind": kind, "files": sorted({*known, *names})})


def finish(out: Path, kind: str, names: Iterable[str]) -> None:
    """Take away what an earlier export left and this one did not write.

    Args:
        out: The folder.
        kind: What is exported.
        names: The files that were written.
    """
    kept = set(names)
    for name in _listed(out, kind) - kept:
        with suppress(FileNotFoundError):
            (out / name).unlink()
    write_json(out / LISTING, {"kind": kind, "files": sorted(kept)})


@contextmanager
def placing() -> Iterator[Callable[[Path, Callable[[Path], object]], None]]:
    """Write files beside their places; all are renamed at the end, or none is.

    Yields:
        What writes one file: it takes where the file goes, and what writes it to a path
        of the same ending.

    Raises:
        OffrecordError: If nothing can be written there.
    """
    parts: dict[Path, Path] = {}

    def put(path: Path, write: Callable[[Path], object]) -> None:
        parts[path] = path.with_name(f".{os.getpid()}.part.{path.name}")
        with _told(path):
            write(parts[path])

    try:
        yield put
        for path, part in parts.items():
            with _told(path):
                part.replace(path)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OffrecordError(
            f"{path}: cannot be written ({error.strerror or error})"
        ) from None


def _listed(out: Path, kind: str) -> set[str]:
    """The files of an earlier export; none where there is no folder yet."""
    if out.exists() and not out.is_dir():
        raise OffrecordError(f"{out}: not a folder: name another --out")
    if not out.exists() or not any(out.iterdir()):
        return set()
    if not (out / LISTING).is_file():
        raise OffrecordError(f"{out}: not empty and not an export: name another --out")
    listing = read_json(out / LISTING)
    files = listing.get("files")
    if listing.get("kind") != kind or not isinstance(files, list):
        raise OffrecordError(f"{out}: another kind of export: name another --out")
    # A listing can be edited: what leads out of the folder is not ours to remove.
    return {name for name in files if isinstance(name, str) and Path(name).name == name}
