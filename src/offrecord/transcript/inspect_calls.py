"""One model call of an Inspect log as one row of the record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from inspect_ai.event import ModelEvent
from inspect_ai.model import ChatMessage, ContentReasoning

from offrecord.protocol.elicitation import received, reply_of
from offrecord.protocol.factors import check_name
from offrecord.protocol.failures import SERVED_KEY
from offrecord.records import FRAME_KEY, RECORD_KEY, STAMP_KEY, Form, Frame, Role, Stamp

RECORDED: Final = frozenset(
    {
        *("agent_model", "labels", "side", "pressed_side", "instrument"),
        *("transport_retries", "status", "stop_reason", "structured", "constrained"),
        *("provider", "model_answered", "settings", "input_tokens", "cached_tokens"),
        *("output_tokens", "started", "seconds"),
    }
)
"""Columns that an export may set so. What was said, and by whom, is not among them."""

_ERROR_LENGTH: Final = 200
"""Characters kept of an error's text; the log has all of it."""


class Call(NamedTuple):
    """A request of ours and what came back."""

    stamp: Stamp
    frame: Frame
    row: dict[str, Any]
    """Columns of `TRANSCRIPT_SCHEMA`, as far as the call alone knows them."""
    written: int | None
    """Input tokens written to a cache."""
    cost: float | None
    """By the prices that Inspect was given."""
    record: dict[str, Any]
    """What an export set beside the call: it was made from a record, not by a call."""


def read_call(event: ModelEvent, name: Callable[[Stamp], Stamp]) -> Call | None:
    """Read one model call; nothing if it carries no stamp of ours.

    Args:
        event: The call.
        name: From its stamp to the one that it has in the study.

    Raises:
        KeyError: If its stamp is not whole.
        ValueError: If a value of its stamp is none of the vocabulary.
    """
    carried = event.input[-1].metadata if event.input else None
    if not carried or STAMP_KEY not in carried:
        return None
    stamp = name(Stamp.from_dict(carried[STAMP_KEY]))
    for factor in stamp.cell.factors:
        check_name(factor)
    frame = Frame.from_dict(carried[FRAME_KEY])
    row = {
        **_named(stamp, frame),
        "audience": list(carried.get("audience", [])),
        "prompt_hash": carried.get("prompt_hash"),
        "history_hash": carried.get("history_hash"),
        **_asked(event, stamp),
        **_answered(event),
        **_used(event),
    }
    beside = carried.get(RECORD_KEY, {})
    usage = event.output.usage
    return Call(
        stamp,
        frame,
        row,
        written=usage.input_tokens_cache_write if usage else None,
        cost=usage.total_cost if usage else None,
        record={k: v for k, v in beside.items() if k in RECORDED},
    )


def _named(stamp: Stamp, frame: Frame) -> dict[str, Any]:
    """Who was asked what, by the stamp."""
    cell = stamp.cell
    partner = frame.role is Role.PARTNER
    return {
        "run": stamp.run,
        **cell.as_row(),
        "repeat": stamp.repeat,
        "round": stamp.round,
        "turn": stamp.turn,
        "agent": stamp.agent,
        "agent_model": cell.cast.get(
            stamp.agent, cell.partner if partner else cell.model
        ),
        "role": str(frame.role),
        "side": frame.side or None,
        "pressed_side": frame.pressed_side or None,
        "labels": [label for label in frame.labels if label],
        "channel": stamp.channel,
        "form": str(stamp.form),
        "draw": stamp.draw,
    }


def _asked(event: ModelEvent, stamp: Stamp) -> dict[str, Any]:
    """How it was asked: provider and settings."""
    settings = event.config.model_dump(exclude_none=True, exclude={"response_schema"})
    # Our own providers say what they sent beyond Inspect's settings.
    settings |= (event.output.metadata or {}).get("settings", {})
    survey = stamp.form is Form.SURVEY
    served = (event.output.metadata or {}).get(SERVED_KEY)
    provider = event.model.split("/")[0]
    return {
        "structured": event.config.response_schema is not None if survey else None,
        "provider": f"{provider}/{served}" if served else provider,
        "settings": json.dumps(settings, sort_keys=True, default=str),
        "transport_retries": event.retries or 0,
    }


def _answered(event: ModelEvent) -> dict[str, Any]:
    """What came back."""
    output = event.output
    reply = reply_of(output, event.error)
    came = {"text": reply.text, "status": str(reply.status)}
    if reply.error is not None:
        reason = " ".join(reply.error.split())[:_ERROR_LENGTH]
        return {**came, "stop_reason": reason}
    return {
        **came,
        "reasoning": _reasoning(output.message),
        "stop_reason": reply.stop_reason,
        "model_answered": output.model or None,
        "constrained": bool((output.metadata or {}).get("constrained", False)),
    }


def _used(event: ModelEvent) -> dict[str, Any]:
    """Tokens and time. Inspect's input tokens leave out those from a cache."""
    used: dict[str, Any] = {"started": event.timestamp}
    if event.completed is not None:
        used["seconds"] = (event.completed - event.timestamp).total_seconds()
    usage = event.output.usage
    if usage is not None:
        read = usage.input_tokens_cache_read
        written = usage.input_tokens_cache_write or 0
        used["input_tokens"] = usage.input_tokens + (read or 0) + written
        used["cached_tokens"] = read
        used["output_tokens"] = usage.output_tokens
    return used


def _reasoning(message: ChatMessage) -> str | None:
    if isinstance(message.content, str):
        return None
    parts = [
        (part.summary or "") if part.redacted else part.reasoning
        for part in message.content
        if isinstance(part, ContentReasoning)
    ]
    return received("\n\n".join(part for part in parts if part)) or None
