"""Counts of markers in one text, without a table: a guard counts them too."""

from __future__ import annotations

import re
from typing import Any, Final

from offrecord.measures.codes.phrases import (
    Phrases,
    Plain,
    lexicon_phrases,
    read_lexicon,
)
from offrecord.measures.texts.preparation import PREPARATION_VERSION

_LEXICON: Final = read_lexicon("markers")
MARKERS_VERSION: Final = f"markers-1:{PREPARATION_VERSION}:{_LEXICON.stamp}"
"""The version of the counts: code, text preparation, and the stamp of the word list."""

COUNTED: Final = ("hedges", "boosters", "partner_credit")
"""The word lists whose phrases are counted."""

PERSONS: Final = ("first_singular", "first_plural", "second_person")
"""Those of pronouns."""


def count_markers(text: str) -> dict[str, Any]:
    """The features of one text, by the names of the columns of `markers`.

    Args:
        text: What was said, without reasoning and label, not empty.
    """
    plain = Plain.of(text)
    words = plain.words
    counts = {
        name: len([*_phrases(name).find_all(plain.copy)])
        for name in (*COUNTED, *PERSONS)
    }
    persons = sum(counts[name] for name in PERSONS)
    first = re.search(r"\w", plain.copy)
    opening = first and _phrases("concession_openings").match(
        plain.copy, first.start(), len(plain.copy)
    )
    return {
        "words": words,
        "sentences": len([*plain.sentences()]),
        "concession_opening": bool(opening),
        **counts,
        **{f"{name}_per_100": 100 * count / words for name, count in counts.items()},
        **{
            f"{name}_ratio": counts[name] / persons if persons else None
            for name in PERSONS
        },
    }


def _phrases(name: str) -> Phrases:
    return lexicon_phrases("markers", name)
