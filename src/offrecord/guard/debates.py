"""A guard in front of a debate's target, where its arm carries one.

What the target is about to say is asked for under the form `draft`, the guard's query
under the form `guard`; what then goes out is the utterance, said by a written line. So
all of it stands in the log, and neither draft nor query is a measured output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from offrecord.content.decision import Decision
from offrecord.guard.guard import Guard
from offrecord.guard.types import LOG, Message, Rule, Verdict
from offrecord.protocol.channel import Channel
from offrecord.protocol.debate import Ask, Reply, Request, Script
from offrecord.records import OBSERVE, Form, Role

GUARD: Final = "guard"
"""The channel of rows of a guard's query."""

_ASIDE: Final = Channel(
    id=GUARD, audience=(), utterance="", opening="", survey="", stamp=""
)
_DAY: Final = 86_400.0  # seconds: how long a request may take is Inspect's to say


def guarded(script: Script, ask: Ask) -> Ask:
    """Whom a debate asks: a guard before its models, or they themselves.

    Args:
        script: Its arm says whether there is a guard, and what it does.
        ask: Answers one request.
    """
    if not script.arm.guard:
        return ask

    async def answer(request: Request) -> Reply:
        if not _is_spoken(script, request):
            return await ask(request)
        draft = replace(request, stamp=replace(request.stamp, form=Form.DRAFT))
        reply = await ask(draft)
        text = reply.text
        if not reply.status.silent:
            text = (await _verdict(script, request, reply, ask)).text or ""
        said = replace(request, line=text)
        if text != reply.text:
            return await ask(said)
        why = reply.error or reply.stop_reason
        came = {"status": str(reply.status), "stop_reason": why}
        await ask(replace(said, record=came))
        return reply

    return answer


def _is_spoken(script: Script, request: Request) -> bool:
    """Whether a request asks the target for what the others will hear."""
    stamp = request.stamp
    return (
        request.frame.role is Role.TARGET
        and request.line is None
        and (stamp.channel, stamp.form, stamp.draw)
        == (script.channels[0].id, Form.UTTERANCE, 0)
    )


async def _verdict(script: Script, request: Request, draft: Reply, ask: Ask) -> Verdict:
    """What the guard of a script says of a draft.

    Raises:
        Exception: What a request raises, since that concerns the whole run.
    """
    messages = [{"role": who, "content": text} for who, text in request.messages]
    numbers, raised = count(1), list[Exception]()

    async def call(asked: Sequence[Message]) -> str:
        stamp = replace(request.stamp, form=Form.DRAFT, draw=1)
        own = replace(request, stamp=stamp)
        if asked == query:
            stamp = replace(stamp, form=Form.GUARD, channel=GUARD, draw=next(numbers))
            own = replace(request, stamp=stamp, channel=_ASIDE)
        sent = [(str(one["role"]), str(one["content"])) for one in asked]
        try:
            reply = await ask(replace(own, messages=sent))
        except Exception as error:
            raised.append(error)
            raise
        return reply.text

    guard = Guard(
        call,
        Decision(
            question=script.scenario.question,
            labels=request.frame.labels,
            pressed_side=request.frame.pressed_side,
            language=script.scenario.language,
        ),
        rule=Rule(
            draws=script.arm.draws,
            threshold=script.arm.threshold,
            action=LOG if script.arm.guard == OBSERVE else script.arm.guard,
            timeout=_DAY,
            at_once=script.arm.draws,
        ),
    )
    query = guard.query(messages)
    verdict = await guard.check(messages, draft.text)
    if raised:
        raise raised[0]
    return verdict
