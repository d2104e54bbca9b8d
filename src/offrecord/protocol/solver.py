"""The solver: one sample is one debate, its requests answered through Inspect.

The sample's conversation is the public debate. Every output stands in the transcript
under the span of its turn, and the replies are kept in the store for the scorers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, Final, NamedTuple

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import LimitExceededError, span

from offrecord.protocol.circuit_breaker import CircuitBreaker
from offrecord.protocol.dataset import COUNTERPART, case_of, given_of, repeat_of
from offrecord.protocol.debate import (
    Ask,
    Debate,
    Reply,
    Request,
    Script,
    Turn,
    hold_debate,
)
from offrecord.protocol.design import Design, make_design
from offrecord.protocol.elicitation import Prompts, config_of, reply_of
from offrecord.protocol.models import served_as
from offrecord.protocol.script import Material, cast_of, material_of, script_of
from offrecord.protocol.shield import shielded
from offrecord.records import SCRIPTED, OffrecordError, Role, first_line
from offrecord.scenarios.model import Scenario

STORE_KEY: Final = "offrecord"
"""The key of a sample's store under which the debate's outputs stand."""

SOURCE: Final = "offrecord"
"""The source of the one information event that a debate leaves in its log."""

ENDED_KEY: Final = "ended"
"""The key in that event under which it says why the run ended."""

TURN_SPAN: Final = "speaking"
"""The type of a turn's span; of those of type `turn` Inspect View shows the number."""

_MACHINE_FAULTS: Final = frozenset({401, 402, 404})
"""Status codes that concern the study and not one request: key, credit, model."""

_SAID: Final = 200
"""Characters of an error's own words that a reply keeps; the log has all of them."""


Hold = Callable[[Script, Ask], Awaitable[Debate]]
"""How a script is held: as a debate, or as a replay of one."""


Through = Callable[[Script, Ask], Ask]
"""What may stand between a debate and those who answer, such as a guard."""


def debates(design: dict[str, Any], through: Through) -> Solver:
    """Hold one debate.

    Args:
        design: The fields of the design that every run shares (see `shared_fields`).
        through: Given a script and who answers, who is asked.
    """
    asked = make_design(design, "solver")

    async def hold(script: Script, ask: Ask) -> Debate:
        return await hold_debate(script, through(script, ask), scope=_turn_span)

    return script_solver(asked, partial(material_of, asked), hold)


def shared_fields(design: Design) -> dict[str, Any]:
    """What a solver is told of a design: nothing that a study may grow in.

    Inspect tells tasks apart by it, and would hold every run of a grown study again.
    """
    return {**design.fixed, "survey_format": "schema" if design.structured else "free"}


def script_solver(
    design: Design, material: Callable[[str], Material], hold: Hold
) -> Solver:
    """Hold the script of each sample.

    Args:
        design: What all runs share.
        material: What a scenario is asked with.
        hold: How.
    """
    load = cache(material)

    def script_for(state: TaskState) -> Held:
        case = case_of(state.metadata)
        asked = load(case.scenario)
        models = models_of(asked.scenario)
        script = script_of(
            design,
            case,
            asked,
            {agent: str(model) for agent, model in models.items()},
            repeat_of(state.metadata, state.epoch),
            given_of(state.metadata),
        )
        return Held(script, models)

    return scripts_solver(script_for, hold)


class Held(NamedTuple):
    """The script of a sample, and who answers it."""

    script: Script
    models: Mapping[str, Model]


def scripts_solver(script_for: Callable[[TaskState], Held], hold: Hold) -> Solver:
    """Hold a script for each sample, until nothing but errors comes back.

    Args:
        script_for: Makes the script of a sample.
        hold: How it is held.
    """
    silent = CircuitBreaker()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        script, models = script_for(state)
        with silent.watched():
            debate = await hold(script, asker(models))
            silent.check(debate)
        conclude(state, script, debate)
        return state

    return solve


def conclude(state: TaskState, script: Script, debate: Debate) -> None:
    """Leave a debate in its sample: as a conversation, for scorers, as an event."""
    state.messages = _conversation(script.scenario, debate)
    state.output = _last_words(state.messages)
    state.store.set(STORE_KEY, _record(script, debate))
    # An event survives a kill that the store does not.
    transcript().info({ENDED_KEY: str(debate.ended)}, source=SOURCE)


