"""What a reader of a container gives: entries, and what is none."""

from __future__ import annotations

from collections import Counter
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


class LeftOut:
    """What could not be used: how often by reason, and where first."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, fault: Fault) -> None:
        """Count one."""
        self._counts[fault.reason] += 1
        self._first.setdefault(fault.reason, fault.place)

    def lines(self) -> tuple[str, ...]:
        """A line for each reason, the most frequent first."""
        return tuple(
            f"{reason}: {count:,}, first at {self._first[reason]}"
            for reason, count in self._counts.most_common()
        )
