"""Calls of a guard: bounded, waiting where a server says so, and without a trace.

Whatever `ask` raises becomes a reason. What passes through is a cancellation, stripped
of the frames that led here, whose locals may hold what came back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

import anyio

from offrecord.guard.types import Answer, Ask, Cost, Message, Private, Reason, scrubbed

_TOO_MANY: Final = 429
_PAUSE: Final = 1.0
"""Seconds to wait where a server does not say."""


class Failed(Exception):
    """A call that gave nothing; says why in a code and in the name of a type."""

    def __init__(self, reason: Reason, kind: str = "") -> None:
        super().__init__(f"{reason} {kind}".strip())
        self.reason, self.kind = reason, kind


class Meter:
    """What the calls of one check took, and until when they may go on."""

    def __init__(self, deadline: float) -> None:
        self.cost = Cost()
        self.deadline = deadline
        """By the event loop's clock."""
        self.paused = False
        """Whether they wait because a server said so."""


class Calls:
    """The calls of a guard, all of its checks together."""

    def __init__(self, ask: Ask, at_once: int) -> None:
        self._ask = ask
        self._room = anyio.CapacityLimiter(at_once)
        self._paused_until = 0.0

    async def text(self, messages: Sequence[Message], meter: Meter) -> Private:
        """Ask, and ask again after a 429 where the deadline leaves room for it.

        Args:
            messages: What is asked.
            meter: Counts it, and says until when.

        Raises:
            Failed: If nothing came back.
        """
        while True:
            meter.paused = self._paused_until > anyio.current_time()
            if self._paused_until >= meter.deadline:
                raise Failed(Reason.RATE_LIMITED)
            await anyio.sleep_until(self._paused_until)
            async with self._room:
                if anyio.current_time() < self._paused_until:
                    continue
                meter.paused = False
                meter.cost = meter.cost._replace(calls=meter.cost.calls + 1)
                found = await self._once(messages, meter)
            if isinstance(found, Private):
                return found
            self._paused_until = anyio.current_time() + found

    async def _once(self, messages: Sequence[Message], meter: Meter) -> Private | float:
        """What came back, or the seconds to wait after a 429."""
        try:
            answer: object = await self._ask([*messages])
        except Exception as error:
            pause, kind = pause_of(error), type(error).__name__
        except BaseException as error:
            raise scrubbed(error) from None
        else:
            text: object = answer
            if isinstance(answer, Answer):
                meter.cost = meter.cost.plus(answer)
                text = answer.text
            if isinstance(text, str):
                return Private(text)
            pause, kind = None, type(text).__name__
        if pause is None:
            raise Failed(Reason.ERROR, kind)
        return pause


def pause_of(error: Exception) -> float | None:
    """Seconds that a server wants to be left alone; None where it does not say 429."""
    response: Any = getattr(error, "response", None)
    status = getattr(error, "status_code", getattr(response, "status_code", None))
    if status != _TOO_MANY:
        return None
    headers: Any = getattr(response, "headers", None) or {}
    try:
        seconds = float(headers.get("retry-after", _PAUSE))
    except (TypeError, ValueError, AttributeError):
        return _PAUSE
    return seconds if isfinite(seconds) and seconds >= 0 else _PAUSE
