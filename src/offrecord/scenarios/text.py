"""Characters that must not hide in a scenario, and labels as they are compared."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def hidden_character(text: str) -> str | None:
    """The first control or direction character of a text, as `U+001B`, if any."""
    for character in text:
        control = unicodedata.category(character) == "Cc" and character not in "\n\t"
        if control or character in _TURNING:
            return f"U+{ord(character):04X}"
    return None


def label_key(label: str) -> str:
    """A label as it is compared: words alone, case folded, compatibility forms undone.

    Two labels with the same key could not be told apart in a reply.
    """
    folded = unicodedata.normalize("NFKC", label).casefold()
    shown = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(re.findall(r"\w+", shown))
