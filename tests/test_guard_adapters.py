"""A guard that asks over HTTP, by a client and by Inspect: faults, tokens, bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from inspect_ai.model import get_model

from offrecord.guard import Decision, Guard, Reason, Rule, Verdict
from offrecord.guard.inspect_model import ask_inspect
from offrecord.guard.openai_client import ask_openai
from tests.fake_server import Ending, FakeServer, Wire, completion, http, refusal

openai = pytest.importorskip("openai", reason="the extra 'openai' is not installed")

DECISION = Decision(question="?", labels=("SEND", "WAIT"), pressed_side="SEND")
MESSAGES = [
    {"role": "system", "content": "You review reports."},
    {"role": "user", "content": "Your view?"},
]
DRAFT, PRIVATE = "SEND - good enough.", "WAIT - two figures are wrong."


def checked(server: FakeServer, **rule: Any) -> Verdict:
    async def main() -> Verdict:
        async with openai.AsyncOpenAI(
            base_url=server.url, api_key="k", max_retries=0
        ) as client:
            ask = ask_openai(client, "fake", temperature=0.5)
            guard = Guard(ask, DECISION, rule=Rule(**{"timeout": 5, **rule}))
            return await guard.check(MESSAGES, DRAFT)

    return asyncio.run(main())


def told(body: dict[str, Any]) -> Wire:
    answer = completion(body, PRIVATE)
    answer["usage"]["prompt_tokens_details"] = {"cached_tokens": 7}
    return Wire(http(json.dumps(answer).encode()))


def test_a_client_is_asked_as_the_agent_is_and_its_tokens_are_counted() -> None:
    with FakeServer(respond=told) as server:
        verdict = checked(server)
    assert not server.faults
    assert verdict.fired
    [body] = server.bodies
    assert (body["model"], body["temperature"]) == ("fake", 0.5)
    assert body["messages"][0] == MESSAGES[0]
    used = completion(body, PRIVATE)["usage"]
    tokens = used["prompt_tokens"], 7, used["completion_tokens"]
    assert verdict.cost == (1, *tokens)


def test_a_429_is_waited_out_and_one_that_lasts_is_not() -> None:
    def limited(after: str) -> FakeServer:
        server = FakeServer()

        def respond(body: dict[str, Any]) -> Wire:
            if len(server.bodies) == 1:
                return Wire(http(refusal(429), 429, retry_after=after))
            return told(body)

        server.respond = respond
        return server

    with limited("0.1") as server:
        assert checked(server).fired
    assert len(server.bodies) == 2
    with limited("3600") as server:
        verdict = checked(server)
    assert (verdict.reason, verdict.cost.calls) == (Reason.RATE_LIMITED, 1)


def choiceless(body: dict[str, Any]) -> bytes:
    return json.dumps({**completion(body, ""), "choices": []}).encode()


def only_tools(body: dict[str, Any]) -> bytes:
    answer = completion(body, None, "tool_calls")
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": ""}}
    answer["choices"][0]["message"]["tool_calls"] = [call]
    return json.dumps(answer).encode()


def cut(body: dict[str, Any]) -> bytes:
    return http(json.dumps(completion(body, PRIVATE)).encode())[:-20]


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (lambda _: Wire(http(refusal(500), 500)), Reason.ERROR),
        (lambda _: Wire(b"", Ending.STALL), Reason.TIMEOUT),
        (lambda _: Wire(http(b"<html>no")), Reason.ERROR),
        (lambda body: Wire(cut(body), Ending.CLOSE), Reason.ERROR),
        (lambda body: Wire(http(choiceless(body))), Reason.ERROR),
        (lambda body: Wire(http(only_tools(body))), Reason.NO_ANSWER),
    ],
    ids=["500", "hang", "garbage", "cut", "no choices", "tool calls"],
)
@pytest.mark.parametrize("on_fault", ["open", "closed"])
def test_faults_over_http_end_as_declared(
    respond: Any, reason: Reason, on_fault: str
) -> None:
    with FakeServer(respond=respond) as server:
        verdict = checked(server, on_fault=on_fault, timeout=1)
    assert verdict.reason is reason
    assert verdict.text == (DRAFT if on_fault == "open" else None)


def test_a_model_of_inspect_is_asked_with_the_same_bytes() -> None:
    with FakeServer(respond=told) as server:
        model = get_model(
            "openai-api/fake/fake", base_url=server.url, api_key="k", memoize=False
        )
        guard = Guard(ask_inspect(model), DECISION)
        verdict = asyncio.run(guard.check(MESSAGES, DRAFT))
        direct = checked(server)
    assert verdict.fired
    assert verdict.cost == direct.cost
    first, second = server.bodies
    assert first["messages"] == second["messages"]
