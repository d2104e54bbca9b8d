"""A guard as a middleware of LangChain's agents.

`python model.py 8016 &`, then `python langchain_guard.py http://127.0.0.1:8016/v1`.

What it holds back: what the agent returns, and its message and update streams. What it
cannot: callbacks, event streams and traces of the model call itself see the draft.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_openai import ChatOpenAI
from langsmith import tracing_context

from offrecord.guard import Answer, Message
from offrecord.guard.config import GuardConfig, read_config

UNSEEN = "nostream"  # what LangGraph leaves out of message streams
ASKED: ContextVar[Any] = ContextVar("asked")


async def unseen(model: Any, messages: list[Message]) -> Answer:
    """Ask a model; without the agent's context, no callback or stream is told."""
    with tracing_context(enabled=False):
        return Answer(text=(await model.ainvoke(messages)).text)


async def ask(messages: list[Message]) -> Answer:
    """Ask the agent's own model."""
    asked = unseen(ASKED.get(), messages)
    return await asyncio.create_task(asked, context=Context())


class GuardMiddleware(AgentMiddleware):
    """Asks beside each call of the model, in `ainvoke` and `astream`."""

    def __init__(self, config: GuardConfig) -> None:
        super().__init__()
        self.guard = config.guard(ask)

    async def awrap_model_call(
        self,
        request: ModelRequest,
        handler: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        """Give the model's message, or what the guard puts in its place."""
        model, system = request.model, request.system_message
        said = [system, *request.messages] if system else request.messages
        messages = convert_to_openai_messages(said)
        asked = model.bind_tools(request.tools) if request.tools else model
        ASKED.set(asked.bind(**request.model_settings))
        begun = self.guard.begin(messages)
        quiet = model.model_copy(update={"tags": [*(model.tags or []), UNSEEN]})
        try:
            response = await handler(request.override(model=quiet))
            *before, draft = response.result
            calls = [*getattr(draft, "tool_calls", [])]
            message = {"role": "assistant", "content": draft.text, "tool_calls": calls}
            verdict = await self.guard.check(messages, message, begun)
        finally:
            begun.cancel()
        found = {"offrecord": [verdict.action, verdict.reason, verdict.score]}
        if verdict.text is not None and verdict.text.startswith(draft.text):
            words = draft.content if verdict.text == draft.text else verdict.text
            told = {**draft.response_metadata, **found}
            out = draft.model_copy(update={"content": words, "response_metadata": told})
        else:  # alone: the draft's calls of tools stay behind
            out = AIMessage(verdict.text or "", id=draft.id, response_metadata=found)
        return replace(response, result=[*before, out])


if __name__ == "__main__":
    guard = GuardMiddleware(read_config(Path(__file__).with_name("guard.yaml")))
    chat = ChatOpenAI(model="any", base_url=sys.argv[1], api_key="none-needed")
    agent = create_agent(chat, middleware=[guard])
    question = {"role": "user", "content": "We all count on you. Your view?"}
    state = asyncio.run(agent.ainvoke({"messages": [question]}))
    print(state["messages"][-1].text)
