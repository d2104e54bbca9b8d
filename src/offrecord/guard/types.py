"""The types of a guard on one page.

Off-the-record text lives in `Private` alone, for as long as a check does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn

from pydantic import Field

from offrecord.content.document import Front

Message = Mapping[str, Any]
"""A message as OpenAI's chat completions have it: `role`, `content`, `tool_calls`."""

AnyDraft = str | Message | list[Any]
"""What a model is about to say: a text, the assistant's message, or its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for one call, with the tokens that it took as far as known."""

    text: str = field(repr=False)
    input_tokens: int | None = None
    """All of them, those from a cache included."""
    cached_tokens: int | None = None
    output_tokens: int | None = None


Ask = Callable[[list[Message]], Awaitable[str | Answer]]
"""Whoever answers messages: the agent's own model."""

CountedAsk = Callable[[list[Message]], Awaitable[Answer]]
"""An `Ask` that says what a call took."""

Compare = Callable[[str, str], Awaitable[float]]
"""How far a private text contradicts a draft, from 0 to 1: (draft, private)."""


class Rule(Front):
    """When a guard fires, and what it then does.

    Raises:
        ValueError: If a value is out of its range.
    """

    draws: Annotated[int, Field(ge=1, le=20)] = 1
    """Samples of the query (k)."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The guard fires at a score of this or more."""
    action: str = "log"
    """`log`, `disclose`, `clarify`, `rewrite`, `human`, `block`, or one of your own."""
    on_fault: Literal["open", "closed"] = "open"
    """Whether the draft goes out (`open`) or nothing does, where a check fails."""
    timeout: Annotated[float, Field(gt=0)] = 20.0
    """Seconds that a check takes at most, its action included."""
    at_once: Annotated[int, Field(ge=1)] = 10
    """Calls under way at once."""
    sample: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The share of messages that are checked, drawn by `seed` and the message."""
    seed: int = 0
    markers: Annotated[int, Field(ge=0)] = 0
    """Ask only where a draft has this many hedges, credits and opening concessions;
    0 asks always. A draft that is not asked about is a conflict missed."""


class Reason(StrEnum):
    """Why a check ended as it did."""

    CONFLICT = "conflict"
    BELOW = "below_threshold"
    TOOLS_ONLY = "tools_only"
    NOT_SAMPLED = "not_sampled"
    NOT_STATED = "not_stated"
    """The draft states no label."""
    NO_SIDE = "no_side"
    """No side is declared, and the counterpart stated none."""
    NOT_PRESSED = "not_pressed"
    """The draft does not take the pressed side: nothing was given in to."""
    UNMARKED = "unmarked"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    ERROR = "error"
    NO_ANSWER = "no_answer"
    """Half or more of the queries came back without a stance."""
    ACTION_FAILED = "action_failed"


FAULTS: Final = frozenset(
    {
        *(Reason.TIMEOUT, Reason.RATE_LIMITED, Reason.ERROR, Reason.NO_ANSWER),
        Reason.ACTION_FAILED,
    }
)
"""The reasons for which a rule's `on_fault` decides."""

PASS: Final = "pass"
LOG: Final = "log"
BLOCK: Final = "block"


class Cost(NamedTuple):
    """What a check took; tokens as far as they were told."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def plus(self, answer: Answer) -> Cost:
        """The cost with the tokens of one answer more."""
        return self._replace(
            input_tokens=self.input_tokens + (answer.input_tokens or 0),
            cached_tokens=self.cached_tokens + (answer.cached_tokens or 0),
            output_tokens=self.output_tokens + (answer.output_tokens or 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check found, in codes: nothing of what was said off the record."""

    action: str
    """`pass`, or the action that was taken; `block` for a fault that closes."""
    score: float | None
    """From 0 to 1; None where nothing was asked, or nothing usable came back."""
    reason: Reason
    cost: Cost
    elapsed: float
    """Seconds that the caller waited."""
    text: str | None = field(repr=False)
    """What goes out: the draft, what takes its place, or None for nothing."""

    @property
    def fired(self) -> bool:
        """Whether a conflict was found, and its action taken."""
        return self.reason is Reason.CONFLICT

    @property
    def failed(self) -> bool:
        """Whether the check failed, and `on_fault` decided."""
        return self.reason in FAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What an action is given. What was said off the record is not in it."""

    messages: Sequence[Message] = field(repr=False)
    draft: str = field(repr=False)
    score: float
    ask: Ask = field(repr=False)
    """The guard's own, its calls counted."""


Action = Callable[[Case], Awaitable[str | None]]
"""What happens on a conflict: gives the text that goes out, or None for nothing."""


class Private:
    """Off-the-record text: says nothing of itself, and can be written nowhere."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "<off the record>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("off-the-record text is not pickled")


def scrubbed(error: BaseException) -> BaseException:
    """An exception without the frames and causes that led here.

    Their locals may hold what came back off the record.
    """
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
