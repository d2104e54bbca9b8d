"""Chat completions, guarded on their way from a server to an agent."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from aiohttp import ClientError, ClientResponse, web

from offrecord.guard.asking import ACCOUNT
from offrecord.guard.completions import Draft, read_draft, with_text
from offrecord.guard.draws import Begun
from offrecord.guard.guard import Guard
from offrecord.guard.types import BLOCK, LOG, PASS, Message, Reason, Verdict
from offrecord.guard.upstream import CALL, LARGEST, Call, Upstream, passed_on

_LOG: Final = logging.getLogger("offrecord.guard")
_EVENTS: Final = "text/event-stream"
_UNREADABLE: Final = "unreadable"


class Refused(Exception):
    """What the proxy itself says instead of a completion."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        error = {"message": f"offrecord guard: {message}", "code": code}
        self.response = web.json_response(
            {"error": {**error, "type": "offrecord_guard", "param": None}},
            status=status,
        )


class _Given(NamedTuple):
    """What came back for a request, as far as it came."""

    content: bytes
    whole: bool


class Proxy:
    """Answers chat completions with what a guard lets through.

    Args:
        guard: Made with `upstream.ask`.
        upstream: Where drafts come from.
        beside: Whether queries start beside each draft, or after one that needs them.
    """

    def __init__(self, guard: Guard, upstream: Upstream, *, beside: bool) -> None:
        self.guard, self.upstream, self.beside = guard, upstream, beside
        self.seen = Counter[str]()
        """Messages by the reason of their verdict."""
        self._later = set[asyncio.Task[object]]()

    @property
    def holds_back(self) -> bool:
        """Whether a message waits for its verdict: where a verdict can change it."""
        rule = self.guard.rule
        return rule.action != LOG or self._closed

    @property
    def _closed(self) -> bool:
        return self.guard.rule.on_fault == "closed"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        try:
            content = await request.read()
            call, messages = _parsed(request, content)
            CALL.set(call)
            ACCOUNT.set(call.account)
            return await self._answer(request, call, content, messages)
        except Refused as refused:
            return refused.response
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:  # whose text may be anything: its type tells
            _LOG.error("a request failed (%s)", type(error).__name__)
            return Refused(500, "error", "failed").response

    async def finish(self) -> None:
        """Wait for what is still being checked though it has gone out."""
        await asyncio.gather(*self._later, return_exceptions=True)

    async def _answer(
        self,
        request: web.Request,
        call: Call,
        content: bytes,
        messages: Sequence[Message],
    ) -> web.StreamResponse:
        with ExitStack() as stack:
            begun = self.guard.begin(messages) if self.beside else None
            if begun is not None:
                stack.callback(begun.cancel)
            try:
                response = await self.upstream.send(call, content)
            except TimeoutError:
                raise Refused(504, "timeout", "the upstream did not answer") from None
            except (ClientError, OSError) as error:
                kind = type(error).__name__
                raise Refused(502, "error", f"no upstream ({kind})") from None
            async with response:
                if response.ok and not self.holds_back:
                    answer, given = await _passed(request, response)
                    checking = self._judged(response, given, messages, begun)
                    later = asyncio.create_task(checking)
                    self._later.add(later)
                    later.add_done_callback(self._later.discard)
                    stack.pop_all()
                    return answer
                given = await _given(response)
            if not response.ok:
                return await _as_it_came(request, response, given)
            return await self._held(request, response, given, messages, begun)

    async def _held(
        self,
        request: web.Request,
        response: ClientResponse,
        given: _Given,
        messages: Sequence[Message],
        begun: Begun | None,
    ) -> web.StreamResponse:
        """The response with what the guard lets through."""
        found = await self._judged(response, given, messages, begun)
        if found is None:
            if self._closed:
                raise Refused(502, "error", "the upstream's answer cannot be read")
            told = {"action": PASS, "reason": Reason.ERROR}
            return await _as_it_came(request, response, given, told)
        draft, verdict = found
        if verdict.text != draft.words:
            given = given._replace(content=with_text(draft, verdict.text))
        told = {"action": verdict.action, "reason": verdict.reason}
        if verdict.score is not None:
            told["score"] = str(verdict.score)
        return await _as_it_came(request, response, given, told)

    async def _judged(
        self,
        response: ClientResponse,
        given: _Given,
        messages: Sequence[Message],
        begun: Begun | None,
    ) -> tuple[Draft, Verdict] | None:
        """The draft and its verdict; None where no draft can be read."""
        streamed = response.headers.get("content-type", "").startswith(_EVENTS)
        draft = read_draft(given.content, streamed=streamed) if given.whole else None
        if draft is None:
            if begun is not None:
                begun.cancel()
            self.seen[_UNREADABLE] += 1
            action = BLOCK if self._closed else PASS
            _LOG.warning("%s: the upstream's answer cannot be read", action)
            return None
        verdict = await self.guard.check(messages, draft.message, begun)
        self.seen[verdict.reason] += 1
        return draft, verdict


def _parsed(request: web.Request, content: bytes) -> tuple[Call, list[Message]]:
    """A request, and the messages in it.

    Raises:
        Refused: If it is none that a guard can check.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise Refused(400, "invalid_request", "give a JSON object with 'messages'")
    if body.get("n") not in (None, 1):
        raise Refused(400, "invalid_request", "a guarded answer has one choice: no 'n'")
    return Call(
        body, [*request.headers.items()], request.rel_url.raw_query_string
    ), messages


async def _given(response: ClientResponse) -> _Given:
    """All that comes of a response: less than all where it is cut, or too long."""
    content = bytearray()
    try:
        async for piece in response.content.iter_any():
            content += piece
            if len(content) > LARGEST:
                return _Given(bytes(content), False)
    except (ClientError, OSError):
        return _Given(bytes(content), False)
    return _Given(bytes(content), True)


async def _passed(
    request: web.Request, response: ClientResponse
) -> tuple[web.StreamResponse, _Given]:
    """A response sent on as it comes, and what came."""
    answer = web.StreamResponse(
        status=response.status, headers=passed_on(response.headers)
    )
    await answer.prepare(request)
    kept = bytearray()
    try:
        async for piece in response.content.iter_any():
            kept += piece[: LARGEST + 1 - len(kept)]
            await answer.write(piece)
    except (ClientError, TimeoutError):
        _cut(request)
        return answer, _Given(bytes(kept), False)
    await answer.write_eof()
    return answer, _Given(bytes(kept), len(kept) <= LARGEST)


async def _as_it_came(
    request: web.Request,
    response: ClientResponse,
    given: _Given,
    told: Mapping[str, str] | None = None,
) -> web.StreamResponse:
    """A response with these bytes, and a verdict; one that was cut is cut there too."""
    own = {f"x-offrecord-{name}": value for name, value in (told or {}).items()}
    passed = passed_on(response.headers)
    headers = [*(one for one in passed if one[0].lower() not in own), *own.items()]
    if given.whole:
        return web.Response(body=given.content, status=response.status, headers=headers)
    answer = web.StreamResponse(status=response.status, headers=headers)
    await answer.prepare(request)
    await answer.write(given.content)
    _cut(request)
    return answer


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()
