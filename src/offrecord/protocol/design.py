"""The design of a study: what `study.yaml` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from offrecord.records import SAMPLING, SCRIPTED, Asked, OffrecordError, Role

SurveyFormat = Literal["free", "schema"]

EMBEDDED: Final = "llamacpp/"
"""Models of this provider default to schema surveys."""

_LONGEST: Final = 300
"""Letters of a name: of a model, a folder, a condition, a channel, a level."""

Names = tuple[str, ...]

FIXED: Final = (
    "on",
    "roles",
    "rounds",
    "protocol",
    "channels",
    "spoken",
    "order",
    "shadows",
    "ask",
    "seed",
    "survey_format",
    "options",
    "sample",
    "where",
)
"""The fields of a design whose change makes another study."""

_LATER: Final = frozenset({"sample", "where"})


class Design(BaseModel):
    """A study's design, as `study.yaml` holds it. Every field has a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: Names = ()
    """Inspect model names; each is a target."""
    roles: dict[str, str] = Field(default_factory=dict)
    """`partner: MODEL` fixes the partner, `partner: scripted` gives it the scenario's
    written lines; without it the partner is the target."""
    scenarios: Names = ()
    """Ids, folders, or the sets `core` (the default), `all` and `domain:NAME`."""
    conditions: Names = ()
    """Condition ids, of every scenario, or `SCENARIO/CONDITION`, of that one; or the
    sets `standard` (the default: neither evidence nor a further dose) and `all`."""
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
    ask: Asked = Asked()
    """Who is asked what: `forms`, and `elicit`, the roles of whom; everything of all by
    default. The spoken utterance is asked of every agent."""
    survey_format: SurveyFormat | None = None
    """Free-form JSON, or under a schema; by default a schema for embedded models."""
    on: str = ""
    """A stored study whose public debates are asked again; a debate otherwise."""
    sample: int = Field(default=0, ge=0, le=1_000_000, strict=True)
    """Turns of recorded conversations that a probe asks; 0 where it is none."""
    where: Names = ()
    """Of which turns a probe draws them, as `NAME=VALUE`."""
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
                number = isinstance(read, int) and SAMPLING[key] is float
                found[key] = float(read) if number else read
        return found

    @property
    def fixed(self) -> dict[str, Any]:
        """What cannot change, as JSON; fields that came later only where they are set.

        So studies of an earlier version stay what they are.
        """
        held = self.model_dump(mode="json", include=set(FIXED))
        return {name: held[name] for name in held if name not in _LATER or held[name]}

    @property
    def scripted(self) -> tuple[Role, ...]:
        """The roles whose seats speak written lines."""
        return tuple(role for role in Role if self.roles.get(role) == SCRIPTED)

    @property
    def called(self) -> Names:
        """The models that are called, each once."""
        fixed = (name for name in self.roles.values() if name != SCRIPTED)
        return tuple(dict.fromkeys((*self.models, *fixed)))

    @property
    def structured(self) -> bool:
        """Whether surveys come under a schema: one answer for all channels."""
        if self.survey_format is not None:
            return self.survey_format == "schema"
        models = self.called
        return bool(models) and all(model.startswith(EMBEDDED) for model in models)


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
