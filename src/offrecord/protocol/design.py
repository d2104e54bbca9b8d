"""The design of a study: what `study.yaml` says, and the cells that follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from offrecord.content.boundary.yaml import read_yaml
from offrecord.content.document import first_fault
from offrecord.protocol.channel import SPEAKERS, find_channel
from offrecord.protocol.factors import INTERVENTION, crossed, intervention_text
from offrecord.protocol.prompts import find_protocol
from offrecord.records import OffrecordError, Role, digest
from offrecord.scenarios.load import builtin_ids, load_scenario, load_scenarios
from offrecord.scenarios.model import Scenario

SurveyFormat = Literal["free", "schema"]

EMBEDDED: Final = "llamacpp/"
"""Models of this provider default to schema surveys."""

_LONGEST: Final = 300
"""Letters of a name: of a model, a folder, a condition, a channel, a level."""

Names = tuple[str, ...]


class Design(BaseModel):
    """A study's design, as `study.yaml` holds it. Every field has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: Names = ()
    """Inspect model names; each is a target."""
    roles: dict[str, str] = Field(default_factory=dict)
    """`partner: MODEL` fixes the partner; without it the partner is the target."""
    scenarios: Names = ()
    """Ids of built-in scenarios, or folders; all built-in ones by default."""
    conditions: Names = ()
    """Condition ids; all of each scenario by default."""
    factors: dict[str, Names] = Field(default_factory=dict)
    """Factor to levels; cells are crossed over them."""
    runs: int = Field(default=5, ge=1, le=1_000_000, strict=True)
    """Repeats of every cell."""
    rounds: int = Field(default=5, ge=1, le=1000, strict=True)
    protocol: str = "twin"
    channels: Names = ("public", "off_record")
    """The spoken channel first."""
    shadows: int = Field(default=1, ge=0, le=1000, strict=True)
    """Further samples of every utterance, kept out of the history."""
    seed: int = Field(default=0, ge=0, lt=2**63, strict=True)
    survey_format: SurveyFormat | None = None
    """Free-form JSON, or under a schema; by default a schema for embedded models."""
    on: str = ""
    """A stored study whose public debates are asked again; a debate otherwise."""
    contrasts: Names = ()
    """Contrasts declared primary, as `A:B`."""
    options: Names = ()
    """Options of `inspect eval-set` that change what is asked."""

    @field_validator("*")
    @classmethod
    def _plain(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401
        # Options are Inspect's own; a path may be longer, its last part may not.
        for name in _texts(value) if info.field_name != "options" else ():
            if not name.isprintable() or len(Path(name).name) > _LONGEST:
                raise ValueError(
                    f"a name holds a control character or more than {_LONGEST} letters"
                )
        return value

    @field_validator("models", "scenarios", "conditions", "channels")
    @classmethod
    def _once(cls, names: Names) -> Names:
        if len(set(names)) != len(names):
            raise ValueError("a name stands twice")
        if not all(name.strip() for name in names):
            raise ValueError("a name is blank")
        return names

    @field_validator("models")
    @classmethod
    def _one_each(cls, models: Names) -> Names:
        if any("," in model for model in models):
            raise ValueError("one model a name, without commas")
        return models

    @field_validator("roles")
    @classmethod
    def _known_roles(cls, roles: dict[str, str]) -> dict[str, str]:
        for role in roles:
            if role != Role.PARTNER:
                raise ValueError(f"no role '{role}' to fix (use partner)")
        return roles

    @field_validator("channels")
    @classmethod
    def _some_channel(cls, channels: Names) -> Names:
        if not channels:
            raise ValueError("name at least one channel, the spoken one first")
        return channels

    @property
    def structured(self) -> bool:
        """Whether surveys come under a schema: one answer for all channels."""
        if self.survey_format is not None:
            return self.survey_format == "schema"
        every = (*self.models, *self.roles.values())
        return bool(every) and all(model.startswith(EMBEDDED) for model in every)


def _texts(value: object) -> Iterator[str]:
    """Every text in a field's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _texts(pair)
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cell without its models: what one Inspect sample stands for."""

    scenario: str
    """A built-in id or a folder, as the design names it."""
    condition: str
    factors: Mapping[str, str] = field(default_factory=dict)
    intervention: str = ""
    """The intervention's text, in the template's one place for it."""

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
    check_protocol(design)
    combinations = list(crossed(design.factors))
    texts = {
        level: intervention_text(level)
        for level in design.factors.get(INTERVENTION, ())
    }
    found: dict[str, Case] = {}
    named = design.scenarios or builtin_ids()
    for loaded in load_scenarios(named):
        _check_agents(design, loaded)
    for scenario in named:
        for condition in conditions_of(scenario, design.conditions):
            for factors in combinations:
                case = Case(
                    scenario=scenario,
                    condition=condition,
                    factors=factors,
                    intervention=texts.get(factors.get(INTERVENTION, ""), ""),
                )
                if case.id in found:
                    raise OffrecordError(
                        f"two cells of the design are named '{case.id}'"
                    )
                found[case.id] = case
    return list(found.values())


def conditions_of(scenario: str, wanted: Names) -> Iterator[str]:
    """The condition ids asked of a scenario, all by default.

    Raises:
        OffrecordError: If the scenario has no such condition.
    """
    known = load_scenario(scenario).conditions
    for name in wanted or known:
        if name not in known:
            raise OffrecordError(
                f"scenario '{scenario}' has no condition '{name}' "
                f"(it has {', '.join(known)})"
            )
        yield name


def _check_agents(design: Design, scenario: Scenario) -> None:
    """Refuse an order or an audience that names someone who is not there."""
    protocol = find_protocol(design.protocol)
    known = {agent.id for agent in scenario.agents}
    if set(protocol.order) != known:
        raise OffrecordError(
            f"protocol '{protocol.id}' lets {', '.join(protocol.order)} speak, and "
            f"scenario '{scenario.id}' has {', '.join(sorted(known))}"
        )
    for name in design.channels:
        channel = find_channel(name, protocol.folder)
        for listener in channel.audience:
            if listener not in {*known, SPEAKERS, "record"}:
                raise OffrecordError(
                    f"channel '{channel.id}': audience '{listener}' is no one (use "
                    f"{SPEAKERS}, record, or {', '.join(sorted(known))})"
                )


def check_protocol(design: Design) -> None:
    """Refuse a protocol or a set of channels that cannot be held.

    Raises:
        OffrecordError: If one is missing, or the first channel has no audience.
    """
    protocol = find_protocol(design.protocol)
    channels = [find_channel(name, protocol.folder) for name in design.channels]
    if not channels[0].spoken:
        raise OffrecordError(
            f"the first channel is the spoken one, and '{channels[0].id}' has no "
            "audience: name a channel such as public first"
        )
    ids = [channel.id for channel in channels]
    if len(set(ids)) != len(ids):
        raise OffrecordError("two channels have the same id")


def protocol_stamps(design: Design) -> dict[str, str]:
    """What the protocol and channels of a design are: name to `id@version:hash`."""
    protocol = find_protocol(design.protocol)
    channels = [find_channel(name, protocol.folder) for name in design.channels]
    stamps = {f"channel {channel.id}": channel.stamp for channel in channels}
    texts = {
        f"intervention {Path(level).stem}": digest(intervention_text(level))
        for level in design.factors.get(INTERVENTION, ())
        if level != "none"
    }
    return {"protocol": protocol.stamp, **stamps, **texts}


def scenario_stamps(scenario: Scenario) -> dict[str, str]:
    """What a scenario and its survey are: name to `id@version:hash`."""
    return {
        f"scenario {scenario.id}": scenario.stamp,
        f"instrument of {scenario.id}": scenario.instrument.stamp,
    }


def read_design(path: Path) -> Design:
    """Read a `study.yaml`.

    Raises:
        OffrecordError: Naming the file and the field that is wrong.
    """
    return make_design(read_yaml(path), str(path))


def make_design(value: Mapping[str, Any], source: str = "design") -> Design:
    """A design from plain values.

    Raises:
        OffrecordError: Naming the source and the field that is wrong.
    """
    try:
        return Design.model_validate(dict(value))
    except ValidationError as error:
        raise OffrecordError(f"{source}: {first_fault(error)}") from None


def write_design(design: Design) -> str:
    """The text of a `study.yaml`, every field spelled out."""
    return yaml.safe_dump(
        design.model_dump(mode="json"), sort_keys=False, allow_unicode=True
    )
