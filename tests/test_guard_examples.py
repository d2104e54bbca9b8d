"""The same verdicts by every way in, and what the adapters in examples/ hold back."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from offrecord.guard import Decision, Guard, Message, Rule
from offrecord.guard.config import GuardConfig, config_text, read_config
from offrecord.records import OffrecordError
from tests.fake_server import FakeServer, Wire, completion, http
from tests.guard_conversations import (
    CONVERSATIONS,
    DECISION,
    TOOL_CALL,
    Conversation,
    message_for,
)
from tests.proxied import asked_aside, events, proxied

EXAMPLES = Path(__file__).parents[1] / "examples" / "guard"
DRAFT, PRIVATE = "SEND - good enough.", "WAIT - canary-0b77: they only press me."
DISCLOSED = f"{DRAFT}\n\n(My own assessment of the matter itself differs from this.)"
PRESSED = Decision(question="?", labels=("SEND", "WAIT"), pressed_side="SEND")
Found = list[Any]


def example(name: str, *needs: str) -> Any:
    for need in needs:
        pytest.importorskip(need, reason=f"'{need}' is not installed (the extra 'dev')")
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


@pytest.fixture(name="chain")
def chain_of_langchain() -> Any:
    return example("langchain_guard", "langchain", "langchain_openai")


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One loop for all calls of LiteLLM, whose logs go on in the first that it sees."""
    with asyncio.Runner() as one:
        yield one


@pytest.fixture(scope="module", name="lite")
def guardrail_of_litellm() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it is fetched
        yield example("litellm_guard", "litellm")


@pytest.fixture(scope="module")
def logged(lite: Any) -> list[str]:
    """What a logger of the user is given; LiteLLM takes one of a class for good."""
    texts = list[str]()
    logger = importlib.import_module("litellm.integrations.custom_logger").CustomLogger

    class Logger(logger):  # type: ignore[misc,valid-type]
        async def async_log_success_event(self, **given: Any) -> None:
            texts.append(str(given))

    lite.litellm.callbacks.append(Logger())
    return texts


def config_of(decision: Decision = DECISION, **rule: Any) -> GuardConfig:
    return GuardConfig(decision=decision, rule=Rule(**{"timeout": 60, **rule}))


def answered(body: dict[str, Any], message: dict[str, Any]) -> Wire:
    """A message as a completion, or as the stream that was asked for."""
    ended = "tool_calls" if message.get("tool_calls") else "stop"
    whole = completion(body, message["content"], ended)
    if not body.get("stream"):
        whole["choices"][0]["message"] = message
        return Wire(http(json.dumps(whole).encode()))
    calls = message.get("tool_calls")
    words = (message["content"] or "").split(" ")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f" {word}" if i else word} for i, word in enumerate(words)]
    deltas += [{"tool_calls": [{"index": 0, **one} for one in calls]}] if calls else []
    ends = [*[None] * len(deltas), ended]
    chunks = [
        {
            **{name: whole[name] for name in ("id", "created", "model")},
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
        }
        for delta, end in zip([*deltas, {}], ends, strict=True)
    ]
    content = events(*map(json.dumps, chunks), "[DONE]")
    return Wire(http(content, content_type="text/event-stream"))


def conversing() -> FakeServer:
    return FakeServer(
        respond=lambda body: answered(body, message_for(body["messages"]))
    )


async def by_check(_: str) -> list[Found]:
    async def ask(messages: list[Message]) -> str:
        return str(message_for([dict(one) for one in messages])["content"])

    guard = config_of().guard(ask)

    async def one(conversation: Conversation) -> Found:
        draft = message_for(conversation.messages)
        verdict = await guard.check(conversation.messages, draft)
        return [verdict.action, str(verdict.reason), verdict.score]

    return [await one(conversation) for conversation in CONVERSATIONS]


async def by_proxy(url: str) -> list[Found]:
    found = []
    async with aiohttp.ClientSession() as client:
        # on_fault closed: what is logged is held back, and the verdict in the headers
        with proxied(url, decision=DECISION, on_fault="closed", timeout=60) as served:
            for one in CONVERSATIONS:
                body = {"model": "fake", "messages": one.messages}
                address = f"{served.url}/chat/completions"
                async with client.post(address, json=body) as answer:
                    told = answer.headers
                score = told.get("x-offrecord-score")
                found.append(
                    [
                        told["x-offrecord-action"],
                        told["x-offrecord-reason"],
                        None if score is None else float(score),
                    ]
                )
    return found


