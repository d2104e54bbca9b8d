"""Yesterday's traffic: what a guard would have done, message by message."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import anyio

from offrecord.guard.guard import Guard
from offrecord.guard.types import Cost, Reason, Verdict
from offrecord.guard.types import Message as Asked
from offrecord.records import OffrecordError
from offrecord.transcript.deployed.entry import Entry, Fault
from offrecord.transcript.deployed.mapping import Map
from offrecord.transcript.deployed.messages import Message, messages_of
from offrecord.transcript.deployed.sources import entries

_AT_ONCE: Final = 100


class Sent(NamedTuple):
    """A message of an agent, with what its model was given before."""

    conversation: str
    place: str
    messages: list[Asked]
    draft: str


@dataclass(slots=True)
class Found:
    """What a guard found in all of it."""

    conversations: set[str] = field(default_factory=set)
    reasons: Counter[Reason] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    would_ask: int = 0
    """Messages about which there is something to ask, where nothing was asked."""
    cost: Cost = field(default_factory=Cost)

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        self.reasons[verdict.reason] += 1
        self.cost = Cost(*map(sum, zip(self.cost, verdict.cost, strict=True)))


def sent_messages(source: Path, how: Map) -> Iterator[Sent | Fault]:
    """Every message of an agent, and a fault for all that cannot be read.

    Where a record is a list of calls, what each was given is known; else it is what
    was said in the conversation before, the agent's own words as the assistant's.

    Args:
        source: A file, or a folder of files.
        how: The map that reads it.

    Raises:
        OffrecordError: If the source is not there.
    """
    apart: dict[str, list[Message]] = defaultdict(list)
    for entry in entries(source, how.container):
        if isinstance(entry, Fault):
            yield entry
            continue
        found = [*messages_of(Entry(*entry), how)]
        yield from (one for one in found if isinstance(one, Fault))
        said = [one for one in found if isinstance(one, Message)]
        if how.messages or how.heard or how.said:
            yield from _said(said)
        else:
            for one in said:
                apart[one.conversation].append(one)
    for said in apart.values():
        yield from _said(sorted(said, key=_when))


def _when(message: Message) -> float:
    if message.order is not None:
        return message.order
    return message.time.timestamp() if message.time else 0.0


def _said(messages: Sequence[Message]) -> Iterator[Sent]:
    for place, one in enumerate(messages):
        if one.is_agent and not one.heard:
            before = [_as_asked(other, one.speaker) for other in messages[:place]]
            yield Sent(one.conversation, one.place, before, one.text)


def _as_asked(message: Message, speaker: str) -> Asked:
    own = message.is_agent and message.speaker == speaker
    role = "assistant" if own else "system" if message.sender == "system" else "user"
    return {"role": role, "content": message.text}


Tell = Callable[[Sent, Verdict], Awaitable[None]]
"""Is told each verdict as it comes."""


async def guard_traffic(
    sent: Iterable[Sent | Fault], guard: Guard, tell: Tell, *, asks: bool
) -> Found:
    """Check messages that were sent long ago; no action is taken.

    Args:
        sent: As `sent_messages` gives them.
        guard: Its rule's action is to be `log`.
        tell: Is told each verdict.
        asks: Whether the model is asked; else messages that would be are counted.

    Raises:
        OffrecordError: If the source is not there.
    """
    found = Found()
    room = anyio.Semaphore(_AT_ONCE)

    async def check(one: Sent) -> None:
        try:
            verdict = await guard.check(one.messages, one.draft)
        finally:
            room.release()
        found.add(verdict)
        await tell(one, verdict)

    async def check_all() -> OffrecordError | None:
        try:
            for one in sent:
                if isinstance(one, Fault):
                    found.left_out[one.reason] += 1
                    continue
                found.conversations.add(one.conversation)
                if asks:
                    await room.acquire()  # no more in memory than are under way
                    group.start_soon(check, one)
                    continue
                reason = guard.passes(one.messages, one.draft)
                if reason is None:
                    found.would_ask += 1
                else:
                    found.reasons[reason] += 1
        except OffrecordError as error:  # alone: a group would wrap it
            return error
        return None

    async with anyio.create_task_group() as group:
        fault = await check_all()
    if fault is not None:
        raise fault
    return found
