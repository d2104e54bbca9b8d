"""Openers: what a reply says before its label about who hears it, in any channel."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from offrecord.content.labels import Found, LabelSet
from offrecord.measures.replies.ownership import is_own
from offrecord.measures.wordlists import any_of, compile_any, word_lists

_WORDS: Final = word_lists("stance").front
_OPENER: Final = re.compile(
    rf"[\s#\"'(\[{{-]*(?:{any_of(_WORDS['openers'])})(?P<alone>[\s\"')\]}}]*[,:;.—-]*)",
    re.IGNORECASE,
)
_THIRD: Final = compile_any(_WORDS["third"])
_SET_AGAINST: Final = compile_any(_WORDS["set_against"])
_CLAUSE_END: Final = re.compile(r"(?:[,:;—.!)\]]|\n|\s-)[\s\"'(\[]*$")
_LONGEST: Final = 240  # characters before the label


class Opened(NamedTuple):
    """The label behind an opener."""

    found: Found
    alone: bool
    """Whether nothing but the opener stands before it."""


def opened(copy: str, known: LabelSet) -> Opened | None:
    """The one label of a reply, where an opener leads to it.

    It must be written as no word of a sentence, begin a clause, be parted from its
    reasons and be the only label that the reply states; the opener must speak of no one
    else.

    Args:
        copy: A plain copy.
        known: The labels.
    """
    opener = _OPENER.match(copy)
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
    if _SET_AGAINST.search(copy, mentions[0].end):
        return None
    between = before[opener.start("alone") :]
    if _THIRD.search(between) or not is_own(before, cue=False):
        return None
    return Opened(mentions[0], between.strip() == opener["alone"].strip())
