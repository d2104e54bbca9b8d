"""What a guard's proxy costs: memory, time, time to the first token, tokens.

Ten thousand calls hold a canary in all that is said off the record, and everything that
the proxy leaves behind is searched for it. Times are those of a message that the guard
asks about and lets pass, with and without the proxy in turn, in one run.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks import Figure
from tests.fake_server import Ending, FakeServer, Wire, completion, http
from tests.guarded_calls import CANARY, KEY, run_calls, serving
from tests.prefix_server import PrefixServer
from tests.proxied import asked_aside, events

CALLS: Final = 10_000
LATENCY: Final = 0.5  # seconds
PAIRS: Final = 20
PIECES: Final = 20
GAP: Final = 0.05  # seconds
TURNS: Final = 10
CHARACTERS: Final = 8_000
"""Of the system prompt: some 2,000 tokens."""

DRAFT: Final = "SEND - so much for that."
CONFIG: Final = """\
decision: {{question: "Is it sent?", labels: [SEND, WAIT], pressed_side: SEND}}
rule: {{action: {action}}}
"""
HELD: Final = CONFIG.format(action="disclose")


def run() -> Iterator[Figure]:
    """Run them."""
    yield from _many()
    yield from _times()
    yield from _first_tokens()
    for ask in ("after", "beside"):
        yield from _prefixes(ask)


def _many() -> Iterator[Figure]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = run_calls(CALLS, Path(folder))
    took = time.monotonic() - began
    name = f"{CALLS:,} guarded calls"
    yield Figure(f"{name}: answers that are as due", f"{found.right:,}", f"{CALLS:,}")
    for what, secret in (("what is said off the record", CANARY), ("a key", KEY)):
        places = [name for name, text in found.left_behind.items() if secret in text]
        yield Figure(
            f"{name}: logs, spans, files, answers with {what}", str(len(places)), "0"
        )
    yield Figure(f"{name}: peak memory", f"{found.peak:.0f} MB", "at most 200 MB")
    yield Figure(f"{name}: with as many queries", f"{took:.0f} s")


def _times() -> Iterator[Figure]:
    def answer(body: dict[str, Any]) -> Wire:
        return Wire(http(json.dumps(completion(body, DRAFT)).encode()))

    with FakeServer(LATENCY, respond=answer) as server:
        bare, guarded = _in_turn(server.url, HELD, _whole)
    ratio = statistics.median(guarded) / statistics.median(bare)
    name = f"{PAIRS} messages of {LATENCY * 1000:.0f} ms, asked about, let pass"
    yield Figure(
        f"{name}: median over that without a guard", f"{ratio:.3f}", "at most 1.05"
    )


def _first_tokens() -> Iterator[Figure]:
    chunks = [
        _chunk(f"{word} ", None) for word in ("SEND", "-", *["so"] * (PIECES - 3))
    ]
    first, *rest = [events(one) for one in (*chunks, _chunk("", "stop"), "[DONE]")]
    head = http(first, content_type="text/event-stream").replace(
        b"content-length", b"x-length"
    )

    def answer(body: dict[str, Any]) -> Wire:
        if asked_aside(body["messages"]):
            return Wire(http(json.dumps(completion(body, DRAFT)).encode()))
        return Wire(head, Ending.CLOSE, tuple(rest))

    for action, name in (("disclose", "held back"), ("log", "log only")):
        with FakeServer(LATENCY, respond=answer, gap=GAP) as server:
            config = CONFIG.format(action=action)
            bare, guarded = _in_turn(server.url, config, _first)
        without, with_it = statistics.median(bare), statistics.median(guarded)
        yield Figure(
            f"first token of a stream of {LATENCY + PIECES * GAP:g} s, {name}: "
            "without a guard, with it",
            f"{without:.2f} s, {with_it:.2f} s",
        )


def _in_turn(
    url: str, config: str, measure: Callable[[httpx.Client, str], float]
) -> tuple[list[float], list[float]]:
    """Seconds of each call to a server, and of each through a proxy before it."""
    bare, guarded = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(url, Path(folder), config) as (proxy, _),
        httpx.Client(timeout=60) as client,
    ):
        measure(client, proxy)
        for _ in range(PAIRS):
            bare.append(measure(client, url))
            guarded.append(measure(client, proxy))
    return bare, guarded


BODY: Final = {"model": "fake", "messages": [{"role": "user", "content": "Well?"}]}


def _whole(client: httpx.Client, url: str) -> float:
    began = time.monotonic()
    client.post(f"{url}/chat/completions", json=BODY).raise_for_status()
    return time.monotonic() - began


def _first(client: httpx.Client, url: str) -> float:
    began, first = time.monotonic(), 0.0
    with client.stream("POST", f"{url}/chat/completions", json=BODY) as answer:
        for _ in answer.iter_bytes():
            first = first or time.monotonic() - began
    return first


def _chunk(words: str, ended: str | None) -> str:
    choice = {"index": 0, "delta": {"content": words}, "finish_reason": ended}
    return json.dumps({"id": "x", "model": "fake", "choices": [choice]})


def _prefixes(ask: str) -> Iterator[Figure]:
    messages = [{"role": "system", "content": ("word " * CHARACTERS)[:CHARACTERS]}]
    said = " ".join(["reason"] * 44)
    with (
        PrefixServer(0.05, minimum=1024, answer=lambda _: f"{DRAFT} {said}") as server,
        tempfile.TemporaryDirectory() as folder,
        serving(server.url, Path(folder), HELD, "--ask", ask) as (proxy, _),
    ):
        for _ in range(TURNS):
            messages.append({"role": "user", "content": f"SEND - {said}"})
            body = {"model": "fake", "messages": messages}
            answer = httpx.post(f"{proxy}/chat/completions", json=body, timeout=60)
            messages.append(answer.json()["choices"][0]["message"])
    asked = [asked_aside(body["messages"]) for body in server.bodies]
    read = [pair for pair, aside in zip(server.read, asked, strict=True) if aside]
    share = 100 * sum(hit for _, hit in read) / sum(whole for whole, _ in read)
    later = 100 * sum(hit for _, hit in read[1:]) / sum(whole for whole, _ in read[1:])
    yield Figure(
        f"{TURNS} turns on {CHARACTERS // 4:,} tokens, --ask {ask}: tokens of queries "
        "in the provider's prefix; without the first turn",
        f"{share:.1f} %, {later:.1f} %",
        "at least 90 %",
    )
