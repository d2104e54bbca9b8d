"""Arms: texts that may change what an agent says, each with a placebo of its length.

An arm stands in the template's one place for it, alike in all channels. It may also put
other words in the place of what an agent reads about the others (`others`), and of the
name before theirs (`name`). An arm may carry a guard, which stands between what the
target is about to say and the history. `none` is the arm without any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from offrecord.content import Document, data_folder, read_document
from offrecord.content.document import Front
from offrecord.content.library import find
from offrecord.protocol.wording import read_wording
from offrecord.records import NO_ARM, OBSERVE, OffrecordError
from offrecord.scenarios.check import Finding, phrases_pattern
from offrecord.scenarios.front import Line
from offrecord.scenarios.model import Scenario

SECTIONS: Final = ("text", "others", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What an arm puts into prompts, and what estimates must know of it."""

    text: str = ""
    others: str = ""
    """In the place of what an agent reads about the others; empty leaves that."""
    name: str = ""
    """In the place of the name before the others' words; empty leaves that."""
    placebo_of: str = ""
    """The arm of which this is the placebo."""
    channel_words: tuple[str, ...] = ()
    """What in it says who is listening, so that its gain must show in the hold-out."""
    guard: str = ""
    """`observe`, or the action of a guard on a conflict; empty without one."""
    announced: bool = False
    """Whether its text tells the agent of the guard."""
    draws: int = 1
    """Samples of the guard's query."""
    threshold: float = 1.0
    """The share of them against the draft at which it fires."""
    query: str = ""
    """The stamp of what the guard says."""
    stamp: str = ""
    """`id@version:hash`; empty for `none`."""

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Arm:
        """Read an arm back from plain values, as a log holds them."""
        return cls(**{**value, "channel_words": tuple(value["channel_words"])})

    @property
    def judged(self) -> bool:
        """Whether it is to be judged: no placebo, no guard that only observes."""
        return bool(self.stamp) and not self.placebo_of and self.guard != OBSERVE

    @property
    def words(self) -> int:
        """The words of all its sections."""
        return sum(len(one.split()) for one in (self.text, self.others, self.name))


WITHOUT: Final = Arm()
"""The arm `none`."""


class _ArmFront(Front):
    rationale: Line | None = None
    source: Line | None = None
    placebo_of: Line | None = None
    guard: Literal["observe", "disclose", "clarify", "rewrite"] | None = None
    announced: bool | None = None
    draws: Annotated[int, Field(ge=1, le=20)] = 1
    threshold: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _of_a_guard(self) -> Self:
        if (self.guard is None) != (self.announced is None):
            raise ValueError("'guard' and 'announced' go together")
        return self


class _Rules(Front):
    dictates: tuple[Line, ...]
    channel: tuple[Line, ...]


@cache
def _rules() -> _Rules:
    return read_document(data_folder("arm-rules.yaml")).validate(_Rules)


def arm_of(level: str) -> Arm:
    """The arm of a level of the factor: `none`, an id, or the path of a file.

    Raises:
        OffrecordError: If there is none, or it says what to decide.
    """
    return WITHOUT if level == NO_ARM else read_arm(find("arm", level))[0]


def read_arm(path: Path) -> tuple[Arm, Document]:
    """Read an arm's file.

    Raises:
        OffrecordError: If it is missing, has no text, or says what to decide.
    """
    document = read_document(path)
    document.only_sections(*SECTIONS)
    front = document.validate(_ArmFront)
    if front.announced is not False:
        document.section("text")
    elif document.sections:
        raise OffrecordError(f"{path}: is not announced, so it says nothing: no text")
    said = "\n\n".join(document.sections.values())
    dictated = _found(_rules().dictates, said)
    if dictated:
        raise OffrecordError(
            f"{path}: dictates a stance ({', '.join(dictated)}): an arm may say how to "
            "decide, not what"
        )
    arm = Arm(
        placebo_of=front.placebo_of or "",
        channel_words=_found(_rules().channel, said),
        guard=front.guard or "",
        announced=bool(front.announced),
        draws=front.draws,
        threshold=front.threshold,
        query=read_wording().stamp if front.guard else "",
        stamp=document.stamp,
        **{name: document.sections.get(name, "") for name in SECTIONS},
    )
    return arm, document


def check_arm(path: Path) -> Finding:
    """What `content check` says of an arm.

    Raises:
        OffrecordError: As `read_arm`.
    """
    arm, _ = read_arm(path)
    warning = channel_warning(str(path), arm)
    summary = f"OK arm {arm.stamp}: words {arm.words}"
    return Finding(faults=(), warnings=(warning,) if warning else (), summary=summary)


def channel_warning(name: str, arm: Arm) -> str:
    """What to say of an arm that names who is listening; empty where it does not.

    Args:
        name: What it is called.
        arm: The arm.
    """
    if not arm.channel_words:
        return ""
    return (
        f"{name}: names a channel ({', '.join(arm.channel_words)}): its gain must show "
        "in the hold-out too (ask: holdout)"
    )


def refuse_arm(level: str, arm: Arm, scenario: Scenario) -> None:
    """Refuse an arm that does not fit a scenario.

    Args:
        level: Its level.
        arm: The arm.
        scenario: Where it is to be asked.

    Raises:
        OffrecordError: If it names a decision of it, or is longer than all of it.
    """
    said = " ".join((arm.text, arm.others, arm.name))
    # A label of one word is a word of the language too, unless written as the label is.
    exact = tuple(label for label in scenario.labels if len(label.split()) == 1)
    longer = tuple(label for label in scenario.labels if label not in exact)
    found = *_found(exact, said, capitals=True), *_found(longer, said)
    if found:
        raise OffrecordError(
            f"arm '{level}': dictates a stance: it names the decision "
            f"'{found[0]}' of scenario '{scenario.id}'; take it out"
        )
    cards = (text for one in scenario.agents for text in (one.card, one.summary))
    whole = (scenario.setting, scenario.question, *cards)
    longest = sum(len(text.split()) for text in whole)
    if arm.words > longest:
        raise OffrecordError(
            f"arm '{level}': has {arm.words} words, and scenario '{scenario.id}' has "
            f"{longest}: shorten the arm"
        )


def _found(
    phrases: tuple[str, ...], text: str, *, capitals: bool = False
) -> tuple[str, ...]:
    """Which phrases stand in a text, as they stand there."""
    if not phrases:
        return ()
    pattern = phrases_pattern(phrases, capitals=capitals)
    return tuple(dict.fromkeys(" ".join(one.split()) for one in pattern.findall(text)))
