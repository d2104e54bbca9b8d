"""The last part of a request, behind the same bytes as before."""

from __future__ import annotations

from collections.abc import Sequence

from offrecord.guard.types import Message


def with_part(messages: Sequence[Message], part: str) -> list[Message]:
    """Messages with one more part at the end, and the same bytes before it.

    It ends the last message where that is the user's, since many models refuse two of
    one sender in a row; else it is a message of its own.
    """
    if not messages or messages[-1].get("role") != "user":
        return [*messages, {"role": "user", "content": part}]
    *before, last = messages
    content = last.get("content")
    more: object = f"{content}\n\n{part}" if content else part
    if isinstance(content, list):
        more = [*content, {"type": "text", "text": part}]
    return [*before, {**last, "content": more}]
