"""Attempts at runs, put in their order and counted as logs are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

ATTEMPT_KEY: Final = "attempt"
"""The key of an exported sample's metadata under which its number stands."""

ATTEMPTS_KEY: Final = "attempts"
"""The key beside it: how many attempts at the run there were, recorded or not."""


class _Try(NamedTuple):
    """One attempt at a run: what puts attempts in their order, and its name."""

    number: int
    """As an export states it, or 0."""
    started: str
    uuid: str


@dataclass(slots=True)
class Attempts:
    """The attempts at each run; live ones are in the order of their start."""

    _tries: dict[str, list[_Try]] = field(default_factory=dict)
    _stated: dict[str, int] = field(default_factory=dict)

    def add(
        self, run: str, uuid: str, started: str, metadata: Mapping[str, Any]
    ) -> None:
        """Note one attempt.

        Args:
            run: The run's id.
            uuid: The attempt's own.
            started: When it began, in ISO form; empty where nobody knows.
            metadata: Its sample's, which an export states its number in.
        """
        number = int(metadata.get(ATTEMPT_KEY, 0))
        self._tries.setdefault(run, []).append(_Try(number, started, uuid))
        stated = int(metadata.get(ATTEMPTS_KEY, 0))
        self._stated[run] = max(self._stated.get(run, 0), stated)

    def numbers(self) -> dict[str, int]:
        """The uuid of each attempt to its number within its run, from 1."""
        numbers = dict[str, int]()
        for tries in self._tries.values():
            number = 0
            for one in sorted(tries):
                number = max(one.number, number + 1)
                numbers[one.uuid] = number
        return numbers

    def counts(self) -> dict[str, int]:
        """Each run to how many attempts there were."""
        return {
            run: max(len(tries), self._stated[run])
            for run, tries in self._tries.items()
        }
