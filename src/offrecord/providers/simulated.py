"""The simulated population as an Inspect provider: `simulated/<population>`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import anyio
from inspect_ai.model import (
    ChatMessage,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from offrecord.providers.faults import SimulatedAnswer
from offrecord.providers.population import load_population
from offrecord.records import FRAME_KEY, STAMP_KEY, Frame, OffrecordError, Stamp, digest


class SimulatedOutageError(Exception):
    """A request failed on its way: asking again helps."""


class SimulatedBackendError(Exception):
    """The back end refused a request: asking again does not help."""


class SimulatedAPI(ModelAPI):
    """Answers the debate's requests from a population with known truth.

    Args:
        model_name: The population: `paper`, `paper/<model id>`, `null`, ... or the path
            of a `.yaml` file.
        base_url: Not used.
        api_key: Not used.
        config: Not used; a simulated agent has no temperature.
        seed: Takes the place of the study's seed.
        latency: Seconds before each reply.

    Raises:
        OffrecordError: If there is no such population, or an argument is no number.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        *,
        seed: int | None = None,
        latency: float = 0.0,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if seed is not None and not isinstance(seed, int):
            raise OffrecordError(f"simulated: seed is a whole number, not '{seed}'")
        if not isinstance(latency, int | float) or latency < 0:
            raise OffrecordError(f"simulated: latency is in seconds, not '{latency}'")
        self.population = load_population(model_name)
        self.seed = seed
        self.latency = latency
        self._outages: Counter[str] = Counter()

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """Answer one request, by the stamp and frame that its last message carries.

        Raises:
            OffrecordError: If the request is none of the debate's.
            SimulatedOutageError: For an outage; asking again succeeds.
            SimulatedBackendError: For a planted error.
        """
        metadata = (input[-1].metadata if input else None) or {}
        try:
            stamp = Stamp.from_dict(metadata[STAMP_KEY])
            frame = Frame.from_dict(metadata[FRAME_KEY])
        except (KeyError, ValueError, TypeError):
            raise OffrecordError(
                f"simulated/{self.model_name} answers the requests of offrecord's own "
                "task only: this one carries no stamp"
            ) from None
        if self.seed is not None:
            frame = replace(frame, seed=self.seed)
        prompt = [(message.role, message.text) for message in input]
        answer = self.population.answer(stamp, frame, prompt)
        if self.latency:
            await anyio.sleep(self.latency)
        self._lose(stamp, answer.outages)
        if answer.error is not None:
            raise SimulatedBackendError(answer.error)
        return self._output(answer, stamp, sum(_tokens(text) for _, text in prompt))

    def should_retry(self, ex: Exception) -> bool:
        """Only an outage is worth another try."""
        return isinstance(ex, SimulatedOutageError)

    def retry_wait(self) -> Callable[[object], float]:
        """No wait before another try: there is no server to spare."""
        return lambda _: 0.0

    def max_connections(self) -> int:
        """Requests in flight at once: as many as a study sends."""
        return 1000

    def _lose(self, stamp: Stamp, outages: int) -> None:
        if not outages:
            return
        request = digest(stamp.as_dict())
        if self._outages[request] < outages:
            self._outages[request] += 1
            raise SimulatedOutageError("simulated: connection lost")
        del self._outages[request]

    def _output(
        self, answer: SimulatedAnswer, stamp: Stamp, input_tokens: int
    ) -> ModelOutput:
        reasoning_tokens = _tokens(answer.reasoning or "")
        output_tokens = _tokens(answer.text) + reasoning_tokens
        content: list[Content] = [ContentText(text=answer.text)]
        if answer.reasoning is not None:
            content.insert(0, ContentReasoning(reasoning=answer.reasoning))
        output = ModelOutput.from_content(
            f"simulated/{self.model_name}", content, answer.stop_reason
        )
        # Without usage Inspect would fetch a tokenizer to count.
        output.usage = ModelUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            total_tokens=input_tokens + output_tokens,
            reasoning_tokens=reasoning_tokens,
        )
        output.metadata = {
            "population": self.population.stamp,
            "words": self.population.words_of(stamp.cell).stamp,
        }
        return output


def _tokens(text: str) -> int:
    return -(-len(text) // 4)  # four characters a token, as in English
