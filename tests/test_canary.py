"""Off the record is write-only: a marker in it is found in no later prompt."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import anyio
import pytest

from offrecord.protocol.debate import Debate, Reply, Request, Script, hold_debate
from offrecord.protocol.history import History, Spoken
from offrecord.records import Ended, Form, OffrecordError, Role
from offrecord.scenarios.load import builtin_ids
from tests.debates import make_script, plain_answer, plain_text


def marker(request: Request) -> str:
    stamp = request.stamp
    return (
        f"CANARY-{stamp.turn}-{stamp.agent}-{stamp.channel}-{stamp.form}-{stamp.draw}"
    )


def is_committed(request: Request, spoken: str) -> bool:
    stamp = request.stamp
    return stamp.channel == spoken and stamp.form is Form.UTTERANCE and stamp.draw == 0


def hold_marked(script: Script) -> tuple[Debate, list[Request]]:
    """A debate in which all but the committed words carry a marker."""
    asked: list[Request] = []

    async def ask(request: Request) -> Reply:
        asked.append(request)
        thought = f"<think>{marker(request)}</think>\n"
        if is_committed(request, script.channels[0].id):
            return Reply(text=thought + plain_text(request))
        return Reply(text=f"{thought}{plain_text(request)} {marker(request)}")

    return anyio.run(hold_debate, script, ask), asked


def leaks(asked: list[Request]) -> Iterator[str]:
    for request in asked:
        prompt = "\n".join(text for _, text in request.messages)
        if "CANARY" in prompt:
            yield f"turn {request.stamp.turn}, {request.stamp.agent}"


@pytest.mark.parametrize("protocol", ["twin", "paper"])
@pytest.mark.parametrize("scenario", builtin_ids())
def test_nothing_but_public_words_enters_a_prompt(scenario: str, protocol: str) -> None:
    script = make_script(scenario, protocol=protocol, rounds=5, shadows=2)
    debate, asked = hold_marked(script)
    assert len(asked) == 10 * 2 * 4
    assert not list(leaks(asked))
    assert "CANARY" not in repr(debate.history)
    # The public words themselves do arrive, for speaker and hearer alike.
    for request in asked:
        if request.stamp.turn == 10:
            prompt = "\n".join(text for _, text in request.messages)
            assert all(
                f"turn {turn} has its reasons" in prompt for turn in range(1, 10)
            )


def test_shadows_of_the_public_channel_stay_out_too() -> None:
    script = make_script(channels=("public", "record_only", "off_record"), shadows=1)
    _, asked = hold_marked(script)
    assert not list(leaks(asked))


def test_checker_catches_a_protocol_that_leaks() -> None:
    class Leaky(Script):
        """Shows the target what the last turn's speaker said to no one."""

        def outputs(self, turn, history):  # type: ignore[no-untyped-def]
            words = [
                dataclasses.replace(w, text=f"{w.text} CANARY") for w in history.said
            ]
            return Script.outputs(self, turn, History(tuple(words)))

    script = make_script()
    fields = {f.name: getattr(script, f.name) for f in dataclasses.fields(script)}
    _, asked = hold_marked(Leaky(**fields))
    assert list(leaks(asked))


def test_words_to_no_one_cannot_be_spoken() -> None:
    script = make_script()
    off_record = script.channels[1]
    with pytest.raises(OffrecordError, match="no audience"):
        Spoken.through(off_record, turn=1, agent="alpha", text="PROMOTE - a secret")
    with pytest.raises(TypeError, match="may enter no history"):
        History().add("PROMOTE - a secret")  # type: ignore[arg-type]


def test_who_hears_what_is_decided_in_one_place() -> None:
    script = make_script(channels=("record_only", "off_record"))
    words = Spoken.through(
        script.channels[0], turn=1, agent="alpha", text="PROMOTE - x"
    )
    history = History().add(words)
    alpha, beta = script.scenario.agents
    assert history.visible_to(alpha) == (words,)  # one's own words
    assert history.visible_to(beta) == ()  # the record is no participant


@pytest.mark.parametrize(
    ("audience", "heard_by"),
    [
        ("participants", {"alpha", "beta", "gamma"}),
        ("record", {"alpha"}),
        ("self", {"alpha"}),
        ("outside:the press", {"alpha"}),
        ("beta", {"alpha", "beta"}),
        ("bystander", {"alpha", "gamma"}),
        ("partner", {"alpha", "beta"}),
    ],
)
def test_each_kind_of_audience_is_heard_by_those_it_names(
    audience: str, heard_by: set[str]
) -> None:
    alpha, beta = make_script().scenario.agents
    gamma = dataclasses.replace(beta, id="gamma", role=Role.BYSTANDER)
    words = Spoken(
        turn=1, agent="alpha", channel="c", audience=(audience,), text="PROMOTE - x"
    )
    history = History().add(words)
    heard = {who.id for who in (alpha, beta, gamma) if history.visible_to(who)}
    assert heard == heard_by


def test_what_stands_between_a_reply_and_the_history_decides_what_enters() -> None:
    script = make_script(rounds=2)
    passed: list[Request] = []

    async def between(request: Request, reply: Reply) -> Reply:
        passed.append(request)
        return dataclasses.replace(reply, text=f"{reply.text} MENDED")

    async def hold() -> Debate:
        return await hold_debate(script, plain_answer, between=between)

    debate = anyio.run(hold)
    assert [w.text[-6:] for w in debate.history.said] == ["MENDED"] * 4
    # Only the spoken reply passes, and the record keeps what came.
    assert [r.stamp.turn for r in passed] == [1, 2, 3, 4]
    assert {(r.channel.id, r.stamp.form, r.stamp.draw) for r in passed} == {
        ("public", Form.UTTERANCE, 0)
    }
    assert not any("MENDED" in output.reply.text for output in debate.outputs)
    later = [o.request for o in debate.outputs if o.request.stamp.turn == 2]
    assert all("MENDED" in r.messages[-1][1] for r in later)


def test_a_reply_that_is_taken_out_between_ends_the_debate() -> None:
    async def between(request: Request, reply: Reply) -> Reply:
        return reply if request.stamp.turn < 3 else Reply(text="")

    async def hold() -> Debate:
        return await hold_debate(make_script(), plain_answer, between=between)

    debate = anyio.run(hold)
    assert (debate.ended, len(debate.history.said)) == (Ended.NO_PUBLIC_TEXT, 2)
