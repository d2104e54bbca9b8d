"""One whole debate: the schedule of its requests, whoever answers them.

Only the spoken utterance of a turn blocks the next turn. The turn's other outputs
depend on the history before it alone; they start when the spoken one is in, beside
the next speaker, and so find the prefix that it left in the engine's cache. At the
last turn all start together. The spoken one is sent first: it waits neither for a
connection nor for the processor behind outputs that no one waits for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import anyio
from anyio.lowlevel import checkpoint

from offrecord.content.reply import classify_reply, spoken_text
from offrecord.protocol.arms import WITHOUT, Arm
from offrecord.protocol.channel import Channel
from offrecord.protocol.factors import item_order, label_order
from offrecord.protocol.history import History, HistoryPolicy, Spoken
from offrecord.protocol.prompts import Message, Protocol, TurnView
from offrecord.records import (
    Asked,
    Cell,
    Ended,
    Form,
    Frame,
    Role,
    Stamp,
    Status,
    digest,
    due,
    schedule,
)
from offrecord.scenarios.model import Agent, Condition, Scenario

_HEAD_START: Final = 16
"""Steps of the event loop that a spoken request has before the others follow it: as
many as it takes to be sent through a provider's client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One elicitation, ready to be sent."""

    stamp: Stamp
    frame: Frame
    messages: Sequence[Message]
    channel: Channel
    history_hash: str
    """Of what this agent could see."""
    points: tuple[int, ...] | tuple[str, ...] = ()  # answers to items, under a schema
    line: str | None = None
    """What a scripted seat says; a model is asked where there is none."""

    record: Mapping[str, object] = field(default_factory=dict)
    """Columns of its row, where the words are of an earlier call."""

    @property
    def prompt_hash(self) -> str:
        """A hash of the messages sent."""
        return digest([list(message) for message in self.messages])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back for one request."""

    text: str
    stop_reason: str = "stop"
    """As Inspect names it: stop, max_tokens, model_length, content_filter, ..."""
    error: str | None = None

    @property
    def status(self) -> Status:
        """What came back: ok, empty, truncated, filtered or error."""
        return classify_reply(self.text, self.stop_reason, self.error)


Ask = Callable[[Request], Awaitable[Reply]]
"""Whoever answers a request: a model through Inspect, or a population."""


class Turn(NamedTuple):
    """One agent's speaking opportunity."""

    number: int
    """Counted from 1 over all agents."""
    round: int
    """Counted from 1."""
    agent: Agent


Scope = Callable[[Turn], AbstractAsyncContextManager[object]]
"""What surrounds the requests of one turn, such as a span of a log."""

