"""Replies: what came back from a model, and what of it is spoken."""

from __future__ import annotations

from typing import Final

from offrecord.content.letters import visible_only
from offrecord.content.reasoning import Reasoned, split_reasoning
from offrecord.records import Status

_CUT: Final = "max_tokens"
_OVERFLOW: Final = "model_length"
_FILTER: Final = "content_filter"


LONGEST: Final = 20_000
"""Characters that a reply to be parsed has at most; a longer one states nothing."""


def said_and_thought(text: str) -> Reasoned:
    """A reply in its two parts, as the parsers read it and the history hears it.

    Invisible characters stay where they stand, unless one hides a tag.
    """
    reply = split_reasoning(text)
    if text.isascii():
        return reply
    clean = split_reasoning(visible_only(text))
    hidden = clean.visible.strip() != visible_only(reply.visible).strip()
    return clean if hidden else reply


def spoken_text(text: str) -> str:
    """What a reply says, as it enters a history: no reasoning, nothing invisible.

    Args:
        text: The raw reply.

    Returns:
        Text that can be stored as UTF-8; empty if nothing was said.
    """
    # invisible characters first: taken out of the rest, they could make it a tag
    return split_reasoning(visible_only(text)).visible.strip()


def classify_reply(text: str, stop_reason: str, error: str | None) -> Status:
    """What came back, from the visible text and the stop reason alone.

    Args:
        text: The raw reply.
        stop_reason: As Inspect names it. `model_length`, a prompt that no longer fits,
            is an error; the caller knows it by its stop reason.
        error: Why there is no reply, if there is none.

    Returns:
        One of ok, empty, truncated, filtered, error.
    """
    if error is not None or stop_reason == _OVERFLOW:
        return Status.ERROR
    if stop_reason == _FILTER:
        return Status.FILTERED
    cut = stop_reason == _CUT
    if not spoken_text(text):
        cut = cut or split_reasoning(text).unclosed
        return Status.TRUNCATED if cut else Status.EMPTY
    return Status.TRUNCATED if cut else Status.OK
