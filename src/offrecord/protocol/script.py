"""The one builder of a cell and of a script: for runs, plans and replays alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from offrecord.protocol.cases import Case, design_channels, design_holdout
from offrecord.protocol.channel import Channel
from offrecord.protocol.debate import Script
from offrecord.protocol.design import Design
from offrecord.protocol.history import History
from offrecord.protocol.prompts import Protocol, find_protocol
from offrecord.records import ARM, Cell, Role
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario

Occupant = TypeVar("Occupant")


class Material(NamedTuple):
    """What the runs of one scenario are asked with."""

    protocol: Protocol
    scenario: Scenario
    channels: tuple[Channel, ...]
    """The spoken channel first."""
    scripted: tuple[Role, ...] = ()
    """The roles whose seats speak written lines."""
    holdout: Channel | None = None
    """The channel of the hold-out, where it is asked."""

    @property
    def asked(self) -> tuple[Channel, ...]:
        """Every channel that is asked, the spoken one first."""
        return (*self.channels, *([self.holdout] if self.holdout else []))

    def stamps(self, case: Case, *, surveys: bool = True) -> dict[str, str]:
        """What the prompts of a case read, and nothing else: name to its stamp.

        Args:
            case: One of this scenario.
            surveys: Whether surveys are asked.
        """
        scenario, instrument = self.scenario, self.scenario.instrument
        condition = scenario.conditions[case.condition]
        level = case.factors.get(ARM, "")
        return {
            "protocol": self.protocol.stamp,
            **{f"channel {channel.id}": channel.stamp for channel in self.asked},
            f"scenario {scenario.id}": scenario.stamp,
            f"condition {scenario.id}/{condition.id}": condition.stamp,
            **{
                f"script {scenario.id}/{role}": scenario.lines[role].stamp
                for role in self.scripted
            },
            **({f"instrument of {scenario.id}": instrument.stamp} if surveys else {}),
            **({f"arm {Path(level).stem}": case.arm.stamp} if case.arm.stamp else {}),
            **({"guard": case.arm.query} if case.arm.guard else {}),
        }


def material_of(design: Design, scenario: str) -> Material:
    """What a design asks a scenario with.

    Args:
        design: Names protocol and channels.
        scenario: A built-in id or a folder.

    Raises:
        OffrecordError: If one of them is not to be had.
    """
    protocol = find_protocol(design.protocol)
    channels = design_channels(design)
    holdout = design_holdout(design)
    return Material(
        protocol, load_scenario(scenario), channels, design.scripted, holdout
    )


def cast_of(
    scenario: Scenario, model: Occupant, roles: Mapping[str, Occupant]
) -> dict[str, Occupant]:
    """Who sits in which seat: agent id to the target's model, or its own role's.

    Args:
        scenario: Whose agents.
        model: The target's.
        roles: Those that are fixed, by role.
    """
    return {agent.id: roles.get(agent.role, model) for agent in scenario.agents}


def cell_of(
    case: Case, material: Material, cast: Mapping[str, str], sampling: Mapping[str, Any]
) -> Cell:
    """The cell of a case, now that the models are known."""
    scenario = material.scenario
    condition = scenario.conditions[case.condition]
    lines = {role: scenario.lines[role].name for role in material.scripted}
    cast = {
        agent: lines.get(scenario.agent(agent).role, model)
        for agent, model in cast.items()
    }
    return Cell(
        model=cast[scenario.seat(Role.TARGET).id],
        partner=cast[scenario.seat(Role.PARTNER).id],
        cast=cast,
        scenario=scenario.id,
        condition=condition.id,
        kind=condition.kind,
        timing=condition.timing,
        dose=condition.dose,
        protocol=material.protocol.id,
        language=scenario.language,
        sampling=sampling,
        factors=case.factors,
    )


def script_of(
    design: Design,
    case: Case,
    material: Material,
    cast: Mapping[str, str],
    repeat: int = 1,
    given: History | None = None,
) -> Script:
    """The script of one run of a case.

    Args:
        design: Rounds, order, who is asked what, shadows, seed, and how surveys come.
        case: Which cell, without its models.
        material: What it is asked with.
        cast: The model of each agent.
        repeat: Which repeat of the cell, from 1.
        given: What was said before.
    """
    return Script(
        cell=cell_of(case, material, cast, design.sampling),
        repeat=repeat,
        scenario=material.scenario,
        protocol=material.protocol,
        channels=material.channels,
        holdout=material.holdout,
        rounds=design.rounds,
        shadows=design.shadows,
        ask=design.ask,
        seed=design.seed,
        structured=design.structured,
        arm=case.arm,
        order=design.order,
        scripted=material.scripted,
        given=given or History(),
        policy=material.protocol.history,
    )
