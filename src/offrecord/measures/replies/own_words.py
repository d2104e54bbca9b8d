"""Own words: the copy of a reply in which the speaker's own statements stand.

Quotations, lines that quote, tables, ticked lists, struck-out words and turns written
for somebody else are taken out; where something was, a mark stands that no rule
crosses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from offrecord.content.labels import normalise, plain_copy
from offrecord.content.turns import SPEAKERS
from offrecord.measures.replies.ownership import ownership
from offrecord.measures.wordlists import any_of, language_lists
from offrecord.records import ENGLISH

GONE: Final = "\ufffc"
"""Stands where something was taken out."""

_STRUCK: Final = re.compile(
    r"~~[^~]+~~|<(s|del|strike)>.*?</\1\s*>|(?:[^\n][\u0335\u0336])+", re.DOTALL | re.I
)
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
_TAG: Final = re.compile(r"<(/?)[a-z][a-z0-9]{0,9}\s*/?>", re.IGNORECASE)
_NOT_OWN: Final = re.compile(
    r"^[ ]*(?:>|\||(?:-[ ]+)?\[[ ]?[xX✓✔]?[ ]?\]|(?:-[ ]+)?[☐☑☒]).*$", re.MULTILINE
)
_DOUBLE: Final = re.compile(r'"((?:[^"\n]|\n(?!\s*\n))*)"')
_SINGLE: Final = re.compile(r"(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))*)'(?!\w)")
_TURN: Final = re.compile(
    rf"^[ #-]*(?:the[ ]+)?({any_of(SPEAKERS)})[ ]*(?:\([^)\n]*\))?[ ]*:",
    re.MULTILINE | re.IGNORECASE,
)


class _Cues(NamedTuple):
    tag: re.Pattern[str]
    quoted: frozenset[str]


@cache
def _cues(language: str) -> _Cues:
    cues = language_lists("stance", language)["cues"]
    tag = re.compile(rf"<({any_of(cues)})>", re.IGNORECASE)
    return _Cues(tag, frozenset(map(normalise, cues)))


def own_words(
    said: str, is_label: Callable[[str], bool], language: str = ENGLISH
) -> str:
    """The plain copy of what was said, with only the speaker's own words in it.

    Args:
        said: A reply without reasoning.
        is_label: Whether a quoted text is nothing but a label: such quotation marks
            are decoration.
        language: Of the text.
    """
    if "~" in said or "<" in said or "\u0336" in said or "\u0335" in said:
        said = _STRUCK.sub(" ", said)
        said = _TAG.sub(_tag_end, _cues(language).tag.sub(r"\1: ", said))
    if "```" in said or "~~~" in said:
        said = _FENCE.sub("", said)
    copy = _NOT_OWN.sub(GONE, plain_copy(said))
    if '"' in copy or "'" in copy:
        copy = _unquoted(copy, is_label, language)
    return _until_other_turn(copy)


def _tag_end(tag: re.Match[str]) -> str:
    return "\n" if tag.group(1) else " "


def _unquoted(copy: str, is_label: Callable[[str], bool], language: str) -> str:
    cues, owner = _cues(language).quoted, ownership(language)
    whole = copy.strip()
    if whole.count('"') == 2 and whole[0] == whole[-1] == '"':
        return whole[1:-1]

    def bare(quotation: re.Match[str]) -> str:
        inner = quotation.group(1)
        if owner.is_said_by_other(quotation.string, quotation.end()):
            return GONE
        decoration = normalise(inner) in cues or is_label(inner)
        return f" {inner} " if decoration else GONE

    return _SINGLE.sub(bare, _DOUBLE.sub(bare, copy))


def _until_other_turn(copy: str) -> str:
    """The copy up to where the reply goes on as somebody else."""
    own = None
    for turn in _TURN.finditer(copy):
        name = turn.group(1).casefold()
        if not copy[: turn.start()].strip():
            own = name
        elif name != own:
            return copy[: turn.start()]
    return copy
