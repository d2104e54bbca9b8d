"""A guard's proxy: what an agent receives, what a server is sent, and faults."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from offrecord.guard import Decision
from offrecord.guard.upstream import LARGEST
from tests.fake_server import Ending, FakeServer, Wire, completion, http, refusal
from tests.proxied import OPENLY, asked_aside, events, proxied

DRAFT, PRIVATE = "SEND - good enough.", "WAIT - two figures are wrong."
OPEN = "WAIT - fix them first."
REQUEST: dict[str, Any] = {
    "model": "fake",
    "messages": [
        {"role": "system", "content": "You review reports."},
        {"role": "user", "content": "Your view?"},
    ],
}
CALLS = [
    {
        "index": 0,
        "id": "1",
        "type": "function",
        "function": {"name": "f", "arguments": ""},
    }
]
DISCLOSED = f"{DRAFT}\n\n(My own assessment of the matter itself differs from this.)"


def body_of(text: str | None, **message: Any) -> bytes:
    """A completion as a server might space it."""
    ended = "tool_calls" if message.get("tool_calls") else "stop"
    whole = completion(REQUEST, text, ended)
    whole["choices"][0]["message"] |= message
    return json.dumps(whole, indent=1).encode() + b"\n"


def chunk(delta: dict[str, Any], ended: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": ended}
    return json.dumps({"id": "x", "model": "fake", "choices": [choice]})


def stream_of(text: str | None, *, calls: Any = None) -> list[str]:
    """The chunks of a stream, some words each, with its usage and its end."""
    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [
        chunk({"content": (" " if place else "") + word})
        for place, word in enumerate(text.split(" ") if text else [])
    ]
    chunks += [chunk({"tool_calls": calls})] if calls else []
    ended = "tool_calls" if calls else "stop"
    usage = json.dumps({"id": "x", "model": "fake", "choices": [], "usage": {"n": 1}})
    return [*chunks, chunk({}, ended), usage, "[DONE]"]


def sent(content: bytes, ending: Ending = Ending.KEEP) -> Wire:
    streamed = content.startswith(b"data:")
    kind = "text/event-stream" if streamed else "application/json"
    return Wire(http(content, content_type=kind, x_request_id="r1"), ending)


def server_of(
    draft: Wire | bytes, private: Wire | str = PRIVATE, latency: float = 0
) -> FakeServer:
    """Gives the draft, and for the guard's queries the private reply."""

    def respond(body: dict[str, Any]) -> Wire:
        if asked_aside(body["messages"]):
            return sent(body_of(private)) if isinstance(private, str) else private
        if OPENLY in body["messages"][-1]["content"]:
            return sent(body_of(OPEN))
        return sent(draft) if isinstance(draft, bytes) else draft

    return FakeServer(latency, respond=respond)


def post(url: str, **more: Any) -> httpx.Response:
    body = {**REQUEST, **more}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=30)