def asker(models: Mapping[str, Model]) -> Ask:
    """Whoever answers the requests of a sample: each agent's model, in a span."""
    prompts = Prompts()
    written = cache(lambda: shielded(get_model(served_as(SCRIPTED))))

    async def ask(request: Request) -> Reply:
        stamp = request.stamp
        draw = f" draw {stamp.draw}" if stamp.draw else ""
        model = models[stamp.agent] if request.line is None else written()
        async with span(f"{stamp.channel} {stamp.form}{draw}", type="elicitation"):
            return await ask_model(model, request, prompts)

    return ask


def models_of(scenario: Scenario) -> dict[str, Model]:
    """Each agent's model: the eval's, or its role's where that is fixed."""
    others = [role for role in Role if role is not Role.TARGET]
    fixed = {str(role): get_model(role=role) for role in others}
    cast = cast_of(scenario, get_model(), fixed)
    return {agent: shielded(model) for agent, model in cast.items()}


@asynccontextmanager
async def _turn_span(turn: Turn) -> AsyncIterator[None]:
    async with span(turn_title(turn.round, turn.agent.id), type=TURN_SPAN):
        yield


def turn_title(round_: int, agent: str) -> str:
    """What the span of a turn is called."""
    return f"Round {round_}, {agent}"


async def ask_model(
    model: Model, request: Request, prompts: Prompts | None = None
) -> Reply:
    """Send one request through Inspect.

    Inspect retries transport errors; what is left of them becomes a reply with an
    error, since one failed elicitation must not fail its run.

    Args:
        model: Whoever answers.
        request: What is asked.
        prompts: Those of the run so far; none if the request stands alone.

    Raises:
        OffrecordError: If our own provider cannot work at all.
        Exception: Whatever says that key, credit or model are wrong, since every
            further request would fail alike.
    """
    try:
        output = await model.generate(
            (prompts or Prompts()).messages(request), config=config_of(request)
        )
    except (LimitExceededError, OffrecordError):
        raise
    except Exception as error:
        code = getattr(error, "code", None)
        fault = getattr(error, "status_code", None) in _MACHINE_FAULTS
        if fault or code == "insufficient_quota":
            raise
        said = f"{type(error).__name__}: {first_line(error.__cause__ or error)}"
        return Reply(text="", stop_reason="unknown", error=said[:_SAID])
    return reply_of(output)


def _conversation(scenario: Scenario, debate: Debate) -> list[ChatMessage]:
    """The public debate as a reader of the log sees it: the target as assistant."""
    messages: list[ChatMessage] = [
        ChatMessageSystem(content=f"{scenario.setting}\n\n{scenario.question}")
    ]
    for words in debate.history.said:
        agent = scenario.agent(words.agent)
        text = f"{agent.name} ({agent.id}): {words.text}"
        if agent.role is Role.TARGET:
            messages.append(ChatMessageAssistant(content=text))
        else:
            messages.append(ChatMessageUser(content=text))
    return messages


def _last_words(messages: Sequence[ChatMessage]) -> ModelOutput:
    text = messages[-1].text if len(messages) > 1 else ""
    return ModelOutput.from_content(model="offrecord", content=text)


def _compared(script: Script) -> list[str]:
    """The spoken channel and the one a log's scores compare with it, if any.

    That is the first one to which no one listens, or else the second.
    """
    spoken, *others = script.channels
    if not script.ask.of(Role.TARGET):
        return [spoken.id]
    silent = [one for one in others if not one.audience and one.utterance]
    return [channel.id for channel in (spoken, *(silent or others)[:1])]


def _record(script: Script, debate: Debate) -> dict[str, Any]:
    """What scorers need: a log that is scored again has no debate at hand."""
    return {
        "run": script.cell.run(script.repeat),
        "scenario": script.cell.scenario,
        "condition": script.cell.condition,
        "language": script.cell.language,
        "ended": str(debate.ended),
        "rounds": script.rounds,
        "order": list(script.speakers),
        "target": script.scenario.seat(Role.TARGET).id,
        "labels": list(script.scenario.labels),
        "pressed_side": script.scenario.pressed_side,
        "channels": [channel.id for channel in script.channels],
        "compared": _compared(script),
        "items": [
            item.id for item in script.scenario.instrument.items if script.ask.surveys
        ],
        COUNTERPART: [
            item.id
            for item in script.scenario.instrument.items
            if item.about == COUNTERPART
        ],
        "scale": [script.scenario.instrument.low, script.scenario.instrument.high],
        "answers": {str(k): v for k, v in script.scenario.instrument.answers.items()},
        "outputs": [
            {
                "turn": request.stamp.turn,
                "agent": request.stamp.agent,
                "channel": request.stamp.channel,
                "form": str(request.stamp.form),
                "draw": request.stamp.draw,
                "status": str(reply.status),
                "text": reply.text,
            }
            for request, reply in debate.outputs
        ],
    }
