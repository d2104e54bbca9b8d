"""The judge adapter: asks any Inspect model for verdicts, each question once.

Async inside, with one sync edge. A reply is stored under a hash of everything that was
asked the moment it comes, so that a second run calls nothing and an interrupted one
loses nothing. What came back is never asked again; a failed call is not stored, and the
next run asks it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
)

from offrecord.content.boundary.files import read_file
from offrecord.measures.codes.verdicts import JudgeRequest, Verdict, verdict_of
from offrecord.protocol.elicitation import reply_of
from offrecord.protocol.models import open_model, plain_error
from offrecord.records import OffrecordError, digest
from offrecord.transcript.store import UnwritableError, make_folder, refuse_gone

AT_ONCE: Final = 10
"""Questions under way at once."""

_REPLIES_FILE: Final = "judge-replies.jsonl"
_SETTINGS: Final = GenerateConfig(max_retries=4, attempt_timeout=120)


def judge(requests: Sequence[JudgeRequest], model: str, cache: Path) -> list[Verdict]:
    """Ask a judge, from code that is not async.

    Args:
        requests: The questions; equal ones are asked once.
        model: Any model, as Inspect names it. The provider's own settings apply, since
            many judges refuse a temperature; replies are stored, so a second run is
            the same.
        cache: A folder for the replies, made where it is absent.

    Returns:
        One verdict a request, in their order.

    Raises:
        OffrecordError: If the model cannot be opened, none of its first calls comes
            back, or the folder cannot be written.
    """
    if not requests:
        return []
    replies = _Replies(cache / _REPLIES_FILE)
    keys = [_key(request, model) for request in requests]
    waiting = {
        key: request
        for key, request in zip(keys, requests, strict=True)
        if key not in replies.stored
    }
    asked = anyio.run(_Calls(model, replies).all, waiting) if waiting else {}
    return [
        verdict_of(request, asked.get(key) or replies.stored[key])
        for key, request in zip(keys, requests, strict=True)
    ]


class _Calls:
    """The calls of one run: how many may go on, and how many came back."""

    def __init__(self, name: str, replies: _Replies) -> None:
        self._name, self._replies = name, replies
        self._failures = 0
        self._came_back = False
        self._asked: dict[str, dict[str, Any]] = {}

    async def all(
        self, questions: Mapping[str, JudgeRequest]
    ) -> dict[str, dict[str, Any]]:
        model = open_model(self._name, "judge")
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def ask(key: str, request: JudgeRequest) -> None:
            try:
                self._asked[key] = await self._call(model, key, request)
            finally:
                limiter.release_on_behalf_of(key)

        try:
            async with anyio.create_task_group() as group:
                for key, request in questions.items():
                    await limiter.acquire_on_behalf_of(key)
                    group.start_soon(ask, key, request)
        except* OffrecordError as group_error:
            raise group_error.exceptions[0] from None
        return self._asked

    async def _call(
        self, model: Model, key: str, request: JudgeRequest
    ) -> dict[str, Any]:
        try:
            output = await model.generate(
                [
                    ChatMessageSystem(content=request.prompt.system),
                    ChatMessageUser(content=request.message),
                ],
                config=_SETTINGS,
                cache=False,  # a stored reply is ours to find
            )
        except OffrecordError:
            raise
        except Exception as error:  # each provider has its own
            return self._failed(plain_error(error))
        self._came_back = True
        reply = reply_of(output)
        found = {
            "reply": reply.text,
            "stop_reason": reply.stop_reason,
            "error": reply.error,
            "model_answered": output.model,
        }
        if reply.error is None:
            self._replies.store(key, found)
        return found

    def _failed(self, why: str) -> dict[str, Any]:
        """A failed call as a missing reply, or as the end if none ever came back."""
        self._failures += 1
        if not self._came_back and self._failures >= AT_ONCE:
            raise OffrecordError(
                f"judge {self._name}: none of {self._failures} calls came back: {why}"
            )
        return {"reply": "", "stop_reason": "", "error": why, "model_answered": ""}


class _Replies:
    """The stored replies: one JSON object a line, appended and never rewritten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.stored: dict[str, dict[str, Any]] = {}
        try:
            make_folder(path.parent)
            lines = read_file(path).splitlines() if path.exists() else []
        except OSError as error:
            refuse_gone(path)
            raise OffrecordError(f"{path}: {error.strerror}") from None
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):  # cut off by a kill
                entry = json.loads(line)
                self.stored[entry["key"]] = {name: entry[name] for name in _REPLY}

    def store(self, key: str, found: Mapping[str, Any]) -> None:
        line = json.dumps({"key": key, **found})
        try:
            with self._path.open("a", encoding="ascii") as file:
                # a line before it may have been cut off: begin a new one
                file.write(f"\n{line}\n")
        except OSError as error:
            refuse_gone(self._path)
            raise UnwritableError(f"{self._path}: {error.strerror}") from None
        self.stored[key] = dict(found)


_REPLY: Final = ("reply", "stop_reason", "error", "model_answered")


def _key(request: JudgeRequest, model: str) -> str:
    # 0: replies are stored under the first draw of each question.
    return digest([model, request.prompt.system, request.message, 0], 32)
