"""A canary in every off-the-record reply is in nothing that a guard leaves behind."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
import math
import os
import pickle
import stat
import traceback
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from offrecord.guard import Answer, Case, Decision, Guard, Message, Rule, Verdict
from offrecord.guard.asking import Calls, Meter
from offrecord.guard.types import Private
from offrecord.records import OffrecordError

CANARY = "canary-7c31e0"
DECISION = Decision(question="?", labels=("SEND", "WAIT"), pressed_side="SEND")
MESSAGES: list[Message] = [{"role": "user", "content": "Your view?"}]
DRAFT = "SEND - it is good enough."
PRIVATE = f"WAIT - {CANARY} is why."


class Span:
    """As a tracer of OpenTelemetry gives it."""

    def __init__(self) -> None:
        self.name, self.how, self.attributes = "", dict[str, Any](), dict[str, Any]()

    @contextmanager
    def start_as_current_span(self, name: str, **how: Any) -> Any:
        self.name, self.how = name, how
        yield self

    def set_attribute(self, name: str, value: Any) -> None:
        self.attributes[name] = value


async def answers(messages: list[Message]) -> Answer:  # noqa: ARG001
    return Answer(text=PRIVATE)


async def unreadable(messages: list[Message]) -> str:  # noqa: ARG001
    return f"{CANARY}!"


async def raises(messages: list[Message]) -> str:  # noqa: ARG001
    raise RuntimeError(PRIVATE)


async def hangs(messages: list[Message]) -> str:  # noqa: ARG001
    private = PRIVATE
    await asyncio.Event().wait()
    return private


async def compares(draft: str, private: str) -> float:  # noqa: ARG001
    return float(CANARY in private)


async def compare_raises(draft: str, private: str) -> float:  # noqa: ARG001
    raise ValueError(private)


async def compare_hangs(draft: str, private: str) -> float:  # noqa: ARG001
    await asyncio.Event().wait()
    return 1.0


async def act(case: Case) -> str:
    assert CANARY not in repr(case)
    return case.draft


async def act_raises(case: Case) -> str:
    raise LookupError(case.draft)


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("action", ["log", "disclose", "block", "mine", "broken"])
@pytest.mark.parametrize(
    ("ask", "compare"),
    [
        (answers, None),
        (unreadable, None),
        (raises, None),
        (hangs, None),
        (answers, compares),
        (answers, compare_raises),
        (answers, compare_hangs),
    ],
)
def test_a_canary_is_in_no_log_span_exception_or_repr(
    ask: Callable[[list[Message]], Awaitable[str | Answer]],
    compare: Any,
    action: str,
    begins: bool,
    cancelled: bool,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    span, left = Span(), list[str]()

    async def main() -> None:
        guard = Guard(
            ask,
            None if compare else DECISION,
            rule=Rule(action=action, timeout=0.05, draws=2),
            compare=compare,
            actions={"mine": act, "broken": act_raises},
            tracer=span,
        )
        begun = guard.begin(MESSAGES) if begins else None
        await asyncio.sleep(0.01)
        tasks = [task for task in asyncio.all_tasks() if begins]
        check = asyncio.create_task(guard.check(MESSAGES, DRAFT, begun))
        await asyncio.sleep(0.01 if cancelled else 0.1)
        left.extend(map(repr, [guard, begun, check, *tasks]))
        check.cancel()
        try:
            verdict = await check
            left.append(repr(verdict) + str(verdict.text))
        except asyncio.CancelledError as error:
            left.append(spelled(error))

    asyncio.run(main(), debug=True)
    gc.collect()
    logged = [
        record.getMessage() + str(record.args) + str(record.exc_info)
        for record in caplog.records
    ]
    out, err = capfd.readouterr()
    for text in (*left, *logged, repr(span.__dict__), out, err):
        assert CANARY not in text
    assert span.name == "offrecord.guard.check"
    assert span.how == {"record_exception": False, "set_status_on_exception": False}


def spelled(error: BaseException) -> str:
    """An exception as tools that report errors spell it: with causes and locals."""
    found = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(found.format())


@pytest.mark.parametrize("compare", [None, compare_hangs])
def test_a_cancelled_check_brings_no_frame_that_holds_a_reply(compare: Any) -> None:
    # Cancelled in the very call: its frames stand in the cancellation's traceback.
    async def main() -> str:
        guard = Guard(
            answers if compare else hangs,
            None if compare else DECISION,
            compare=compare,
        )
        check = asyncio.create_task(guard.check(MESSAGES, DRAFT))
        await asyncio.sleep(0.05)
        check.cancel()
        try:
            await check
        except asyncio.CancelledError as error:
            return spelled(error)
        raise AssertionError

    said = asyncio.run(main())
    assert "CancelledError" in said
    assert CANARY not in said


class Stopped(BaseException):
    """What no one handles."""


def raising(kind: type[BaseException], where: str) -> Guard:
    """A guard whose model, comparison or action raises off-the-record text."""

    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        if where == "ask":
            raise kind(PRIVATE)
        return PRIVATE

    async def compare(draft: str, private: str) -> float:  # noqa: ARG001
        if where == "compare":
            raise kind(private)
        return 1.0

    async def mine(case: Case) -> str:  # noqa: ARG001
        raise kind(PRIVATE)

    rule = Rule(action="mine", draws=2)
    return Guard(ask, compare=compare, rule=rule, actions={"mine": mine})


@pytest.mark.parametrize("where", ["ask", "compare", "act"])
@pytest.mark.parametrize("kind", [Stopped, asyncio.CancelledError])
def test_a_call_that_stops_by_itself_has_failed(kind: Any, where: str) -> None:
    verdict = asyncio.run(raising(kind, where).check(MESSAGES, DRAFT))
    assert verdict.reason == ("action_failed" if where == "act" else "error")
    assert verdict.text == DRAFT


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("where", ["ask", "compare", "act"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_goes_on_without_its_words(
    kind: Any, where: str, begins: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        guard = raising(kind, where)
        begun = guard.begin(MESSAGES) if begins else None
        await guard.check(MESSAGES, DRAFT, begun)

    with pytest.raises(kind) as found:
        asyncio.run(main())
    gc.collect()
    assert not isinstance(found.value, SystemExit) or found.value.code == 1
    assert CANARY not in spelled(found.value)
    for record in caplog.records:
        assert CANARY not in f"{record.getMessage()} {record.exc_info}"


def test_a_call_whose_coroutine_is_closed_ends_there() -> None:
    async def endless(messages: list[Message]) -> str:  # noqa: ARG001
        while True:
            await asyncio.sleep(0)

    async def main() -> None:
        work = Calls(endless, 1).text(MESSAGES, Meter(math.inf))
        for _ in range(10):
            work.send(None)
        work.close()  # raises what the coroutine makes of it

    asyncio.run(main())


def test_a_span_says_action_score_and_reason() -> None:
    span = Span()
    guard = Guard(answers, DECISION, tracer=span)
    asyncio.run(guard.check(MESSAGES, DRAFT))
    assert span.attributes == {
        "offrecord.guard.action": "log",
        "offrecord.guard.reason": "conflict",
        "offrecord.guard.score": 1.0,
    }


def test_private_text_is_neither_shown_nor_pickled() -> None:
    assert CANARY not in f"{Private(CANARY)!r} {Private(CANARY)}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dump(Private(CANARY), io.BytesIO())
    assert CANARY not in repr(Answer(text=CANARY))


def judged(path: Path | None, ask: Any = answers) -> Verdict:
    guard = Guard(ask, DECISION, evidence=path)
    return asyncio.run(guard.check(MESSAGES, DRAFT))


def test_evidence_is_kept_on_request_alone_and_for_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "evidence.jsonl"
        assert judged(path).fired
        assert judged(path).fired
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first, _ = map(json.loads, path.read_text(encoding="ascii").splitlines())
    assert first["off_record"] == [PRIVATE]
    assert (first["draft"], first["action"], first["score"]) == (DRAFT, "log", 1)

    async def agrees(messages: list[Message]) -> str:  # noqa: ARG001
        return DRAFT

    kept = path.read_bytes()
    assert not judged(path, agrees).fired
    assert path.read_bytes() == kept
    assert judged(None).fired
    assert [one.name for one in tmp_path.iterdir()] == ["evidence.jsonl"]


def test_a_file_of_evidence_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evidence.jsonl"
    path.touch(mode=0o644)
    with pytest.raises(OffrecordError, match="owner alone"):
        judged(path)
    link = tmp_path / "link"
    path.chmod(0o600)
    link.symlink_to(path)
    with pytest.raises(OffrecordError, match="link"):
        judged(link)
    with pytest.raises(OffrecordError, match="No such file"):
        judged(tmp_path / "none" / "evidence")
    assert path.read_bytes() == b""


def test_evidence_that_cannot_be_written_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "evidence.jsonl"
    guard = Guard(answers, DECISION, evidence=path)
    path.chmod(0o644)
    verdict = asyncio.run(guard.check(MESSAGES, DRAFT))
    assert verdict.fired
    assert "evidence of a conflict could not be written" in caplog.text
    assert CANARY not in caplog.text