Between = Callable[[Request, Reply], Awaitable[Reply]]
"""What stands between a spoken reply and the history: what it returns enters there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Everything that is fixed about one run before its first request."""

    cell: Cell
    repeat: int
    scenario: Scenario
    protocol: Protocol
    channels: tuple[Channel, ...]
    """The spoken channel first."""
    rounds: int
    shadows: int
    ask: Asked = field(default_factory=Asked)
    seed: int = 0
    structured: bool = False  # whether surveys are asked for under a schema
    holdout: Channel | None = None
    arm: Arm = WITHOUT
    order: tuple[str, ...] = ()
    """The agents of one round as they speak; the scenario's own order by default."""
    scripted: tuple[Role, ...] = ()
    """The roles whose seats speak the scenario's lines, and are asked nothing else."""
    given: History = field(default_factory=History)
    """What was said before; of a replay the stored debate, shown up to each turn."""
    policy: HistoryPolicy = HistoryPolicy.ALL

    @property
    def turns(self) -> list[Turn]:
        """The speaking opportunities, in their order."""
        return [
            Turn(turn, round_, self.scenario.agent(agent))
            for turn, round_, agent in schedule(self.speakers, self.rounds)
        ]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The agents of one round, in the order in which they speak."""
        return self.order or tuple(agent.id for agent in self.scenario.agents)

    @property
    def condition(self) -> Condition:
        """The relational context of this run."""
        return self.scenario.conditions[self.cell.condition]

    def outputs(self, turn: Turn, history: History) -> tuple[Request, list[Request]]:
        """The spoken request of a turn, and the others that go with it."""
        role = turn.agent.role
        forms = () if role in self.scripted else self.ask.of(role)
        wanted = due(self.channels, self.shadows, forms, self.holdout)
        view = TurnView(
            protocol=self.protocol,
            scenario=self.scenario,
            condition=self.condition,
            agent=turn.agent,
            visible=history.visible_to(turn.agent, self.policy),
            labels=label_order(self.scenario, self.cell.factors),
            arm=self.arm,
        )
        prefix = view.prefix()
        spoken, *others = (self.request(turn, view, prefix, *what) for what in wanted)
        return spoken, others

    def request(
        self,
        turn: Turn,
        view: TurnView,
        prefix: Sequence[Message],
        channel: Channel,
        form: Form,
        draw: int,
    ) -> Request:
        """One request of a turn."""
        stamp = Stamp(
            cell=self.cell,
            repeat=self.repeat,
            round=turn.round,
            turn=turn.number,
            agent=turn.agent.id,
            channel=channel.id,
            form=form,
            draw=draw,
        )
        survey = form is Form.SURVEY
        scale = self.scenario.instrument
        items = item_order(scale.items, stamp, self.seed) if survey else ()
        return Request(
            stamp=stamp,
            frame=Frame(
                labels=view.labels,
                side=turn.agent.side,
                pressed_side=self.scenario.pressed_side,
                role=turn.agent.role,
                items=tuple(item.id for item in items),
                low=scale.low if survey else 0,
                high=scale.high if survey else 0,
                seed=self.seed,
            ),
            messages=view.ask(prefix, channel, form, items),
            channel=channel,
            history_hash=History(tuple(view.visible)).hash,
            points=scale.points if survey and self.structured else (),
            line=self._line(turn),
        )

    def _line(self, turn: Turn) -> str | None:
        """What a scripted agent says: the same for all models and conditions."""
        agent = turn.agent
        if agent.role not in self.scripted:
            return None
        lines = self.scenario.lines[agent.role]
        return lines.line(agent.side, turn.round, self.seed, agent.id, self.repeat)


class Output(NamedTuple):
    """One request with its reply."""

    request: Request
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """What became of a run that ended by itself."""

    history: History
    ended: Ended
    outputs: tuple[Output, ...]
    """In the order in which they were planned, not in which they came in."""


def _spoken(reply: Reply, labels: Sequence[str]) -> str:
    """What of a reply enters the history; empty if nothing surely was said."""
    if reply.status.silent:
        return ""
    return spoken_text(reply.text, labels, cut=reply.status is Status.TRUNCATED)


async def hold_debate(
    script: Script,
    ask: Ask,
    scope: Scope | None = None,
    between: Between | None = None,
) -> Debate:
    """Ask for every output of a run.

    Args:
        script: What is fixed about the run.
        ask: Answers one request. It returns a reply for everything that concerns one
            elicitation, errors included; what it raises stops the run.
        scope: Surrounds the start of each turn's requests.
        between: Takes each spoken reply, and gives what enters the history instead,
            or ends the debate. The outputs keep the reply as it came.

    Returns:
        The debate. A spoken turn without words ends it, once its other outputs are in.
    """
    replies: dict[Stamp, Output] = {}

    async def obtain(request: Request) -> Reply:
        reply = await ask(request)
        replies[request.stamp] = Output(request, reply)
        return reply

    async def start(requests: Sequence[Request]) -> None:
        for _ in range(_HEAD_START):
            await checkpoint()
        for request in requests:
            group.start_soon(obtain, request)

    history, ended, planned = script.given, Ended.COMPLETED, list[Request]()
    turns = script.turns
    async with anyio.create_task_group() as group:
        for turn in turns:
            spoken, others = script.outputs(turn, history)
            planned += [spoken, *others]
            async with scope(turn) if scope else nullcontext():
                if turn is turns[-1]:
                    group.start_soon(start, others)
                reply = await obtain(spoken)
                if turn is not turns[-1]:
                    group.start_soon(start, others)
                if between:
                    reply = await between(spoken, reply)
            text = _spoken(reply, script.scenario.labels)
            if not text:
                overflow = reply.stop_reason == "model_length"
                ended = Ended.CONTEXT_OVERFLOW if overflow else Ended.NO_PUBLIC_TEXT
                break
            agent, channel = turn.agent.id, spoken.channel
            history = history.add(
                Spoken.through(channel, turn=turn.number, agent=agent, text=text)
            )
    return Debate(
        history=history,
        ended=ended,
        outputs=tuple(replies[request.stamp] for request in planned),
    )
