"""The one guard of texts that go into CSV: spreadsheets must not compute them.

A spreadsheet takes a cell that begins with one of a few characters for a formula, also
after white space, and some drop invisible characters first. An apostrophe in front
makes it text. Guard text columns and headers; a guard on numbers would make negative
ones text. Nothing else is changed; Parquet and JSON hold texts as they are.
"""

from __future__ import annotations

from typing import Final

from offrecord.content.letters import fold

_BEGINS: Final = ("=", "+", "-", "@", "|", "%")
_SKIPPED: Final = " \n\x0b\x0c'\""  # what stands in front and does not disarm
_RAW: Final = ("\t", "\r")


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    Args:
        text: A cell of a text column, or a header.

    Returns:
        The text, with an apostrophe in front if its first character that shows, in its
        plain form (full-width forms and look-alikes included), begins a formula, or if
        it begins with a tab or a carriage return.
    """
    if text.startswith(_RAW) or fold(text).lstrip(_SKIPPED).startswith(_BEGINS):
        return f"'{text}"
    return text
