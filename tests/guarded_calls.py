"""Many calls through `offrecord guard serve`, with a canary in all that is private.

A server of this machine gives drafts and, off the record, replies that hold the canary:
some agree with the draft, some do not, some are faults. Each answer is compared with
the one that is due, and everything the proxy leaves behind is searched.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp

from tests.fake_server import FakeServer, Wire, completion, http, refusal
from tests.proxied import asked_aside

CANARY: Final = "canary-5d20f1"
KEY: Final = "sk-of-the-agent-83"
CONFIG: Final = """\
decision: {question: "Is it sent?", labels: [SEND, WAIT], pressed_side: SEND}
rule: {action: disclose, on_fault: open, timeout: 60, at_once: 50}
"""
AT_ONCE: Final = 40
KINDS: Final = ("agrees", "differs", "other_side", "garbage", "refused", "no_answer")
REASONS: Final = {
    "agrees": "below_threshold",
    "differs": "conflict",
    "other_side": "not_pressed",
    "garbage": "error",
    "refused": "error",
    "no_answer": "no_answer",
}
_NUMBER: Final = re.compile(r"message (\d+)")


class Guarded(NamedTuple):
    """What many calls came to."""

    right: int
    """Answers with the words that were due, once each."""
    reasons: Counter[str]
    queries: int
    left_behind: dict[str, str]
    """Whatever the proxy printed or wrote, and the answers, by name."""
    peak: float
    """Resident memory of the proxy at its highest, in megabytes."""


class Answered(NamedTuple):
    """What an agent received."""

    number: int
    headers: dict[str, str]
    text: str

    @property
    def words(self) -> object:
        """What it reads."""
        return json.loads(self.text)["choices"][0]["message"]["content"]


def kind_of(number: int) -> str:
    """What becomes of a message."""
    return KINDS[number % len(KINDS)]


def due(number: int) -> str:
    """The words that an agent is to read."""
    kind, more = kind_of(number), ""
    if kind == "differs":
        more = "\n\n(My own assessment of the matter itself differs from this.)"
    return f"{_draft(number)}{more}"


def run_calls(calls: int, folder: Path) -> Guarded:
    """Send that many calls through a proxy that runs in a process of its own.

    Args:
        calls: How many.
        folder: Empty; all files of the proxy go there.
    """
    with (
        FakeServer(respond=_respond) as server,
        serving(server.url, folder) as (url, process),
    ):
        answers = asyncio.run(_all(url, calls))
        peak = _peak(process.pid)
    assert not server.faults
    right = {one.number for one in answers if one.words == due(one.number)}
    left = {
        str(path.relative_to(folder)): path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert process.stdout is not None
    left["stdout"] = process.stdout.read()
    left["answers"] = "".join(f"{one.headers}{one.text}" for one in answers)
    return Guarded(
        right=len(right),
        reasons=Counter(one.headers["x-offrecord-reason"] for one in answers),
        queries=sum(asked_aside(body["messages"]) for body in server.bodies),
        left_behind=left,
        peak=peak,
    )


@contextmanager
def serving(
    upstream: str, folder: Path, config: str = CONFIG, *options: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A proxy in a process of its own, while the context is open; its URL.

    Args:
        upstream: Where drafts come from.
        folder: Its configuration and all that it writes go there.
        config: The text of its `guard.yaml`.
        options: Further ones of `guard serve`.
    """
    (folder / "guard.yaml").write_text(config, encoding="utf-8")
    serve = ["guard", "serve", "--config", "guard.yaml", "--upstream", upstream]
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(folder))
    root = Path(__file__).parents[1]
    paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    with (folder / "stderr").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.traced", "spans", *serve),
                *("--port", "0", *options),
            ],
            cwd=folder,
            env={**os.environ, **places, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[0], process
    finally:
        process.terminate()
        process.wait(30)


def _peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024


def _draft(number: int) -> str:
    side = "WAIT" if kind_of(number) == "other_side" else "SEND"
    return f"{side} - so much for message {number}."


def _respond(body: dict[str, Any]) -> Wire:
    messages = body["messages"]
    found = _NUMBER.search(messages[0]["content"])
    assert found
    kind = kind_of(int(found[1]))
    if not asked_aside(messages):
        return _json(completion(body, _draft(int(found[1]))))
    if kind == "garbage":
        return Wire(http(f"<p>{CANARY}".encode()))
    if kind == "refused":
        return Wire(http(refusal(500, CANARY), 500))
    side = {"agrees": "SEND", "no_answer": "Perhaps"}.get(kind, "WAIT")
    return _json(completion(body, f"{side} - {CANARY}"))


def _json(whole: dict[str, Any]) -> Wire:
    return Wire(http(json.dumps(whole).encode()))


async def _all(url: str, calls: int) -> list[Answered]:
    numbers = iter(range(calls))
    answers: list[Answered] = []
    keys = {"authorization": f"Bearer {KEY}"}
    async with aiohttp.ClientSession(headers=keys) as client:

        async def one() -> None:
            for number in numbers:
                said = f"This is message {number}. Your view?"
                messages = [{"role": "user", "content": said}]
                body = {"model": "fake", "messages": messages}
                address = f"{url}/chat/completions"
                async with client.post(address, json=body) as answer:
                    text = await answer.text()
                    answers.append(Answered(number, dict(answer.headers), text))

        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    return answers
