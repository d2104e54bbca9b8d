"""Calls of a guard: bounded, waiting where a server says so, and without a trace.

Whatever `ask` raises becomes a reason. What passes through is a cancellation, stripped
of the frames that led here, whose locals may hold what came back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from contextvars import ContextVar
from math import isfinite
from typing import Any, Final

import anyio

from offrecord.guard.types import Answer, Ask, Cost, Message, Private, Reason, scrubbed

_TOO_MANY: Final = 429
_PAUSE: Final = 1.0
"""Seconds to wait where a server does not say."""
_LONGEST_PAUSE: Final = 60.0
"""Seconds to wait at most, whatever a server says."""

ACCOUNT: Final[ContextVar[Hashable]] = ContextVar("account", default=None)
"""Whose limit the calls under way count to: a pause after a 429 is that one's."""


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
        self._pauses: dict[Hashable, float] = {}

    async def text(self, messages: Sequence[Message], meter: Meter) -> Private:
        """Ask, and ask again after a 429 where the deadline leaves room for it.

        Args:
            messages: What is asked.
            meter: Counts it, and says until when.

        Raises:
            Failed: If nothing came back.
        """
        account = ACCOUNT.get()
        while True:
            until = self._pauses.get(account, 0.0)
            meter.paused = until > anyio.current_time()
            if until >= meter.deadline:
                raise Failed(Reason.RATE_LIMITED)
            await anyio.sleep_until(until)
            async with self._room:
                if anyio.current_time() < self._pauses.get(account, 0.0):
                    continue
                meter.paused = False
                meter.cost = meter.cost._replace(calls=meter.cost.calls + 1)
                found = await self._once(messages, meter)
            if isinstance(found, Private):
                return found
            now = anyio.current_time()
            later = {who: end for who, end in self._pauses.items() if end > now}
            self._pauses = {**later, account: now + found}

    async def _once(self, messages: Sequence[Message], meter: Meter) -> Private | float:
        """What came back, or the seconds to wait after a 429."""
        try:
            answer: object = await self._ask([*messages])
        except BaseException as error:
            stop, pause, kind = stop_of(error), pause_of(error), type(error).__name__
        else:
            text: object = answer
            if isinstance(answer, Answer):
                meter.cost = meter.cost.plus(answer)
                text = answer.text
            if isinstance(text, str):
                return Private(text)
            stop, pause, kind = None, None, type(text).__name__
        if stop is not None:
            raise stop
        if pause is None:
            raise Failed(Reason.ERROR, kind)
        return pause


def stop_of(error: BaseException) -> BaseException | None:
    """What goes on of what a call raised; None where the call has failed by itself.

    A cancellation goes on where this task is cancelled, and what ends the program
    without its words, which may be off the record.
    """
    if isinstance(error, anyio.get_cancelled_exc_class()):
        own = isinstance(error, asyncio.CancelledError)
        task = asyncio.current_task() if own else None
        return None if task and not task.cancelling() else scrubbed(error)
    if isinstance(error, SystemExit):
        return SystemExit(1)
    stops = (KeyboardInterrupt, GeneratorExit)
    return next((kind() for kind in stops if isinstance(error, kind)), None)


def pause_of(error: BaseException) -> float | None:
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
    if not isfinite(seconds) or seconds < 0:
        return _PAUSE
    return min(seconds, _LONGEST_PAUSE)
