"""Phrases: patterns written as words, so that a word list is read without code.

A phrase is words parted by blanks. `{name}` stands for any entry of a class of the same
file, `...` for up to six words of the same clause, and a star ends a word whose ending
is open (`protect*`). Phrases match whole words on the plain copy of a text, whatever
the letter case, and what matched is given in the text's own letters and places.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from offrecord.content import Document, data_folder, read_document
from offrecord.content.letters import WORD, composed, fold_with_origin
from offrecord.records import OffrecordError

Classes = Mapping[str, Sequence[str]]
"""The name of a class of words to its entries, which are phrases themselves."""

_GAP: Final = r"(?:\s+[\w'%-]+){0,6}?"
_SENTENCE: Final = re.compile(r"[^.!?;\n]+(?:[.!?;](?!\s)[^.!?;\n]*)*")
_TOKEN: Final = re.compile(r"\w+")
_STEM: Final = 3  # letters by which stems are kept
_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Plain:
    """A text and the copy in which phrases are looked for."""

    text: str
    """In NFC, as `of` makes it: places count in this."""
    copy: str
    """Folded and in lower case."""
    origin: Sequence[int]
    """The place in `text` of each place of the copy, and of its end."""

    @classmethod
    def of(cls, text: str) -> Plain:
        """Make the copy of a text."""
        text = composed(text)
        if text.isascii():
            return cls(text, text.lower().replace("\t", " "), range(len(text) + 1))
        copy, origin = fold_with_origin(text)
        lower = "".join(c if len(c.lower()) > 1 else c.lower() for c in copy)
        return cls(text, lower, origin)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the text a stretch of the copy stands."""
        return self.origin[start], self.origin[end - 1] + 1 if end > start else start

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Where in the copy each sentence stands; a semicolon ends one too."""
        for sentence in _SENTENCE.finditer(self.copy):
            if sentence.group().strip():
                yield sentence.span()

    @property
    def words(self) -> int:
        """Number of words, as `WORD` tells them."""
        return len(WORD.findall(self.copy))


@cache
def read_lexicon(name: str) -> Document:
    """A word list that ships with the package, e.g. `attribution`."""
    return read_document(data_folder("lexicons") / f"{name}.yaml")


class Phrases:
    """Phrases to be found in a copy: only those that the word at hand can begin.

    Trying a few hundred alternatives at every character is what makes word lists slow,
    so they are kept by their first word, or by the first letters of a stem.
    """

    def __init__(self, phrases: Iterable[str], classes: Classes) -> None:
        """Compile phrases.

        Raises:
            ValueError: If a phrase begins with no letter or digit, or its first word is
                a stem of fewer than three.
            KeyError: If a phrase names a class that is not among these.
        """
        by_word: dict[str, set[str]] = defaultdict(set)
        by_stem: dict[str, set[str]] = defaultdict(set)
        for phrase in _expanded(phrases, classes):
            first = _TOKEN.match(phrase)
            if first is None:
                raise ValueError(phrase)
            if phrase.split()[0] != f"{first.group()}*":
                by_word[first.group()].add(phrase)
            elif len(first.group()) < _STEM:
                raise ValueError(phrase)
            else:
                by_stem[first.group()[:_STEM]].add(phrase)
        self._by_word = {w: re.compile(_any(p, classes)) for w, p in by_word.items()}
        self._by_stem = {w: re.compile(_any(p, classes)) for w, p in by_stem.items()}

    def match(self, copy: str, place: int, end: int) -> re.Match[str] | None:
        """The longest phrase that begins with the word at a place."""
        token = _TOKEN.match(copy, place, end)
        return self._match(copy, token.group(), place, end) if token else None

    def find(self, copy: str, start: int, end: int) -> Iterator[re.Match[str]]:
        """The phrases between two places, from left to right, without overlap."""
        done = start
        for token in _TOKEN.finditer(copy, start, end):
            word = token.group()
            begins = word in self._by_word or word[:_STEM] in self._by_stem
            if not begins or token.start() < done:
                continue
            if match := self._match(copy, word, token.start(), end):
                done = match.end()
                yield match

    def find_all(self, copy: str) -> Iterator[re.Match[str]]:
        """The phrases of a whole copy."""
        return self.find(copy, 0, len(copy))

    def _match(
        self, copy: str, token: str, place: int, end: int
    ) -> re.Match[str] | None:
        word, stem = self._by_word.get(token), self._by_stem.get(token[:_STEM])
        one = word.match(copy, place, end) if word else None
        other = stem.match(copy, place, end) if stem else None
        if one and other:
            return one if one.end() >= other.end() else other
        return one or other


@cache
def lexicon_phrases(lexicon: str, *path: str) -> Phrases:
    """The phrases at one place of a word list.

    Args:
        lexicon: A list that ships with the package; its `classes` may be used.
        path: The keys that lead to the list.

    Raises:
        OffrecordError: If the file has no such list of texts, or a phrase is none.
    """
    document = read_lexicon(lexicon)
    value: Any = document.front
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    where = f"{document.path}: field '{'.'.join(path)}'"
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise OffrecordError(f"{where}: give a list of texts (quote yes, no and true)")
    try:
        return Phrases(value, document.front.get("classes", {}))
    except KeyError as error:
        raise OffrecordError(f"{where}: no class {error} of words") from None
    except ValueError as error:
        raise OffrecordError(
            f"{where}: '{error}': begin with a word, or a stem of three letters"
        ) from None


def _expanded(phrases: Iterable[str], classes: Classes) -> Iterator[str]:
    """The phrases with a class at their head spelled out."""
    for phrase in phrases:
        head, _, rest = phrase.lower().partition(" ")
        if place := _PLACE.fullmatch(head):
            entries = classes[place[1]]
            yield from _expanded(
                (f"{entry} {rest}".strip() for entry in entries), classes
            )
        else:
            yield phrase.lower()


def _any(phrases: Iterable[str], classes: Classes) -> str:
    ordered = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "|".join(_phrase(phrase, classes) for phrase in ordered)


def _phrase(phrase: str, classes: Classes) -> str:
    pattern = ""
    for word in phrase.lower().split():
        if word == "...":
            pattern += _GAP
            continue
        place = _PLACE.fullmatch(word)
        part = f"(?:{_any(classes[place[1]], classes)})" if place else _word(word)
        pattern += rf"\s+{part}" if pattern else part
    return pattern


def _word(word: str) -> str:
    stem = word.removesuffix("*")
    end = r"[\w'-]*" if stem != word else r"(?!\w)" if stem[-1].isalnum() else ""
    return re.escape(stem) + end
