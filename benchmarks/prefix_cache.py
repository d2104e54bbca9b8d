"""How much of what agents are asked comes from a prefix cache.

A served engine: a run of five rounds goes through `offrecord run` to a server with a
simple model of such a cache, in blocks of 16 tokens as vLLM has them and with the
minimum of 1,024 that hosted models have; its time is compared with the limit.

The embedded model: two debates run at once on it, so four agents share its slots. Every
prompt is compared, token by token, with the previous prompt of the same agent; of the
tokens that both begin with, those that the engine reports as cached are counted.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import anyio
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
)

from benchmarks import Figure, run_against
from offrecord.providers.llamacpp import LlamaCppAPI
from offrecord.providers.weights import fetched, known_model
from offrecord.records import STAMP_KEY, Cell, Form, Kind, Stamp, Timing
from offrecord.runner.costs import cached_share
from offrecord.transcript.record import open_record
from tests.prefix_server import PrefixServer
from tests.prompt_tokens import prompt_tokens

MODEL = "smollm2-135m"
ROUNDS = 3
AGENTS = ("alpha", "beta")

CELL = Cell(
    model=f"llamacpp/{MODEL}",
    partner=f"llamacpp/{MODEL}",
    scenario="bench",
    condition="baseline",
    kind=Kind.BASELINE,
    timing=Timing.NONE,
    protocol="twin",
)
OUTPUTS = [
    (Form.UTTERANCE, "public", "Now state your position. Everyone here listens."),
    (Form.UTTERANCE, "off_record", "Now state your position. No one here listens."),
    (Form.SURVEY, "public", "Now rate the five statements. Everyone sees it."),
    (Form.SURVEY, "off_record", "Now rate the five statements. No one sees it."),
]
"""The outputs of one turn: form, channel, and the instruction that comes last."""

Ledger = dict[tuple[int, str], list[tuple[list[int], int]]]
"""(run, agent) to its prompts in order: tokens, and how many of them were cached."""


def shared(one: list[int], other: list[int]) -> int:
    """The number of tokens that both prompts begin with."""
    pairs = zip(one, other, strict=False)
    return next(
        (place for place, (a, b) in enumerate(pairs) if a != b),
        min(len(one), len(other)),
    )


def share_from_cache(ledger: Ledger) -> tuple[int, int]:
    """Tokens shared with the agent's previous prompt, and how many were cached."""
    common = cached = 0
    for prompts in ledger.values():
        for (before, _), (tokens, hits) in pairwise(prompts):
            length = shared(before, tokens)
            common += length
            cached += min(length, hits)
    return common, cached


async def ask(
    api: LlamaCppAPI, ledger: Ledger, stamp: Stamp, messages: list[ChatMessage]
) -> str:
    """Send one request and enter its prompt in the ledger."""
    messages[-1].metadata = {STAMP_KEY: stamp.as_dict()}
    output, _ = await api.generate(messages, [], "none", GenerateConfig(max_tokens=32))
    plain = [{"role": m.role, "content": m.text} for m in messages]
    engine = await api.engine()
    tokens = await anyio.to_thread.run_sync(prompt_tokens, engine, plain)
    assert output.usage is not None
    hits = output.usage.input_tokens_cache_read or 0
    ledger[stamp.repeat, stamp.agent].append((tokens, hits))
    return output.completion


async def debate(api: LlamaCppAPI, ledger: Ledger, repeat: int) -> None:
    """One debate in the shape of the protocol: what differs comes last."""
    said: list[tuple[str, str]] = []
    for turn in range(1, ROUNDS * len(AGENTS) + 1):
        agent = AGENTS[(turn - 1) % len(AGENTS)]
        system = f"A committee decides about a promotion. You are {agent}. "
        words = ""
        for form, channel, instruction in OUTPUTS:
            messages: list[ChatMessage] = [ChatMessageSystem(content=system * 25)]
            heard = "The discussion is open."
            for speaker, text in said:
                if speaker == agent:
                    messages.append(ChatMessageUser(content=heard))
                    messages.append(ChatMessageAssistant(content=text))
                else:
                    heard = text
            messages.append(ChatMessageUser(content=f"{heard}\n\n{instruction}"))
            stamp = Stamp(
                cell=CELL,
                repeat=repeat,
                round=(turn + 1) // 2,
                turn=turn,
                agent=agent,
                channel=channel,
                form=form,
                draw=0,
            )
            reply = await ask(api, ledger, stamp, messages)
            words = words or reply
        said.append((agent, words or "PROMOTE"))


async def measure() -> tuple[int, int]:
    """Hold two debates at once and read their ledger."""
    api = LlamaCppAPI(MODEL, slots=4, context=2048)
    ledger: Ledger = defaultdict(list)
    async with anyio.create_task_group() as group:
        for repeat in (1, 2):
            group.start_soon(debate, api, ledger, repeat)
    return share_from_cache(ledger)


LATENCY = 0.5  # seconds
_TRIES = 3  # what else the machine does only adds to a time
TURNS = 5 * len(AGENTS)
"""Of a debate of five rounds, the default."""


def served(step: int, minimum: int, aim: str = "") -> Iterator[Figure]:
    """Hold runs of the default design on a server with a prefix cache."""
    tries = [_held(step, minimum) for _ in range(_TRIES)]
    share = min(share for share, _ in tries)
    least = f" from {minimum:,} on" if minimum else ""
    yield Figure(
        f"input tokens from a cache in blocks of {step}{least}", f"{share:.1%}", aim
    )
    best = min(seconds for _, seconds in tries) / (TURNS * LATENCY)
    yield Figure("time of that run over the limit, best of 3", f"{best:.3f}", "1.15")


def _held(step: int, minimum: int) -> tuple[float, float]:
    """The share from the cache in one run, as recorded, and its seconds."""
    model = "openai-api/bench/cached"
    with (
        PrefixServer(LATENCY, step, minimum) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        out = Path(folder) / "study"
        run_against(
            server,
            "cached",
            *("--out", str(out), "--scenario", "promotion", "--runs", "1"),
            *("--condition", "alignment-future", "--", "--display", "none"),
        )
        share = cached_share(open_record(out).usage[model]) or 0
    return share, server.sent[-1] - server.received[0]


def run() -> list[Figure]:
    """The share of input tokens from a served cache, then from the embedded one."""
    figures = [*served(16, 0, "at least 70 %"), *served(128, 1024)]
    return [*figures, *embedded()]


def embedded() -> list[Figure]:
    """The share of the common prefix that came from the embedded model's cache."""
    if fetched(known_model(MODEL)) is None:
        return [Figure("prefix from the cache", "skipped: run 'make weights'")]
    common, cached = anyio.run(measure)
    return [
        Figure("prompt tokens shared with the agent's previous prompt", f"{common:,}"),
        Figure("of these from the cache", f"{cached / common:.1%}", "at least 90 %"),
    ]


if __name__ == "__main__":
    for figure in run():
        print(*figure, sep="  ")
