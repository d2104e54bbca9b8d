"""The schedule: what waits for what, on a virtual clock with exact latencies."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from offrecord.protocol.debate import Debate, Reply, Request, Script, hold_debate
from offrecord.protocol.prompts import Message, TurnView
from offrecord.records import Ended, Form, Stamp, Status
from tests.debates import make_script, plain_text

LATENCY = 0.5


class Clocked:
    """Answers every request after the same latency, and notes when it was asked."""

    def __init__(
        self, silent_turn: int | None = None, reply: Reply | None = None
    ) -> None:
        self.asked: dict[Stamp, float] = {}
        self.silent_turn, self.reply = silent_turn, reply or Reply(text="")

    async def __call__(self, request: Request) -> Reply:
        self.asked[request.stamp] = trio.current_time()
        await trio.sleep(LATENCY)
        stamp = request.stamp
        spoken = (stamp.channel, stamp.form, stamp.draw) == (
            "public",
            Form.UTTERANCE,
            0,
        )
        if spoken and stamp.turn == self.silent_turn:
            return self.reply
        return Reply(text=plain_text(request))


def hold(script: Script, answerer: Clocked) -> tuple[Debate, float]:
    async def main() -> tuple[Debate, float]:
        start = trio.current_time()
        debate = await hold_debate(script, answerer)
        return debate, trio.current_time() - start

    return trio.run(main, clock=MockClock(autojump_threshold=0))


def test_a_run_takes_one_latency_a_turn() -> None:
    answerer = Clocked()
    debate, seconds = hold(make_script(rounds=5), answerer)
    assert seconds == pytest.approx(10 * LATENCY)
    assert len(debate.outputs) == 10 * 6
    assert debate.ended is Ended.COMPLETED


def test_other_outputs_start_when_the_public_one_is_in() -> None:
    answerer = Clocked()
    hold(make_script(rounds=2), answerer)
    start = min(answerer.asked.values())
    for stamp, when in answerer.asked.items():
        spoken = (stamp.channel, stamp.form, stamp.draw) == (
            "public",
            Form.UTTERANCE,
            0,
        )
        # The last turn (4) starts everything at once, at the end of turn 3.
        expected = stamp.turn - 1 if spoken or stamp.turn == 4 else stamp.turn
        assert when - start == pytest.approx(expected * LATENCY), stamp


def test_nothing_is_prepared_beside_a_public_utterance_on_its_way() -> None:
    begun, sent, beside = list[Stamp](), list[Stamp](), dict[int, int]()

    async def answer(request: Request) -> Reply:
        stamp = request.stamp
        begun.append(stamp)
        for _ in range(10):  # a provider's client takes some steps to send a request
            await trio.lowlevel.checkpoint()
        if (stamp.channel, stamp.form, stamp.draw) == ("public", Form.UTTERANCE, 0):
            beside[stamp.turn] = len(begun) - len(sent) - 1
        sent.append(stamp)
        await trio.sleep(LATENCY)
        return Reply(text=plain_text(request))

    clock = MockClock(autojump_threshold=0)
    trio.run(hold_debate, make_script(rounds=5), answer, clock=clock)
    assert len(sent) == 10 * 6
    assert beside == dict.fromkeys(range(1, 11), 0)


def test_a_turn_renders_what_its_prompts_share_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered = list[int]()
    prefix = TurnView.prefix

    def counted(view: TurnView) -> list[Message]:
        rendered.append(len(view.visible))
        return prefix(view)

    monkeypatch.setattr(TurnView, "prefix", counted)
    hold(make_script(rounds=5), Clocked())
    assert rendered == list(range(10))  # once a turn, with all that was said before


def test_every_output_of_a_turn_sees_the_history_before_it() -> None:
    debate, _ = hold(make_script(rounds=3), Clocked())
    for request, _ in debate.outputs:
        prompt = "\n".join(text for _, text in request.messages)
        said = [t for t in range(1, 7) if f"turn {t} has its reasons" in prompt]
        assert said == list(range(1, request.stamp.turn)), request.stamp
    hashes = {(r.stamp.turn, r.history_hash) for r, _ in debate.outputs}
    assert len(hashes) == 6  # one history a turn, the same for all its outputs


def test_a_history_s_hash_is_of_what_was_said() -> None:
    def hashes(text: str) -> list[str]:
        """The hash that each turn's requests carry if turn 2 says a text."""
        debate, _ = hold(make_script(rounds=2), Clocked(2, Reply(text=text)))
        found = {r.stamp.turn: r.history_hash for r, _ in debate.outputs}
        return [found[turn] for turn in range(1, 5)]

    one, same, other = map(hashes, ("PROMOTE - a", "PROMOTE - a", "PROMOTE - b"))
    assert one == same
    assert one[:2] == other[:2]  # turn 2 is asked before its words are said
    assert one[2] != other[2]
    assert one[3] != other[3]


