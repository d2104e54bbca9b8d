"""A breaker for studies in which nothing comes back any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from offrecord.protocol.debate import Debate
from offrecord.records import OffrecordError

_NAMED: Final = 3
"""Errors that are spelled out."""


class CircuitBreaker:
    """Keeps debates in which nothing but errors came back from counting as held.

    Such a debate says nothing about anyone: it is an attempt that did not end by
    itself, and is held again when the study is resumed. Several in a row are a fault of
    the study, a key, an option that the model refuses or an outage: those that follow
    are then not begun.
    """

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._count = 0
        self._why = ""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Surround the holding of one debate.

        Raises:
            OffrecordError: Before it is begun, if the last ones were all silent.
        """
        if self._count >= self._limit:
            raise OffrecordError(
                f"the last {self._limit} debates got nothing but errors ({self._why}): "
                "mend the cause, then run again to go on"
            )
        try:
            yield
        except Exception as error:
            self._count += 1
            self._why = self._why or type(error).__name__
            raise
        self._count = 0

    def check(self, debate: Debate) -> None:
        """Refuse a debate in which nothing came back.

        Raises:
            OffrecordError: With the errors that came instead.
        """
        errors = {output.reply.error for output in debate.outputs}
        if None not in errors:
            self._why = ", ".join(sorted(str(error) for error in errors)[:_NAMED])
            raise OffrecordError(f"nothing but errors came back ({self._why})")
