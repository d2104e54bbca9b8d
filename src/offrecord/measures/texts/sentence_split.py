"""Sentences: where one ends and the next begins, for measures that compare them."""

from __future__ import annotations

import re
from typing import Final

from offrecord.measures.texts.nli import NLI_FILE

_ABBREVIATIONS: Final = frozenset(NLI_FILE.front["abbreviations"])
_END: Final = re.compile(r"[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\Wa-z_])|\n+|[。！？]+")
_LAST_WORD: Final = re.compile(r"([^\W\d_](?:[\w.]*\w)?)\.\s+$")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order; none is lost and none is empty.

    A full stop ends one only before a capital, a digit or a letter without case, and
    not after a known abbreviation or a single letter. A line end always does.
    """
    found, start = [], 0
    for end in _END.finditer(text):
        before = text[start : end.end()]
        word = _LAST_WORD.search(before)
        if word and (
            word.group(1).casefold() in _ABBREVIATIONS
            or (len(word.group(1)) == 1 and word.group(1) != "I")
        ):
            continue
        found.append(before.strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]
