"""The embedded model as an Inspect provider: `llamacpp/<name or path of a .gguf>`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import anyio.to_thread
from inspect_ai.model import (
    ChatMessage,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from offrecord.providers.engine import (
    Completion,
    Engine,
    EngineSettings,
    engine_for,
)
from offrecord.providers.grammar import label_grammar, survey_grammar
from offrecord.providers.weights import resolve_weights
from offrecord.records import (
    FRAME_KEY,
    STAMP_KEY,
    Form,
    Frame,
    OffrecordError,
    digest,
)

_UTTERANCE_TOKENS = 256
_SURVEY_TOKENS = 64  # braces and white space
_ITEM_TOKENS = 24  # one item's code, its answer, and white space
_STOP_REASONS: Mapping[str, Literal["stop", "max_tokens", "model_length"]] = {
    "stop": "stop",
    "length": "max_tokens",
    "context": "model_length",
}


class LlamaCppAPI(ModelAPI):
    """Runs a GGUF model in the process; each (run, agent) keeps its slot.

    A request without a stamp works too, in whatever slot llama.cpp chooses. Sampling
    seeds are derived from the seed and the stamp, so order and sharding do not change
    them. The text may still differ: llama.cpp rounds differently when it computes other
    tokens together, so the log is the record and the seed is what was asked for.

    Args:
        model_name: A known model (`offrecord models list`) or a path.
        base_url: Not used.
        api_key: Not used.
        config: Settings; without a number of connections it gets one that fits.
        slots: Prompts that the engine keeps at once. A debate takes two.
        context: Tokens per slot, prompt and reply together.
        threads: Threads that compute; the cores minus one unless given, since a second
            busy process slows llama.cpp many times over.
        label_grammar: Hold every utterance to `<label> — <text>`, for models too small
            to keep the format. Recorded as `constrained`.
        seed: Takes the place of the study's seed.
        unknown: Any other argument, which is refused.

    Raises:
        OffrecordError: If the model or an argument is wrong, or llama.cpp is missing.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        slots: int = 4,
        context: int = 4096,
        threads: int | None = None,
        label_grammar: bool = False,
        seed: int | None = None,
        **unknown: object,
    ) -> None:
        config = config or GenerateConfig()
        super().__init__(model_name, base_url, api_key, [], config)
        if unknown:
            raise OffrecordError(
                f"llamacpp: unknown argument '{min(unknown)}' (known: slots, context, "
                "threads, label_grammar, seed)"
            )
        if find_spec("xllamacpp") is None:
            raise OffrecordError(
                "the embedded model needs llama.cpp: pip install 'offrecord[local]'"
            )
        if not isinstance(label_grammar, bool):
            raise OffrecordError("llamacpp: label_grammar is true or false")
        self.label_grammar = label_grammar
        self.seed = None if seed is None else _whole("seed", seed, 0)
        weights = resolve_weights(model_name)
        self.sha256 = weights.sha256
        self.settings = EngineSettings(
            path=weights.path,
            name=weights.name,
            slots=_whole("slots", slots, 1),
            context=_whole("context", context, 256),
            threads=_whole(
                "threads", max(1, _cores() - 1) if threads is None else threads, 1
            ),
        )
        if config.max_connections is None and config.adaptive_connections is None:
            # Inspect would start twenty debates at once, and none would keep its slot.
            config.max_connections = self.max_connections()

    def max_connections(self) -> int:
        """As many debates at once as have two slots each."""
        return max(1, self.settings.slots // 2)

    def connection_key(self) -> str:
        """One pool per engine."""
        return digest([str(self.settings.path), self.settings.slots])

    async def engine(self) -> Engine:
        """The engine, loaded on first use and shared within the process."""
        return await anyio.to_thread.run_sync(engine_for, self.settings)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,  # noqa: ARG002 - Inspect's signature
        config: GenerateConfig,
    ) -> tuple[ModelOutput, ModelCall]:
        """Answer one request.

        Raises:
            OffrecordError: If tools are given or the engine cannot be loaded.
            RuntimeError: If llama.cpp refuses the request.
        """
        if tools:
            raise OffrecordError("llamacpp: the embedded model takes no tools")
        metadata = input[-1].metadata or {}
        stamp = metadata.get(STAMP_KEY)
        frame = Frame.from_dict(metadata[FRAME_KEY]) if FRAME_KEY in metadata else None
        request = self._request(input, config, stamp, frame)
        key = None if stamp is None else (stamp["run"], stamp["agent"])
        engine = await self.engine()
        completion = await engine.complete(request, key)
        constrained = self.label_grammar and _is_utterance(stamp)
        output = self._output(completion, request, constrained=constrained)
        call = {**request, "id_slot": completion.slot}
        return output, ModelCall.create(call, dict(completion.raw))

    def _request(
        self,
        messages: Sequence[ChatMessage],
        config: GenerateConfig,
        stamp: Mapping[str, Any] | None,
        frame: Frame | None,
    ) -> dict[str, Any]:
        items = len(frame.items) if frame is not None else 0
        request: dict[str, Any] = {
            "messages": [
                {"role": message.role, "content": message.text} for message in messages
            ],
            "cache_prompt": True,
            "max_tokens": max(_UTTERANCE_TOKENS, _SURVEY_TOKENS + _ITEM_TOKENS * items),
        }
        request |= _given(
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            top_p=config.top_p,
            top_k=config.top_k,
            frequency_penalty=config.frequency_penalty,
            presence_penalty=config.presence_penalty,
            stop=config.stop_seqs,
            seed=self._request_seed(config, stamp, frame),
        )
        if config.response_schema is not None and frame is not None and frame.items:
            points = range(frame.low, frame.high + 1)
            request["grammar"] = survey_grammar(frame.items, points)
        elif config.response_schema is not None:
            schema = config.response_schema
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": schema.name,
                    "schema": schema.json_schema.model_dump(exclude_none=True),
                },
            }
        elif self.label_grammar and _is_utterance(stamp) and frame is not None:
            request["grammar"] = label_grammar(frame.labels)
        return request

    def _request_seed(
        self,
        config: GenerateConfig,
        stamp: Mapping[str, Any] | None,
        frame: Frame | None,
    ) -> int | None:
        given = (config.seed, self.seed, frame.seed if frame is not None else None)
        seed = next((value for value in given if value is not None), None)
        if stamp is None:
            return seed
        # 31 bits: llama.cpp takes the largest 32-bit number for "draw one at random".
        return int(digest({"seed": seed, "stamp": stamp}, 8), 16) & 0x7FFFFFFF

    def _output(
        self, completion: Completion, request: Mapping[str, Any], *, constrained: bool
    ) -> ModelOutput:
        content: list[Content] = [ContentText(text=completion.text)]
        if completion.reasoning:
            content.insert(0, ContentReasoning(reasoning=completion.reasoning))
        output = ModelOutput.from_content(
            self.settings.name,
            content if completion.reasoning else completion.text,
            _STOP_REASONS.get(completion.finish, "unknown"),
        )
        cached = completion.cached_tokens
        output.usage = ModelUsage(
            input_tokens=completion.prompt_tokens - cached,
            input_tokens_cache_read=cached,
            output_tokens=completion.output_tokens,
            total_tokens=completion.prompt_tokens + completion.output_tokens,
        )
        output.metadata = {
            "provider": "llamacpp",
            "weights_sha256": self.sha256,
            "slot": completion.slot,
            "constrained": constrained,
            "settings": {
                name: value
                for name, value in request.items()
                if name not in {"messages", "grammar", "response_format"}
            },
        }
        if "error" in completion.raw:
            output.error = completion.raw["error"]["message"]
        return output


def _is_utterance(stamp: Mapping[str, Any] | None) -> bool:
    return stamp is not None and stamp["form"] == Form.UTTERANCE


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _whole(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OffrecordError(
            f"llamacpp: {name} is a whole number from {least}, not {value!r}"
        )
    return value


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
