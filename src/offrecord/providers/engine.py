"""llama.cpp in the process: one engine per model file and settings, loaded when asked.

The engine is llama.cpp's own server behind `xllamacpp`, called directly. It reuses the
longest common prefix of a slot's last prompt and keeps replaced prompts in memory, so
that the next run of a cell finds its system prompt again.
"""

from __future__ import annotations

import atexit
import secrets
import threading
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from offrecord.records import OffrecordError

ANY_SLOT = -1
"""The slot number that leaves the choice to llama.cpp."""

_PROMPT_CACHE_MIB = 1024  # memory for prompts that were replaced in their slot
_SILENT = -1


class SlotTable:
    """Gives each key one slot while slots last, then the slot that idled longest.

    An engine keeps the tokens of the last prompt in each slot, so an agent that comes
    back to its own slot is charged for what is new only. llama.cpp takes a slot number
    that is out of range without a word and picks some other slot; numbers therefore
    come from here and from nowhere else.

    A key's requests run one after the other in its slot: they share their prefix, and
    an engine on few cores decodes several slots hardly faster than one.

    Args:
        count: Number of slots, numbered from 0.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("an engine has at least one slot")
        self._locks = [anyio.Lock() for _ in range(count)]
        self._users = [0] * count  # requests that hold a slot or wait for it
        self._by_use = list(range(count))  # the slot that idled longest first
        self._slot_of: dict[Hashable, int] = {}
        self._idle = anyio.Event()

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[int]:
        """Hold the key's slot alone; waits while every slot is another key's and busy.

        Args:
            key: Who asks, e.g. (run, agent).
        """
        slot = self._find(key)
        while slot is None:
            await self._idle.wait()
            slot = self._find(key)
        self._users[slot] += 1
        try:
            async with self._locks[slot]:
                self._by_use.remove(slot)
                self._by_use.append(slot)
                yield slot
        finally:
            self._users[slot] -= 1
            if not self._users[slot]:
                self._idle.set()
                self._idle = anyio.Event()

    def _find(self, key: Hashable) -> int | None:
        if key in self._slot_of:
            return self._slot_of[key]
        slot = next((slot for slot in self._by_use if not self._users[slot]), None)
        if slot is not None:
            self._slot_of = {k: s for k, s in self._slot_of.items() if s != slot}
            self._slot_of[key] = slot
        return slot


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What an engine is loaded with; equal settings share one engine."""

    path: Path
    name: str
    """What the engine calls its model in every reply."""
    slots: int
    context: int
    """Tokens per slot, prompt and reply together."""
    threads: int


class Completion(NamedTuple):
    """What the engine made of one request."""

    text: str
    reasoning: str
    finish: str
    """`stop`, `length`, or `context` where the prompt did not fit."""
    slot: int
    """The slot it was pinned to, or `ANY_SLOT`."""
    prompt_tokens: int
    cached_tokens: int
    """How many of the prompt's tokens were still in the slot."""
    output_tokens: int
    raw: Mapping[str, Any]
    """The engine's last words: usage and timings, or its error."""


class Engine:
    """One loaded model.

    Raises:
        OffrecordError: If xllamacpp is missing or the file cannot be loaded.
    """

    def __init__(self, settings: EngineSettings) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise OffrecordError(
                "the embedded model needs llama.cpp: pip install 'offrecord[local]'"
            ) from None
        self.settings = settings
        self._slots = SlotTable(settings.slots)
        self._workers = anyio.CapacityLimiter(settings.slots)
        # The server also listens on the loopback interface; nobody else gets in.
        self._secret = secrets.token_urlsafe()
        params = xllamacpp.CommonParams()
        params.model.path = str(settings.path)
        params.model_alias = {settings.name}
        params.n_parallel = settings.slots
        params.n_ctx = settings.slots * settings.context
        params.ctx_shift = False  # a prompt that does not fit fails, it is not trimmed
        params.cpuparams.n_threads = settings.threads
        params.cpuparams_batch.n_threads = settings.threads
        params.cache_ram_mib = _PROMPT_CACHE_MIB
        params.verbosity = _SILENT
        params.api_keys = [self._secret]
        params.ui = False
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError:
            raise OffrecordError(
                f"{settings.path}: llama.cpp cannot load this file: it is damaged, too "
                "large for this machine, or of a kind that this xllamacpp does not know"
            ) from None

    async def complete(
        self, request: Mapping[str, Any], key: Hashable | None = None
    ) -> Completion:
        """Answer one chat request.

        Args:
            request: An OpenAI-style chat request with llama.cpp's extensions.
            key: Whose slot to use; None leaves the choice to llama.cpp.

        Raises:
            RuntimeError: If llama.cpp refuses the request, with its reason.
        """
        holding: AbstractAsyncContextManager[int] = (
            nullcontext(ANY_SLOT) if key is None else self._slots.hold(key)
        )
        async with holding as slot:
            stop = threading.Event()
            try:
                chunks = await anyio.to_thread.run_sync(
                    self._stream,
                    {**request, "id_slot": slot},
                    stop,
                    abandon_on_cancel=True,
                    limiter=self._workers,
                )
            finally:
                stop.set()  # a cancelled request ends at its next token
        return _completion(chunks, slot)

    def _stream(
        self, request: dict[str, Any], stop: threading.Event
    ) -> list[dict[str, Any]]:
        chunks: list[dict[str, Any]] = []

        def receive(chunk: dict[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()

        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        self._server.handle_chat_completions({**request, **streamed}, receive)
        return chunks


def _completion(chunks: Sequence[Mapping[str, Any]], slot: int) -> Completion:
    text, reasoning, finish = "", "", ""
    last: Mapping[str, Any] = {}
    for chunk in chunks:
        if error := chunk.get("error"):
            if error.get("type") != "exceed_context_size_error":
                refused = f"llama.cpp refused a request: {error.get('message')}"
                raise RuntimeError(refused)
            counts = (slot, error["n_prompt_tokens"], 0, 0)
            return Completion("", "", "context", *counts, {"error": dict(error)})
        for choice in chunk["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            reasoning += delta.get("reasoning_content") or ""
            finish = choice["finish_reason"] or finish
        if "usage" in chunk:
            last = chunk
    if not last:
        raise RuntimeError("llama.cpp ended a reply without its usage")
    usage = last["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    counts = (slot, usage["prompt_tokens"], cached, usage["completion_tokens"])
    return Completion(text, reasoning, finish, *counts, last)


_engines: dict[EngineSettings, Engine] = {}
_loading = threading.Lock()


def engine_for(settings: EngineSettings) -> Engine:
    """The engine with these settings, loaded if it is not yet; blocks meanwhile.

    Raises:
        OffrecordError: If it cannot be loaded.
    """
    with _loading:
        if settings not in _engines:
            _engines[settings] = Engine(settings)
        return _engines[settings]


@atexit.register
def close_engines() -> None:
    """Let go of every loaded engine and its memory."""
    _engines.clear()