def test_two_hundred_conversations_have_the_verdicts_that_are_due() -> None:
    assert len(CONVERSATIONS) == 200
    counts = {
        reason: sum(one.reason == reason for one in CONVERSATIONS)
        for reason in {one.reason for one in CONVERSATIONS}
    }
    # 5 histories x 5 replies: 1 draft calls a tool, 2 state no label. Of the 5 others 5
    # meet no side in one history, 3 meet theirs in two of SEND, 2 in two of WAIT.
    assert counts == {
        "tools_only": 25,
        "not_stated": 50,
        "no_side": 25,
        "not_pressed": 2 * 2 * 5 + 2 * 3 * 5,
        "no_answer": (2 * 3 + 2 * 2) * 2,
        "below_threshold": 2 * 3 * 1 + 2 * 2 * 2,
        "conflict": 2 * 3 * 2 + 2 * 2 * 1,
    }
    assert asyncio.run(by_check("")) == due("pass")


def due(on_fault: str) -> list[Found]:
    actions = {"conflict": "log", "no_answer": on_fault}
    return [
        [actions.get(one.reason, "pass"), one.reason, one.score]
        for one in CONVERSATIONS
    ]


def test_the_proxy_finds_the_same() -> None:
    with conversing() as server:
        assert asyncio.run(by_proxy(server.url)) == due("block")


def test_langchain_finds_the_same(chain: Any) -> None:
    async def main(url: str) -> list[Found]:
        def look_up() -> str:
            """Look something up."""
            return "nothing"

        agent = agent_of(chain, url, config_of(), tools=[look_up])
        found = []
        for one in CONVERSATIONS:
            state = await agent.ainvoke({"messages": one.messages})
            said = state["messages"][len(one.messages)]
            action, reason, score = said.response_metadata["offrecord"]
            found.append([action, str(reason), score])
        return found

    with conversing() as server:
        assert asyncio.run(main(server.url)) == due("pass")


