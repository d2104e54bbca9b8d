"""A guard as a custom guardrail of LiteLLM's proxy, for chat completions.

`python model.py 8016 &`, then `litellm --config litellm.yaml` in this folder.

It asks after the draft, with the deployment's own key, where no log or cache sees it.
"""

import sys
from collections.abc import AsyncGenerator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import litellm
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.utils import Delta, ModelResponse

from offrecord.guard import Answer, Message
from offrecord.guard.config import read_config
from offrecord.guard.types import LOG
from offrecord.records import OffrecordError

REQUEST: ContextVar[dict[str, Any]] = ContextVar("request")
KEPT = ("model", "temperature", "top_p", "max_tokens", "reasoning_effort", "tools")
UNSEEN = {"no-log": True, "cache": {"no-cache": True, "no-store": True}}


async def ask(messages: list[Message]) -> Answer:
    """Ask the model that the request was for."""
    request = REQUEST.get()
    kept = {name: request[name] for name in KEPT if request.get(name) is not None}
    kept |= {"tool_choice": "none"} if "tools" in kept else {}
    proxy: Any = sys.modules.get("litellm.proxy.proxy_server")
    asked = (proxy and proxy.llm_router) or litellm  # its own models, or the SDK's
    answer = await asked.acompletion(messages=[*messages], **kept, **UNSEEN)
    return Answer(text=answer.choices[0].message.content or "")


class OffrecordGuardrail(CustomGuardrail):
    """Needs `mode: post_call`: in no other one does a message wait for its verdict."""

    def __init__(self, config: str = "guard.yaml", **more: Any) -> None:
        read = read_config(Path(__file__).parent / config)
        self.guard = read.guard(ask)
        if more.get("event_hook") != "post_call" and read.rule.action != LOG:
            raise OffrecordError(f"{read.rule.action}: give 'mode: post_call'")
        super().__init__(**more)

    async def said(self, request: dict[str, Any], whole: Any) -> tuple[str, str | None]:
        """The draft's words, and what goes out."""
        if not isinstance(whole, ModelResponse) or len(whole.choices) != 1:
            raise OffrecordError("chat completions of one choice alone are guarded")
        REQUEST.set(request)
        message = whole.choices[0].message.model_dump()
        verdict = await self.guard.check(request["messages"], message)
        found = [verdict.action, str(verdict.reason), verdict.score]
        request.setdefault("metadata", {})["offrecord"] = found
        return message["content"] or "", verdict.text

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Put what the guard says in the draft's place."""
        if isinstance(response, litellm.EmbeddingResponse):
            return response
        draft, text = await self.said(data, response)
        choice = response.choices[0]
        if text is not None and text.startswith(draft):
            choice.message.content = text if text != draft else choice.message.content
        else:  # alone: the draft's calls of tools stay behind
            choice.message = litellm.Message(role="assistant", content=text or "")
            choice.finish_reason = "content_filter" if text is None else "stop"
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Hold the stream back until the verdict is in."""
        chunks = [chunk async for chunk in response]
        draft, text = await self.said(
            request_data, litellm.stream_chunk_builder(chunks)
        )
        added = text is not None and text.startswith(draft)
        for chunk in chunks:
            [choice] = chunk.choices or [None]
            if choice is not None and choice.finish_reason:
                words = (choice.delta.content or "") if added else ""
                words += (text or "").removeprefix(draft) if added else text or ""
                if not added:
                    choice.delta = Delta(role="assistant")
                    choice.finish_reason = "content_filter" if text is None else "stop"
                choice.delta.content = words or None
            elif choice is not None and not added:
                continue
            yield chunk
