"""Reading an object that was meant to be JSON, without adding to it.

Strict JSON is read as such. What fails is read by a forgiving reader: other quotation
marks, bare words, comments, missing or extra commas, a missing end. It keeps every
member beside its own key, repeated keys too, and gives up what was cut.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, NamedTuple

_DEPTH: Final = 20
_LONGEST_KEY: Final = 120
_CLOSERS: Final = {
    '"': '"',
    "'": "'",
    "“": "”“",
    "”": "”",
    "„": "“”",
    "‘": "’",
    "’": "’",
}
_CLOSERS_TOO: Final = {"«": "»", "`": "`", "＂": "＂"}
_CLOSING: Final = _CLOSERS | _CLOSERS_TOO
_QUOTES: Final = "".join(_CLOSING)
_SKIP: Final = re.compile(
    r"(?:[\s,;\ufeff\u200b-\u200d\u2060，；]|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.S
)
_BLANK: Final = re.compile(
    r"(?:[\s\ufeff\u200b-\u200d\u2060]|//[^\n]*|/\*.*?\*/)*", re.S
)
_COLON: Final = re.compile(r"[\s\ufeff\u200b-\u200d\u2060]*(?:=>|[:=：])")
_KEY: Final = re.compile(
    rf"[^\s:=：,，{{}}\[\]{_QUOTES}][^\n:=：,，{{}}\[\]{_QUOTES}]{{0,60}}"
)
_BARE: Final = re.compile(
    r"[^\n,，;；{}｛｝\[\]\"“”/#]*(?:/(?![/*])[^\n,，;；{}｛｝\[\]\"“”/#]*)*"
)
_VALUE_ENDS: Final = re.compile(r"\s*(?:[,，;；}｝\]]|//|#|/\*|\n|\Z)|[ \t]*\r?\n")
_NEXT: Final = re.compile(r"[,，;；\n}｝\]]")
_WORDS: Final = {"null": None, "none": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written: its digits are judged elsewhere."""

    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A value that the end of the reply may have cut short."""


class Members(NamedTuple):
    """The members of an object in order, repeated keys kept."""

    pairs: list[tuple[str, Node]]


Node = Members | list["Node"] | Number | Cut | str | bool | None


class Read(NamedTuple):
    """What was read, from where to where, and whether it was strict JSON."""

    node: Node
    start: int
    end: int
    strict: bool


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=Members,
    parse_int=Number,
    parse_float=Number,
    parse_constant=Number,
)


def read_json(text: str, place: int) -> Read:
    """Read the object or array that begins at a place.

    Args:
        text: The whole reply.
        place: The place of its opening bracket.
    """
    try:
        node, end = _STRICT.raw_decode(text, place)
        return Read(node, place, end, True)
    except (ValueError, RecursionError):
        node, end = _value(text, place, 0)
        return Read(node, place, end, False)


def _value(text: str, place: int, depth: int) -> tuple[Node, int]:
    """One value, and the place after it."""
    char = text[place : place + 1]
    if depth > _DEPTH or not char:
        return Cut(), len(text)
    if char in "{｛":
        return _members(text, place + 1, depth)
    if char == "[":
        return _array(text, place + 1, depth)
    if char in _CLOSING:
        return _string(text, place, key=False)
    bare = _BARE.match(text, place)
    end = max(bare.end() if bare else place, place)
    word = text[place:end].strip()
    if end == len(text) and text.endswith(word):
        return Cut(), end
    if word.casefold() in _WORDS:
        return _WORDS[word.casefold()], end
    return Number(word), end


def _members(text: str, place: int, depth: int) -> tuple[Members, int]:
    pairs: list[tuple[str, Node]] = []
    while True:
        place = _skip(text, place)
        char = text[place : place + 1]
        if not char or char in "}｝":
            return Members(pairs), place + len(char)
        key, after = _key(text, place)
        colon = _COLON.match(text, after) if key is not None else None
        if key is None or colon is None:
            following = _NEXT.search(text, max(after, place + (char in "]")))
            if following is None:
                return Members(pairs), len(text)
            place = following.start() + (following.group() == "]")
            continue
        blank = _BLANK.match(text, colon.end())
        value, place = _value(text, blank.end() if blank else colon.end(), depth + 1)
        pairs.append((key, value))


def _array(text: str, place: int, depth: int) -> tuple[list[Node], int]:
    values: list[Node] = []
    while True:
        place = _skip(text, place)
        char = text[place : place + 1]
        if not char or char == "]":
            return values, place + len(char)
        value, after = _value(text, place, depth + 1)
        values.append(value)
        if after == place:
            return values, after
        place = after


def _key(text: str, place: int) -> tuple[str | None, int]:
    if text[place] in _CLOSING:
        key, end = _string(text, place, key=True)
        return (key if isinstance(key, str) else None), end
    bare = _KEY.match(text, place)
    return (bare.group(), bare.end()) if bare else (None, place + 1)


def _string(text: str, start: int, *, key: bool) -> tuple[str | Cut, int]:
    """A quoted text: it ends at the first closing mark that something can follow."""
    closers, ends = _CLOSING[text[start]], _COLON if key else _VALUE_ENDS
    place = start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text[place] in closers and ends.match(text, place + 1):
            return text[start + 1 : place], place + 1
        elif key and (text[place] == "\n" or place > start + _LONGEST_KEY):
            break
        else:
            place += 1
    return Cut(), place if key else len(text)


def _skip(text: str, place: int) -> int:
    skipped = _SKIP.match(text, place)
    return skipped.end() if skipped else place
