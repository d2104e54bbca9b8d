"""The cases of a design: the cells that follow from it, their models not known yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from offrecord.protocol.arms import WITHOUT, Arm, arm_of, refuse_arm
from offrecord.protocol.channel import Channel, fault_of_audience, find_channel
from offrecord.protocol.design import Design, Names
from offrecord.protocol.factors import crossed, varied
from offrecord.protocol.prompts import Protocol, find_protocol
from offrecord.records import ARM, HOLDOUT, OffrecordError, primary_language
from offrecord.scenarios.load import load_scenarios, scenario_names
from offrecord.scenarios.model import Scenario

STANDARD: Final = "standard"
"""The conditions that are asked where a design names none: neither evidence nor a
further dose."""

ALL: Final = "all"
"""Every condition of a scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cell without its models: what one Inspect sample stands for."""

    scenario: str
    """A built-in id or a folder, as the design names it."""
    condition: str
    factors: Mapping[str, str] = field(default_factory=dict)
    arm: Arm = WITHOUT

    @property
    def id(self) -> str:
        """A name that no two cases of a design share, fit for a file name."""
        levels = [f"{name}-{Path(level).stem}" for name, level in self.factors.items()]
        return "_".join([Path(self.scenario).name, self.condition, *levels])


def cases(design: Design) -> list[Case]:
    """The cases of a design, conditions next to each other, scenarios in turns.

    Raises:
        OffrecordError: If a scenario, condition, factor, channel or protocol is not
            to be had, or two cases would share an id.
    """
    channels, protocol = design_channels(design), find_protocol(design.protocol)
    combinations = [varied(levels) for levels in crossed(design.factors)]
    arms = design_arms(design)
    held = [one for one in [design_holdout(design)] if one]
    found: dict[str, Case] = {}
    named = scenario_names(design.scenarios)
    loaded = load_scenarios(named)
    for scenario in loaded:
        _check_agents(design, channels, scenario)
        _check_language(protocol, (*channels, *held), scenario)
        for level, arm in arms.items():
            refuse_arm(level, arm, scenario)
    _check_conditions(design, loaded)
    for name, scenario in zip(named, loaded, strict=True):
        for condition in conditions_of(scenario, design.conditions):
            for factors in combinations:
                case = Case(
                    scenario=name,
                    condition=condition,
                    factors=factors,
                    arm=arms.get(factors.get(ARM, ""), WITHOUT),
                )
                if case.id in found:
                    raise OffrecordError(
                        f"two cells of the design are named '{case.id}'"
                    )
                found[case.id] = case
    return list(found.values())


def design_arms(design: Design) -> dict[str, Arm]:
    """The arms of a design by their levels.

    Raises:
        OffrecordError: If one is not to be had, or says what to decide.
    """
    return {level: arm_of(level) for level in design.factors.get(ARM, ())}


def conditions_of(scenario: Scenario, wanted: Names) -> tuple[str, ...]:
    """The condition ids asked of a scenario, the standard ones by default.

    Raises:
        OffrecordError: If the scenario has no such condition.
    """
    known = scenario.conditions
    asked = asked_of(scenario.id, wanted) if wanted else (STANDARD,)
    names = dict.fromkeys(n for name in asked for n in _members(scenario, name))
    for name in names:
        if name not in known:
            raise OffrecordError(
                f"scenario '{scenario.id}' has no condition '{name}' "
                f"(it has {', '.join(known)})"
            )
    return tuple(names)


def _members(scenario: Scenario, name: str) -> Iterable[str]:
    """The conditions of a scenario that a name stands for: one, or a set."""
    known = scenario.conditions
    if name in known or not _is_set(name):
        return (name,)
    return (id_ for id_, one in known.items() if name == ALL or one.is_standard)


def _is_set(name: str) -> bool:
    return name.rpartition("/")[2] in {STANDARD, ALL}


def asked_of(scenario: str, wanted: Names) -> tuple[str, ...]:
    """Which of the conditions that a design names are a scenario's."""
    split = [name.rpartition("/") for name in wanted]
    return tuple(dict.fromkeys(c for of, _, c in split if of in {"", scenario}))


