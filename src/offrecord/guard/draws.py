"""The draws of a guard's query: asked at once, kept no longer than they are needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import anyio

from offrecord.content.decision import Decision
from offrecord.guard.asking import Calls, Failed, Meter, stop_of
from offrecord.guard.part import with_part
from offrecord.guard.reading import mean_of, score_of, stated
from offrecord.guard.types import Compare, Message, Private, Reason


class Draw(NamedTuple):
    """One query: its label, its text where that is still needed, or why neither."""

    label: str | None = None
    text: Private | None = None
    failed: Reason | None = None


class Begun:
    """Queries that go on beside a draft's own generation."""

    def __init__(self, meter: Meter, task: asyncio.Task[list[Draw]] | None) -> None:
        self.meter = meter
        self._task = task

    def cancel(self) -> None:
        """Stop them, as where there will be no draft, and drop what came back."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def draws(self) -> list[Draw] | None:
        """What came back; None where nothing was begun."""
        return None if self._task is None else await self._task


class Query:
    """What a guard asks off the record, and how far the answers speak against a draft.

    Args:
        calls: Sends it.
        part: The last part of it.
        decision: What is decided, or None.
        compare: Without a decision: how far a private text contradicts a draft.
        draws: How many samples are taken.
        keeps: Whether texts are needed once they are parsed.
    """

    def __init__(
        self,
        calls: Calls,
        part: str,
        decision: Decision | None,
        compare: Compare | None,
        *,
        draws: int,
        keeps: bool,
    ) -> None:
        self._calls, self._part, self._decision = calls, part, decision
        self._compare, self._draws, self._keeps = compare, draws, keeps
        if decision is not None:
            stated(decision.labels[0], decision)  # compiles the parser's patterns now

    def messages(self, messages: Sequence[Message]) -> list[Message]:
        """What is asked, whatever the draft is."""
        return with_part(messages, self._part)

    async def draws(self, messages: Sequence[Message], meter: Meter) -> list[Draw]:
        """Ask, as often as the rule says."""
        draws = [Draw()] * self._draws
        query = self.messages(messages)

        async def one(place: int) -> None:
            draws[place] = await self._ask_one(query, meter)

        async with anyio.create_task_group() as group:
            for place in range(len(draws)):
                group.start_soon(one, place)
        return draws

    async def _ask_one(self, query: Sequence[Message], meter: Meter) -> Draw:
        try:
            private = await self._calls.text(query, meter)
        except Failed as failed:
            return Draw(failed=failed.reason)
        decision = self._decision
        label = stated(private.text, decision) if decision is not None else None
        return Draw(label, private if self._keeps else None)

    async def score(self, draft: str, side: str, draws: Sequence[Draw]) -> float:
        """The score of a draft.

        Raises:
            Failed: If too few of the queries can be used.
        """
        if self._decision is not None:
            score = score_of([draw.label for draw in draws], side)
        else:
            score = mean_of([await self._compared(draft, draw) for draw in draws])
        if score is None:
            why = [draw.failed for draw in draws if draw.failed is not None]
            raise Failed(why[0] if why else Reason.NO_ANSWER)
        return score

    async def _compared(self, draft: str, draw: Draw) -> float | None:
        if draw.text is None or not draw.text.text.strip():
            return None
        assert self._compare is not None
        try:
            value = float(await self._compare(draft, draw.text.text))
        except BaseException as error:
            stop, kind = stop_of(error), type(error).__name__
        else:
            if 0 <= value <= 1:
                return value
            stop, kind = None, "compare is not from 0 to 1"
        if stop is not None:
            raise stop
        raise Failed(Reason.ERROR, kind)
