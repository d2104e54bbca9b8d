"""Letters: one plain copy of a text in which labels can be matched.

The copy has compatibility letters, look-alikes and styled letters as plain ones,
hyphens, dashes and quotation marks in one form each, and nothing invisible. It keeps
the case and the lines, and in lower case it has the same length. The original is never
changed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby
from typing import Final

from offrecord.content.document import data_folder, read_document

_LETTERS: Final = read_document(data_folder("parsing") / "letters.yaml")
LETTER_RULES: Final = _LETTERS.hash
"""The hash of the list of letters."""

_MARKS: Final = frozenset("\u0305\u0332\u0333\u034f\u20e3")  # drawn over a letter
_FILLERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF))
_JOINERS: Final = "\u200c\u200d"  # part of the spelling in some scripts, and of emoji
_LINE_ENDS: Final = frozenset("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
_HYPHENS: Final = frozenset("-\u2010\u2011\u2043\u2212\ufe63\uff0d")
_DOUBLE: Final = frozenset('"\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u300c\u300d')
_DOUBLE_TOO: Final = frozenset("\u300e\u300f\u301d\u301e\u301f\uff02")
_SINGLE: Final = frozenset("'\u2018\u2019\u201a\u201b\u2032\u02bc\uff07\u2039\u203a")
_STYLED: Final = (0x1F150, 0x1F170, 0x1F1E6)  # where A stands in alphabets of signs


_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+(?:['-][^\W{_UNSPACED}]+)*")
"""A word: letters or digits with what joins them; in Chinese and Japanese, which are
written without blanks, each character."""


def is_invisible(char: str) -> bool:
    """Whether a character shows nothing and parts nothing."""
    if " " <= char <= "~" or char in _LINE_ENDS or char == "\t":
        return False
    if char in _FILLERS or unicodedata.category(char) in {"Cf", "Cc", "Cs"}:
        return True
    return any(low <= ord(char) <= high for low, high in _SELECTORS)


def is_mark(char: str) -> bool:
    """Whether a character is written on the letter before it and is part of a word."""
    return unicodedata.category(char)[0] == "M"


@cache
def mark_ranges() -> str:
    """All such characters, as the inside of a pattern's class."""
    codes = [code for code in range(0x300, 0x20000) if is_mark(chr(code))]
    runs = groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ends = ([code for _, code in run] for _, run in runs)
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in ends)


def _look_alikes() -> dict[str, str]:
    return {
        alike: f"{plain} " if alike in _LETTERS.front["spaced"] else plain
        for entry in _LETTERS.front["alike"]
        for alike, plain in zip(entry["from"], entry["to"], strict=True)
    }


class _Folding(dict[int, str | None]):
    """What each character becomes, found out when it is first met."""

    def __init__(self) -> None:
        super().__init__()
        self.alike = _look_alikes()

    def __missing__(self, code: int) -> str | None:
        self[code] = plain = self.plain(chr(code))
        return plain

    def plain(self, char: str) -> str | None:
        if char in _LINE_ENDS:
            return "\n"
        if is_invisible(char) or char in _MARKS:
            return None
        if char in _HYPHENS:
            return "-"
        if char in _DOUBLE or char in _DOUBLE_TOO:
            return '"'
        if char in _SINGLE:
            return "'"
        if char in self.alike:
            return self.alike[char]
        for first in _STYLED:
            if first <= ord(char) < first + 26:
                return chr(ord("A") + ord(char) - first)
        category = unicodedata.category(char)
        if category == "Pd":
            return "—"
        return " " if category == "Zs" or char == "\t" else _compatible(char)


def _compatible(char: str) -> str:
    return "".join(
        part for part in unicodedata.normalize("NFKC", char) if not is_invisible(part)
    )


_TABLE: Final = _Folding()
_FOLDABLE: Final = re.compile(r"[^\n -~—]")
_LINE_END: Final = re.compile(r"\r\n?")


def fold(text: str) -> str:
    """The plain copy of a text: see the module."""
    if not _FOLDABLE.search(text):
        return text
    return composed(text).translate(_TABLE)


def fold_with_origin(text: str) -> tuple[str, list[int]]:
    r"""The plain copy, and for each of its characters the place it came from.

    Args:
        text: A text in NFC with `\\n` line ends, as `composed` makes it.

    Returns:
        The copy, and indices into `text`, with one more for the end.
    """
    copy, origin = [], []
    for index, char in enumerate(text):
        plain = _TABLE[ord(char)] or ""
        copy.append(plain)
        origin += [index] * len(plain)
    return "".join(copy), [*origin, len(text)]


def composed(text: str) -> str:
    r"""The text in NFC with `\\n` line ends: the same to the eye."""
    return unicodedata.normalize("NFC", _LINE_END.sub("\n", text))


def storable(text: str) -> str:
    """The text fit to be stored as UTF-8.

    Halves of surrogate pairs are joined; single ones, which stand for nothing, go.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def visible_only(text: str) -> str:
    """The text without invisible characters, fit to be stored as UTF-8.

    Halves of surrogate pairs are joined, single ones become U+FFFD. Joiners between
    other characters stay, since they are spelling in some scripts, and so do variation
    selectors after a character. A text with nothing to see is empty.
    """
    if text.isascii() and text.isprintable():
        return text if text.strip() else ""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole = _LINE_END.sub("\n", whole)
    if not fold(whole).strip():
        return ""
    return "".join(
        char
        for char in whole
        if not is_invisible(char) or char in _JOINERS or "\ufe00" <= char <= "\ufe0f"
    )
