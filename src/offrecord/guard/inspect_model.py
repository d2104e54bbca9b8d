"""Ask by a model of Inspect."""

from __future__ import annotations

from typing import Final

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Model,
)

from offrecord.content.parts import text_of
from offrecord.guard.types import Answer, CountedAsk, Message

_KINDS: Final[dict[str, type[ChatMessage]]] = {
    "system": ChatMessageSystem,
    "developer": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
    "tool": ChatMessageTool,
}


def ask_inspect(model: Model) -> CountedAsk:
    """An `ask` that calls a model, whatever its provider.

    Args:
        model: As `get_model` gives it. Words alone are sent: no tools, no images.
    """

    async def ask(messages: list[Message]) -> Answer:
        output = await model.generate(
            [
                _KINDS[str(one["role"])](content=text_of(one.get("content")))
                for one in messages
            ]
        )
        usage = output.usage
        read = usage.input_tokens_cache_read if usage else None
        written = (usage.input_tokens_cache_write or 0) if usage else 0
        return Answer(
            text=output.completion,
            input_tokens=usage.input_tokens + (read or 0) + written if usage else None,
            cached_tokens=read,
            output_tokens=usage.output_tokens if usage else None,
        )

    return ask
