"""Chat completions as bytes: the draft in them, and another text in its place."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from offrecord.content.parts import text_of
from offrecord.guard.types import Message

_DONE: Final = b"[DONE]"
_FILTERED: Final = "content_filter"
"""How chat completions say that nothing goes out."""


class Draft(NamedTuple):
    """What a model is about to say."""

    message: Message
    words: str
    parts: list[dict[str, Any]]
    """The completion, or the chunks of its stream."""
    streamed: bool


def read_draft(content: bytes, *, streamed: bool) -> Draft | None:
    """The draft in a completion; None where none can be read, or not all of it.

    Args:
        content: The body of a response.
        streamed: Whether it is a stream of events.
    """
    try:
        if streamed:
            return _of_stream(_events(content))
        whole = json.loads(content)
        [choice] = whole["choices"]
        message = choice["message"]
        return Draft(message, text_of(message.get("content")), [whole], False)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def with_text(draft: Draft, text: str | None) -> bytes:
    """A response that says something else than its draft.

    What only adds to the draft keeps the rest of the message. What takes its place, or
    that of nothing (None), goes out alone: the draft's calls of tools and its reasoning
    stay behind.
    """
    added = text is not None and bool(draft.words) and text.startswith(draft.words)
    if not draft.streamed:
        [whole] = draft.parts
        [choice] = whole["choices"]
        message = {**draft.message, "content": text} if added else _said(text)
        choice = {**choice, "message": message} if added else _ended(text, message)
        return json.dumps({**whole, "choices": [choice]}).encode()
    if text is not None and added:
        parts = _more(draft.parts, text[len(draft.words) :])
    else:
        last = next(part for part in draft.parts if _finishes(part))
        delta = {"delta": _said(text), "finish_reason": _ending(text)}
        parts = [{**last, "choices": [{"index": 0, **delta}]}]
        parts += [part for part in draft.parts if not part["choices"]]
    lines = [*(json.dumps(part).encode() for part in parts), _DONE]
    return b"".join(b"data: %b\n\n" % line for line in lines)


def _said(text: str | None) -> dict[str, str]:
    return {"role": "assistant", "content": text or ""}


def _ending(text: str | None) -> str:
    return _FILTERED if text is None else "stop"


def _ended(text: str | None, message: dict[str, str]) -> dict[str, Any]:
    return {"index": 0, "message": message, "finish_reason": _ending(text)}


def _events(content: bytes) -> list[dict[str, Any]]:
    lines = [
        line.removeprefix(b"data:").strip()
        for line in content.splitlines()
        if line.startswith(b"data:")
    ]
    return [json.loads(line) for line in lines if line != _DONE]


def _of_stream(parts: list[dict[str, Any]]) -> Draft | None:
    words, calls = "", list[Any]()
    for part in parts:
        for choice in part["choices"]:
            if choice.get("index", 0) != 0:
                return None
            delta = choice.get("delta") or {}
            words += text_of(delta.get("content"))
            calls += delta.get("tool_calls") or []
            calls += [delta["function_call"]] if delta.get("function_call") else []
    if not any(map(_finishes, parts)):
        return None
    message = {"role": "assistant", "content": words, "tool_calls": calls}
    return Draft(message, words, parts, True)


def _finishes(part: dict[str, Any]) -> bool:
    return any(choice.get("finish_reason") for choice in part["choices"])


def _more(parts: list[dict[str, Any]], added: str) -> list[dict[str, Any]]:
    """The chunks, with more words in the one that ends the message."""
    place = next(place for place, part in enumerate(parts) if _finishes(part))
    last = parts[place]
    [choice] = last["choices"]
    delta = choice.get("delta") or {}
    words = {**delta, "content": text_of(delta.get("content")) + added}
    last = {**last, "choices": [{**choice, "delta": words}]}
    return [*parts[:place], last, *parts[place + 1 :]]
