"""Entries that lie in others: calls of a model, told of the spans that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from offrecord.transcript.deployed.entry import Entry, Fault
from offrecord.transcript.deployed.mapping import Around, Map, first_at, meets
from offrecord.transcript.deployed.sources import entries

_DEEPEST: Final = 100
_LONGEST: Final = 1000
"""Characters of a text that is kept: names and settings, not what was said."""


def told(source: Path, how: Map, most: int | None = None) -> Iterator[Entry | Fault]:
    """Entries of a source, each with the nearest of those around it that a map names.

    A span is written when it ends, behind those in it, so the source is read twice.

    Args:
        source: A file, or a folder of files.
        how: The map.
        most: Entries that are read; all unless given.
    """
    read = islice(entries(source, how.container), most)
    if how.around is None:
        yield from read
        return
    known = _Known(how.around)
    for one in read:
        if isinstance(one, Entry):
            known.add(one.value)
    for one in islice(entries(source, how.container), most):
        if isinstance(one, Entry):
            yield Entry({**one.value, "around": known.around(one.value)}, one.place)
        else:
            yield one


class _Known:
    """What lies in what, and the entries that others are told of."""

    def __init__(self, how: Around) -> None:
        self._how = how
        self._parents: dict[str, str] = {}
        self._named: dict[str, dict[str, Any]] = {}

    def add(self, value: dict[str, Any]) -> None:
        own = first_at(self._how.id, value)
        if own is None:
            return
        parent = first_at(self._how.parent, value)
        if parent is not None:
            self._parents[str(own)] = str(parent)
        for name, where in self._how.named.items():
            if meets(value, where):
                self._named.setdefault(str(own), {})[name] = _short(value)

    def around(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        near = first_at(self._how.parent, value)
        for _ in range(_DEEPEST):
            if near is None:
                break
            found = {**self._named.get(str(near), {}), **found}
            near = self._parents.get(str(near))
        return found


def _short(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return value[:_LONGEST] if isinstance(value, str) else value
