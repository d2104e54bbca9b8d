"""The files of a source, and the reader of each.

Other packages add readers by the entry point group `offrecord.readers`; one of theirs
is loaded when a map names it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from io import BufferedReader
from pathlib import Path
from typing import IO, Final

from offrecord.content.boundary.files import open_plain
from offrecord.records import OffrecordError
from offrecord.transcript.deployed.containers import jsonl, otlp
from offrecord.transcript.deployed.entry import Entry, Fault, Reader
from offrecord.transcript.deployed.inspect_samples import inspect_samples

GROUP: Final = "offrecord.readers"
INSPECT: Final = "inspect"
_SUFFIXES: Final = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")

READERS: Final[dict[str, Reader]] = {
    INSPECT: inspect_samples,
    "jsonl": jsonl,
    "otlp": otlp,
}


def reader_of(container: str) -> Reader:
    """The reader of a container's name, ours or another package's.

    Raises:
        OffrecordError: If there is none, or its package cannot be loaded.
    """
    if container in READERS:
        return READERS[container]
    found = metadata.entry_points(group=GROUP)
    for point in found:
        if point.name == container:
            try:
                reader: Reader = point.load()
            except Exception as error:
                raise OffrecordError(
                    f"reader '{container}' ({point.value}): {error!r}"
                ) from None
            return reader
    known = ", ".join(sorted({*READERS, *(point.name for point in found)}))
    raise OffrecordError(f"no reader '{container}' (known: {known})")


def files_of(source: Path, container: str) -> list[Path]:
    """The files of a source: itself, or those in a folder, sorted; links are passed by.

    Raises:
        OffrecordError: If there is no such file or folder, or none that is read.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise OffrecordError(f"{source}: no such file or folder")
    suffixes = (".eval",) if container == INSPECT else _SUFFIXES
    found = sorted(
        path
        for path in source.rglob("*")
        if path.name.endswith(suffixes) and not path.is_symlink() and path.is_file()
    )
    if not found:
        raise OffrecordError(
            f"{source}: no file in it ends with {' or '.join(suffixes)}"
        )
    return found


def entries(source: Path, container: str) -> Iterator[Entry | Fault]:
    """Every entry of a source, in the order of its files.

    Args:
        source: A file, gzipped or not, or a folder of files.
        container: The name of a reader.

    Raises:
        OffrecordError: If the source or the reader is not there.
    """
    reader = reader_of(container)
    for path in files_of(source, container):
        name = path.name if path == source else str(path.relative_to(source))
        try:
            with _opened(path) as file:
                yield from reader(file, name)
        except (OSError, EOFError, zlib.error) as error:
            yield Fault(f"the file cannot be read ({type(error).__name__})", name)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with open_plain(path) as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.open(file) as unpacked, BufferedReader(unpacked) as buffered:
            yield buffered
