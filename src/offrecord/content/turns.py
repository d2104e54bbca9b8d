"""Turns: where a reply ends, and what runs on behind it begins."""

from __future__ import annotations

import re
from typing import Final

from offrecord.content.document import data_folder, read_document
from offrecord.content.reasoning import Reasoned, split_reasoning

_DOCUMENT: Final = read_document(data_folder("parsing") / "turns.yaml")
TURN_RULES: Final = _DOCUMENT.hash
"""The hash of the list of marks, part of every parser's version."""

SPEAKERS: Final[tuple[str, ...]] = tuple(_DOCUMENT.front["speakers"])
"""Names under which a reply that runs on writes somebody else's turn."""

_BEGIN: Final = re.compile(
    rf"\s*(?:{'|'.join(_DOCUMENT.front['begins'])})", re.IGNORECASE
)
_END: Final = re.compile("|".join(_DOCUMENT.front["ends"]), re.IGNORECASE)
_NAMED: Final = (
    rf"(?i:(?:the )?(?P<name>{'|'.join(SPEAKERS)}))[*_ ]*(?:\([^)\n]*\))?[*_ ]*[:：]"
)
_NAMES: Final = "|".join([_NAMED, *_DOCUMENT.front["played"]])
_TURN: Final = re.compile(rf"^[ \t]*(?:#+[ \t]+)?[*_\"']*(?:{_NAMES})", re.MULTILINE)
_TRIES: Final = 8  # marks inside thinking, before the one that ends the turn


def split_turn(text: str) -> Reasoned:
    """Part what one turn says from its thinking, and leave out all behind its end.

    A mark that ends a turn ends this one where something is said before it: inside
    thinking it ends only that.

    Args:
        text: The raw reply.
    """
    while begin := _BEGIN.match(text):
        text = text[begin.end() :]
    reply = split_reasoning(text)
    for _, end in zip(range(_TRIES), _END.finditer(text), strict=False):
        if _is_opened(text, end):
            continue
        before = split_reasoning(text[: end.start()])
        if before.visible.strip():
            reply = before
            break
    visible = _own_turn(reply.visible)
    ends = (mark for mark in _END.finditer(visible) if not _is_opened(visible, mark))
    if last := next(ends, None):
        visible = visible[: last.start()]
    if visible == reply.visible:
        return reply
    return Reasoned(visible, reply.reasoning, reply.unclosed)


def _is_opened(text: str, end: re.Match[str]) -> bool:
    """Whether a mark closes what the text itself opened: `</s>` ends struck words."""
    mark = end.group()
    return mark.startswith("</") and f"<{mark[2:]}" in text[: end.start()]


def _own_turn(said: str) -> str:
    """What is said up to where the reply goes on as somebody else."""
    own = None
    for turn in _TURN.finditer(said):
        name = (turn["name"] or turn.group()).casefold()
        if not said[: turn.start()].strip():
            own = name
        elif name != own:
            return said[: turn.start()].rstrip()
    return said
