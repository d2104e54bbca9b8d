"""Containers: the entries of a file, read one after the other, whatever its size.

A reader takes an open binary file and its name and gives `Entry` and `Fault`. Other
packages add readers by the entry point group `offrecord.readers`; one of theirs is
loaded when a map names it.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec

from offrecord.records import OffrecordError

GROUP: Final = "offrecord.readers"

INSPECT: Final = "inspect"

LONGEST: Final = 20_000_000
"""Bytes of one line, and of a file that is one JSON value."""

_NUMBERED: Final = re.compile(r"(.+?)\.(\d{1,4})\.(.+)")
_MARK: Final = b"\xef\xbb\xbf"  # that some editors put before UTF-8
_BLANK: Final = _MARK + b" \t\r\n"
_SUFFIXES: Final = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")


class Entry(NamedTuple):
    """One JSON object of a file."""

    value: dict[str, Any]
    place: str
    """`file:line`."""


class Fault(NamedTuple):
    """Something in a file that is no entry."""

    reason: str
    place: str


Reader = Callable[[IO[bytes], str], Iterator[Entry | Fault]]


def jsonl(file: IO[bytes], name: str) -> Iterator[Entry | Fault]:
    """Read one JSON object a line, or a file that is one object or array of objects.

    Args:
        file: The open file.
        name: What it is called in places.
    """
    begun = next(_lines(file), (1, b""))[1]
    if begun is None or not isinstance(_entry(begun, name), Entry):
        file.seek(0)
        whole = file.read(LONGEST + 1)
        found = None
        with suppress(ValueError):
            found = _json(whole) if len(whole) <= LONGEST else None
        if isinstance(found, list):
            for number, value in enumerate(found, start=1):
                yield _object(value, f"{name}:{number}")
            return
        if isinstance(found, dict):
            yield Entry(found, f"{name}:1")
            return
    file.seek(0)
    for number, line in _lines(file):
        place = f"{name}:{number}"
        if line is None:
            yield Fault(f"a line of more than {LONGEST:,} bytes", place)
        elif line.strip(_BLANK):
            yield _entry(line, place)


def otlp(file: IO[bytes], name: str) -> Iterator[Entry | Fault]:
    """Read spans of OpenTelemetry's JSON encoding, each one an entry.

    Attributes become plain objects, those of the resource under `resource`, events a
    list under `events` with their `name` and `attributes`.

    Args:
        file: The open file: one export request a line, or one in the whole file.
        name: What it is called in places.
    """
    for entry in jsonl(file, name):
        if isinstance(entry, Fault):
            yield entry
            continue
        exports = entry.value.get("resourceSpans")
        spans = [*_spans(exports)] if isinstance(exports, list) else []
        if not spans:
            yield Fault("no spans (resourceSpans) in it", entry.place)
        for span in spans:
            yield Entry(span, entry.place)


READERS: Final[dict[str, Reader]] = {
    "jsonl": jsonl,
    "otlp": otlp,
}


def reader_of(container: str) -> Reader:
    """The reader of a container's name, ours or another package's.

    Raises:
        OffrecordError: If there is none, or its package cannot be loaded.
    """
    if container == INSPECT:
        from offrecord.transcript.deployed.inspect_samples import inspect_samples

        return inspect_samples
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
    known = ", ".join(sorted({*READERS, INSPECT, *(point.name for point in found)}))
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


def _opened(path: Path) -> IO[bytes]:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OffrecordError(f"{path}: not a plain file")
    if path.suffix == ".gz":
        return gzip.open(os.fdopen(handle, "rb"))  # type: ignore[return-value]
    os.close(handle)
    return path.open("rb")


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one that is too long, which is passed over."""
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) <= LONGEST:
            yield number, line
            continue
        while not line.endswith(b"\n") and (line := file.readline(LONGEST)):
            pass
        yield number, None


def _entry(line: bytes, place: str) -> Entry | Fault:
    try:
        return _object(_json(line), place)
    except ValueError as error:
        return Fault(str(error), place)


def _json(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value; a ValueError says in a word or two why it is none."""
    try:
        return msgspec.json.decode(data.removeprefix(_MARK))
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("not JSON in UTF-8") from None


def _object(value: Any, place: str) -> Entry | Fault:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return Entry(value, place)
    return Fault("no JSON object", place)


def _spans(exports: list[Any]) -> Iterator[dict[str, Any]]:
    for export in filter(_is_object, exports):
        resource = export.get("resource")
        known = _plain(resource.get("attributes")) if _is_object(resource) else {}
        for scope in filter(_is_object, _list(export.get("scopeSpans"))):
            for span in filter(_is_object, _list(scope.get("spans"))):
                events = [
                    {**event, "attributes": _plain(event.get("attributes"))}
                    for event in filter(_is_object, _list(span.get("events")))
                ]
                yield {
                    **span,
                    "attributes": _plain(span.get("attributes")),
                    "events": events,
                    "resource": known,
                }


def _plain(attributes: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """A list of `key` and typed `value` as one object; `a.0.b` is b of a's first."""
    found: dict[str, Any] = {}
    for one in filter(_is_object, _list(attributes)):
        key, value = str(one.get("key")), _value(one.get("value"))
        numbered = _NUMBERED.fullmatch(key)
        if numbered is None:
            found[key] = value
            continue
        name, place, field = numbered.groups()
        found.setdefault(name, {}).setdefault(int(place), {})[field] = value
    return {
        key: [*value.values()] if isinstance(value, dict) and 0 in value else value
        for key, value in found.items()
    }


def _value(typed: Any) -> Any:  # noqa: ANN401 - any JSON
    if not _is_object(typed):
        return typed
    if "arrayValue" in typed:
        return [_value(one) for one in _list(typed["arrayValue"].get("values"))]
    if "kvlistValue" in typed:
        return _plain(typed["kvlistValue"].get("values"))
    return next(iter(typed.values()), None)


def _is_object(value: Any) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(value, dict)


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    return value if isinstance(value, list) else []
