"""Writing content for people: a file or a folder is made whole, or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """Where a file or folder is made, before it is put in its place.

    A folder that is there, and empty, is filled and not replaced: someone may stand in
    it. Nothing is put there if making it fails.

    Args:
        target: The place; what is to be refused there is up to the caller.

    Raises:
        OSError: If nothing can be written there.
    """
    place = target.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        whole = Path(scratch) / "whole"
        yield whole
        if place.is_dir() and not place.is_symlink():
            for part in sorted(whole.iterdir()):
                part.rename(place / part.name)
        else:
            whole.rename(place)


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write texts into a folder.

    Args:
        files: Path inside the folder to the text.
        folder: Made where it is not there.
    """
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
