"""Containers: the entries of a file, read one after the other, whatever its size.

A reader takes an open binary file and its name and gives `Entry` and `Fault`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, Final

import msgspec

from offrecord.transcript.deployed.entry import Entry, Fault

LONGEST: Final = 20_000_000
"""Bytes of one line, and of a file that is one JSON value."""

_NUMBERED: Final = re.compile(r"(.+?)\.(\d{1,4})\.(.+)")
_MARK: Final = b"\xef\xbb\xbf"  # that some editors put before UTF-8
_BLANK: Final = _MARK + b" \t\r\n"


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
