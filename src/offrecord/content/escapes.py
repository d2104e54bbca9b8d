"""Text made safe to print: what would steer a terminal is shown as an escape."""

from __future__ import annotations

import unicodedata
from typing import Final

STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: controls, formats and directions, surrogates, separators."""


def escaped(text: str) -> str:
    """The text on one line, with visible escapes for what steers or hides."""
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if unicodedata.category(character) in STEERING:
        return character.encode("unicode_escape").decode("ascii")
    return character
