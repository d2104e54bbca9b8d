"""Whose answers a survey's reply holds: the speaker's own, or somebody else's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from offrecord.content.labels import normalise
from offrecord.content.letters import fold
from offrecord.measures.replies.ownership import sentence_before
from offrecord.measures.replies.survey_value import RULES
from offrecord.measures.wordlists import any_of, compile_any

_WORDS: Final = RULES.front
_NEAR: Final = 400  # characters beside answers
_OTHERS: Final = any_of(_WORDS["others"])
_BEFORE: Final = re.compile(
    rf"{any_of(_WORDS['not_own'])}|(?:{_OTHERS})(?:'s|s')?\s+"
    rf"(?:\w+\s+){{0,2}}?(?:{any_of(_WORDS['others_do'])})|(?:{_OTHERS})(?:'s|s')\s|"
    rf"(?:by|for|from|to|of)\s+(?:the|my)\s+(?:\w+\s+)?(?:{_OTHERS})\W*$",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(rf"[\s.,;:)]*(?:{any_of(_WORDS['not_here'])})", re.I)
_KEY: Final = compile_any([*_WORDS["others"], *_WORDS["other_keys"]])


def are_others(said: str, start: int, end: int) -> bool:
    """Whether words beside answers say that somebody else gives them, or not here.

    Args:
        said: The reply without reasoning.
        start: Where the answers begin.
        end: Where they end.
    """
    lead = fold(said[max(0, start - _NEAR) : start])
    before = sentence_before(lead, len(lead)).rpartition("}")[2]
    return bool(_BEFORE.search(before) or _AFTER.match(fold(said[end : end + _NEAR])))


def is_others_key(key: str) -> bool:
    """Whether the key of an object says that it holds somebody else's answers."""
    return bool(_KEY.search(normalise(key.replace("_", " "))))


@lru_cache(maxsize=64)
def _reversed(low: int) -> re.Pattern[str]:
    phrases = (phrase.replace("{low}", str(low)) for phrase in _WORDS["reversed"])
    return re.compile("|".join(map(re.escape, phrases)), re.IGNORECASE)


def is_reversed(around: str, low: int) -> bool:
    """Whether the words around answers turn the scale round.

    Args:
        around: What a reply says beside them.
        low: The lowest point of the scale that was asked for.
    """
    return bool(_reversed(low).search(" ".join(around.split())))
