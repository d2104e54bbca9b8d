"""What a reader of a container gives: entries, and what is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple


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
