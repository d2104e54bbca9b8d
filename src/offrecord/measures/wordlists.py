"""Word lists: the data of the parsers, as patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from offrecord.content.document import Document, read_document
from offrecord.content.letters import fold
from offrecord.records import OffrecordError, Status, primary_language

_GAP: Final = r"[^.!?;\n]{0,30}?"
_FOLDER: Final = Path(__file__).parent / "rules"


def word_lists(name: str) -> Document:
    """A file of `measures/rules`, lists in its front matter."""
    return read_document(_FOLDER / f"{name}.yaml")


@cache
def language_lists(name: str, language: str) -> Mapping[str, Any]:
    """The lists of a language: the English ones, each with its own behind them.

    What is no list is the language's own. A language without a file has the English
    lists alone.

    Args:
        name: A file of `measures/rules`; `NAME-de.yaml` beside it is German.
        language: As a scenario names it; a region or script after it does not matter.
    """
    lists, path = word_lists(name).front, _file(name, language)
    if path is None:
        return lists
    own = read_document(path).front
    if unknown := sorted(own.keys() - lists.keys()):
        raise OffrecordError(f"{path}: field '{unknown[0]}': {name}.yaml has no such")
    both = {
        key: [*lists[key], *words] if isinstance(words, list) else words
        for key, words in own.items()
    }
    return {**lists, **both}


def language_hashes(name: str) -> list[str]:
    """The hashes of a file of lists and of its files for other languages."""
    paths = sorted(_FOLDER.glob(f"{name}*.yaml"))
    return [read_document(path).hash for path in paths]


def _file(name: str, language: str) -> Path | None:
    path = _FOLDER / f"{name}-{primary_language(language)}.yaml"
    return path if path.is_file() else None


def any_of(phrases: Iterable[str], before: str = r"\b", after: str = r"\b") -> str:
    """A pattern for any of the phrases as whole words, longest first.

    `...` in a phrase stands for some words of the same sentence.

    No edge stands beside a character of a script that is written without blanks; the
    default ones stand beside Latin letters alone, since other scripts join endings.

    Args:
        phrases: Of any language; with none, nothing matches.
        before: The edge in front of a phrase.
        after: The one behind it.
    """
    folded = {fold(phrase).lower() for phrase in phrases}
    found = (
        _edge(phrase[0], before)
        + r"\s+".join(map(re.escape, phrase.split())).replace(r"\.\.\.", _GAP)
        + _edge(phrase[-1], after)
        for phrase in sorted(folded, key=lambda p: (-len(p), p))
    )
    return "|".join(found) or "(?!)"


def _edge(char: str, edge: str) -> str:
    script = unicodedata.name(char, "").partition(" ")[0]
    if edge == r"\b":
        return edge if char.isalnum() and script in {"LATIN", "DIGIT"} else ""
    return "" if script in {"CJK", "HIRAGANA", "KATAKANA"} else edge


def any_listed(lists: Mapping[str, Any], *names: str) -> str:
    """`any_of` the phrases of several lists, as a group."""
    return f"(?:{any_of(phrase for name in names for phrase in lists[name])})"


def any_case(pattern: str) -> re.Pattern[str]:
    """A pattern that takes any letter case."""
    return re.compile(pattern, re.IGNORECASE)


def compile_any(phrases: Iterable[str]) -> re.Pattern[str]:
    """`any_of` as a pattern that takes any letter case."""
    return any_case(any_of(phrases))


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
