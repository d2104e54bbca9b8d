"""The server behind a guard's proxy: its drafts, and what is asked off the record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Self
from urllib.parse import urlsplit

from aiohttp import (
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)

from offrecord.content.parts import text_of
from offrecord.guard.types import Answer, Message
from offrecord.records import OffrecordError

LARGEST: Final = 16 * 2**20
"""Bytes of a request or of a response that are read at most."""

_LARGEST_ANSWER: Final = 2**20
"""Bytes of a query's answer that are read at most; a longer one is an error."""

_OWN: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade", "host"),
        *("content-length", "content-encoding", "accept-encoding", "expect"),
    }
)
"""Headers of a connection, which go no further than it does."""

_OF_DRAFTS: Final = frozenset({"idempotency-key"})
"""Headers by which a server would answer a query with the draft."""

_LEFT_OUT: Final = frozenset(
    {
        *("stream", "stream_options", "n", "seed", "response_format", "prediction"),
        *("logprobs", "top_logprobs", "modalities", "audio", "store", "metadata"),
        *("tool_choice", "parallel_tool_calls", "functions", "function_call"),
    }
)
"""Fields of a request that a query leaves out: it is answered in words, drawn anew
each time, and stored nowhere."""


_CREDENTIALS: Final = frozenset(
    {
        *("authorization", "api-key", "x-api-key"),
        *("openai-organization", "openai-project"),
    }
)
"""Headers that say whose limit a request counts to."""


@dataclass(frozen=True, slots=True, repr=False)
class Call:
    """One request of an agent; its repr shows no key."""

    body: Mapping[str, Any]
    headers: Sequence[tuple[str, str]]
    query: str
    """What stood behind the `?` of its address."""

    @property
    def account(self) -> int:
        """A hash of the model and the credentials, to whose limit a 429 belongs."""
        keys = [pair for pair in self.headers if pair[0].lower() in _CREDENTIALS]
        return hash((str(self.body.get("model")), *keys, self.query))


CALL: Final[ContextVar[Call]] = ContextVar("call")
"""The request that is being answered: queries are asked with its model and key."""


class NotOk(Exception):
    """A response that is an error, as clients of OpenAI raise it."""

    def __init__(self, response: ClientResponse) -> None:
        super().__init__()
        self.status_code, self.response = response.status, response


class Upstream:
    """An OpenAI-compatible server; its connections are open while its context is.

    Args:
        url: Its base, such as `https://api.openai.com/v1`.
        timeout: Seconds without a byte after which a call has failed.

    Raises:
        OffrecordError: If it is no such address.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = f"{_checked(url)}/chat/completions"
        self._timeout = ClientTimeout(None, sock_connect=timeout, sock_read=timeout)
        self._session: ClientSession

    async def __aenter__(self) -> Self:
        self._session = ClientSession(
            connector=TCPConnector(limit=0),
            timeout=self._timeout,
            cookie_jar=DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        )
        return self

    async def __aexit__(self, *fault: object) -> None:
        await self._session.close()

    async def send(self, call: Call, content: bytes) -> ClientResponse:
        """Send a request as it came; its response is to be read and closed."""
        return await self._session.post(
            self._address(call),
            data=content,
            headers=_headers(call),
            allow_redirects=False,
        )

    async def ask(self, messages: list[Message]) -> Answer:
        """Answer messages as the model of the request under way does: an `Ask`."""
        call = CALL.get()
        body = {k: v for k, v in call.body.items() if k not in _LEFT_OUT}
        if "tools" in body:
            body["tool_choice"] = "none"
        async with self._session.post(
            self._address(call),
            data=json.dumps({**body, "messages": messages}).encode(),
            headers=_headers(call, _OF_DRAFTS),
            allow_redirects=False,
        ) as response:
            if response.status != HTTPStatus.OK:
                raise NotOk(response)
            content = bytearray()
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > _LARGEST_ANSWER:
                    raise ValueError("the answer is too long")
            whole = json.loads(content)
        usage = whole.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        return Answer(
            text=text_of(whole["choices"][0]["message"].get("content")),
            input_tokens=usage.get("prompt_tokens"),
            cached_tokens=details.get("cached_tokens"),
            output_tokens=usage.get("completion_tokens"),
        )

    def _address(self, call: Call) -> str:
        return f"{self.url}?{call.query}" if call.query else self.url


def passed_on(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers of a response that are the user's."""
    return [pair for pair in headers.items() if pair[0].lower() not in _OWN]


def _headers(
    call: Call, left_out: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    kept = [pair for pair in call.headers if pair[0].lower() not in _OWN | left_out]
    return [*kept, ("Accept-Encoding", "identity")]


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    bare = not (parts.username or parts.password or parts.query or parts.fragment)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not bare:
        raise OffrecordError(
            "--upstream: give the base of chat completions, without a key in it, such "
            "as https://api.openai.com/v1"
        )
    return url.rstrip("/")
