"""The design of a study: what `study.yaml` says, and the cells that follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

from offrecord.content.document import first_fault, read_yaml
from offrecord.protocol.channel import Channel, fault_of_audience, find_channel
from offrecord.protocol.factors import (
    INTERVENTION,
    crossed,
    intervention_text,
    varied,
)
from offrecord.protocol.prompts import find_protocol
from offrecord.records import SAMPLING, OffrecordError, Role
from offrecord.scenarios.load import builtin_ids, load_scenarios
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
    """Condition ids, of every scenario, or `SCENARIO/CONDITION`, of that one; all of
    each scenario by default."""
    factors: dict[str, Names] = Field(default_factory=dict)
    """Factor to levels; cells are crossed over them."""
    runs: int = Field(default=5, ge=1, le=1_000_000, strict=True)
    """Repeats of every cell."""
    rounds: int = Field(default=5, ge=1, le=1000, strict=True)
    protocol: str = "twin"
    channels: Names = ("public", "off_record")
    spoken: Names = ()
    """Those of the channels whose draw 0 enters the histories of those who hear it; by
    default the first one."""
    order: Names = ()
    """The agents of a round as they speak; by default the scenario's own order."""
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

    @field_validator("models", "scenarios", "conditions", "channels", "order")
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
            if role not in {Role.PARTNER, Role.BYSTANDER}:
                raise ValueError(f"no role '{role}' to fix (use partner)")
        return roles

    @field_validator("spoken")
    @classmethod
    def _one_spoken(cls, spoken: Names) -> Names:
        if len(spoken) > 1:
            raise ValueError("several spoken channels cannot be held yet: name one")
        return spoken

    @field_validator("channels")
    @classmethod
    def _some_channel(cls, channels: Names) -> Names:
        if not channels:
            raise ValueError("name at least one channel")
        return channels

    @property
    def listed(self) -> Names:
        """The channels, the spoken one first."""
        spoken = self.spoken or self.channels[:1]
        return tuple(sorted(self.channels, key=lambda name: name not in spoken))

    @property
    def sampling(self) -> dict[str, Any]:
        """The settings that shape text, as far as the options set them."""
        found, words = dict[str, Any](), iter(self.options)
        for word in words:
            name, given, value = word.removeprefix("--").partition("=")
            key = name.replace("-", "_")
            if key in SAMPLING and word.startswith("--"):
                read = yaml.safe_load(value if given else next(words, ""))
                # 1 and 1.0 are one temperature
                number = isinstance(read, int) and key != "max_tokens"
                found[key] = float(read) if number else read
        return found

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
    channels = design_channels(design)
    combinations = [varied(levels) for levels in crossed(design.factors)]
    texts = {
        level: intervention_text(level)
        for level in design.factors.get(INTERVENTION, ())
    }
    found: dict[str, Case] = {}
    named = design.scenarios or builtin_ids()
    loaded = load_scenarios(named)
    for scenario in loaded:
        _check_agents(design, channels, scenario)
    _check_conditions(design, loaded)
    for name, scenario in zip(named, loaded, strict=True):
        for condition in conditions_of(scenario, design.conditions):
            for factors in combinations:
                case = Case(
                    scenario=name,
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


def conditions_of(scenario: Scenario, wanted: Names) -> tuple[str, ...]:
    """The condition ids asked of a scenario, all by default.

    Raises:
        OffrecordError: If the scenario has no such condition.
    """
    known = scenario.conditions
    asked = asked_of(scenario.id, wanted) if wanted else known
    for name in asked:
        if name not in known:
            raise OffrecordError(
                f"scenario '{scenario.id}' has no condition '{name}' "
                f"(it has {', '.join(known)})"
            )
    return tuple(asked)


def asked_of(scenario: str, wanted: Names) -> tuple[str, ...]:
    """Which of the conditions that a design names are a scenario's."""
    split = [name.rpartition("/") for name in wanted]
    return tuple(dict.fromkeys(c for of, _, c in split if of in {"", scenario}))


def spelled_conditions(design: Design) -> Names:
    """A design's conditions, all those of a scenario of which it names none.

    A condition that comes later to a scenario's folder so adds no cell by itself.
    """
    return (
        *design.conditions,
        *(
            f"{scenario.id}/{condition}"
            for scenario in load_scenarios(design.scenarios)
            if not asked_of(scenario.id, design.conditions)
            for condition in scenario.conditions
        ),
    )


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
    """Refuse an order, a role or an audience that names someone who is not there."""
    known = {agent.id for agent in scenario.agents}
    if design.order and set(design.order) != known:
        raise OffrecordError(
            f"order: {', '.join(design.order)} are to speak, and scenario "
            f"'{scenario.id}' has {', '.join(sorted(known))}"
        )
    roles = {str(agent.role) for agent in scenario.agents}
    for role in set(design.roles) - roles:
        raise OffrecordError(f"roles: scenario '{scenario.id}' has no {role}")
    for channel in channels:
        fault = fault_of_audience(channel, known)
        if fault:
            raise OffrecordError(fault)


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
    if len(set(ids)) != len(ids):
        raise OffrecordError("two channels have the same id")
    return channels


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
