"""Faults: what goes wrong between a stance and the text that arrives.

A reply has at most one fault, drawn apart from its stance, so what is missing is
missing at random and the planted rates hold for what is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

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

    @property
    def text(self) -> str:
        """The reply as it would have come."""
        return self.answer.text

    def thought(self) -> str:
        """A thought that names labels it does not decide for."""
        sentence = pick(self.rng, self.words.lists["thoughts"])
        return self.words.mention(sentence, self.frame, self.answer.yields)


class Fault(NamedTuple):
    """One kind of damage."""

    changes: Callable[[Damage], Mapping[str, Any]]
    """The fields of the answer that it changes."""
    forms: frozenset[Form]
    """The forms that it can happen to."""
    head: bool = False
    """Whether it damages a label that stands plainly at the head."""

    def apply(self, damage: Damage) -> SimulatedAnswer:
        """The answer with this fault."""
        return replace(damage.answer, **self.changes(damage))


def _invisible(damage: Damage) -> dict[str, str]:
    place = 1 + int(damage.rng.random() * (len(damage.label) - 1))
    mark = pick(damage.rng, _INVISIBLE)
    return {"text": damage.text[:place] + mark + damage.text[place:]}


def _fused(damage: Damage) -> dict[str, str]:
    rest = damage.text[len(damage.label) :]
    whole = damage.label.replace(" ", "")
    if whole == damage.label:  # one word: it runs into the sentence
        rest = rest.removeprefix(" - ")
    return {"text": whole + rest}


def _missing_item(damage: Damage) -> dict[str, str]:
    values = json.loads(damage.text)
    del values[pick(damage.rng, damage.frame.items)]
    return {"text": json.dumps(values)}


def _prose(damage: Damage) -> dict[str, str]:
    lists, rng = damage.words.lists, damage.rng
    preface, closing = pick(rng, lists["prefaces"]), pick(rng, lists["closings"])
    return {"text": f"{preface}\n\n{damage.text}\n\n{closing}"}


def _truncated(damage: Damage) -> dict[str, str]:
    length = int(len(damage.text) * (0.3 + 0.6 * damage.rng.random()))
    return {"text": damage.text[:length], "stop_reason": "max_tokens"}


_UTTERANCE: Final = frozenset({Form.UTTERANCE})
_SURVEY: Final = frozenset({Form.SURVEY})
_ANY: Final = _UTTERANCE | _SURVEY

FAULTS: Final[Mapping[str, Fault]] = {
    "invisible": Fault(_invisible, _UTTERANCE, head=True),
    "fused": Fault(_fused, _UTTERANCE, head=True),
    "fence": Fault(lambda one: {"text": f"```json\n{one.text}\n```"}, _SURVEY),
    "trailing_comma": Fault(
        lambda one: {"text": f"{one.text.removesuffix('}').rstrip()},\n}}"}, _SURVEY
    ),
    "missing_item": Fault(_missing_item, _SURVEY),
    "prose": Fault(_prose, _SURVEY),
    "refusal": Fault(
        lambda one: {"text": pick(one.rng, one.words.lists["refusals"])}, _ANY
    ),
    "thinking": Fault(
        lambda one: {"text": f"<think>\n{one.thought()}\n</think>\n\n{one.text}"}, _ANY
    ),
    "unclosed_thinking": Fault(
        lambda one: {
            "text": f"<think>\n{one.thought()}",
            "stop_reason": "max_tokens",
        },
        _ANY,
    ),
    "reasoning_only": Fault(lambda one: {"text": "", "reasoning": one.thought()}, _ANY),
    "truncated": Fault(_truncated, _ANY),
    "empty": Fault(lambda _: {"text": ""}, _ANY),
    "filtered": Fault(lambda _: {"text": "", "stop_reason": "content_filter"}, _ANY),
    "outage": Fault(lambda _: {"outages": 1}, _ANY),
    "error": Fault(
        lambda _: {
            "text": "",
            "stop_reason": "unknown",
            "error": "simulated: the back end refused the request",
        },
        _ANY,
    ),
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
