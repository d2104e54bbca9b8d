"""A scripted seat as an Inspect provider: it says the line that its request carries.

So its words stand in the log like anyone's, and no model is called.
"""

from __future__ import annotations

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from offrecord.records import LINE_KEY, SCRIPTED, OffrecordError


class ScriptedAPI(ModelAPI):
    """Says written lines."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """Say the line of a request.

        Raises:
            OffrecordError: If the request carries none.
        """
        line = ((input[-1].metadata if input else None) or {}).get(LINE_KEY)
        if not isinstance(line, str):
            raise OffrecordError(
                f"{SCRIPTED} speaks the lines of a scenario: give it a seat with "
                f"'offrecord run --role partner={SCRIPTED}'"
            )
        output = ModelOutput.from_content(SCRIPTED, line)
        output.usage = ModelUsage()  # without it Inspect would fetch a tokenizer
        return output

    def max_connections(self) -> int:
        """Requests in flight at once: as many as a study sends."""
        return 1000