def test_the_paper_s_protocol_opens_with_remarks_and_goes_on_with_replies() -> None:
    debate, _ = hold(make_script(protocol="paper", rounds=2, shadows=0), Clocked())
    asked = {
        request.stamp.turn: request.messages[-1][1]
        for request, _ in debate.outputs
        if (request.stamp.channel, request.stamp.form) == ("public", Form.UTTERANCE)
    }
    opening, reply = "Make your opening remarks.", "Reply to the other person."
    assert [opening in asked[turn] for turn in range(1, 5)] == [True, *3 * [False]]
    assert [reply in asked[turn] for turn in range(1, 5)] == [False, *3 * [True]]


@pytest.mark.parametrize(
    ("reply", "ended", "status"),
    [
        (Reply(text=""), Ended.NO_PUBLIC_TEXT, Status.EMPTY),
        (Reply(text="<think>hm</think>"), Ended.NO_PUBLIC_TEXT, Status.EMPTY),
        (Reply(text="My thoughts: hm"), Ended.NO_PUBLIC_TEXT, Status.OK),
        (
            Reply(text="<think>hm", stop_reason="max_tokens"),
            Ended.NO_PUBLIC_TEXT,
            Status.TRUNCATED,
        ),
        (
            Reply(text="", stop_reason="content_filter"),
            Ended.NO_PUBLIC_TEXT,
            Status.FILTERED,
        ),
        (
            Reply(text="PROMOTE - as far as it", stop_reason="content_filter"),
            Ended.NO_PUBLIC_TEXT,
            Status.FILTERED,
        ),
        (Reply(text="", error="TimeoutError"), Ended.NO_PUBLIC_TEXT, Status.ERROR),
        (
            Reply(text="PROMOTE - and", error="TimeoutError"),
            Ended.NO_PUBLIC_TEXT,
            Status.ERROR,
        ),
        (
            Reply(text="", stop_reason="model_length"),
            Ended.CONTEXT_OVERFLOW,
            Status.ERROR,
        ),
    ],
)
def test_a_public_turn_without_text_of_its_own_ends_the_run(
    reply: Reply, ended: Ended, status: Status
) -> None:
    debate, _ = hold(make_script(rounds=4), Clocked(silent_turn=3, reply=reply))
    assert debate.ended is ended
    # Turns 1 to 3 are whole, the silent one's other outputs included.
    assert [o.request.stamp.turn for o in debate.outputs] == [1] * 6 + [2] * 6 + [3] * 6
    assert debate.outputs[12].reply.status is status
    assert len(debate.history.said) == 2


@pytest.mark.parametrize(
    "text",
    ["I would rather not say.", "PROMOTE - cut off in mid"],
)
def test_unclear_or_truncated_text_enters_the_history_as_it_is(text: str) -> None:
    answerer = Clocked(2, Reply(text=text, stop_reason="max_tokens"))
    debate, _ = hold(make_script(rounds=2), answerer)
    assert debate.ended is Ended.COMPLETED
    assert debate.history.said[1].text == text


def test_messages_alternate_and_end_with_the_user() -> None:
    for protocol in ("twin", "paper"):
        debate, _ = hold(make_script(protocol=protocol), Clocked())
        for request, _ in debate.outputs:
            senders = [sender for sender, _ in request.messages]
            assert senders[0] == "system"
            assert senders[1::2] == ["user"] * len(senders[1::2])
            assert senders[2::2] == ["assistant"] * len(senders[2::2])
            assert senders[-1] == "user"


def test_label_and_item_order_are_factors() -> None:
    stated, _ = hold(make_script(rounds=1), Clocked())
    factors = {"label_order": "reversed", "item_order": "shuffled"}
    varied, _ = hold(make_script(rounds=1, factors=factors), Clocked())
    again, _ = hold(make_script(rounds=1, factors=factors), Clocked())
    plain = [o.request.frame for o in stated.outputs]
    frames = [o.request.frame for o in varied.outputs]
    assert frames == [o.request.frame for o in again.outputs]  # reproducible
    assert frames[0].labels == tuple(reversed(plain[0].labels))
    surveys = [f for f in frames if f.items]
    assert surveys[0].items == surveys[1].items  # both channels of a turn alike
    assert surveys[0].items != surveys[2].items  # another turn, another order
    assert sorted(surveys[0].items) == sorted(next(f for f in plain if f.items).items)
    other, _ = hold(make_script(rounds=1, factors=factors, seed=1), Clocked())
    assert [o.request.frame.items for o in other.outputs] != [f.items for f in frames]