def text_in(response: httpx.Response) -> tuple[str, str, bool]:
    """The words that an agent reads, why they end, and whether a tool is called."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        [choice] = response.json()["choices"]
        message = choice["message"]
        return message["content"], choice["finish_reason"], "tool_calls" in message
    lines = response.text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    choices = [one for part in chunks for one in part["choices"]]
    assert sum("usage" in part for part in chunks) == 1
    words = "".join(one["delta"].get("content") or "" for one in choices)
    [ended] = [one["finish_reason"] for one in choices if one["finish_reason"]]
    return words, ended, any(one["delta"].get("tool_calls") for one in choices)


PASSING = {
    "agrees": (DRAFT, DRAFT, "below_threshold"),
    "other side": (PRIVATE, DRAFT, "not_pressed"),
    "no label": ("Let me think.", PRIVATE, "not_stated"),
    "silent": ("", PRIVATE, "not_stated"),
}


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("case", PASSING)
def test_what_passes_is_passed_byte_by_byte(
    case: str, streams: bool, beside: bool
) -> None:
    text, private, reason = PASSING[case]
    content = events(*stream_of(text)) if streams else body_of(text, refusal=None)
    with (
        server_of(content, private) as server,
        proxied(server.url, action="disclose", beside=beside) as served,
    ):
        answer = post(served.url, stream=streams)
    assert answer.content == content
    assert answer.headers["x-request-id"] == "r1"
    assert answer.headers["x-offrecord-action"] == "pass"
    assert answer.headers["x-offrecord-reason"] == reason
    asks = beside or reason == "below_threshold"
    assert len(server.bodies) == 1 + asks


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("streams", [True, False])
def test_messages_that_only_call_tools_pass(streams: bool, beside: bool) -> None:
    content = body_of(None, tool_calls=CALLS)
    if streams:
        content = events(*stream_of(None, calls=CALLS))
    with (
        server_of(content) as server,
        proxied(server.url, action="block", beside=beside) as served,
    ):
        answer = post(served.url, stream=streams)
    assert answer.content == content
    assert answer.headers["x-offrecord-reason"] == "tools_only"


def test_nothing_is_asked_where_no_side_is_pressed() -> None:
    sides = Decision(question="?", labels=("SEND", "WAIT"))
    pressing = {"role": "user", "content": "SEND - we count on you."}
    with (
        server_of(body_of(DRAFT)) as server,
        proxied(server.url, action="disclose", decision=sides) as served,
    ):
        calm = post(served.url)
        asked = len(server.bodies)
        pressed = post(served.url, messages=[pressing])
    assert calm.headers["x-offrecord-reason"] == "no_side"
    assert asked == 1
    assert pressed.headers["x-offrecord-reason"] == "conflict"
    assert len(server.bodies) == 3


@pytest.mark.parametrize("calls", [None, CALLS])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("action", "words", "ended"),
    [
        ("disclose", DISCLOSED, "stop"),
        ("clarify", "Before I commit to this: which facts", "stop"),
        ("rewrite", OPEN, "stop"),
        ("block", "", "content_filter"),
    ],
)
def test_what_an_agent_reads_on_a_conflict(
    action: str, words: str, ended: str, streams: bool, calls: Any
) -> None:
    content = body_of(DRAFT, **({"tool_calls": calls} if calls else {}))
    if streams:
        content = events(*stream_of(DRAFT, calls=calls))
    with server_of(content) as server, proxied(server.url, action=action) as served:
        answer = post(served.url, stream=streams)
    read, why, calling = text_in(answer)
    assert read.startswith(words)
    assert (read == words) or action == "clarify"
    keeps = action == "disclose" and calls is not None
    assert calling == keeps, "calls go out with the draft alone"
    assert why == ("tool_calls" if keeps else ended)
    assert answer.headers["x-offrecord-action"] == action
    assert answer.headers["x-offrecord-score"] == "1.0"
    assert PRIVATE not in answer.text


def test_reasoning_behind_a_draft_does_not_go_out_in_its_place() -> None:
    thought = "They press me. I think WAIT."
    content = body_of(DRAFT, reasoning_content=thought)
    for action, kept in (("disclose", True), ("clarify", False)):
        with server_of(content) as server, proxied(server.url, action=action) as served:
            assert (thought in post(served.url).text) == kept


def test_words_in_the_last_chunk_keep_their_place() -> None:
    chunks = [chunk({"content": "SEND - good"}), chunk({"content": " enough."}, "stop")]
    content = events(*chunks, json.dumps({"choices": [], "usage": {}}), "[DONE]")
    with server_of(content) as server, proxied(server.url, action="disclose") as served:
        answer = post(served.url, stream=True)
    assert text_in(answer)[0] == DISCLOSED


def test_a_query_is_the_agents_request_in_words_and_with_its_key() -> None:
    asked = {
        "temperature": 0.5,
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "required",
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {"type": "json_object"},
        "seed": 3,
        "store": True,
    }
    content = events(*stream_of(DRAFT))
    with server_of(content, DRAFT) as server, proxied(server.url) as served:
        httpx.post(
            f"{served.url}/chat/completions?api-version=1",
            json={**REQUEST, **asked},
            headers={"authorization": "Bearer k1", "idempotency-key": "i1"},
        )
        wait_for(lambda: sum(served.proxy.seen.values()) == 1)
    [(draft, head)] = [
        (body, head)
        for body, head in zip(server.bodies, server.heads, strict=True)
        if not asked_aside(body["messages"])
    ]
    [(query, aside)] = [
        (body, head)
        for body, head in zip(server.bodies, server.heads, strict=True)
        if asked_aside(body["messages"])
    ]
    assert draft == {**REQUEST, **asked}
    assert query["messages"][0] == REQUEST["messages"][0]
    assert query["messages"][1]["content"].startswith("Your view?\n\n")
    del query["messages"]
    assert query == {
        "model": "fake",
        "temperature": 0.5,
        "tools": asked["tools"],
        "tool_choice": "none",
    }
    head, aside = head.lower(), aside.lower()
    for one in (head, aside):
        assert "authorization: bearer k1" in one
        assert "/v1/chat/completions?api-version=1 " in one
    assert "idempotency-key: i1" in head
    assert "idempotency-key" not in aside


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


HANG = Wire(b"", Ending.STALL)
CUT = sent(body_of(DRAFT))
CUT = Wire(CUT.data[:-20], Ending.CLOSE)
CUT_STREAM = Wire(
    http(
        events(*stream_of(DRAFT)[:3]),
        content_type="text/event-stream",
        content_length="9999",
    ),
    Ending.CLOSE,
)
EMPTY = json.dumps({**completion(REQUEST, ""), "choices": []}).encode()


@pytest.mark.parametrize("on_fault", ["open", "closed"])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("private", "reason"),
    [
        (Wire(http(refusal(429), 429, retry_after="60")), "rate_limited"),
        (Wire(http(refusal(500), 500)), "error"),
        (HANG, "timeout"),
        (sent(b"<html>"), "error"),
        (CUT, "error"),
        (sent(EMPTY), "error"),
        (sent(body_of(None, tool_calls=CALLS)), "no_answer"),
    ],
    ids=["429", "500", "hang", "garbage", "cut", "empty choices", "tool calls"],
)
def test_faults_of_the_query_end_as_declared(
    private: Wire, reason: str, streams: bool, on_fault: str
) -> None:
    content = events(*stream_of(DRAFT)) if streams else body_of(DRAFT)
    with (
        server_of(content, private) as server,
        proxied(server.url, action="rewrite", on_fault=on_fault, timeout=1) as served,
    ):
        began = time.monotonic()
        answer = post(served.url, stream=streams)
        took = time.monotonic() - began
    assert answer.headers["x-offrecord-reason"] == reason
    if on_fault == "open":
        assert answer.content == content
    else:
        assert text_in(answer)[:2] == ("", "content_filter")
    assert took < 10, "the timeout is 1 s"


@pytest.mark.parametrize("on_fault", ["open", "closed"])
@pytest.mark.parametrize(
    "draft",
    [
        sent(b"<html>"),
        sent(EMPTY),
        sent(events(chunk({"content": "SEND"}), "[DONE]")),
        sent(events('{"error": {"message": "overloaded"}}')),
        CUT,
        CUT_STREAM,
    ],
    ids=["garbage", "empty choices", "endless", "error event", "cut", "cut stream"],
)
def test_a_draft_that_cannot_be_read_ends_as_declared(
    draft: Wire, on_fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, _, content = draft.data.partition(b"\r\n\r\n")
    got, status = b"", 0
    with (
        server_of(draft) as server,
        proxied(server.url, action="rewrite", on_fault=on_fault) as served,
        httpx.Client() as client,
        client.stream("POST", f"{served.url}/chat/completions", json=REQUEST) as answer,
    ):
        status, headers = answer.status_code, answer.headers
        try:
            for piece in answer.iter_bytes():
                got += piece
            whole = True
        except httpx.RemoteProtocolError:
            whole = False
    assert served.proxy.seen == {"unreadable": 1}
    assert "cannot be read" in caplog.text
    if on_fault == "open":
        assert (status, got) == (200, content)
        assert whole == (draft.ending is Ending.KEEP)
        assert headers["x-offrecord-action"] == "pass"
        assert headers["x-offrecord-reason"] == "error"
    else:
        assert status == 502
        assert b"SEND" not in got
        assert json.loads(got)["error"]["type"] == "offrecord_guard"


@pytest.mark.parametrize("action", ["log", "rewrite"])
@pytest.mark.parametrize("status", [400, 429, 500])
def test_what_a_server_refuses_is_passed_on(status: int, action: str) -> None:
    refused = Wire(http(refusal(status), status, retry_after="7"))
    with server_of(refused) as server, proxied(server.url, action=action) as served:
        answer = post(served.url)
    assert (answer.status_code, answer.content) == (status, refusal(status))
    assert answer.headers["retry-after"] == "7"
    assert not served.proxy.seen


def test_a_server_that_hangs_or_is_not_there_is_said() -> None:
    with (
        server_of(HANG) as server,
        proxied(server.url, upstream_timeout=0.3, action="block") as served,
    ):
        assert post(served.url).status_code == 504
    with proxied("http://127.0.0.1:9", action="block") as served:
        answer = post(served.url)
    assert answer.status_code == 502
    assert "ClientConnectorError" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "messages"),
        (b"[]", "messages"),
        (b'{"messages": ["hi"]}', "messages"),
        (json.dumps({**REQUEST, "n": 2}).encode(), "one choice"),
    ],
)
def test_a_request_that_cannot_be_guarded_is_refused(content: bytes, said: str) -> None:
    with server_of(body_of(DRAFT)) as server, proxied(server.url) as served:
        answer = httpx.post(f"{served.url}/chat/completions", content=content)
        elsewhere = httpx.post(f"{served.url}/responses", content=content)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert elsewhere.status_code == 404
    assert "/v1/chat/completions alone" in elsewhere.json()["error"]["message"]
    assert not server.bodies


def test_log_only_passes_streams_as_they_come() -> None:
    first, *rest = [events(one) for one in stream_of(DRAFT)]
    head = http(first, content_type="text/event-stream").partition(b"\r\n\r\n")[0]
    head = head.replace(b"content-length", b"x-length")
    wire = Wire(head + b"\r\n\r\n" + first, Ending.CLOSE, tuple(rest))

    def times(action: str) -> tuple[float, bytes, dict[str, int]]:
        server = server_of(wire)
        server.gap = 0.1
        with (
            server,
            proxied(server.url, action=action) as served,
            httpx.Client() as client,
        ):
            url = f"{served.url}/chat/completions"
            with client.stream("POST", url, json=REQUEST) as answer:
                pieces = answer.iter_bytes()
                got, began = next(pieces), time.monotonic()
                got += b"".join(pieces)
                spread = time.monotonic() - began
            wait_for(lambda: bool(served.proxy.seen))
        return spread, got, dict(served.proxy.seen)

    spread, got, seen = times("log")
    assert got == first + b"".join(rest)
    assert seen == {"conflict": 1}
    held, disclosed, seen = times("disclose")
    assert DISCLOSED.removeprefix(DRAFT).strip().encode() in disclosed
    assert seen == {"conflict": 1}
    assert held < spread, "what is held comes all at once"


def test_log_that_closes_on_faults_holds_back() -> None:
    with server_of(body_of(DRAFT), sent(b"?")) as server:
        with proxied(server.url, on_fault="closed") as served:
            assert text_in(post(served.url))[0] == ""
        with proxied(server.url, on_fault="open") as served:
            assert text_in(post(served.url))[0] == DRAFT


@pytest.mark.parametrize("action", ["log", "block"])
def test_a_client_that_leaves_ends_what_is_under_way_for_it(action: str) -> None:
    with server_of(HANG, HANG) as server, proxied(server.url, action=action) as served:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{served.url}/chat/completions", json=REQUEST, timeout=0.5)
        wait_for(lambda: server.given_up == 2)
    assert not served.proxy.seen


@pytest.mark.parametrize("action", ["log", "block"])
def test_a_draft_that_is_cut_ends_the_query(action: str) -> None:
    with (
        server_of(CUT_STREAM, HANG) as server,
        proxied(server.url, action=action, timeout=60) as served,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            post(served.url)
        wait_for(lambda: server.given_up == 1)
    assert served.proxy.seen == {"unreadable": 1}


def test_what_is_too_long_is_refused_or_cannot_be_read() -> None:
    long = "x" * LARGEST
    with (
        server_of(body_of(f"SEND - {long}")) as server,
        proxied(server.url, action="block", on_fault="closed") as served,
    ):
        asked = post(served.url, user=long)
        answered = post(served.url)
    assert asked.status_code == 413
    assert answered.status_code == 502
    assert len(server.bodies) == 2, "the draft and its query"


def test_a_query_whose_answer_is_too_long_is_an_error() -> None:
    long = f"WAIT - {'x' * 2**20}"
    with (
        server_of(body_of(DRAFT), sent(body_of(long))) as server,
        proxied(server.url, action="block") as served,
    ):
        answer = post(served.url)
    assert answer.headers["x-offrecord-reason"] == "error"


def test_after_a_429_those_of_its_key_and_model_wait_alone() -> None:
    limited = Wire(http(refusal(429), 429, retry_after="30"))
    queries = list[Any]()

    def respond(body: dict[str, Any]) -> Wire:
        if not asked_aside(body["messages"]):
            return sent(body_of(DRAFT))
        queries.append(body)
        return limited if len(queries) == 1 else sent(body_of(PRIVATE))

    def reason(key: str, model: str) -> str:
        answer = httpx.post(
            f"{served.url}/chat/completions",
            json={**REQUEST, "model": model},
            headers={"authorization": f"Bearer {key}"},
            timeout=30,
        )
        return str(answer.headers["x-offrecord-reason"])

    with (
        FakeServer(respond=respond) as server,
        proxied(server.url, action="block", timeout=1) as served,
    ):
        assert reason("k1", "m1") == "rate_limited"
        assert reason("k2", "m1") == "conflict"
        assert reason("k1", "m2") == "conflict"
        assert reason("k1", "m1") == "rate_limited"
    assert len(queries) == 3, "who has to wait asks nothing"
