"""Openers: what a reply says before its label about who hears it, in any channel."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from offrecord.content.labels import Found, LabelSet
from offrecord.measures.replies.ownership import ownership
from offrecord.measures.wordlists import any_of, compile_any, language_lists
from offrecord.records import ENGLISH

_CLAUSE_END: Final = re.compile(r"(?:[,:;—.!)\]]|\n|\s-)[\s\"'(\[]*$")
_LONGEST: Final = 240  # characters before the label


class _Words(NamedTuple):
    opener: re.Pattern[str]
    third: re.Pattern[str]
    set_against: re.Pattern[str]


@cache
def _words(language: str) -> _Words:
    words = language_lists("stance", language)
    opener = (
        rf"[\s#\"'(\[{{-]*(?:{any_of(words['openers'])})"
        r"(?P<alone>[\s\"')\]}]*[,:;.—-]*)"
    )
    return _Words(
        re.compile(opener, re.IGNORECASE),
        compile_any(words["third"]),
        compile_any(words["set_against"]),
    )


class Opened(NamedTuple):
    """The label behind an opener."""

    found: Found
    alone: bool
    """Whether nothing but the opener stands before it."""


def opened(copy: str, known: LabelSet, language: str = ENGLISH) -> Opened | None:
    """The one label of a reply, where an opener leads to it.

    It must be written as no word of a sentence, begin a clause, be parted from its
    reasons and be the only label that the reply states; the opener must speak of no one
    else.

    Args:
        copy: A plain copy.
        known: The labels.
        language: Of the text.
    """
    words = _words(language)
    opener = words.opener.match(copy)
    if opener is None:
        return None
    mentions = [
        found
        for match in known.whole.finditer(copy)
        if (found := known.at(copy, match.start())) is not None and found.capitals
    ]
    if len({one.label for one in mentions}) != 1 or mentions[0].after != "parted":
        return None
    before = copy[: mentions[0].start]
    if len(before) > _LONGEST or not _CLAUSE_END.search(before):
        return None
    if words.set_against.search(copy, mentions[0].end):
        return None
    between = before[opener.start("alone") :]
    if words.third.search(between) or not ownership(language).is_own(before, cue=False):
        return None
    return Opened(mentions[0], between.strip() == opener["alone"].strip())
