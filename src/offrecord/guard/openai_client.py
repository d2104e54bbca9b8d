"""Ask by an OpenAI-compatible client: `openai.AsyncOpenAI`, or one of its shape."""

from __future__ import annotations

from typing import Any

from offrecord.guard.types import Answer, CountedAsk, Message


def ask_openai(client: Any, model: str, **settings: Any) -> CountedAsk:  # noqa: ANN401
    """An `ask` that calls chat completions.

    Args:
        client: Has `chat.completions.create`, to be awaited.
        model: As the server names it.
        settings: Those of the agent's own calls, such as `temperature`, or `tools`,
            without which a provider's prefix differs.
    """

    async def ask(messages: list[Message]) -> Answer:
        completion = await client.chat.completions.create(
            model=model, messages=messages, **settings
        )
        usage = getattr(completion, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        return Answer(
            text=completion.choices[0].message.content or "",
            input_tokens=getattr(usage, "prompt_tokens", None),
            cached_tokens=getattr(details, "cached_tokens", None),
            output_tokens=getattr(usage, "completion_tokens", None),
        )

    return ask
