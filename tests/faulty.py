"""A provider that fails at set rates, the same way for the same requests.

Every reply carries a mark of its own, so that a test can follow each text from the
server into the record, and see that it enters no prompt that it must not enter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from offrecord.records import Status, digest
from tests.fake_server import Ending, Wire, completion, http, refusal, well_formed


class Reply(NamedTuple):
    """A good reply that a fault may spoil."""

    body: Mapping[str, Any]
    text: str
    mark: str

    @property
    def survey(self) -> bool:
        return self.text.startswith("{")

    def sent(self, text: str | None, reason: str = "stop", **message: str) -> Wire:
        """The reply with another text."""
        return _json(completion(self.body, text, reason, **message))


class Fault(NamedTuple):
    """One way in which a request fails."""

    send: Callable[[Reply], Wire]
    status: Status | None
    """What the record must say; nothing where the request has to be sent again."""


def _json(value: object) -> Wire:
    return Wire(http(json.dumps(value).encode()))


def _status(code: int, **headers: str) -> Callable[[Reply], Wire]:
    return lambda reply: Wire(http(refusal(code), code, **headers))  # noqa: ARG005


def _short(reply: Reply) -> Wire:
    data = reply.sent(reply.text).data
    return Wire(data[: len(data) - len(data) // 4], Ending.CLOSE)


def _cut_json(reply: Reply) -> Wire:
    content = json.dumps(completion(reply.body, reply.text)).encode()
    return Wire(http(content[: len(content) // 2]))


def _filtered_request(reply: Reply) -> Wire:
    del reply
    return Wire(http(refusal(400, "content_filter"), 400))


def _accented(reply: Reply) -> str:
    value = completion(reply.body, f"{reply.text} \u00e0")
    return json.dumps(value, ensure_ascii=False)


def _without(name: str, value: object) -> Callable[[Reply], Wire]:
    return lambda reply: _json({**completion(reply.body, reply.text), name: value})


def _odd(letter: str) -> Callable[[Reply], Wire]:
    """A letter in the text, or within a survey's own white space."""
    return lambda reply: reply.sent(f"{reply.text} {letter}")


SENT_AGAIN: Final[Mapping[str, Fault]] = {
    "rate limit": Fault(_status(429), None),
    "rate limit with a time": Fault(_status(429, retry_after="1"), None),
    "server error": Fault(_status(500), None),
    "bad gateway": Fault(_status(502, content_type="text/html"), None),
    "overloaded": Fault(_status(503), None),
    "reset": Fault(lambda _: Wire(b"", Ending.RESET), None),
    "hung up": Fault(lambda _: Wire(b"", Ending.CLOSE), None),
    "short body": Fault(_short, None),
    "error with 200": Fault(lambda _: Wire(http(refusal(500))), None),
    "timeout": Fault(lambda _: Wire(b"", Ending.STALL), None),
}
"""Faults of transport: the request is sent again, and counted."""

FINAL: Final[Mapping[str, Fault]] = {
    "cut json": Fault(_cut_json, Status.ERROR),
    "no json": Fault(lambda _: Wire(http(b"<html>busy</html>")), Status.ERROR),
    "latin-1": Fault(
        lambda reply: Wire(http(_accented(reply).encode("latin-1"))), Status.ERROR
    ),
    "no choices": Fault(_without("choices", []), Status.ERROR),
    "null choices": Fault(_without("choices", None), Status.ERROR),
    "empty": Fault(lambda reply: reply.sent(""), Status.EMPTY),
    "null": Fault(lambda reply: reply.sent(None), Status.EMPTY),
    "invisible": Fault(lambda reply: reply.sent("\u200b \x00\ud800\n"), Status.EMPTY),
    "reasoning only": Fault(
        lambda reply: reply.sent("", reasoning_content=f"I think {reply.mark}"),
        Status.EMPTY,
    ),
    "thinking only": Fault(
        lambda reply: reply.sent(f"<think>{reply.mark} {reply.text}</think>"),
        Status.EMPTY,
    ),
    "filter": Fault(lambda reply: reply.sent("", "content_filter"), Status.FILTERED),
    "filtered half": Fault(
        lambda reply: reply.sent(reply.text[:9], "content_filter"), Status.FILTERED
    ),
    "filtered request": Fault(_filtered_request, Status.FILTERED),
    "length": Fault(
        lambda reply: reply.sent(reply.text[:9], "length"), Status.TRUNCATED
    ),
}
"""Replies that say nothing, or too little: each costs one elicitation."""

