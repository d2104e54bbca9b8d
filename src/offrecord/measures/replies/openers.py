"""Openers: what a reply says before its statement about who hears it."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from offrecord.content.labels import LabelSet, plain_copy, plain_copy_with_origin
from offrecord.content.letters import composed
from offrecord.measures.replies.ownership import ownership
from offrecord.measures.wordlists import any_of, compile_any, language_lists
from offrecord.records import ENGLISH

_LONGEST: Final = 240  # characters of all openers


class _Words(NamedTuple):
    first: re.Pattern[str]
    clause: re.Pattern[str]
    third: re.Pattern[str]
    cue_last: re.Pattern[str]
    set_against: re.Pattern[str]


@cache
def _words(language: str) -> _Words:
    lists = language_lists("stance", language)
    frank = (f"{one} {word}" for one in lists["frank_leads"] for word in lists["frank"])
    opener = any_of([*lists["openers"], *frank])
    cues = any_of({*lists["cues"]} - {*lists["openers"]}, r"(?<![\w-])")
    opens = rf"[\s#(\[-]*(?P<words>(?P<opener>{opener})"
    clause = (
        rf"{opens}[^\n,:;—.!?()\[\]{{}}\"]{{0,120}}?"
        rf"|(?P<vocative>{any_of(lists['vocatives'])}))"
        r"\s*(?:[,:;.!—)\]]|\n|-(?=\s))[.,:;!—)\]]*(?:\s+[.—]+)*\s*"
    )
    set_against = (
        rf"(?:^|[.!?;:—,(\n]|\s-)\s*(?:(?:{any_of(lists['turns'])})\s*)?"
        rf"(?:{any_of(lists['set_against'])})"
    )
    return _Words(
        re.compile(f"{opens}|{any_of(lists['vocatives'])})", re.IGNORECASE),
        re.compile(clause, re.IGNORECASE),
        compile_any(lists["third"]),
        re.compile(rf"(?:{cues})[\s\"']*(?:{any_of(lists['joins'])})?$", re.IGNORECASE),
        re.compile(set_against, re.IGNORECASE),
    )


class Past(NamedTuple):
    """Where the openers of a plain copy end."""

    place: int
    """Where the reply itself begins; 0 if no opener heads it."""
    bare: bool
    """Whether the openers are nothing but their own words."""


def past_openers(copy: str, known: LabelSet, language: str = ENGLISH) -> Past:
    """Where, behind the openers of a plain copy, the reply itself begins.

    An opener is a clause that tells who hears the reply, or that it is frank. It names
    no one else, no label and no cue, so that what is stated stands behind it.

    Args:
        copy: A plain copy.
        known: The labels.
        language: Of the text.
    """
    place, bare, patterns = 0, True, _words(language)
    while place < _LONGEST and (clause := patterns.clause.match(copy, place)):
        words = clause["words"]
        opener = clause["opener"] or clause["vocative"]
        rest = words.removeprefix(opener)
        if rest and patterns.cue_last.search(words):
            break
        if patterns.third.search(rest):
            break
        if not ownership(language).is_own(rest, cue=False):
            break
        if known.head(copy, place) or known.whole.search(words):
            break
        bare = bare and not rest
        place = clause.end()
    return Past(place, bare)


def without_openers(said: str, known: LabelSet, language: str = ENGLISH) -> str:
    """What is said behind its openers: all of it if it has none.

    Args:
        said: A reply without reasoning.
        known: The labels.
        language: Of the text.
    """
    if not _words(language).first.match(plain_copy(said[:_LONGEST])):
        return said
    text = composed(said)
    copy, origin = plain_copy_with_origin(text)
    return text[origin[past_openers(copy, known, language).place] :]


def is_set_against(copy: str, place: int, language: str = ENGLISH) -> bool:
    """Whether behind a place another channel's statement is set against this one's."""
    return bool(_words(language).set_against.search(copy, place))
