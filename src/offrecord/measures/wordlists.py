"""Word lists: the data of the parsers, as patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from offrecord.content.document import Document, read_document
from offrecord.content.letters import fold
from offrecord.records import Status

_FOLDER: Final = Path(__file__).parent / "rules"


def word_lists(name: str) -> Document:
    """A file of `measures/rules`, lists in its front matter."""
    return read_document(_FOLDER / f"{name}.yaml")


def any_of(phrases: Iterable[str]) -> str:
    """A pattern for any of the phrases as whole words, longest first."""
    return "|".join(
        _edge(phrase, 0)
        + r"\s+".join(map(re.escape, phrase.split()))
        + _edge(phrase, -1)
        for phrase in sorted(
            {fold(p).lower() for p in phrases}, key=lambda p: (-len(p), p)
        )
    )


def _edge(phrase: str, place: int) -> str:
    char = phrase[place]
    return r"\b" if char.isascii() and char.isalnum() else ""


def compile_any(phrases: Iterable[str]) -> re.Pattern[str]:
    """`any_of` as a pattern that takes any letter case."""
    return re.compile(any_of(phrases), re.IGNORECASE)


NOTHING: Final = word_lists("nothing")
_FILTERS: Final = compile_any(NOTHING.front["filters"])
_REFUSALS: Final = re.compile(
    rf"(?:{any_of(NOTHING.front['unwilling'])})\W+(?:[\w']+\W+){{0,3}}?"
    rf"(?:{any_of(NOTHING.front['tasks'])})|{any_of(NOTHING.front['refusals'])}",
    re.IGNORECASE,
)
_NOTICE: Final = 400  # characters; a filter's notice is short


def why_nothing(copy: str) -> Status:
    """Why a reply that states nothing does not: filtered, refusal, or unclear.

    Args:
        copy: The plain copy of what was said, quotations taken out.
    """
    if len(copy) <= _NOTICE and _FILTERS.search(copy):
        return Status.FILTERED
    return Status.REFUSAL if _REFUSALS.search(copy) else Status.UNCLEAR
