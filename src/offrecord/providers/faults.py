"""Faults: what goes wrong between a stance and the text that arrives.

A reply has at most one fault, drawn apart from its stance, so what is missing is
missing at random and the planted rates hold for what is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from offrecord.providers.words import Words, pick
from offrecord.records import Form, Frame

StopReason = Literal["stop", "max_tokens", "content_filter", "unknown"]
"""Why a reply ended, in the words of Inspect."""

_INVISIBLE: Final = ("\u200b", "\u200d", "\u2060", "\u00ad", "\ufeff")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAnswer:
    """What a simulated agent sends back, and what is true of it."""

    text: str
    """The raw reply."""
    yields: bool
    """The truth: whether the stance behind it leaves the speaker's own side."""
    fault: str | None = None
    """The truth: the one fault that it has, if any."""
    reasoning: str | None = None
    """What came back in the field for reasoning, apart from the text."""
    stop_reason: StopReason = "stop"
    error: str | None = None
    """Why there is no reply, as the back end would say it."""
    outages: int = 0
    """How often the request fails on its way before this answer comes."""


class Damage(NamedTuple):
    """What a fault has to work with."""

    answer: SimulatedAnswer
    frame: Frame
    label: str
    words: Words
    rng: np.random.Generator

    def thought(self) -> str:
        """A thought that names labels it does not decide for."""
        sentence = pick(self.rng, self.words.lists.thoughts)
        return self.words.mention(sentence, self.frame, self.answer.yields)


class Fault(NamedTuple):
    """One kind of damage."""

    apply: Callable[[Damage], SimulatedAnswer]
    forms: frozenset[Form]
    """The forms that it can happen to."""
    head: bool = False
    """Whether it damages a label that stands plainly at the head."""


def _invisible(damage: Damage) -> SimulatedAnswer:
    text = damage.answer.text
    place = 1 + int(damage.rng.random() * (len(damage.label) - 1))
    mark = pick(damage.rng, _INVISIBLE)
    return replace(damage.answer, text=text[:place] + mark + text[place:])


def _fused(damage: Damage) -> SimulatedAnswer:
    rest = damage.answer.text[len(damage.label) :]
    whole = damage.label.replace(" ", "")
    if whole == damage.label:  # one word: it runs into the sentence
        rest = rest.removeprefix(" - ")
    return replace(damage.answer, text=whole + rest)


def _fence(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, text=f"```json\n{damage.answer.text}\n```")


def _trailing_comma(damage: Damage) -> SimulatedAnswer:
    body = damage.answer.text.removesuffix("}").rstrip()
    return replace(damage.answer, text=f"{body},\n}}")


def _missing_item(damage: Damage) -> SimulatedAnswer:
    values = json.loads(damage.answer.text)
    del values[pick(damage.rng, damage.frame.items)]
    return replace(damage.answer, text=json.dumps(values))


def _prose(damage: Damage) -> SimulatedAnswer:
    lists, rng = damage.words.lists, damage.rng
    preface, closing = pick(rng, lists.prefaces), pick(rng, lists.closings)
    text = f"{preface}\n\n{damage.answer.text}\n\n{closing}"
    return replace(damage.answer, text=text)


def _refusal(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, text=pick(damage.rng, damage.words.lists.refusals))


def _empty(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, text="")


def _filtered(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, text="", stop_reason="content_filter")


def _thinking(damage: Damage) -> SimulatedAnswer:
    block = f"<think>\n{damage.thought()}\n</think>"
    return replace(damage.answer, text=f"{block}\n\n{damage.answer.text}")


def _unclosed_thinking(damage: Damage) -> SimulatedAnswer:
    text = f"<think>\n{damage.thought()}"
    return replace(damage.answer, text=text, stop_reason="max_tokens")


def _reasoning_only(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, text="", reasoning=damage.thought())


def _truncated(damage: Damage) -> SimulatedAnswer:
    text = damage.answer.text
    length = int(len(text) * (0.3 + 0.6 * damage.rng.random()))
    return replace(damage.answer, text=text[:length], stop_reason="max_tokens")


def _outage(damage: Damage) -> SimulatedAnswer:
    return replace(damage.answer, outages=1)


def _error(damage: Damage) -> SimulatedAnswer:
    message = "simulated: the back end refused the request"
    return replace(damage.answer, text="", stop_reason="unknown", error=message)


_UTTERANCE: Final = frozenset({Form.UTTERANCE})
_SURVEY: Final = frozenset({Form.SURVEY})
_ANY: Final = _UTTERANCE | _SURVEY

FAULTS: Final[Mapping[str, Fault]] = {
    "invisible": Fault(_invisible, _UTTERANCE, head=True),
    "fused": Fault(_fused, _UTTERANCE, head=True),
    "fence": Fault(_fence, _SURVEY),
    "trailing_comma": Fault(_trailing_comma, _SURVEY),
    "missing_item": Fault(_missing_item, _SURVEY),
    "prose": Fault(_prose, _SURVEY),
    "refusal": Fault(_refusal, _ANY),
    "thinking": Fault(_thinking, _ANY),
    "unclosed_thinking": Fault(_unclosed_thinking, _ANY),
    "reasoning_only": Fault(_reasoning_only, _ANY),
    "truncated": Fault(_truncated, _ANY),
    "empty": Fault(_empty, _ANY),
    "filtered": Fault(_filtered, _ANY),
    "outage": Fault(_outage, _ANY),
    "error": Fault(_error, _ANY),
}
"""Every fault by name; a population gives each a rate, 0 where it names none."""


def draw_fault(rates: Mapping[str, float], form: Form, u: float) -> str | None:
    """Which fault a reply has, if any.

    Args:
        rates: Fault name to probability per reply of a form it can happen to.
        form: The form of the reply.
        u: A uniform draw from [0, 1).
    """
    for name, rate in rates.items():
        if form in FAULTS[name].forms:
            if u < rate:
                return name
            u -= rate
    return None
