"""Reading one point of a scale off one value: the point, or why there is none.

A value must be one whole number within the scale, alone or beside its wording. Nothing
is rounded, clamped or taken out of prose; two candidates are none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from offrecord.content.labels import normalise
from offrecord.content.letters import is_invisible
from offrecord.measures.replies.survey_json import Cut, Members, Node, Number
from offrecord.measures.wordlists import any_of, compile_any, word_lists

RULES: Final = word_lists("survey")
_WORDS: Final = RULES.front
_PLAIN: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,8})")
_PADDED: Final = re.compile(r"(-?)0+([0-9])(\.0+)?")  # 010 may be eight
_DECIMAL: Final = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_DECORATION: Final = re.compile(r"[*_`$\"]|\\[a-z]{1,12}[ ]*\{|[{}]")
_BESIDE: Final = compile_any(_WORDS["beside"])
_NUMBER_WORD: Final = re.compile(
    rf"(?:({any_of(_WORDS['signs'])})\s+)?({any_of(_WORDS['numbers'])})", re.I
)
_SHARE: Final = re.compile(
    rf"[\s(\[]*([+-]?\d+)\s*(?:{any_of(_WORDS['shares'])})\s*(\d+)[\s.)\]]*", re.I
)
_ALONE: Final = re.compile(
    r"(?P<lead>[\s.,:;()\[\]='—-]*?)(?<![.,\d])(?P<number>[+-]?(?:0{0,9}\d|[1-9]\d{1,3}))"
    r"(?P<part>\.0{1,2}(?!\d)|,0{1,2}(?!\d))?(?P<tail>[\s.,:;()\[\]='!—-]*)"
)
_FRACTION: Final = re.compile(r"\d\s*[.,]\s*\d")


class Point(NamedTuple):
    """A point of the scale, or the reason why there is none."""

    value: int | None
    reason: str = ""
    """Empty where there is a value."""
    repair: str = ""
    """What had to be undone to read the value; empty for a plain number."""


def read_point(
    node: Node, low: int, high: int, words: Mapping[str, int] = MappingProxyType({})
) -> Point:
    """The point that a value states.

    Args:
        node: A value as `read_json` gives it.
        low: The scale's lowest point.
        high: Its highest.
        words: Words that stand for points, as `normalise` has them.
    """
    if isinstance(node, Cut):
        return Point(None, "cut")
    if node is None:
        return Point(None, "null")
    if isinstance(node, Members):
        inner = [value for key, value in node.pairs if normalise(key) in _VALUE_KEYS]
        if len(inner) != 1 or isinstance(inner[0], Members):
            return Point(None, "not a number")
        point = read_point(inner[0], low, high, words)
        return point._replace(repair="nested") if point.value is not None else point
    if isinstance(node, bool | list):
        return Point(None, "not a number")
    said = node.text if isinstance(node, Number) else node
    if (point_named := words.get(normalise(said))) is not None:
        return Point(point_named)
    if isinstance(node, Number):
        if _PLAIN.fullmatch(node.text):
            return _within(int(node.text), low, high, "")
        if _DECIMAL.fullmatch(node.text):
            return _decimal(node.text, low, high)
        return _worded(node.text, low, high)
    return _worded(node, low, high)


_VALUE_KEYS: Final = frozenset(_WORDS["value_keys"])


def _within(value: int, low: int, high: int, repair: str) -> Point:
    if not low <= value <= high:
        return Point(None, "off the scale")
    return Point(value, "", repair)


def _decimal(text: str, low: int, high: int) -> Point:
    number = Decimal(text)
    if padded := _PADDED.fullmatch(text):
        return _within(int(padded[1] + padded[2]), low, high, "leading zero")
    if re.match(r"-?0\d", text):
        return Point(None, "not a number")
    if not low <= number <= high:
        return Point(None, "off the scale")
    if number != int(number):
        return Point(None, "fraction")
    return Point(int(number), "", "whole float")


def _worded(text: str, low: int, high: int) -> Point:
    """The one number of a text that holds nothing but it and words beside it."""
    if len(text) > 200:
        return Point(None, "not a number")
    plain = "".join(map(_plain, text))
    rest = scale_statement(low, high).sub(" ", _DECORATION.sub(" ", plain))
    repair = "text"
    if not any(char.isdigit() for char in rest):
        rest = _NUMBER_WORD.sub(_digits, rest)
        repair = "number word"
    rest = _BESIDE.sub(" ", rest)
    share = _SHARE.fullmatch(rest)
    if share:  # on a scale that has no zero point, N of M counts points
        fits = int(share.group(2)[:9]) == high and low >= 0 and high > 2
        value = int(share.group(1)[:9]) if fits else None
    else:
        value = _alone(rest, low)
    if value is None:
        return Point(None, "fraction" if _FRACTION.search(rest) else "not a number")
    return _within(value, low, high, repair)


def _alone(rest: str, low: int) -> int | None:
    found = _ALONE.fullmatch(rest)
    if found is None:
        return None
    dashed = any(dash in found["lead"] for dash in "-—")
    if dashed and low < 0:  # a dash before a number may be its sign
        return None
    return int(found["number"])


@lru_cache(maxsize=64)
def scale_statement(low: int, high: int) -> re.Pattern[str]:
    """Words that only repeat the scale."""
    return re.compile(
        "|".join(
            r"\s+".join(map(re.escape, wording.format(low=low, high=high).split()))
            for wording in sorted(_WORDS["scales"], key=len, reverse=True)
        ),
        re.IGNORECASE,
    )


def _digits(match: re.Match[str]) -> str:
    sign = _WORDS["signs"][match.group(1).lower()] if match.group(1) else 1
    return f" {sign * _WORDS['numbers'][match.group(2).lower()]} "


def _plain(char: str) -> str:
    """Digits of every script and full-width signs as plain ones, nothing invisible."""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    if char in "\u2212\u2010\u2011":
        return "-"
    if unicodedata.category(char) == "Pd" and char != "-":
        return "—"
    if char.isspace():
        return " "
    return (
        ""
        if is_invisible(char)
        else {"’": "'", "‘": "'", "“": '"', "”": '"'}.get(char, char)
    )
