"""A breaker for studies in which nothing comes back any more."""

from __future__ import annotations

from offrecord.protocol.debate import Debate
from offrecord.records import OffrecordError


class Silence:
    """Stops an eval in which debate after debate gets nothing but errors.

    One such debate is a result. Several in a row are a fault of the study, an option
    that the model refuses or an outage, and would use up every run of the design.
    """

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._count = 0

    def watch(self, debate: Debate) -> None:
        """Count a debate that has ended.

        Raises:
            OffrecordError: If it is the last of `limit` in a row without any reply. It
                is then no result, and is held again when the study is resumed.
        """
        errors = {output.reply.error for output in debate.outputs}
        self._count = 0 if None in errors else self._count + 1
        if self._count >= self._limit:
            raise OffrecordError(
                f"{self._limit} debates in a row got nothing but errors "
                f"({', '.join(sorted(e for e in errors if e))}): mend the cause, then "
                "run again to go on"
            )
