"""One model call of an Inspect log as one row of the record."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from inspect_ai.event import ModelEvent
from inspect_ai.model import ChatMessage, ContentReasoning

from offrecord.content.reply import classify_reply
from offrecord.protocol.factors import check_name
from offrecord.records import FRAME_KEY, STAMP_KEY, Form, Frame, Role, Stamp, Status

RECORD_KEY: Final = "record"
"""The key, beside a stamp, of what an exported log's call says otherwise."""

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


_HALF: Final = re.compile(
    r"(?<!\\)\\ud(?:[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    r"|(?<!\\ud[89ab][0-9a-f]{2}\\ud)[c-f][0-9a-f]{2})"
)
"""The escape of a surrogate that stands alone."""


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


def read_call(event: ModelEvent) -> Call | None:
    """Read one model call; nothing if it carries no stamp of ours.

    Raises:
        KeyError: If its stamp is not whole.
        ValueError: If a value of its stamp is none of the vocabulary.
    """
    carried = event.input[-1].metadata if event.input else None
    if not carried or STAMP_KEY not in carried:
        return None
    stamp = Stamp.from_dict(carried[STAMP_KEY])
    for name in stamp.cell.factors:
        check_name(name)
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
        "model": cell.model,
        "partner": cell.partner,
        "scenario": cell.scenario,
        "condition": cell.condition,
        "kind": str(cell.kind),
        "timing": str(cell.timing),
        "protocol": cell.protocol,
        "factors": json.dumps(dict(cell.factors), sort_keys=True),
        "repeat": stamp.repeat,
        "round": stamp.round,
        "turn": stamp.turn,
        "agent": stamp.agent,
        "agent_model": cell.partner if partner else cell.model,
        "role": str(frame.role),
        "side": frame.side,
        "pressed_side": frame.pressed_side,
        "labels": list(frame.labels),
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
    return {
        "structured": event.config.response_schema is not None if survey else None,
        "provider": event.model.split("/")[0],
        "settings": json.dumps(settings, sort_keys=True, default=str),
        "transport_retries": event.retries or 0,
    }


def _answered(event: ModelEvent) -> dict[str, Any]:
    """What came back."""
    output = event.output
    if not output.choices or event.error:
        error = event.error or output.error or "no reply"
        reason = " ".join(error.split())[:_ERROR_LENGTH]
        return {"text": "", "status": str(Status.ERROR), "stop_reason": reason}
    stop = str(output.stop_reason)
    text = _received(output.completion)
    return {
        "text": text,
        "reasoning": _reasoning(output.message),
        "status": str(classify_reply(text, stop, None)),
        "stop_reason": stop,
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
    return _received("\n\n".join(part for part in parts if part)) or None


def _received(text: str) -> str:
    """A text of a log as the debate had it.

    Inspect's logs hold half a surrogate pair, which no file can, as its escape.
    """
    return _HALF.sub("", text) if "\\ud" in text else text