KEPT: Final[Mapping[str, Fault]] = {
    "utf-16": Fault(
        lambda reply: Wire(http(_accented(reply).encode("utf-16"))), Status.OK
    ),
    "lone surrogate": Fault(_odd("\ud800"), Status.OK),
    "nul": Fault(_odd("\x00"), Status.OK),
}
"""Replies that are odd on the wire and whole all the same."""

BAD_SURVEYS: Final[Mapping[str, Callable[[dict[str, int], str], str]]] = {
    "prose": lambda _, mark: f"I would rather not put it in figures. {mark}",
    "missing item": lambda answers, _: json.dumps(dict(list(answers.items())[1:])),
    "extra key": lambda answers, mark: json.dumps({**answers, "mood": mark}),
    "a list": lambda answers, _: json.dumps(list(answers.values())),
    "words for figures": lambda answers, mark: json.dumps(dict.fromkeys(answers, mark)),
}
"""Surveys of another schema than asked: the reply is whole, the parse says the rest."""

EVERY: Final[Mapping[str, Fault]] = {**SENT_AGAIN, **FINAL, **KEPT}


class Sent(NamedTuple):
    """One reply that the server sent."""

    prompt: str
    """The hash of the prompt that it answers."""
    fault: str | None
    """What was wrong with it, if anything; a survey's schema has no place here."""
    text: str
    """What the record must hold where the status is ok."""
    mark: str
    schema: str | None
    """Which of `BAD_SURVEYS` the reply is, if any."""

    @property
    def status(self) -> Status | None:
        """What the record must say of it; nothing where it has to be asked again."""
        return Status.OK if self.fault is None else EVERY[self.fault].status


@dataclass(slots=True)
class Faulty:
    """Answers requests; which of them have a fault is drawn from their content.

    Args:
        rate: The share of replies that have a fault.
        faults: Out of `EVERY`, one after another.
        seed: Of the draws.
    """

    rate: float
    faults: Sequence[str] = tuple(EVERY)
    seed: int = 0
    sent: list[Sent] = field(default_factory=list)
    prompts: list[tuple[str, str]] = field(default_factory=list)
    """Every prompt received, as one text, after its hash."""
    _asked: Counter[str] = field(default_factory=Counter)
    _spoiled: int = 0

    def __call__(self, body: dict[str, Any]) -> Wire:
        """Answer one request; a request that is sent again is drawn for anew."""
        messages = [[m["role"], m["content"]] for m in body["messages"]]
        prompt = digest(messages)
        self.prompts.append((prompt, "\n".join(str(text) for _, text in messages)))
        number, self._asked[prompt] = self._asked[prompt], self._asked[prompt] + 1
        mark = f"mark-{digest([self.seed, prompt, number], 12)}"
        rng = np.random.default_rng([int(mark[5:], 16)])
        fault = None
        if rng.random() < self.rate:
            fault = self.faults[self._spoiled % len(self.faults)]
            self._spoiled += 1
        schema = None
        text = well_formed(body["messages"])
        if not text.startswith("{"):
            text = f"{text} {mark}"
        elif rng.random() < self.rate:
            schema = list(BAD_SURVEYS)[int(rng.integers(len(BAD_SURVEYS)))]
            text = BAD_SURVEYS[schema](json.loads(text), mark)
        reply = Reply(body, text, mark)
        if fault is None:
            wire = reply.sent(text, reasoning_content=f"thought {mark}")
        else:
            wire = EVERY[fault].send(reply)
        self.sent.append(Sent(prompt, fault, text, mark, schema))
        return wire
