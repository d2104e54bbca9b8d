"""Text made safe to print: what would steer a terminal is shown as an escape."""

from __future__ import annotations

import unicodedata
from typing import Final

STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: controls, formats and directions, surrogates, separators."""


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
