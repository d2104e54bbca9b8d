"""Text preparation: what of a reply a semantic measure compares.

The label has its own measure, and left in a text it decides the others: with labels in,
two opposite stances contradict each other whatever is said for them. So it is taken
off, with its separator and its decoration, where it heads the text, follows a cue, or
closes the text. The other variants are there to check how much that matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from offrecord.content.labels import (
    LABEL_RULES,
    LabelSet,
    label_set,
    normalise,
    past_separators,
    plain_copy_with_origin,
)
from offrecord.content.letters import composed
from offrecord.content.reasoning import REASONING_RULES, split_reasoning
from offrecord.content.reply import spoken_text
from offrecord.content.turns import TURN_RULES
from offrecord.measures.replies.openers import past_openers
from offrecord.measures.wordlists import (
    any_of,
    language_hashes,
    language_lists,
    word_lists,
)
from offrecord.records import ENGLISH, digest

EMPTY: Final = "empty"
"""Why a text has no value: nothing is left of it."""

NO_LABEL: Final = "no_label"
"""Why a text has no value: it holds no label that could be swapped."""

_HASHES: Final = [
    LABEL_RULES,
    *language_hashes("preparation"),
    *language_hashes("stance"),
    REASONING_RULES,
    TURN_RULES,
]
PREPARATION_VERSION: Final = f"4+{digest(_HASHES, 8)}"
"""The version of every variant: its code's, and a hash of its word lists."""

_OPENING: Final = r"""[\s\#"'\[({<✅✔☑]*(?:[-]\s+)?"""
_OPENS: Final = re.compile(_OPENING, re.VERBOSE)
_BREAK: Final = re.compile(r"(?P<line>\s*\n\s*)|(?<=[.!?])(?P<quotes>[\"')\]]*)\s+")
_CLOSING: Final = " \n#>~\"'()[]{}<>.,:;!|—-"


_AUTHORS: Final[str] = word_lists("preparation").front["authors"]


@cache
def _cue(language: str) -> re.Pattern[str]:
    """A decision cue at the head of a text, with what leads to it and what joins."""
    words = language_lists("preparation", language)
    cues = language_lists("stance", language)["cues"]
    return re.compile(
        rf"""{_OPENING}(?:(?:{any_of(words["lead"])})[\s,:]*)?
        (?:(?:{any_of(words["qualities"])})\s*)*
        (?:{any_of(cues)})[\s\])]*
        (?:(?::|=|—|-(?=\s)|[→⇒]|[-=]+>)|(?:{any_of(words["joins"])}):?|\n)
        {_OPENING}""",
        re.VERBOSE | re.IGNORECASE,
    )


class Variant(StrEnum):
    """How a text is prepared."""

    CLEAN = "clean"
    """Reasoning, labels, their separators and decoration taken off: the default."""
    UNSTRIPPED = "unstripped"
    """Only the reasoning taken off."""
    SWAPPED = "swapped"
    """Every stated label replaced by the other one: how much do labels alone decide?"""
    AUTHORS = "authors"
    """As the authors of the paper strip: reproduces their figures."""


class Prepared(NamedTuple):
    """A text that is ready, or why there is none."""

    text: str | None
    reason: str | None = None


class Place(NamedTuple):
    """A stated label in a text: indices of the label, and of all that goes with it."""

    label: str
    start: int
    end: int
    first: int
    last: int


@lru_cache(maxsize=1 << 16)
def prepare(
    text: str, labels: tuple[str, ...], variant: Variant, language: str = ENGLISH
) -> Prepared:
    """Prepare the raw text of a reply for comparison.

    Args:
        text: The raw reply, reasoning blocks included.
        labels: The labels it may state; with none, there is none to take off.
        variant: How.
        language: In which it was asked for.

    Returns:
        The text without outer blanks; or none, with the reason `empty` where no letter
        or digit is left, or `no_label` where nothing can be swapped.
    """
    said = split_reasoning(text).visible.strip()
    if variant is Variant.AUTHORS:
        return _unless_empty(_as_authors(said, labels))
    said = composed(spoken_text(text, labels))
    if variant is Variant.UNSTRIPPED:
        return _unless_empty(said)
    places = stated_places(said, labels, language)
    if variant is Variant.CLEAN:
        return _unless_empty(_without(said, places))
    if not places or len(labels) != 2:
        return Prepared(None, NO_LABEL if normalise(said) else EMPTY)
    for place in reversed(places):
        other = labels[1 - labels.index(place.label)]
        said = said[: place.start] + other + said[place.end :]
    return Prepared(said)


def stated_places(
    text: str, labels: Sequence[str], language: str = ENGLISH
) -> list[Place]:
    """Where a text states a label: at its head, and at its end.

    At the head a label may stand behind a cue ("Stance: ..."). At the end it must, or
    have a line of its own.

    Args:
        text: What was said, as `composed` makes it.
        labels: The labels it may be.
        language: Of the text.
    """
    known = label_set(tuple(labels))
    copy, origin = plain_copy_with_origin(text)
    head = _head(copy, known, language)
    spans = [head] if head else []
    closing = _closing(copy, known, head.last if head else 0, language)
    if closing:
        spans.append(closing)
    return [Place(span.label, *(origin[index] for index in span[1:])) for span in spans]


def _head(copy: str, known: LabelSet, language: str) -> Place | None:
    cue = _cue(language).match(copy)
    found = known.at(copy, cue.end()) if cue else None
    if found is None or found.after == "running":
        found = known.head(copy)
    first = 0
    if found is None:
        place, bare = past_openers(copy, known, language)
        found = known.head(copy, place)
        if found is None:
            return None
        first = 0 if bare else found.start
    last = found.end
    while (after := past_separators(copy, last)) != last:
        last = after
    return Place(found.label, found.start, found.end, first, last)


def _closing(copy: str, known: LabelSet, begin: int, language: str) -> Place | None:
    """The label that ends a copy, with its cue, which may have a line of its own."""
    breaks = list(_BREAK.finditer(copy.rstrip(), begin))[-2:]
    for index, gap in enumerate(breaks):
        alone = index == len(breaks) - 1 and "\n" in gap.group()
        ahead = _cue(language).match(copy, gap.end()) or (
            _OPENS.match(copy, gap.end()) if alone else None
        )
        found = known.at(copy, ahead.end()) if ahead else None
        if found and not copy[found.end :].strip(_CLOSING):
            first = gap.start() if gap["line"] else gap.end("quotes")
            return Place(found.label, found.start, found.end, first, len(copy))
    return None


def _without(text: str, places: Sequence[Place]) -> str:
    for place in reversed(places):
        text = text[: place.first] + text[place.last :]
    return text


def _as_authors(said: str, labels: Sequence[str]) -> str:
    for label in sorted(labels, key=len, reverse=True):
        if said[: len(label)].upper() == label.upper():
            return said[len(label) :].lstrip(_AUTHORS)
    return said


def _unless_empty(text: str) -> Prepared:
    return Prepared(text.strip()) if normalise(text) else Prepared(None, EMPTY)
