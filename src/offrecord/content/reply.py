"""Replies: what came back from a model, and what of it is spoken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from offrecord.content.document import data_folder, read_document
from offrecord.content.letters import visible_only
from offrecord.content.reasoning import Reasoned, split_reasoning
from offrecord.content.signs import part_by_label
from offrecord.content.turns import split_turn
from offrecord.records import Status

_CUT: Final = "max_tokens"
_OVERFLOW: Final = "model_length"
_FILTER: Final = "content_filter"
_PAGE: Final = re.compile(
    r"\s*(?:{})\s*".format(
        "|".join(read_document(data_folder("parsing") / "failures.yaml").front["pages"])
    ),
    re.IGNORECASE | re.DOTALL,
)


LONGEST: Final = 20_000
"""Characters that a reply to be parsed has at most; a longer one states nothing."""


def said_and_thought(text: str, labels: Sequence[str] = ()) -> Reasoned:
    """A reply in its two parts, as the parsers read it and the history hears it.

    Invisible characters stay where they stand, unless one hides a tag.

    Args:
        text: The raw reply.
        labels: As `spoken_text` takes them.
    """
    reply = part_by_label(split_turn(text), labels)
    shown = visible_only(text)
    if shown == text:
        return reply
    clean = part_by_label(split_turn(shown), labels)
    hidden = clean.visible.strip() != visible_only(reply.visible).strip()
    return clean if hidden else reply


def spoken_text(text: str, labels: Sequence[str] = (), *, cut: bool = False) -> str:
    """What a reply says, as it enters a history: no reasoning, nothing invisible.

    Args:
        text: The raw reply.
        labels: The decision labels. Where a reply holds thinking that no mark parts,
            only what follows its last label that heads a line is said; without labels
            to look for, all of it.
        cut: Whether the reply was cut off: then one that holds such thinking may not
            have come to its answer, and nothing is said.

    Returns:
        Text that can be stored as UTF-8; empty if nothing was said.
    """
    reply = _heard(text, labels)
    return "" if cut and reply.guessed else reply.visible.strip()


def _heard(text: str, labels: Sequence[str]) -> Reasoned:
    # invisible characters first: taken out of the rest, they could make it a tag
    return part_by_label(split_turn(visible_only(text)), labels, aloud=True)


def spoken_row(row: Mapping[str, Any]) -> str:
    """What a row of a transcript says, as the debate heard it."""
    cut = row["status"] == Status.TRUNCATED
    return spoken_text(row["text"] or "", row["labels"] or (), cut=cut)


def is_guessed(text: str, labels: Sequence[str]) -> bool:
    """Whether a reply holds thinking that no mark parts from what is said.

    Args:
        text: The raw reply.
        labels: As `spoken_text` takes them.
    """
    return _heard(text, labels).guessed


def is_error_page(text: str) -> bool:
    """Whether a text is nothing but what a server says of an error of its own."""
    return _PAGE.fullmatch(text) is not None


def classify_reply(text: str, stop_reason: str, error: str | None) -> Status:
    """What came back, from the text and the stop reason alone.

    Args:
        text: The raw reply.
        stop_reason: As Inspect names it. `model_length`, a prompt that no longer fits,
            is an error; the caller knows it by its stop reason.
        error: Why there is no reply, if there is none.

    Returns:
        One of ok, empty, truncated, filtered, error.
    """
    if error is not None or stop_reason == _OVERFLOW or is_error_page(text):
        return Status.ERROR
    if stop_reason == _FILTER:
        return Status.FILTERED
    cut = stop_reason == _CUT
    if not spoken_text(text):
        cut = cut or split_reasoning(text).unclosed
        return Status.TRUNCATED if cut else Status.EMPTY
    return Status.TRUNCATED if cut else Status.OK
