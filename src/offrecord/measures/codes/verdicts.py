"""Verdicts: what a judge is asked, and what of its reply counts as an answer.

A judge prompt is a content file whose front matter declares the answer: each field has
a closed vocabulary, or is a list of texts. From that declaration come both the format
that the judge is shown and the check of its reply, so that the two cannot drift. A text
under judgement is data: it stands between marks made from its own hash, which nothing
inside it can imitate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from offrecord.content import Document, data_folder, fill, placeholders, read_document
from offrecord.content.document import Front
from offrecord.content.labels import plain_copy
from offrecord.content.letters import visible_only
from offrecord.content.reply import classify_reply, spoken_text
from offrecord.measures.wordlists import NOTHING, why_nothing
from offrecord.records import OffrecordError, Status, digest

Value = str | tuple[str, ...]
"""A field's value: one word of its vocabulary, or several words or texts."""

VERDICT_VERSION: Final = f"verdict-1:{NOTHING.hash}"
"""The version of the reading of replies: rules, and the word lists it uses."""

_FENCED: Final = re.compile(r"```\w*[ ]*\n(.*)```", re.DOTALL)


class Answer(Front):
    """One field of a verdict: exactly one of the three kinds."""

    one_of: tuple[str, ...] = ()
    """The words it may be."""
    any_of: tuple[str, ...] = ()
    """The words that it may list, each once."""
    texts: Annotated[int, Field(ge=0)] = 0
    """How many texts it may list."""

    @model_validator(mode="after")
    def _one_kind(self) -> Answer:
        if sum(map(bool, (self.one_of, self.any_of, self.texts))) != 1:
            raise ValueError("give exactly one of one_of, any_of, texts")
        return self

    @property
    def shown(self) -> str:
        """The field's value as the judge is told to write it."""
        if self.texts:
            return f'["...", up to {self.texts} texts]'
        words = " or ".join(f'"{word}"' for word in self.one_of or self.any_of)
        return words if self.one_of else f"[any of {words}]"

    def read(self, value: object) -> Value | None:
        """The value if it is one of this field, else None."""
        if self.one_of:
            return value if isinstance(value, str) and value in self.one_of else None
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            return None
        if self.any_of and (set(value) - {*self.any_of} or len({*value}) < len(value)):
            return None
        return None if self.texts and len(value) > self.texts else tuple(value)


class _Answers(Front):
    answer: Annotated[dict[str, Answer], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt:
    """What every request of one kind has in common: one content file."""

    stamp: str
    """`id@version:hash` of the file."""
    system: str
    request: str
    """A template: its places are filled by the request, and `{format}` by us."""
    answer: Mapping[str, Answer]

    @property
    def format(self) -> str:
        """The form of the reply, as the judge is shown it."""
        fields = (f'"{name}": {each.shown}' for name, each in self.answer.items())
        return "{" + ", ".join(fields) + "}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One question to a judge."""

    prompt: JudgePrompt
    texts: Mapping[str, str]
    """Place in the template to a text under judgement: delimited, never trusted."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Place in the template to words of our own."""

    @property
    def message(self) -> str:
        """The user message.

        Raises:
            OffrecordError: If the template asks for a place that is not given.
        """
        return fill(
            self.prompt.request,
            {
                **self.values,
                **{name: delimited(text) for name, text in self.texts.items()},
                "format": self.prompt.format,
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge answered, or why there is no answer."""

    values: Mapping[str, Value]
    """Field to value, every field of the prompt; empty unless `valued`."""
    status: Status
    """`ok`, or `repaired` (one fence around all of it taken off); else no values."""
    reason: str | None
    """Why there are no values, in a few words."""
    reply: str
    """The raw reply; empty if none came."""
    model_answered: str | None
    """As the provider named itself; None if no reply came."""

    @property
    def valued(self) -> bool:
        """Whether there is an answer."""
        return self.status in {Status.OK, Status.REPAIRED}

    @property
    def columns(self) -> dict[str, str | None]:
        """What every table of verdicts has of it, beside its values."""
        names = ("status", "reason", "reply", "model_answered")
        return {name: getattr(self, name) for name in names}


def read_judge_prompt(name: str | Path) -> JudgePrompt:
    """Read a judge prompt.

    Args:
        name: One that ships with the package, e.g. `entailment`, or a path to a file.

    Raises:
        OffrecordError: If there is none, or it is no judge prompt.
    """
    path = name if isinstance(name, Path) else data_folder("judge") / f"{name}.md"
    document: Document = read_document(path)
    document.only_sections("system", "request")
    front = document.validate(_Answers)
    request = document.section("request")
    if "format" not in placeholders(request):
        raise OffrecordError(f"{path}: section '## request' has no place {{format}}")
    return JudgePrompt(
        stamp=document.stamp,
        system=document.section("system"),
        request=request,
        answer=front.answer,
    )


def delimited(text: str) -> str:
    """A text between two marks that carry its hash, so that it cannot end itself.

    Args:
        text: What was said; invisible characters are taken out.
    """
    text = visible_only(text)
    mark = digest(text, 12)
    return f"<<<BEGIN TEXT {mark}\n{text}\nEND TEXT {mark}>>>"


def parse_verdict(
    reply: str, answer: Mapping[str, Answer]
) -> tuple[dict[str, Value], Status, str | None]:
    """Read a judge's reply strictly: one JSON object, each field of its vocabulary.

    Reasoning is set aside, and one code fence around the whole reply is taken off.
    Nothing else is mended: prose around the object, a doubled key, a word that is none
    of the vocabulary leave no answer. Fields that were not asked for are ignored.

    Args:
        reply: The raw reply.
        answer: The fields that it must have.

    Returns:
        The values, what became of the reply, and why there are no values if so.
    """
    said = spoken_text(reply)
    fenced = _FENCED.fullmatch(said)
    body, status = (fenced[1], Status.REPAIRED) if fenced else (said, Status.OK)
    try:
        found = json.loads(body, object_pairs_hook=_once)
    except _TwiceError as error:
        return {}, Status.UNCLEAR, f"field '{error}' stands twice"
    except (ValueError, RecursionError):
        return {}, why_nothing(plain_copy(said)), "not one JSON object"
    if not isinstance(found, dict):
        return {}, Status.UNCLEAR, "not one JSON object"
    values: dict[str, Value] = {}
    for name, each in answer.items():
        value = each.read(found.get(name))
        if value is None:
            what = "not among the answers" if name in found else "absent"
            return {}, Status.UNCLEAR, f"field '{name}' is {what}"
        values[name] = value
    return values, status, None


def verdict_of(request: JudgeRequest, stored: Mapping[str, Any]) -> Verdict:
    """Make a verdict of what came back.

    Args:
        request: What was asked.
        stored: `reply`, `stop_reason`, `error` (or None) and `model_answered`.
    """
    values: dict[str, Value] = {}
    reason: str | None = None
    status = classify_reply(stored["reply"], stored["stop_reason"], stored["error"])
    if status is Status.OK:
        values, status, reason = parse_verdict(stored["reply"], request.prompt.answer)
    else:
        reason = stored["error"] or f"the reply is {status}"
    return Verdict(
        values=values,
        status=status,
        reason=reason,
        reply=stored["reply"],
        model_answered=stored["model_answered"] or None,
    )


class _TwiceError(ValueError):
    """A key that stands twice in one object: which of its values counts is unclear."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for key in keys if keys.count(key) > 1))
    return found
