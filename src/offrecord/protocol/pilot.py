"""A pilot's requests: single turns that show what a scenario measures.

Each request asks one seat under one condition before anything was said, in each of its
channels. Without roles, cards, summaries and relations are left out of the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Final, Literal, NamedTuple

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import Solver, TaskState, solver
from pydantic import Field

from offrecord.content import data_folder, read_document
from offrecord.content.document import Front
from offrecord.protocol.cases import Case
from offrecord.protocol.channel import find_channel
from offrecord.protocol.dataset import METADATA_KEY
from offrecord.protocol.debate import Script
from offrecord.protocol.design import Design
from offrecord.protocol.prompts import find_protocol
from offrecord.protocol.replay import hold_replay
from offrecord.protocol.script import Material, script_of
from offrecord.protocol.solver import Held, models_of, scripts_solver
from offrecord.records import (
    ENGLISH,
    Asked,
    Form,
    Kind,
    OffrecordError,
    Role,
    digest,
    primary_language,
)
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario

ROLES: Final = "roles"
"""The factor of a cell that is asked without roles; its level is then `none`."""

PROTOCOL: Final = "twin"


class _Wanted(Front):
    seat: Role = Role.TARGET
    roles: bool = True
    labels: Literal["stated", "reversed"] = "stated"
    kind: Kind = Kind.BASELINE
    channels: tuple[str, ...] = Field(min_length=1)
    draws: int = Field(default=1, ge=1)
    sound: float = Field(ge=0, le=1)


class _Requests(Front):
    requests: dict[str, _Wanted]


@cache
def _declared() -> _Requests:
    return read_document(data_folder("pilot") / "requests.yaml").validate(_Requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotRequest:
    """What is asked of one seat under one condition of a scenario."""

    name: str
    """Its name in `pilot/requests.yaml`."""
    condition: str
    seat: Role
    roles: bool
    factors: Mapping[str, str]
    channels: tuple[str, ...]
    draws: int
    """Pairs for each round of all requests."""
    sound: float
    """The share on the pressed side that is expected of a sound scenario."""

    @property
    def id(self) -> str:
        """A name that no two requests of a scenario share."""
        return self.name if self.condition == Kind.BASELINE else self.condition

    @property
    def calls(self) -> int:
        """Calls for each round of all requests."""
        return self.draws * len(self.channels)


class Answer(NamedTuple):
    """What came back for one call of a pilot."""

    model: str
    request: str
    """The request's id."""
    draw: int
    """Counted from 1; the calls of a pair share it."""
    channel: str
    stance: str | None
    """The label; None where none was stated."""


def pilot_requests(scenario: Scenario) -> tuple[PilotRequest, ...]:
    """What a pilot asks of a scenario; what it has no condition for is left out.

    Raises:
        OffrecordError: If the scenario is not in English, as the pilot's requests are.
    """
    if primary_language(scenario.language) != ENGLISH:
        raise OffrecordError(
            f"scenario '{scenario.id}' is in '{scenario.language}': a pilot asks in "
            "English alone; read its prompts with 'offrecord plan --prompts'"
        )
    return tuple(
        PilotRequest(
            name=name,
            condition=condition.id,
            seat=wanted.seat,
            roles=wanted.roles,
            factors={
                **({} if wanted.roles else {ROLES: "none"}),
                **({} if wanted.labels == "stated" else {"label_order": wanted.labels}),
            },
            channels=wanted.channels,
            draws=wanted.draws,
            sound=wanted.sound,
        )
        for name, wanted in _declared().requests.items()
        for condition in scenario.conditions.values()
        if condition.kind is wanted.kind
    )


def pilot_material(scenario: Scenario, request: PilotRequest) -> Material:
    """What a request is asked with."""
    template = data_folder("pilot") / "protocol.md"
    protocol = find_protocol(PROTOCOL if request.roles else str(template))
    channels = tuple(find_channel(one, protocol.folder) for one in request.channels)
    if not request.roles:
        bare = (replace(one, card="", summary="") for one in scenario.agents)
        scenario = replace(scenario, agents=tuple(bare))
    return Material(protocol, scenario, channels)


def _case(name: str, request: PilotRequest) -> Case:
    return Case(scenario=name, condition=request.condition, factors=request.factors)


def pilot_stamp(scenario: Scenario) -> str:
    """A hash of everything that the prompts of a pilot read."""
    return digest(
        [
            pilot_material(scenario, one).stamps(_case(scenario.id, one), surveys=False)
            for one in pilot_requests(scenario)
        ]
    )


def pilot_dataset(name: str) -> MemoryDataset:
    """A round of a pilot: a sample for every pair. Rounds are Inspect's epochs.

    Args:
        name: An id or a folder.

    Raises:
        OffrecordError: If there is no such scenario.
    """
    scenario = load_scenario(name)
    return MemoryDataset(
        [
            Sample(
                id=f"{request.id}-{draw}",
                input=scenario.question,
                metadata={
                    METADATA_KEY: {
                        "request": request.id,
                        "draw": draw,
                        "draws": request.draws,
                        "content": pilot_material(scenario, request).stamps(
                            _case(name, request), surveys=False
                        ),
                        "version": version("offrecord"),
                    }
                },
            )
            for request in pilot_requests(scenario)
            for draw in range(1, request.draws + 1)
        ],
        name="offrecord pilot",
    )


def pilot_script(
    request: PilotRequest, asked: Material, cast: Mapping[str, str], draw: int
) -> Script:
    """The script of one pair, of which the first turn is asked.

    Args:
        request: What is asked.
        asked: What it is asked with, as `pilot_material` gives it.
        cast: The model of each agent.
        draw: Counted from 1.
    """
    scenario = asked.scenario
    first = scenario.seat(request.seat).id
    others = (one.id for one in scenario.agents if one.id != first)
    design = Design(
        rounds=1, shadows=0, ask=Asked((Form.UTTERANCE,)), order=(first, *others)
    )
    return script_of(design, _case(scenario.id, request), asked, cast, draw)


@solver
def pilot_turns(name: str) -> Solver:
    """Ask for one pair.

    Args:
        name: An id or a folder.
    """
    scenario = load_scenario(name)
    requests = {request.id: request for request in pilot_requests(scenario)}
    material = cache(lambda id_: pilot_material(scenario, requests[id_]))

    def script_for(state: TaskState) -> Held:
        held = state.metadata[METADATA_KEY]
        models = models_of(scenario)
        cast = {agent: str(model) for agent, model in models.items()}
        draw = (state.epoch - 1) * held["draws"] + held["draw"]
        request, asked = requests[held["request"]], material(held["request"])
        return Held(pilot_script(request, asked, cast, draw), models)

    return scripts_solver(script_for, hold_replay)
