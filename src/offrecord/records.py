"""The vocabulary on one page: frozen value types that every stage shares.

A **cell** is what is asked of whom under which condition, a **run** is one whole
debate (one repeat of a cell), and an **elicitation** is one request for one output.
A **stamp** names one elicitation completely; every request carries it, so that logs,
slots, caches and the simulated population all know the same thing by the same key.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

STAMP_KEY: Final = "offrecord"
"""The key of a request's last message's metadata under which its stamp stands."""

FRAME_KEY: Final = "frame"
"""The key beside it under which the request's frame stands."""


CELL: Final = (
    "model",
    "partner",
    "cast",
    "scenario",
    "condition",
    "kind",
    "timing",
    "dose",
    "protocol",
    "language",
    "sampling",
    "factors",
)
"""The columns that name a cell: the stratum of every statistic."""

CELL_JSON: Final = ("cast", "sampling", "factors")
"""Those of them that hold a JSON object: no level that anyone would write down."""

ENGLISH: Final = "en"
"""The language of a scenario that does not say another."""

FACTOR: Final = "factor_"
"""What the column of a factor begins with, so that none collides with another."""


def factor_names(columns: Iterable[str]) -> list[str]:
    """The factors among some columns, sorted, as those columns are called."""
    return sorted(name for name in columns if name.startswith(FACTOR))


class OffrecordError(Exception):
    """A fault of input that the user can mend: one line that says what and how."""


def first_line(error: BaseException) -> str:
    """The first line of an error, or else its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def split_contrast(
    text: str, levels: Mapping[str, Collection[str]]
) -> tuple[str, str, str] | None:
    """The column and the two levels that `A:B` names; None where no column has both.

    Ids may hold colons. `levels` are the levels of each column.
    """
    parts = text.split(":")
    for place in range(1, len(parts)):
        a, b = ":".join(parts[:place]), ":".join(parts[place:])
        for name, known in levels.items():
            if a != b and a in known and b in known:
                return name, a, b
    return None


def contrastable(levels: Mapping[str, Collection[str]]) -> str:
    """The columns that a contrast can be of, with their levels; empty without any."""
    return "; ".join(
        f"{name}: {', '.join(sorted(found))}"
        for name, found in levels.items()
        if len(found) > 1
    )


class Kind(StrEnum):
    """What a condition's relational context does to the target agent."""

    BASELINE = "baseline"
    ALIGNMENT = "alignment"
    PERSONA = "persona"


class Timing(StrEnum):
    """Whether the relation lies in the past, in the future, or nowhere."""

    NONE = "none"
    HISTORICAL = "historical"
    FUTURE = "future"


class Role(StrEnum):
    """The target feels the relational pressure, the partner is whom it concerns.

    A bystander sits at the table and is in no relation to the target.
    """

    TARGET = "target"
    PARTNER = "partner"
    BYSTANDER = "bystander"


class Form(StrEnum):
    """What kind of output is asked for."""

    UTTERANCE = "utterance"
    SURVEY = "survey"
    INTERVIEW = "interview"


class Status(StrEnum):
    """What became of an elicitation; nothing but `ok` and `repaired` has a value.

    `ok`, `empty`, `truncated`, `filtered` and `error` can be told from the reply;
    `repaired`, `unclear` and `refusal` only from a parse of it.
    """

    OK = "ok"
    REPAIRED = "repaired"
    UNCLEAR = "unclear"
    REFUSAL = "refusal"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    ERROR = "error"

    @property
    def silent(self) -> bool:
        """Whether a spoken reply of this status says nothing, whatever its text."""
        return self in {Status.EMPTY, Status.FILTERED, Status.ERROR}


class Ended(StrEnum):
    """Why a run ended by itself. A run that was interrupted has none of these."""

    COMPLETED = "completed"
    NO_PUBLIC_TEXT = "no_public_text"
    CONTEXT_OVERFLOW = "context_overflow"
    COST_LIMIT = "cost_limit"
    TOKEN_LIMIT = "token_limit"
    MESSAGE_LIMIT = "message_limit"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    WORKING_LIMIT = "working_limit"


def digest(value: object, length: int = 16) -> str:
    """Hash a JSON value: the same for the same content, whatever the key order.

    Args:
        value: Anything that JSON can hold.
        length: Number of hexadecimal characters kept.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:length]


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
    """How much of the condition; None where it has no amount."""
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


SAMPLING: Final = ("temperature", "top_p", "max_tokens", "reasoning_effort")
"""The settings of a model that shape its text, as Inspect names them."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The full name of one elicitation."""

    cell: Cell
    repeat: int
    """Counted from 1."""
    round: int
    """Counted from 1; one round is one turn of each agent."""
    turn: int
    """Counted from 1 over all agents: 1 to rounds x agents."""
    agent: str
    channel: str
    form: Form
    draw: int
    """0 is the committed sample; 1..K are shadows."""

    @property
    def run(self) -> str:
        """The id of the run."""
        return self.cell.run(self.repeat)

    def as_dict(self) -> dict[str, Any]:
        """The stamp as a message's metadata carries it."""
        return {
            "run": self.run,
            "cell": self.cell.as_dict(),
            "repeat": self.repeat,
            "round": self.round,
            "turn": self.turn,
            "agent": self.agent,
            "channel": self.channel,
            "form": str(self.form),
            "draw": self.draw,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Stamp:
        """Read a stamp back from a message's metadata.

        Raises:
            KeyError: If a key is missing.
            ValueError: If a value is none of its vocabulary.
        """
        return cls(
            cell=Cell.from_dict(value["cell"]),
            repeat=int(value["repeat"]),
            round=int(value["round"]),
            turn=int(value["turn"]),
            agent=str(value["agent"]),
            channel=str(value["channel"]),
            form=Form(value["form"]),
            draw=int(value["draw"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a reply must answer to: known to providers and parsers, not to estimates."""

    labels: tuple[str, str]
    """The two decision labels, in the order shown to the agent."""
    side: str
    """The label that the speaker's own role favours."""
    pressed_side: str
    """The label that the partner's role favours, in every agent's frame."""
    role: Role
    items: tuple[str, ...] = ()
    """Survey item ids in the order shown; empty for an utterance."""
    low: int = 0
    high: int = 0
    seed: int = 0
    """The study's seed; only our own providers use it."""

    def as_dict(self) -> dict[str, Any]:
        """The frame as a message's metadata carries it, beside the stamp."""
        return {
            "labels": list(self.labels),
            "side": self.side,
            "pressed_side": self.pressed_side,
            "role": str(self.role),
            "items": list(self.items),
            "low": self.low,
            "high": self.high,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Frame:
        """Read a frame back from a message's metadata."""
        first, second = value["labels"]
        return cls(
            labels=(str(first), str(second)),
            side=str(value["side"]),
            pressed_side=str(value["pressed_side"]),
            role=Role(value["role"]),
            items=tuple(str(item) for item in value["items"]),
            low=int(value["low"]),
            high=int(value["high"]),
            seed=int(value["seed"]),
        )
