"""Text made safe to show: in a terminal, on a page, in a spreadsheet."""

from __future__ import annotations

import unicodedata
from typing import Final

from offrecord.content.letters import fold

STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: controls, formats and directions, surrogates, separators."""

_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BEGINS: Final = ("=", "+", "-", "@", "|", "%")
_SKIPPED: Final = " \n\x0b\x0c'\""  # what stands in front and does not disarm


def escaped(text: str, keep: str = "") -> str:
    """The text with visible escapes for what steers or hides.

    Args:
        text: Any text.
        keep: Characters that stay as they are, such as the ends of lines.
    """
    return "".join(one if one in keep else _shown(one) for one in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) in STEERING:
        return character.encode("unicode_escape").decode("ascii")
    return character


def hidden_character(text: str) -> str | None:
    """The first control or direction character of a text, as `U+001B`, if any."""
    for character in text:
        control = unicodedata.category(character) == "Cc" and character not in "\n\t"
        if control or character in _TURNING:
            return f"U+{ord(character):04X}"
    return None


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    A spreadsheet takes a cell that begins with one of a few characters for a formula,
    also after white space, and some drop invisible characters first. Guard text columns
    and headers; a guard on numbers would make negative ones text. Parquet and JSON hold
    texts as they are.

    Args:
        text: A cell of a text column, or a header.

    Returns:
        The text, with an apostrophe in front if its first character that shows, in its
        plain form (full-width forms and look-alikes included), begins a formula, or if
        it begins with a tab or a carriage return.
    """
    begins = fold(text).lstrip(_SKIPPED).startswith(_BEGINS)
    return f"'{text}" if begins or text.startswith(("\t", "\r")) else text
