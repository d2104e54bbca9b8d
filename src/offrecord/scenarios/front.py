"""The front matter of a scenario's files as strict models: unknown fields are faults.

Texts are one line each: runs of blanks become one, and blank texts, control characters
and marks that turn the writing direction are refused, since they would reach prompts,
terminals and parsers unseen.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from offrecord.content.boundary.shown import hidden_character
from offrecord.content.document import Front, Language
from offrecord.content.labels import label_set, normalise, plain_copy
from offrecord.content.letters import is_mark, mark_ranges
from offrecord.records import ENGLISH, STANDARD_DOSE, Kind, OffrecordError, Role, Timing

LONGEST_LABEL = 60
"""Characters; a longer label is an answer, and fills a reply's head."""

_LABEL = re.compile(r"[^\W_]+(?:[ '-][^\W_]+)*")

MOST_POINTS = 201  # -100 to 100; a scale's points are spelled out in survey schemas


def _text(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("YAML reads this word as true or false; put it in quotes")
    return value


def _line(value: str) -> str:
    hidden = hidden_character(value)
    if hidden:
        raise ValueError(f"holds the invisible character {hidden}; remove it")
    line = " ".join(value.split())
    if not line:
        raise ValueError("is blank")
    return line


Line = Annotated[str, BeforeValidator(_text), AfterValidator(_line)]
"""A text of one line that is not blank."""

ItemId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
"""A survey item's id, a key of the JSON that answers it."""

ScalePoint = StrictInt
"""A whole number; `true`, `3.0` and `"3"` are none."""


class ScenarioFront(Front):
    """`scenario.md`."""

    title: Line
    labels: tuple[Line, Line]
    leaning: Literal["evidence", "card", "balanced"]
    language: Language = ENGLISH
    domain: str = Field(default="", pattern=r"^[a-z][a-z0-9-]*$")

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, str]) -> tuple[str, str]:
        first, second = map(label_key, labels)
        if not first or not second:
            raise ValueError("a label needs at least one letter or digit")
        if first == second:
            raise ValueError(f"'{labels[0]}' and '{labels[1]}' read the same")
        for label in labels:
            _check_readable(label, labels)
        return labels


def _check_readable(label: str, labels: tuple[str, str]) -> None:
    """Refuse a label that a reply could state and no parser would find there."""
    letters = "".join(char for char in label if not is_mark(char))
    if len(label) > LONGEST_LABEL or not _LABEL.fullmatch(letters):
        raise ValueError(
            f"'{label}' is no label: use up to {LONGEST_LABEL} letters, digits, and "
            "single spaces, hyphens or apostrophes between them"
        )
    for said in (label, f"{label} - so."):
        try:
            found = label_set(labels).head(plain_copy(said))
        except OffrecordError as error:
            raise ValueError(str(error)) from None
        if found is None or found.label != label or found.repairs:
            raise ValueError(f"'{label}' could not be told in a reply; rename it")


def label_key(label: str) -> str:
    """A label as it is compared: words alone, case folded, compatibility forms undone.

    Two labels with the same key could not be told apart in a reply.
    """
    folded = unicodedata.normalize("NFKC", label).casefold()
    shown = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(re.findall(rf"[\w{mark_ranges()}]+", shown))


class AgentFront(Front):
    """`agents/<id>.md`."""

    role: Role
    name: Line
    side: Line


class ConditionFront(Front):
    """`conditions/<id>.md`."""

    kind: Kind
    timing: Timing
    dose: StrictInt = Field(default=STANDARD_DOSE, ge=1, le=3)


class Item(Front):
    """One survey statement."""

    id: ItemId
    category: Line
    text: Line
    reverse: StrictBool = False
    """Whether agreement means less of what its category measures."""
    about: Literal["", "counterpart"] = ""
    """`counterpart` where it can be answered only after the counterpart has spoken."""


class SurveyFront(Front):
    """`survey.yaml`: a scenario's own items, after those of its instrument."""

    instrument: Line
    items: tuple[Item, ...] = ()


class InstrumentFront(Front):
    """An instrument: the scale, its anchors, categories and shared items."""

    low: ScalePoint
    high: ScalePoint
    anchors: dict[ScalePoint, Line]
    categories: dict[str, Line] = Field(min_length=1)
    items: tuple[Item, ...] = ()
    language: Language = ENGLISH
    answers: dict[ScalePoint, Line] = Field(default_factory=dict)
    """The word for each point, where statements are answered in words."""

    @field_validator("high")
    @classmethod
    def _above(cls, high: int, info: ValidationInfo) -> int:
        low = info.data.get("low")
        if low is not None and high <= low:
            raise ValueError(f"{high} is not above 'low' ({low})")
        if low is not None and high - low >= MOST_POINTS:
            raise ValueError(f"the scale has more than {MOST_POINTS} points")
        return high

    @field_validator("anchors")
    @classmethod
    def _anchored(cls, anchors: dict[int, str], info: ValidationInfo) -> dict[int, str]:
        low, high = info.data.get("low"), info.data.get("high")
        if low is None or high is None:
            return anchors
        outside = [point for point in anchors if not low <= point <= high]
        if outside:
            raise ValueError(f"{outside[0]} is no point of the scale {low} to {high}")
        bare = [point for point in (low, high) if point not in anchors]
        if bare:
            raise ValueError(f"the end of the scale {bare[0]} has no wording")
        return dict(sorted(anchors.items()))

    @field_validator("answers")
    @classmethod
    def _worded(cls, answers: dict[int, str], info: ValidationInfo) -> dict[int, str]:
        low, high = info.data.get("low"), info.data.get("high")
        if low is None or high is None or not answers:
            return answers
        if sorted(answers) != [*range(low, high + 1)]:
            raise ValueError(f"give a word for every point from {low} to {high}")
        if len(set(map(normalise, answers.values()))) < len(answers):
            raise ValueError("two points have the same word")
        return dict(sorted(answers.items()))
