"""The guard: asks off the record before a message goes out, and acts on a conflict."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import anyio

from offrecord.content.decision import Decision
from offrecord.guard.actions import built_in
from offrecord.guard.asking import Calls, Failed, Meter, stop_of
from offrecord.guard.draws import Begun, Draw, Query
from offrecord.guard.evidence import Evidence
from offrecord.guard.reading import (
    marks_in,
    only_calls_tools,
    pressed_side,
    stated,
    words_of,
)
from offrecord.guard.types import (
    BLOCK,
    PASS,
    Action,
    AnyDraft,
    Ask,
    Case,
    Compare,
    Message,
    Reason,
    Rule,
    Verdict,
)
from offrecord.protocol.wording import read_wording
from offrecord.records import OffrecordError

_LOG: Final = logging.getLogger("offrecord.guard")
_SPAN: Final = "offrecord.guard.check"
_LONGEST: Final = 600.0
"""Seconds after which begun queries that no check waits for send nothing more."""


class Tracer(Protocol):
    """As OpenTelemetry has it."""

    def start_as_current_span(
        self, name: str, *, record_exception: bool, set_status_on_exception: bool
    ) -> AbstractContextManager[Any]:
        """Open a span."""


class Guard:
    """Asks an agent's model off the record before its message goes out.

    Args:
        ask: Answers OpenAI-style messages as the agent's own model does.
        decision: What is decided; without one, `compare` says what is a conflict.
        rule: When it fires, and what it then does.
        actions: Functions by name, beside or instead of those that ship.
        compare: For free text: how far a private text contradicts a draft, 0 to 1,
            such as an entailment model or a judge.
        wording: A file with the guard's texts; those that ship by default.
        evidence: A file that conflicts are kept in, texts included. Nothing else of
            this class keeps any.
        tracer: Gives a span for each check, with action, score and reason.

    Raises:
        OffrecordError: If there is neither a decision nor `compare`, the action has no
            function, or the evidence file can be read by others.
    """

    def __init__(
        self,
        ask: Ask,
        decision: Decision | None = None,
        *,
        rule: Rule | None = None,
        actions: Mapping[str, Action] | None = None,
        compare: Compare | None = None,
        wording: Path | None = None,
        evidence: Path | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.decision, self.rule = decision, rule or Rule()
        self._wording = read_wording(wording)
        known = {**built_in(self._wording), **(actions or {})}
        if self.rule.action not in known:
            raise OffrecordError(
                f"guard: no function for action '{self.rule.action}': give one in "
                f"actions, or use {', '.join(known)}"
            )
        if decision is None and compare is None:
            raise OffrecordError("guard: give a decision, or 'compare' for free text")
        self._action = known[self.rule.action]
        self._calls = Calls(ask, self.rule.at_once)
        self._evidence = Evidence(evidence) if evidence else None
        self._tracer = tracer
        self._query = Query(
            self._calls,
            self._wording.query(decision),
            decision,
            compare,
            draws=self.rule.draws,
            keeps=decision is None or evidence is not None,
        )

    def query(self, messages: Sequence[Message]) -> list[Message]:
        """What is asked off the record, whatever the draft is."""
        return self._query.messages(messages)

    def begin(self, messages: Sequence[Message]) -> Begun:
        """Start the queries beside the draft's own generation, where one could fire.

        Needs a running asyncio loop. Hand what it gives to `check`, or cancel it.
        """
        meter = Meter(anyio.current_time() + _LONGEST)
        try:
            given = [{**one} for one in messages]
            starts = self._starts(given)
        except Exception:  # messages that cannot be read: `check` says so
            starts = False
        if not starts:
            return Begun(meter, None)
        return Begun(meter, asyncio.create_task(self._query.draws(given, meter)))

    def _starts(self, messages: Sequence[Message]) -> bool:
        """Whether queries start before there is a draft."""
        if self.rule.markers or not self._in_sample(messages):
            return False
        return not self.decision or pressed_side(self.decision, messages) is not None

    async def check(
        self,
        messages: Sequence[Message],
        draft: AnyDraft,
        begun: Begun | None = None,
    ) -> Verdict:
        """Check one message before it goes out.

        Args:
            messages: What the model was given for it.
            draft: What it is about to say: a text, the assistant's message, or parts.
            begun: From `begin` with the same messages.

        Returns:
            The verdict. Faults of `ask`, of an action and of time are verdicts too, and
            so is what cannot be read.
        """
        started = anyio.current_time()
        begun = begun or Begun(Meter(started), None)
        begun.meter.deadline = started + self.rule.timeout
        with self._span() as span:
            try:
                action, score, reason, text = await self._found(messages, draft, begun)
            finally:
                begun.cancel()
            verdict = Verdict(
                action=action,
                score=score,
                reason=reason,
                cost=begun.meter.cost,
                elapsed=anyio.current_time() - started,
                text=text,
            )
            if span is not None:
                _describe(span, verdict)
        return verdict

    async def _found(
        self, messages: Sequence[Message], draft: AnyDraft, begun: Begun
    ) -> tuple[str, float | None, Reason, str | None]:
        """Action, score, reason, and what goes out."""
        meter, score, kind, words = begun.meter, None, "", ""
        try:
            words = words_of(draft)
            given = [{**one} for one in messages]
            reason, side = self._looked_at(given, draft)
            if reason is not None:
                return PASS, None, reason, words
            with anyio.fail_after(self.rule.timeout):
                draws = await begun.draws()
                if draws is None:
                    draws = await self._query.draws(given, meter)
                score = await self._query.score(words, side, draws)
                if score < self.rule.threshold:
                    return PASS, score, Reason.BELOW, words
                case = Case(
                    messages=given,
                    draft=words,
                    score=score,
                    ask=partial(self._ask_again, meter),
                )
                text = await self._act(case, draws)
        except TimeoutError:
            reason = Reason.RATE_LIMITED if meter.paused else Reason.TIMEOUT
        except Failed as failed:
            reason, kind = failed.reason, failed.kind
        except Exception as error:  # what was given, or is to be kept, is odd
            reason, kind = Reason.ERROR, type(error).__name__
        else:
            _LOG.info("conflict: %s at %.2f", self.rule.action, score)
            return self.rule.action, score, Reason.CONFLICT, text
        closed = self.rule.on_fault == "closed"
        action = BLOCK if closed else PASS
        _LOG.warning("%s: check failed (%s%s)", action, reason, kind and f", {kind}")
        return action, score, reason, None if closed else words

    def passes(self, messages: Sequence[Message], draft: AnyDraft) -> Reason | None:
        """Why a message passes without a question; None where one would be asked."""
        return self._looked_at(messages, draft)[0]

    def _looked_at(
        self, messages: Sequence[Message], draft: AnyDraft
    ) -> tuple[Reason | None, str]:
        """Why nothing can fire, if so; and the side that the draft takes."""
        if only_calls_tools(draft):
            return Reason.TOOLS_ONLY, ""
        if not self._in_sample(messages):
            return Reason.NOT_SAMPLED, ""
        words, side = words_of(draft), ""
        if not words.strip():
            return Reason.NOT_STATED, ""
        if self.decision is not None:
            label = stated(words, self.decision)
            if label is None:
                return Reason.NOT_STATED, ""
            pressed = pressed_side(self.decision, messages)
            if pressed is None:
                return Reason.NO_SIDE, ""
            if label != pressed:
                return Reason.NOT_PRESSED, ""
            side = label
        labels = self.decision.labels if self.decision else ()
        if self.rule.markers and marks_in(words, labels) < self.rule.markers:
            return Reason.UNMARKED, side
        return None, side

    def _in_sample(self, messages: Sequence[Message]) -> bool:
        """Whether messages are checked: by seed and content, so always alike."""
        if self.rule.sample == 1:
            return True
        said = json.dumps([self.rule.seed, [*messages]], sort_keys=True, default=str)
        drawn = int.from_bytes(hashlib.sha256(said.encode()).digest()[:8])
        return drawn < self.rule.sample * 2**64

    async def _act(self, case: Case, draws: Sequence[Draw]) -> str | None:
        """Keep the evidence where that is wanted, and take the action.

        Raises:
            Failed: If the action does.
        """
        if self._evidence is not None:
            texts = [draw.text for draw in draws if draw.text is not None]
            if not self._evidence.keep(case, self.rule.action, texts):
                _LOG.warning("evidence of a conflict could not be written")
        try:
            return await self._action(case)
        except Failed:
            raise
        except BaseException as error:
            stop, kind = stop_of(error), type(error).__name__
        if stop is not None:
            raise stop
        raise Failed(Reason.ACTION_FAILED, kind)

    async def _ask_again(self, meter: Meter, messages: Sequence[Message]) -> str:
        return (await self._calls.text(messages, meter)).text

    def _span(self) -> AbstractContextManager[Any]:
        if self._tracer is None:
            return nullcontext()
        return self._tracer.start_as_current_span(
            _SPAN, record_exception=False, set_status_on_exception=False
        )


def _describe(span: Any, verdict: Verdict) -> None:  # noqa: ANN401 - OpenTelemetry's
    span.set_attribute("offrecord.guard.action", verdict.action)
    span.set_attribute("offrecord.guard.reason", str(verdict.reason))
    if verdict.score is not None:
        span.set_attribute("offrecord.guard.score", verdict.score)
