"""A cell of the design, its identity, and the turns of its runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from offrecord.records._words import (
    CELL,
    CELL_JSON,
    ENGLISH,
    Form,
    Kind,
    Role,
    Timing,
    digest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of the design: the stratum of every statistic.

    What is at its default is no part of the identity: a third seat, a language or a
    factor that comes later leaves the ids of the runs there are as they were.
    """

    model: str
    """The target agent's model, as Inspect names it."""
    partner: str
    """The partner agent's model; the same as `model` unless a role fixes it."""
    cast: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Who sits in each seat: agent id to model, or to `scripted/<hash>`."""
    scenario: str
    condition: str
    kind: Kind
    timing: Timing
    dose: float | None = None
    """How much of the condition; None for the standard amount, or where it has none."""
    protocol: str
    language: str = ENGLISH
    sampling: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The settings that shape text, as far as the design sets them (see `SAMPLING`)."""
    factors: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What varies beyond the named design: factor name to level, defaults left out."""

    @property
    def identity(self) -> dict[str, Any]:
        """The keys that tell two cells apart, as JSON; kind and timing follow."""
        more = {
            "cast": dict(self.cast) if len(self.cast) > 2 else {},  # two are named
            "dose": self.dose,
            "language": self.language if self.language != ENGLISH else None,
            "sampling": dict(self.sampling),
        }
        return {
            "model": self.model,
            "partner": self.partner,
            "scenario": self.scenario,
            "condition": self.condition,
            "protocol": self.protocol,
            "factors": dict(self.factors),
            **{name: value for name, value in more.items() if value not in (None, {})},
        }

    @property
    def id(self) -> str:
        """A hash of the identity."""
        return digest(self.identity)

    def run(self, repeat: int) -> str:
        """The id of one run of this cell.

        Args:
            repeat: Which repeat, counted from 1 (an Inspect epoch).
        """
        return digest({**self.identity, "repeat": repeat})

    def as_dict(self) -> dict[str, Any]:
        """The cell spelled out, as the stamp and the log carry it."""
        plain = {name: getattr(self, name) for name in CELL}
        return {
            **plain,
            "kind": str(self.kind),
            "timing": str(self.timing),
            **{name: dict(plain[name]) for name in CELL_JSON},
        }

    def as_row(self) -> dict[str, Any]:
        """The columns of `CELL`, as every table holds them."""
        spelled = self.as_dict()
        held = {name: json.dumps(spelled[name], sort_keys=True) for name in CELL_JSON}
        return {**spelled, **held}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Cell:
        """Read a cell back from the columns of `CELL`.

        Raises:
            ValueError: If a value is none of its vocabulary.
        """
        return cls.from_dict({**row, **{n: json.loads(row[n]) for n in CELL_JSON}})

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Cell:
        """Read a cell back from a stamp.

        Raises:
            KeyError: If a key is missing.
            ValueError: If kind or timing is none of the known ones.
        """
        named = ("model", "partner", "scenario", "condition", "protocol", "language")
        dose = value["dose"]
        return cls(
            **{name: str(value[name]) for name in named},
            cast={str(k): str(v) for k, v in value["cast"].items()},
            kind=Kind(value["kind"]),
            timing=Timing(value["timing"]),
            dose=None if dose is None else float(dose),
            sampling=dict(value["sampling"]),
            factors={str(k): str(v) for k, v in value["factors"].items()},
        )


SAMPLING: Final = MappingProxyType(
    {
        "temperature": float,
        "top_p": float,
        "top_k": int,
        "max_tokens": int,
        "frequency_penalty": float,
        "presence_penalty": float,
        "reasoning_effort": str,
        "reasoning_tokens": int,
        "effort": str,
        "verbosity": str,
    }
)
"""The settings of a model that shape its text, as Inspect names them: name to type."""


class Seat(NamedTuple):
    """One agent's speaking opportunity, as a schedule counts it."""

    turn: int
    """Counted from 1 over all agents."""
    round: int
    """Counted from 1; in one round each agent speaks once."""
    agent: str


def schedule(order: Sequence[str], rounds: int) -> list[Seat]:
    """Who speaks when. Nothing else counts turns.

    Args:
        order: The agents of one round, in the order in which they speak.
        rounds: How many rounds there are.
    """
    speaking = itertools.product(range(1, rounds + 1), order)
    return [Seat(n, round_, who) for n, (round_, who) in enumerate(speaking, 1)]


ASKED_FORMS: Final = (Form.UTTERANCE, Form.SURVEY)
"""The forms that can be asked for at a turn."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked what at a turn, beside the spoken utterance of every agent.

    Raises:
        ValueError: If utterances are not among the forms, or no role is elicited.
    """

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}

    forms: tuple[Form, ...] = ASKED_FORMS
    elicit: tuple[Role, ...] = tuple(Role)
    """Whose other outputs are asked for."""
    holdout: bool = False
    """Whether they are asked for one utterance in the channel `HOLDOUT` too."""

    def __post_init__(self) -> None:
        """Put forms and roles into their usual order."""
        if Form.UTTERANCE not in self.forms or set(self.forms) - set(ASKED_FORMS):
            raise ValueError("forms are utterance, or utterance and survey")
        if not self.elicit:
            raise ValueError("elicit names no role")
        for name, order in (("forms", Form), ("elicit", Role)):
            given = getattr(self, name)
            object.__setattr__(self, name, tuple(one for one in order if one in given))

    def __str__(self) -> str:
        also = " with the hold-out" if self.holdout else ""
        return f"{','.join(self.forms)} of {','.join(self.elicit)}{also}"

    @property
    def surveys(self) -> bool:
        """Whether surveys are asked for."""
        return Form.SURVEY in self.forms

    def of(self, role: str) -> tuple[Form, ...]:
        """The forms that an agent of a role is asked for in every channel."""
        return self.forms if role in self.elicit else ()


Channel = TypeVar("Channel")


def due(
    channels: Sequence[Channel],
    shadows: int,
    forms: Sequence[Form],
    holdout: Channel | None = None,
) -> Iterator[tuple[Channel, Form, int]]:
    """What is asked of one agent at a turn: channel, form and draw of each output.

    Nothing else counts outputs. The spoken one is the first.

    Args:
        channels: The spoken one first.
        shadows: Further samples of every utterance.
        forms: What the agent is asked for in every channel; without any it is asked
            for the spoken utterance alone.
        holdout: The channel of the hold-out, if it is asked.
    """
    yield channels[0], Form.UTTERANCE, 0
    for form in forms:
        for channel in channels[form is Form.UTTERANCE :]:
            yield channel, form, 0
    for draw in range(1, shadows + 1 if Form.UTTERANCE in forms else 1):
        for channel in channels:
            yield channel, Form.UTTERANCE, draw
    if holdout is not None and Form.UTTERANCE in forms:
        yield holdout, Form.UTTERANCE, 0
