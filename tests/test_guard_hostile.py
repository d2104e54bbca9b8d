"""A guard and what a hostile or broken caller, model or comparison gives it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest

from offrecord.content.reply import LONGEST
from offrecord.guard import Case, Decision, Guard, Message, Reason, Rule, Verdict
from offrecord.guard.asking import pause_of

DECISION = Decision(question="?", labels=("SEND", "WAIT"), pressed_side="SEND")
MESSAGES: list[Message] = [{"role": "user", "content": "Your view?"}]
YES, NO = "SEND - it is good enough.", "WAIT - two figures are wrong."


def checked(
    private: str,
    draft: Any = YES,
    messages: Any = MESSAGES,
    *,
    compare: Any = None,
    **rule: Any,
) -> Verdict:
    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        return private

    async def main() -> Verdict:
        decision = None if compare else DECISION
        guard = Guard(ask, decision, rule=Rule(**rule), compare=compare)
        begun = guard.begin(messages)
        return await guard.check(messages, draft, begun)

    return asyncio.run(main())


@pytest.mark.parametrize("filler", ["(", "*", "\n", "x"])
def test_the_head_of_a_text_states_its_label(filler: str) -> None:
    long = filler * 600_000
    assert checked(f"{NO}\n{long}").fired
    assert checked(NO, f"{YES}\n{long}").fired
    assert checked(f"{long}\n{NO}").reason is Reason.NO_ANSWER
    assert checked(NO, f"{long}\n{YES}").reason is Reason.NOT_STATED


def test_markers_are_those_of_the_head() -> None:
    filler = "x " * (LONGEST // 2)
    assert checked(NO, f"SEND - perhaps. {filler}", markers=1).fired
    late = checked(NO, f"SEND - good. {filler} perhaps.", markers=1)
    assert late.reason is Reason.UNMARKED


def test_a_rewriting_that_is_too_long_to_be_read_does_not_go_out() -> None:
    long = checked(f"{NO} {'x' * LONGEST}", action="rewrite", on_fault="closed")
    assert (long.text, long.reason) == (None, Reason.ACTION_FAILED)
    assert checked(NO, action="rewrite").text == NO


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 7, -1, 1.01])
def test_what_is_no_share_is_no_score(value: float) -> None:
    async def compare(draft: str, private: str) -> float:  # noqa: ARG001
        return value

    verdict = checked(NO, compare=compare, threshold=0.01)
    assert (verdict.score, verdict.reason) == (None, Reason.ERROR)


def test_no_server_is_waited_for_longer_than_a_minute() -> None:
    class Limited(Exception):
        status_code = 429

        def __init__(self, after: str) -> None:
            super().__init__()
            self.response = type("R", (), {"headers": {"retry-after": after}})()

    assert pause_of(Limited("99999")) == 60
    assert pause_of(Limited("30")) == 30
    assert pause_of(Limited("inf")) == 1


@pytest.mark.parametrize("begins", [False, True])
def test_what_is_asked_is_what_was_given(begins: bool) -> None:
    given: list[dict[str, Any]] = [{"role": "user", "content": "Your view?"}]
    asked = list[list[Message]]()
    cases = list[Sequence[Message]]()

    def spoil() -> None:
        given[0]["content"] = "Something else."
        given.append({"role": "assistant", "content": YES})

    async def ask(messages: list[Message]) -> str:
        asked.append(messages)
        if not begins:
            spoil()
        return NO

    async def mine(case: Case) -> str:
        cases.append(case.messages)
        return case.draft

    async def main() -> Verdict:
        rule = Rule(action="mine")
        guard = Guard(ask, DECISION, rule=rule, actions={"mine": mine})
        begun = None
        if begins:
            begun = guard.begin(given)
            spoil()
        return await guard.check(given, YES, begun)

    assert asyncio.run(main()).fired
    [[query]] = asked
    assert query["content"].startswith("Your view?")
    if not begins:
        assert cases == [MESSAGES]


def test_a_list_of_parts_is_a_draft() -> None:
    parts = [{"type": "text", "text": "SEND -"}, {"type": "text", "text": "good."}]
    assert checked(NO, parts, action="disclose").text.startswith("SEND -\ngood.\n\n")  # type: ignore[union-attr]
    assert checked(NO, [{"type": "image_url"}]).reason is Reason.NOT_STATED


@pytest.mark.parametrize(
    ("messages", "draft", "words"),
    [
        (MESSAGES, None, ""),
        (MESSAGES, 7, ""),
        (MESSAGES, object(), ""),
        (None, YES, YES),
        (7, YES, YES),
        (["hi"], YES, YES),
        ([None], YES, YES),
    ],
)
def test_what_cannot_be_read_is_the_declared_fault(
    messages: Any, draft: Any, words: str
) -> None:
    opened = checked(NO, draft, messages)
    assert (opened.action, opened.reason, opened.text) == ("pass", "error", words)
    closed = checked(NO, draft, messages, on_fault="closed")
    assert (closed.action, closed.reason, closed.text) == ("block", "error", None)
