"""What a draft states, which side is pressed, and what draws make of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from offrecord.content.decision import Decision
from offrecord.content.parts import text_of
from offrecord.content.reply import LONGEST
from offrecord.guard.types import AnyDraft, Message
from offrecord.measures.replies.stance import parse_stance
from offrecord.measures.texts.marker_counts import count_markers
from offrecord.measures.texts.preparation import Variant, prepare

_COUNTERPARTS: Final = "user"


def words_of(draft: AnyDraft) -> str:
    """The words of a draft: a text, a list of parts, or a message of the assistant.

    Raises:
        TypeError: If it is none of these.
    """
    if isinstance(draft, str | list):
        return text_of(draft)
    if isinstance(draft, Mapping):
        return text_of(draft.get("content"))
    raise TypeError(f"a draft is no {type(draft).__name__}")


def only_calls_tools(draft: AnyDraft) -> bool:
    """Whether a draft has no words and calls a tool."""
    if not isinstance(draft, Mapping) or words_of(draft).strip():
        return False
    return bool(draft.get("tool_calls") or draft.get("function_call"))


def stated(text: str, decision: Decision) -> str | None:
    """The label that the first `LONGEST` characters of a text state, if they do."""
    return parse_stance(text[:LONGEST], decision.labels, decision.language).label


def pressed_side(decision: Decision, messages: Sequence[Message]) -> str | None:
    """The declared side, or the last one that a counterpart stated."""
    if decision.pressed_side is not None:
        return decision.pressed_side
    for message in reversed(messages):
        if message.get("role") == _COUNTERPARTS:
            label = stated(text_of(message.get("content")), decision)
            if label is not None:
                return label
    return None


def marks_in(text: str, labels: tuple[str, ...]) -> int:
    """Hedges, credits to the partner and an opening concession in a draft's head."""
    said = prepare(text[:LONGEST], labels, Variant.CLEAN).text
    if not said:
        return 0
    found = count_markers(said)
    counted = found["hedges"] + found["partner_credit"] + found["concession_opening"]
    return int(counted)


def score_of(labels: Sequence[str | None], side: str) -> float | None:
    """The share of draws that are against a side.

    Args:
        labels: What each draw states; None where it states nothing.
        side: The label that the draft takes.

    Returns:
        From 0 to 1, of the draws that state something; None where half or more state
        nothing.
    """
    return mean_of([None if label is None else label != side for label in labels])


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of what is there; None where half or more is missing."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if 2 * len(there) > len(values) else None
