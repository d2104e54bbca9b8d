"""Scripts and answerers that several tests hold debates with."""

from __future__ import annotations

import json

from offrecord.protocol.cases import Case
from offrecord.protocol.channel import Channel, find_channel
from offrecord.protocol.debate import Reply, Request, Script
from offrecord.protocol.design import Design
from offrecord.protocol.prompts import Protocol, find_protocol
from offrecord.protocol.script import Material, cast_of, script_of
from offrecord.records import Asked, Form
from offrecord.scenarios.load import load_scenario


def make_script(
    scenario: str = "promotion",
    condition: str = "alignment-future",
    *,
    protocol: str | Protocol = "twin",
    channels: tuple[str | Channel, ...] = ("public", "off_record"),
    rounds: int = 3,
    shadows: int = 1,
    factors: dict[str, str] | None = None,
    repeat: int = 1,
    model: str = "model",
    seed: int = 0,
    ask: Asked | None = None,
) -> Script:
    templates = find_protocol(protocol) if isinstance(protocol, str) else protocol
    asked = Material(
        protocol=templates,
        scenario=load_scenario(scenario),
        channels=tuple(
            find_channel(c, templates.folder) if isinstance(c, str) else c
            for c in channels
        ),
    )
    return script_of(
        Design(rounds=rounds, shadows=shadows, seed=seed, ask=ask or Asked()),
        Case(scenario=scenario, condition=condition, factors=factors or {}),
        asked,
        cast_of(asked.scenario, model, {}),
        repeat,
    )


def plain_text(request: Request) -> str:
    """A well-formed answer to a request."""
    if request.stamp.form is Form.SURVEY:
        return json.dumps(dict.fromkeys(request.frame.items, request.frame.low))
    return f"{request.frame.side} - turn {request.stamp.turn} has its reasons."


async def plain_answer(request: Request) -> Reply:
    return Reply(text=plain_text(request))
