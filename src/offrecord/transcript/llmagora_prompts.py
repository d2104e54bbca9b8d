"""The prompts of published runs, as far as a replay needs them.

They are read from the runs themselves and kept in the study that the import makes:
one system prompt per scenario, condition and agent, one instruction per scenario and
channel. How a history was laid out is read off a receipt, where one stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from offrecord.protocol.channel import Channel
from offrecord.protocol.prompts import Protocol
from offrecord.records import OffrecordError, Role, digest
from offrecord.scenarios.model import Agent, Condition, Instrument, Scenario
from offrecord.transcript.llmagora_names import PROTOCOL, TheirNames

_SURROUNDING: Final = ("own", "heard", "request")


class _Agent(msgspec.Struct):
    name: str
    system_prompt: str = ""
    response_instruction: str = ""
    opening_instruction: str = ""
    private_response_instruction: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str


class _Request(msgspec.Struct):
    messages: list[_Message]


class _Receipt(msgspec.Struct):
    request: _Request
    event_type: str = ""


class PromptFile(msgspec.Struct):
    """The part of a snapshot that holds prompts."""

    agent_configs: list[_Agent] = []
    llm_receipts: list[_Receipt] = []


def prompts_of(
    files: Mapping[tuple[str, str], PromptFile],
    said: Mapping[tuple[str, str], set[str]],
) -> dict[str, Any]:
    """What a replay needs, as JSON.

    Args:
        files: Scenario and condition to one run's prompts.
        said: The same keys to everything said publicly in that run, by which a
            receipt's messages are told apart.
    """
    found: dict[str, Any] = {"layout": {}, "systems": {}, "instructions": {}}
    for key, file in sorted(files.items()):
        scenario, condition = key
        agents = [agent for agent in file.agent_configs if agent.system_prompt]
        for agent in agents:
            where = found["systems"].setdefault(scenario, {})
            where.setdefault(condition, {})[agent.name.lower()] = agent.system_prompt
            found["instructions"].setdefault(
                scenario,
                {
                    "public": agent.response_instruction,
                    "public.opening": agent.opening_instruction,
                    "off_record": agent.private_response_instruction,
                },
            )
        instructions = {
            text
            for agent in agents
            for text in (agent.response_instruction, agent.private_response_instruction)
        }
        for name, template in _layout(file.llm_receipts, said[key], instructions):
            found["layout"].setdefault(name, template)
    return found


def _layout(
    receipts: list[_Receipt], said: set[str], instructions: set[str]
) -> Iterator[tuple[str, str]]:
    """What stands before one's own words, another's words, and an instruction."""
    for receipt in receipts:
        for message in receipt.request.messages:
            known = instructions if message.role == "user" else set[str]()
            for text in known:
                if message.content.endswith(text):
                    yield "request", message.content.removesuffix(text) + "{audience}"
            for text in said:
                if text and message.content.endswith(text):
                    name = "own" if message.role == "assistant" else "heard"
                    yield name, message.content.removesuffix(text) + "{text}"


def stored_protocol(prompts: Mapping[str, Any]) -> Protocol:
    """The protocol of published runs, from the prompts that an import kept."""
    layout = dict.fromkeys(_SURROUNDING, "{text}") | {"request": "{audience}"}
    layout |= prompts["layout"]
    return Protocol(
        id=PROTOCOL,
        system="{context}",
        context="{context}",
        opening="",
        own=layout["own"],
        heard=layout["heard"],
        utterance=layout["request"],
        survey=layout["request"],
        folder=Path(),
        stamp=f"{PROTOCOL}@1:{digest(layout)}",
    )


def stored_channels(
    prompts: Mapping[str, Any], names: TheirNames, scenario: str
) -> tuple[Channel, ...]:
    """The two channels of published runs, worded as they were for a scenario."""
    texts = prompts["instructions"][scenario]
    # One stamp for a study: the instructions name the labels of their scenario.
    stamp = digest(prompts["instructions"])
    return tuple(
        Channel(
            id=channel,
            audience=tuple(audience),
            utterance=texts[channel],
            opening=texts.get(f"{channel}.opening", texts[channel]),
            survey="",
            stamp=f"{channel}@1:{stamp}",
        )
        for channel, audience in names.channels.items()
    )


def stored_scenario(
    prompts: Mapping[str, Any], names: TheirNames, scenario: str
) -> Scenario:
    """A scenario of published runs: its system prompts stand in for the contexts.

    Raises:
        OffrecordError: If the import kept no prompts of it.
    """
    if scenario not in prompts["systems"]:
        raise OffrecordError(
            f"the study keeps no prompts of scenario '{scenario}': import it again"
        )
    named = names.scenarios[scenario]
    sides = {"target": named.target_side, "partner": named.pressed_side}
    systems = prompts["systems"][scenario]
    instrument = names.instrument
    return Scenario(
        id=scenario,
        title=scenario,
        setting="",
        question="",
        labels=named.labels,
        leaning=named.leaning,
        agents=tuple(
            Agent(id=a, role=Role(role), name=a, side=sides[role], card="", summary="")
            for a, role in names.agents.items()
        ),
        conditions={
            name: Condition(
                id=name,
                kind=names.conditions[name].kind,
                timing=names.conditions[name].timing,
                contexts=contexts,
                stamp=f"{name}@1:{digest(contexts)}",
            )
            for name, contexts in systems.items()
        },
        instrument=Instrument(
            id=instrument.id,
            low=instrument.low,
            high=instrument.high,
            anchors={},
            items=(),
            stamp=instrument.id,
        ),
        stamp=f"{scenario}@1:{digest([*named.labels, sides])}",
    )
