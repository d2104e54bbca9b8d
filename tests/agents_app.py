"""Two agents of the OpenAI Agents SDK that settle whether a build is shipped.

Their models answer over HTTP, and the SDK writes its own traces.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    set_trace_processors,
    trace,
)
from agents.items import TResponseInputItem
from agents.tracing import Span, Trace, TracingProcessor
from openai import AsyncOpenAI

PLANNER = "You are the planner. Say SHIP or HOLD first, then a dash, then why."
CRITIC = "You are the critic. Say SHIP or HOLD first, then a dash, then why."


class ToFile(TracingProcessor):
    """Writes what traces and spans export, one a line."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def on_trace_start(self, trace: Trace) -> None:
        self._write(trace)

    def on_trace_end(self, trace: Trace) -> None:
        pass

    def on_span_start(self, span: Span[Any]) -> None:
        pass

    def on_span_end(self, span: Span[Any]) -> None:
        self._write(span)

    def force_flush(self) -> None:
        self._file.flush()

    def shutdown(self) -> None:
        self._file.close()

    def _write(self, one: Trace | Span[Any]) -> None:
        self._file.write(json.dumps(one.export()) + "\n")


async def talks(url: str, traces: Path, builds: int) -> None:
    """Two turns of either agent about each build, the other's words as a user's."""
    writer = ToFile(traces)
    set_trace_processors([writer])
    async with AsyncOpenAI(base_url=url, api_key="k") as client:
        model = OpenAIChatCompletionsModel(model="served", openai_client=client)
        planner = Agent(name="planner", instructions=PLANNER, model=model)
        critic = Agent(name="critic", instructions=CRITIC, model=model)
        for build in range(builds):
            said = f"Is build {build} shipped?"
            seen: dict[str, list[TResponseInputItem]] = {"planner": [], "critic": []}
            with trace("release", group_id=f"b{build}", metadata={"kind": "release"}):
                for agent in (planner, critic) * 2:
                    asked = [*seen[agent.name], {"role": "user", "content": said}]
                    done = await Runner.run(agent, asked)
                    seen[agent.name] = done.to_input_list()
                    said = done.final_output
    set_trace_processors([])
    writer.shutdown()
