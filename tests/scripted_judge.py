"""A judge that answers as the test says, registered as an Inspect provider."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

MODEL = "scripted/judge"


class Script:
    """What the judge answers, what it was asked, and how much at once."""

    def __init__(self) -> None:
        self.reset("")

    def reset(self, reply: str | Callable[[str], str]) -> None:
        """Begin anew, with a reply or a function from the question to it."""
        self.reply = reply if callable(reply) else lambda _: reply
        self.asked: list[tuple[str, str]] = []
        self.stop: StopReason = "stop"
        self.error: str | None = None
        self.now = 0
        self.most = 0


SCRIPT = Script()


@modelapi(name="scripted")
class ScriptedJudge(ModelAPI):
    """Answers as `SCRIPT` says."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        system, user = input
        SCRIPT.asked.append((system.text, user.text))
        SCRIPT.now += 1
        SCRIPT.most = max(SCRIPT.most, SCRIPT.now)
        try:
            await anyio.sleep(0.001)
            text = SCRIPT.reply(user.text)
        finally:
            SCRIPT.now -= 1
        output = ModelOutput.from_content("scripted/judge-9", text, SCRIPT.stop)
        output.error = SCRIPT.error
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output
