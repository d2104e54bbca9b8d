"""Replay: fresh public and off-the-record draws on a stored public debate.

Nothing that is asked here enters the history, so all requests are independent. The
words of a history may be another model's; the cell says whose, and so does every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio

from offrecord.protocol.debate import Ask, Debate, Output, Reply, Request, Script
from offrecord.records import Ended, Stamp

HISTORY_FACTOR = "history"
"""The factor of a replay's cell: whose words the history holds."""


def replay_requests(script: Script) -> Iterator[Request]:
    """Every output of every turn whose history is there, in the turns' order.

    Args:
        script: Its given history is the stored debate. A run that stopped early is
            asked up to the turn at which it stopped.
    """
    for turn in script.turns:
        before = script.given.before(turn.number)
        if len(before.said) < turn.number - 1:
            return
        spoken, others = script.outputs(turn, before)
        yield from (spoken, *others)


async def hold_replay(script: Script, ask: Ask) -> Debate:
    """Ask for every output of a replay, all at once.

    Args:
        script: What to ask, on its given history.
        ask: Answers one request, as for `hold_debate`.
    """
    return Debate(
        history=script.given,
        ended=Ended.COMPLETED,
        outputs=await ask_all(list(replay_requests(script)), ask),
    )


async def ask_all(planned: Sequence[Request], ask: Ask) -> tuple[Output, ...]:
    """Ask for outputs that depend on nothing but what is stored, all at once."""
    replies: dict[Stamp, Reply] = {}

    async def obtain(request: Request) -> None:
        replies[request.stamp] = await ask(request)

    async with anyio.create_task_group() as group:
        for request in planned:
            group.start_soon(obtain, request)
    return tuple(Output(request, replies[request.stamp]) for request in planned)