@pytest.mark.parametrize("streams", [False, True])
def test_litellm_finds_the_same(
    lite: Any,
    runner: asyncio.Runner,
    streams: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> list[Found]:
        guardrail = guardrail_of(lite, config_of(), tmp_path)
        found = []
        for one in CONVERSATIONS:
            data: dict[str, Any] = {"model": "openai/fake", "messages": one.messages}
            await through(lite, guardrail, data, streams)
            found.append(data["metadata"]["offrecord"])
        return found

    with conversing() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        assert runner.run(main()) == due("pass")


def agent_of(chain: Any, url: str, config: GuardConfig, **more: Any) -> Any:
    chat = chain.ChatOpenAI(model="fake", base_url=url, api_key="k", max_retries=0)
    return chain.create_agent(chat, middleware=[chain.GuardMiddleware(config)], **more)


def guardrail_of(
    lite: Any, config: GuardConfig, folder: Path, mode: str = "post_call"
) -> Any:
    path = folder / "guard.yaml"
    path.write_text(config_text(config), encoding="utf-8")
    return lite.OffrecordGuardrail(str(path), guardrail_name="g", event_hook=mode)


async def through(
    lite: Any, guardrail: Any, data: dict[str, Any], streams: bool
) -> tuple[str, str, bool]:
    """A call by LiteLLM with its guardrail: words, why they end, whether a tool is."""
    response = await lite.litellm.acompletion(**data, stream=streams)
    if not streams:
        out = await guardrail.async_post_call_success_hook(data, None, response)
        choice = out.choices[0]
    else:
        hook = guardrail.async_post_call_streaming_iterator_hook
        chunks = [chunk async for chunk in hook(None, response, data)]
        choice = lite.litellm.stream_chunk_builder(chunks).choices[0]
    message = choice.message
    return message.content or "", choice.finish_reason, bool(message.tool_calls)


def drafting(calls: bool) -> FakeServer:
    def respond(body: dict[str, Any]) -> Wire:
        message: dict[str, Any] = {"role": "assistant", "content": PRIVATE}
        if not asked_aside(body["messages"]):
            message["content"] = DRAFT
            if calls and body["messages"][-1]["role"] != "tool":
                message["tool_calls"] = [TOOL_CALL]
        return answered(body, message)

    return FakeServer(respond=respond)


ACTIONS: list[tuple[str, Callable[[str], bool], str]] = [
    ("log", lambda words: words == DRAFT, "stop"),
    ("disclose", lambda words: words == DISCLOSED, "stop"),
    ("clarify", lambda words: words.startswith("Before I commit"), "stop"),
    ("block", lambda words: words == "", "content_filter"),
]


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("action", "is_due", "ended"), ACTIONS)
def test_what_comes_out_of_litellm(
    lite: Any,
    runner: asyncio.Runner,
    logged: list[str],
    action: str,
    is_due: Callable[[str], bool],
    ended: str,
    streams: bool,
    calls: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def main() -> tuple[str, str, bool]:
        guardrail = guardrail_of(lite, config_of(PRESSED, action=action), tmp_path)
        messages = [{"role": "user", "content": "Your view?"}]
        data: dict[str, Any] = {"model": "openai/fake", "messages": messages}
        data["temperature"] = 0.5
        found = await through(lite, guardrail, data, streams)
        for _ in range(100):  # it logs behind the answer
            if logged:
                break
            await asyncio.sleep(0.05)
        return found

    logged.clear()
    with drafting(calls) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        words, why, calling = runner.run(main())
    assert is_due(words)
    keeps = calls and action in {"log", "disclose"}
    assert calling == keeps
    assert why == ("tool_calls" if keeps else ended)
    assert server.bodies[1]["temperature"] == 0.5
    out, err = capfd.readouterr()
    assert "canary" not in f"{out}{err}{logged}"
    assert DRAFT in str(logged), "the draft's own call is the user's to log"


@pytest.mark.parametrize("mode", ["pre_call", "during_call", "logging_only"])
def test_litellm_refuses_modes_that_hold_nothing_back(
    lite: Any, mode: str, tmp_path: Path
) -> None:
    with pytest.raises(OffrecordError, match="post_call"):
        guardrail_of(lite, config_of(PRESSED, action="block"), tmp_path, mode)
    guardrail_of(lite, config_of(PRESSED, action="log"), tmp_path, mode)


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize(("action", "is_due"), [one[:2] for one in ACTIONS])
def test_what_comes_out_of_langchain(
    chain: Any, action: str, is_due: Callable[[str], bool], calls: bool
) -> None:
    looked = []

    def look_up() -> str:
        """Look something up."""
        looked.append(1)
        return "nothing"

    async def main(url: str) -> tuple[list[Any], list[Any]]:
        config = config_of(PRESSED, action=action)
        agent = agent_of(chain, url, config, tools=[look_up])
        question = {"messages": [{"role": "user", "content": "Your view?"}]}
        modes = ["messages", "updates", "values", "debug"]
        parts = [one async for one in agent.astream(question, stream_mode=modes)]
        seen = [one async for one in agent.astream_events(question, version="v2")]
        return parts, seen

    with drafting(calls) as server:
        parts, seen = asyncio.run(main(server.url))
    values = [part for mode, part in parts if mode == "values"]
    said = values[1]["messages"][1]
    assert is_due(said.text)
    keeps = calls and action in {"log", "disclose"}
    assert bool(said.tool_calls) == keeps == bool(looked)
    assert "canary" not in f"{parts}{seen}"
    if action in {"clarify", "block"}:
        assert DRAFT not in str(parts), "no stream of LangGraph has the draft"
        assert DRAFT in str(seen), "events do: the documentation says so"


def test_langchain_refuses_calls_that_are_not_async(chain: Any) -> None:
    agent = agent_of(chain, "http://127.0.0.1:9/v1", config_of(PRESSED))
    with pytest.raises(NotImplementedError, match="sync"):
        agent.invoke({"messages": [{"role": "user", "content": "Your view?"}]})


def test_the_configuration_of_the_examples_is_a_guards() -> None:
    config = read_config(EXAMPLES / "guard.yaml")

    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        return ""

    assert isinstance(config.guard(ask), Guard)
