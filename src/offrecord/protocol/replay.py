"""Replay: fresh public and off-the-record draws on a stored public debate.

Nothing that is asked here enters the history, so all requests are independent. The
words of a history may be another model's; the cell says whose, and so does every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import anyio

from offrecord.protocol.debate import Ask, Debate, Output, Reply, Request, Script
from offrecord.protocol.history import History
from offrecord.records import Ended, Form, Stamp

HISTORY_FACTOR = "history"
"""The factor of a replay's cell: whose words the history holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One stored run, to be asked again at every turn."""

    script: Script
    """What is asked and of whom; its `given` is not used."""
    said: History
    """The stored public debate, oldest first."""

    def requests(self) -> Iterator[Request]:
        """Every utterance of every turn whose history is there, in the turns' order.

        A run that stopped early is asked up to the turn at which it stopped.
        """
        for turn in self.script.turns:
            before = tuple(w for w in self.said.said if w.turn < turn.number)
            if len(before) < turn.number - 1:
                return
            spoken, others = self.script.outputs(turn, History(before))
            yield from (
                request
                for request in (spoken, *others)
                if request.stamp.form is Form.UTTERANCE
            )


async def hold_replay(replay: Replay, ask: Ask) -> Debate:
    """Ask for every output of a replay, all at once.

    Args:
        replay: What to ask.
        ask: Answers one request, as for `hold_debate`.
    """
    replies: dict[Stamp, Reply] = {}

    async def obtain(request: Request) -> None:
        replies[request.stamp] = await ask(request)

    planned = list(replay.requests())
    async with anyio.create_task_group() as group:
        for request in planned:
            group.start_soon(obtain, request)
    return Debate(
        history=replay.said,
        ended=Ended.COMPLETED,
        outputs=tuple(Output(request, replies[request.stamp]) for request in planned),
    )