def spelled_conditions(design: Design) -> Names:
    """A design's conditions, sets and those of a scenario without any written out.

    A condition that comes later to a scenario's folder so adds no cell by itself.
    """
    names = dict.fromkeys(n for n in design.conditions if not _is_set(n))
    sets = tuple(name for name in design.conditions if _is_set(name))
    for scenario in load_scenarios(design.scenarios):
        asked = asked_of(scenario.id, sets)
        if asked or not asked_of(scenario.id, tuple(names)):
            written = conditions_of(scenario, asked or (STANDARD,))
            names |= dict.fromkeys(f"{scenario.id}/{one}" for one in written)
    return tuple(names)


def _check_conditions(design: Design, scenarios: Sequence[Scenario]) -> None:
    """Refuse a condition of a scenario that the design does not have."""
    known = {"", *(scenario.id for scenario in scenarios)}
    for name in design.conditions:
        if name.rpartition("/")[0] not in known:
            raise OffrecordError(f"conditions: '{name}' is of none of the scenarios")
    for scenario in scenarios if design.conditions else ():
        if not asked_of(scenario.id, design.conditions):
            raise OffrecordError(f"conditions: none of scenario '{scenario.id}'")


def _check_agents(
    design: Design, channels: Sequence[Channel], scenario: Scenario
) -> None:
    """Refuse an order, a role, an audience or an `ask` of someone who is not there."""
    known = {agent.id for agent in scenario.agents}
    if design.order and set(design.order) != known:
        raise OffrecordError(
            f"order: {', '.join(design.order)} are to speak, and scenario "
            f"'{scenario.id}' has {', '.join(sorted(known))}"
        )
    roles = {str(agent.role) for agent in scenario.agents}
    if not roles & set(design.ask.elicit):
        raise OffrecordError(
            f"ask: scenario '{scenario.id}' has no {' or '.join(design.ask.elicit)} "
            "to elicit"
        )
    for role in set(design.roles) - roles:
        raise OffrecordError(f"roles: scenario '{scenario.id}' has no {role}")
    for role in design.scripted:
        lines, side = scenario.lines.get(role), scenario.seat(role).side
        found = lines.rounds(side) if lines else 0
        if found < design.rounds:
            raise OffrecordError(
                f"roles: scenario '{scenario.id}' has lines of the {role} for {found} "
                f"of {design.rounds} rounds on the side '{side}': write more into "
                f"scripts/{role}.md, or ask for fewer rounds"
            )
    for channel in channels:
        fault = fault_of_audience(channel, known)
        if fault:
            raise OffrecordError(fault)


def _check_language(
    protocol: Protocol, channels: Sequence[Channel], scenario: Scenario
) -> None:
    """Refuse prompts in two languages: `language` in each file says which."""
    of = {f"protocol '{protocol.id}'": protocol.language}
    of |= {f"channel '{one.id}'": one.language for one in channels}
    own = primary_language(scenario.language)
    others = [
        f"{name} in '{language}'"
        for name, language in of.items()
        if primary_language(language) != own
    ]
    if others:
        raise OffrecordError(
            f"scenario '{scenario.id}' is in '{scenario.language}', but "
            f"{', '.join(others)}: name a protocol and channels in one language with it"
        )


def design_channels(design: Design) -> tuple[Channel, ...]:
    """The channels of a design, the spoken one first.

    Raises:
        OffrecordError: If one is missing, or the spoken one has no audience.
    """
    folder = find_protocol(design.protocol).folder
    for name in design.spoken:
        if name not in design.channels:
            raise OffrecordError(f"spoken: '{name}' is none of the channels")
    channels = tuple(find_channel(name, folder) for name in design.listed)
    if not channels[0].audience:
        raise OffrecordError(
            f"'{channels[0].id}' is the spoken channel and has no audience: name a "
            "channel such as public first, or under 'spoken'"
        )
    ids = [channel.id for channel in channels]
    if HOLDOUT in ids:
        raise OffrecordError(
            f"'{HOLDOUT}' is none of the channels of a design: write "
            "'ask: {holdout: true}' into study.yaml"
        )
    if len(set(ids)) != len(ids):
        raise OffrecordError("two channels have the same id")
    return channels


def design_holdout(design: Design) -> Channel | None:
    """The channel of the hold-out, where a design asks it.

    Raises:
        OffrecordError: If its file is at fault, or it has an audience.
    """
    if not design.ask.holdout:
        return None
    channel = find_channel(HOLDOUT, find_protocol(design.protocol).folder)
    if channel.audience:
        raise OffrecordError(f"channel '{HOLDOUT}': has an audience, and may have none")
    return channel
