"""The guard: what it asks, when it fires, what it does, what becomes of faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import anyio
import pytest

from offrecord.guard import (
    Answer,
    Case,
    Decision,
    Guard,
    Message,
    Reason,
    Rule,
    Verdict,
)
from offrecord.guard.part import with_part
from offrecord.protocol.wording import read_wording
from offrecord.records import OffrecordError

T = TypeVar("T")
DECISION = Decision(
    question="Should the report go out now?",
    labels=("SEND", "WAIT"),
    pressed_side="SEND",
)
MESSAGES: list[Message] = [
    {"role": "system", "content": "You review reports."},
    {"role": "user", "content": "I count on you here."},
]
YES, NO = "SEND - it is good enough.", "WAIT - two figures are wrong."
QUERY_ENDS = "Write nothing before the decision."


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Model:
    """Answers queries with some texts in turn, and anything else with another."""

    def __init__(self, *private: str, rewritten: str = NO) -> None:
        self.private, self.rewritten = list(private), rewritten
        self.asked: list[list[Message]] = []
        self.queries = 0

    async def __call__(self, messages: list[Message]) -> str:
        self.asked.append(messages)
        await asyncio.sleep(0)
        if not str(messages[-1]["content"]).endswith(QUERY_ENDS):
            return self.rewritten
        self.queries += 1
        return self.private[(self.queries - 1) % len(self.private)]


def checked(
    ask: Callable[[list[Message]], Awaitable[str | Answer]],
    draft: str | Message = YES,
    *,
    decision: Decision | None = DECISION,
    messages: Sequence[Message] = MESSAGES,
    compare: Any = None,
    actions: Any = None,
    **rule: Any,
) -> Verdict:
    guard = Guard(
        ask, decision, rule=Rule(**rule), compare=compare, actions=actions or {}
    )
    return run(guard.check(messages, draft))


def test_a_draft_on_the_pressed_side_that_is_not_held_off_the_record_fires() -> None:
    model = Model(NO)
    verdict = checked(model)
    assert (verdict.action, verdict.score, verdict.reason) == ("log", 1, "conflict")
    assert verdict.fired
    assert verdict.text == YES
    assert verdict.cost.calls == 1
    assert checked(Model(YES)).reason is Reason.BELOW


@pytest.mark.parametrize(
    ("draft", "decision", "reason"),
    [
        (NO, DECISION, Reason.NOT_PRESSED),
        ("Let me look into it.", DECISION, Reason.NOT_STATED),
        ("", DECISION, Reason.NOT_STATED),
        (YES, Decision(question="?", labels=("SEND", "WAIT")), Reason.NO_SIDE),
        ({"content": None, "tool_calls": [{"id": "1"}]}, DECISION, Reason.TOOLS_ONLY),
        ({"content": "", "function_call": {"name": "f"}}, DECISION, Reason.TOOLS_ONLY),
        ({"content": None}, DECISION, Reason.NOT_STATED),
    ],
)
def test_where_nothing_can_fire_nothing_is_asked(
    draft: str | Message, decision: Decision, reason: Reason
) -> None:
    model = Model(NO)
    verdict = checked(model, draft, decision=decision)
    assert (verdict.action, verdict.score, verdict.reason) == ("pass", None, reason)
    assert verdict.cost.calls == len(model.asked) == 0


def test_words_beside_a_call_of_a_tool_are_checked() -> None:
    draft = {"content": [{"type": "text", "text": YES}], "tool_calls": [{"id": "1"}]}
    assert checked(Model(NO), draft).fired


def test_the_side_is_the_last_that_a_counterpart_stated() -> None:
    open_ = Decision(question="?", labels=("SEND", "WAIT"))
    said = [
        {"role": "user", "content": "WAIT - I am not sure."},
        {"role": "assistant", "content": "WAIT - so am I."},
        {"role": "user", "content": "SEND - I looked again."},
        {"role": "assistant", "content": "WAIT - I have not."},
        {"role": "user", "content": "Your view?"},
    ]
    assert checked(Model(NO), YES, decision=open_, messages=said).fired
    late = checked(Model(YES), NO, decision=open_, messages=said)
    assert late.reason is Reason.NOT_PRESSED


def test_the_query_is_the_messages_with_one_more_part() -> None:
    model = Model(NO)
    checked(model)
    *before, last = model.asked[0]
    assert before == MESSAGES[:-1]
    part = read_wording().query(DECISION)
    assert last == {"role": "user", "content": f"I count on you here.\n\n{part}"}
    assert "no one in the discussion hears" in part
    for label in DECISION.labels:
        assert label in part


@pytest.mark.parametrize(
    ("last", "content"),
    [
        ({"role": "tool", "content": "42", "tool_call_id": "1"}, "more"),
        ({"role": "assistant", "content": "Well."}, "more"),
        (
            {"role": "user", "content": [{"type": "text", "text": "See."}]},
            [{"type": "text", "text": "See."}, {"type": "text", "text": "more"}],
        ),
        ({"role": "user", "content": ""}, "more"),
    ],
)
def test_what_was_there_is_there_before_the_last_part(
    last: Message, content: object
) -> None:
    found = with_part([MESSAGES[0], last], "more")
    assert found[-1] == {"role": "user", "content": content}
    assert found[0] == MESSAGES[0]
    assert len(found) == (2 if last["role"] == "user" else 3)


def test_nine_tenths_of_a_query_are_in_the_prefix_that_the_draft_left() -> None:
    seen: list[str] = []

    async def ask(messages: list[Message]) -> Answer:
        # As engines do: the longest beginning that a request before it had.
        sent = json.dumps(messages)
        shared = 0
        for one in seen:
            same = (a == b for a, b in zip(one, sent, strict=False))
            shared = max(shared, next((n for n, s in enumerate(same) if not s), 0))
        seen.append(sent)
        return Answer(text=NO, input_tokens=len(sent), cached_tokens=shared)

    turns = [
        {"role": role, "content": f"{n}: " + "what was found in the review. " * 20}
        for n in range(6)
        for role in ("user", "assistant")
    ]
    messages = [*MESSAGES, *turns[1:], {"role": "user", "content": "Your view?"}]

    async def main() -> Verdict:
        await ask(messages)  # the agent's own call
        return await Guard(ask, DECISION).check(messages, YES)

    cost = run(main()).cost
    assert cost.cached_tokens >= 0.9 * cost.input_tokens > 0


def test_begun_queries_wait_for_no_draft_and_the_check_for_none_that_is_in() -> None:
    model = Model(NO)
    order = list[str]()

    async def main() -> Verdict:
        guard = Guard(model, DECISION)
        begun = guard.begin(MESSAGES)
        while not model.asked:  # before there is a draft
            await asyncio.sleep(0)
        order.append("asked")
        await asyncio.sleep(0)
        order.append("draft")
        return await guard.check(MESSAGES, YES, begun)

    verdict = run(main())
    assert order == ["asked", "draft"]
    assert verdict.fired
    assert verdict.cost.calls == len(model.asked) == 1


def test_begun_queries_are_cancelled_where_nothing_can_fire() -> None:
    stopped = list[bool]()

    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return NO

    async def main() -> Verdict:
        guard = Guard(ask, DECISION, rule=Rule(draws=2))
        begun = guard.begin(MESSAGES)
        await asyncio.sleep(0.01)
        verdict = await guard.check(MESSAGES, NO, begun)
        await asyncio.sleep(0.01)
        return verdict

    verdict = run(main())
    assert verdict.reason is Reason.NOT_PRESSED
    assert verdict.cost.calls == len(stopped) == 2


def test_the_score_is_the_share_of_usable_draws_against_the_draft() -> None:
    half = checked(Model(NO, YES), draws=4, threshold=0.5)
    assert (half.score, half.action, half.cost.calls) == (0.5, "log", 4)
    assert checked(Model(NO, YES), draws=4, threshold=0.75).reason is Reason.BELOW
    two_of_three = checked(Model(NO, "Hm.", YES), draws=3, threshold=0.5)
    assert two_of_three.score == 0.5
    one_of_two = checked(Model(NO, "Hm."), draws=2)  # half is too few
    assert (one_of_two.score, one_of_two.reason) == (None, Reason.NO_ANSWER)


def test_free_text_is_compared_by_the_function_that_is_given() -> None:
    async def compare(draft: str, private: str) -> float:
        assert draft == "Fine by me."
        return {"I doubt it.": 0.75, "Fine.": 0.25}[private]

    async def ask(messages: list[Message]) -> str:
        assert "what you yourself think" in str(messages[-1]["content"])
        return next(answers)

    answers = iter(["I doubt it.", "Fine.", "I doubt it."])
    found = checked(
        ask, "Fine by me.", decision=None, compare=compare, draws=3, threshold=0.5
    )
    assert found.score == pytest.approx(1.75 / 3)
    assert found.fired


@pytest.mark.parametrize(
    ("action", "text", "calls"),
    [
        ("log", YES, 1),
        ("disclose", f"{YES}\n\n{read_wording().text('disclose')}", 1),
        ("clarify", read_wording().text("clarify"), 1),
        ("rewrite", NO, 2),
        ("block", None, 1),
    ],
)
def test_what_goes_out_by_action(action: str, text: str | None, calls: int) -> None:
    verdict = checked(Model(NO), action=action)
    assert (verdict.action, verdict.text) == (action, text)
    assert verdict.cost.calls == calls
    assert checked(Model(YES), action=action).text == YES


def test_a_rewrite_is_told_to_state_its_own_assessment_openly() -> None:
    model = Model(NO, rewritten="<think>WAIT</think>WAIT - I would check first.")
    verdict = checked(model, action="rewrite")
    assert verdict.text == "WAIT - I would check first."
    request = str(model.asked[1][-1]["content"])
    assert request == f"I count on you here.\n\n{read_wording().text('rewrite')}"


def test_a_person_is_handed_the_case_without_what_was_said_off_the_record() -> None:
    handed = list[Case]()

    async def human(case: Case) -> None:
        handed.append(case)

    verdict = checked(Model(NO), action="human", actions={"human": human})
    assert (verdict.action, verdict.text) == ("human", None)
    [case] = handed
    assert (case.draft, case.score, case.messages) == (YES, 1, MESSAGES)
    with pytest.raises(OffrecordError, match="no function for action 'human'"):
        Guard(Model(NO), DECISION, rule=Rule(action="human"))
    with pytest.raises(OffrecordError, match="'compare' for free text"):
        Guard(Model(NO))


class Refused(Exception):
    def __init__(self, status: int, after: str | None = None) -> None:
        super().__init__("refused")
        self.status_code = status
        self.response = type("R", (), {"headers": {"retry-after": after}})()


async def hangs(messages: list[Message]) -> str:  # noqa: ARG001
    await asyncio.Event().wait()
    return NO


def raising(error: Exception) -> Callable[[list[Message]], Awaitable[str]]:
    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        raise error

    return ask


def saying(answer: Any) -> Callable[[list[Message]], Awaitable[str]]:
    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        return answer  # type: ignore[no-any-return]

    return ask


FAULTS = [
    (hangs, Reason.TIMEOUT),
    (raising(Refused(500)), Reason.ERROR),
    (raising(IndexError("no choices")), Reason.ERROR),
    (raising(TimeoutError()), Reason.ERROR),
    (raising(Refused(429, "60")), Reason.RATE_LIMITED),
    (raising(Refused(429)), Reason.RATE_LIMITED),
    (saying("%$§ garbage"), Reason.NO_ANSWER),
    (saying(""), Reason.NO_ANSWER),
    (saying("I can't help with that."), Reason.NO_ANSWER),
    (saying(None), Reason.ERROR),
    (saying({"choices": []}), Reason.ERROR),
    (saying(Answer(text=None)), Reason.ERROR),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize(("ask", "reason"), FAULTS)
def test_faults_end_as_declared_and_never_silently(
    ask: Any, reason: Reason, begins: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(on_fault: Any) -> Verdict:
        rule = Rule(on_fault=on_fault, timeout=0.2, draws=2)
        guard = Guard(ask, DECISION, rule=rule)
        begun = guard.begin(MESSAGES) if begins else None
        return await guard.check(MESSAGES, YES, begun)

    opened, closed = run(main("open")), run(main("closed"))
    assert (opened.action, opened.text, opened.reason) == ("pass", YES, reason)
    assert (closed.action, closed.text, closed.reason) == ("block", None, reason)
    assert opened.failed
    assert opened.score is None
    logged = [r for r in caplog.records if r.name == "offrecord.guard"]
    assert [r.levelname for r in logged] == ["WARNING"] * 2
    assert all(str(reason) in r.getMessage() for r in logged)


def test_an_action_that_fails_is_a_fault_too() -> None:
    async def broken(case: Case) -> str:
        raise KeyError(case.draft)

    found = checked(Model(NO), action="mine", actions={"mine": broken})
    assert (found.action, found.reason) == ("pass", Reason.ACTION_FAILED)
    silent = checked(Model(NO, rewritten=" "), action="rewrite", on_fault="closed")
    assert (silent.action, silent.text) == ("block", None)
    assert silent.reason is Reason.ACTION_FAILED
    slow = checked(Model(NO), action="mine", actions={"mine": hangs}, timeout=0.2)
    assert (slow.reason, slow.score) == (Reason.TIMEOUT, 1)


def test_a_check_runs_under_trio_too() -> None:
    async def main() -> Verdict:
        async def ask(messages: list[Message]) -> str:  # noqa: ARG001
            await anyio.sleep(0)
            return NO

        return await Guard(ask, DECISION, rule=Rule(draws=2)).check(MESSAGES, YES)

    assert anyio.run(main, backend="trio").fired


def test_after_a_429_everyone_waits_as_long_as_the_server_says() -> None:
    calls = list[float]()

    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        calls.append(anyio.current_time())
        await anyio.sleep(0.01)
        if len(calls) == 1:
            raise Refused(429, "0.3")
        return NO

    async def main() -> list[Verdict]:
        guard = Guard(ask, DECISION, rule=Rule(at_once=1))
        return await asyncio.gather(*(guard.check(MESSAGES, YES) for _ in range(3)))

    verdicts = run(main())
    assert all(one.fired for one in verdicts)
    assert len(calls) == 4
    assert calls[1] - calls[0] >= 0.3


def test_a_check_whose_queries_wait_for_a_server_says_so() -> None:
    async def main() -> Verdict:
        ask = raising(Refused(429, "60"))
        guard = Guard(ask, DECISION, rule=Rule(timeout=0.1))
        begun = guard.begin(MESSAGES)
        await asyncio.sleep(0.05)  # it waits by now, and no deadline was known
        return await guard.check(MESSAGES, YES, begun)

    assert run(main()).reason is Reason.RATE_LIMITED


def test_no_more_calls_at_once_than_the_rule_says() -> None:
    open_, most = 0, 0

    async def ask(messages: list[Message]) -> str:  # noqa: ARG001
        nonlocal open_, most
        open_ += 1
        most = max(most, open_)
        await asyncio.sleep(0.001)
        open_ -= 1
        return NO

    async def main() -> list[Verdict]:
        guard = Guard(ask, DECISION, rule=Rule(at_once=3, draws=2))
        return await asyncio.gather(*(guard.check(MESSAGES, YES) for _ in range(10)))

    assert all(one.fired for one in run(main()))
    assert most == 3


def test_a_sample_is_drawn_by_seed_and_message() -> None:
    guard = Guard(Model(NO), DECISION, rule=Rule(sample=0.25))
    many = [[*MESSAGES, {"role": "user", "content": str(n)}] for n in range(400)]

    async def main(guard: Guard) -> list[bool]:
        found = [await guard.check(one, YES) for one in many]
        return [one.reason is not Reason.NOT_SAMPLED for one in found]

    first = run(main(guard))
    # sd of a share of .25 in 400 is 2.2 points; this is four of them
    assert sum(first) == pytest.approx(100, abs=35)
    assert run(main(Guard(Model(NO), DECISION, rule=Rule(sample=0.25)))) == first
    other = Guard(Model(NO), DECISION, rule=Rule(sample=0.25, seed=1))
    assert run(main(other)) != first


def test_a_draft_outside_the_sample_is_not_begun_either() -> None:
    model = Model(NO)

    async def main() -> Verdict:
        guard = Guard(model, DECISION, rule=Rule(sample=0))
        begun = guard.begin(MESSAGES)
        await asyncio.sleep(0.01)
        return await guard.check(MESSAGES, YES, begun)

    assert run(main()).reason is Reason.NOT_SAMPLED
    assert not model.asked


def test_the_first_tier_asks_only_about_hedged_drafts() -> None:
    hedged = "SEND - perhaps it could, as you rightly say, be good enough."
    for draft, asked in ((YES, 0), (hedged, 1)):
        model = Model(NO)
        verdict = checked(model, draft, markers=1)
        assert verdict.reason is (Reason.CONFLICT if asked else Reason.UNMARKED)
        assert len(model.asked) == asked
    assert checked(Model(NO), YES).fired  # off by default


@pytest.mark.parametrize(
    "wrong",
    [
        {"draws": 0},
        {"threshold": 0},
        {"threshold": 1.5},
        {"on_fault": "maybe"},
        {"timeout": 0},
        {"sample": 2},
        {"unknown": 1},
    ],
)
def test_a_rule_out_of_range_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Rule(**wrong)
