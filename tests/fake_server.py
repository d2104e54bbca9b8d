"""A chat-completions server on this machine that answers after a fixed latency.

It stands where a hosted model would, so that tests and benches can send a debate
through Inspect's own provider, over HTTP, and see what was sent and when.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Self

_LABELS = re.compile(r"exactly these words, (.+?) or (.+?), then a dash")
_CODES = re.compile(r"statement codes (.+?), its values are whole numbers from (-?\d+)")
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}

Answer = Callable[[list[dict[str, Any]]], str]
"""From the messages of a request to the text of the reply."""


class Ending(Enum):
    """What becomes of a connection after the bytes of a reply."""

    KEEP = "it stays open for the next request"
    CLOSE = "it is closed"
    RESET = "it is reset, so that what is under way is lost"
    STALL = "nothing more is heard on it"


class Wire(NamedTuple):
    """What goes over the wire for one request."""

    data: bytes
    ending: Ending = Ending.KEEP
    later: tuple[bytes, ...] = ()
    """More of it, in pieces that follow a `gap` apart."""


Respond = Callable[[dict[str, Any]], Wire]
"""From the body of a request to what is sent for it, faults included."""


def well_formed(messages: list[dict[str, Any]]) -> str:
    """What a careful model would answer to a request of the protocol `twin`."""
    asked = str(messages[-1]["content"])
    if codes := _CODES.search(asked):
        return json.dumps(dict.fromkeys(codes[1].split(", "), int(codes[2])))
    if labels := _LABELS.search(asked):
        return f"{labels[2]} - what was said so far leaves it there."
    raise ValueError(f"neither an utterance nor a survey is asked for: {asked}")


class FakeServer:
    """Serves `/v1/chat/completions` on a free port while its context is open.

    Args:
        latency: Seconds from a request's last byte to its reply's first.
        answer: Gives the text of a reply.
        statuses: HTTP status of the first replies; every later one is 200.
        respond: Takes the place of `answer` and `statuses`.
        gap: Seconds before each later piece of a reply.
    """

    def __init__(
        self,
        latency: float = 0.0,
        answer: Answer = well_formed,
        statuses: tuple[int, ...] = (),
        respond: Respond | None = None,
        gap: float = 0.0,
    ) -> None:
        self.latency, self.answer, self.statuses = latency, answer, statuses
        self.respond, self.gap = respond or self._by_number, gap
        self.heads: list[str] = []
        """The lines in front of each body, in the order received."""
        self.given_up = 0
        """Replies that stalled until the client left."""
        self.bodies: list[dict[str, Any]] = []
        """The JSON of each request, in the order received."""
        self.received: list[float] = []
        """When each request was in, by the monotonic clock, in seconds."""
        self.sent: list[float] = []
        """When each reply was out."""
        self.faults: list[Exception] = []
        """What went wrong in the server itself."""
        self.open_at_once = 0
        """The most requests that waited for their reply at one time."""
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = self._on_loop(starting)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, *fault: object) -> None:
        self._on_loop(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def environment(self, service: str) -> dict[str, str]:
        """The variables by which Inspect's `openai-api/<service>/...` finds this."""
        name = service.upper().replace("-", "_")
        return {f"{name}_API_KEY": "none-needed", f"{name}_BASE_URL": self.url}

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _stop(self) -> None:
        self._server.close()
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer one connection's requests, one after another."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self.heads.append(head.decode("latin-1"))
                wire = await self._reply(json.loads(body))
                if wire.ending is Ending.RESET:
                    _reset(writer)
                    return
                writer.write(wire.data)
                await writer.drain()
                for piece in wire.later:
                    await asyncio.sleep(self.gap)
                    writer.write(piece)
                    await writer.drain()
                self.sent.append(time.monotonic())
                if wire.ending is Ending.STALL:
                    await reader.read()  # until the client gives up
                    self.given_up += 1
                if wire.ending is not Ending.KEEP:
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the server stops
        except Exception as error:
            self.faults.append(error)
        finally:
            writer.close()

    async def _reply(self, body: dict[str, Any]) -> Wire:
        number = len(self.bodies)
        self.bodies.append(body)
        self.received.append(time.monotonic())
        self._open += 1
        self.open_at_once = max(self.open_at_once, self._open)
        wire = self.respond(body)
        try:
            await asyncio.sleep(self.received[number] + self.latency - time.monotonic())
        finally:
            self._open -= 1
        return wire

    def _by_number(self, body: dict[str, Any]) -> Wire:
        number = len(self.bodies) - 1
        status = self.statuses[number] if number < len(self.statuses) else 200
        if status != 200:
            return Wire(http(refusal(status), status))
        text = self.answer(body["messages"])
        return Wire(http(json.dumps(completion(body, text)).encode()))


def http(content: bytes, status: int = 200, **headers: str) -> bytes:
    """A response as it goes over the wire.

    Args:
        content: The body.
        status: One of `_REASONS`.
        headers: Names with `_` for `-`, over those that every response has.
    """
    fields = {"content_type": "application/json", "content_length": str(len(content))}
    lines = (f"{name.replace('_', '-')}: {v}" for name, v in (fields | headers).items())
    head = "\r\n".join((f"HTTP/1.1 {status} {_REASONS[status]}", *lines))
    return f"{head}\r\n\r\n".encode("ascii") + content


def completion(
    body: Mapping[str, Any],
    text: str | None,
    finish_reason: str = "stop",
    **message: str | None,
) -> dict[str, Any]:
    """A chat completion.

    Args:
        body: The request.
        text: The content of the reply.
        finish_reason: Why it ended.
        message: Further fields of the reply, such as `reasoning_content`.
    """
    prompt = sum(len(str(m["content"])) for m in body["messages"]) // 4
    used = len(text or "") // 4
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": used,
            "total_tokens": prompt + used,
        },
    }


def refusal(status: int, code: str | None = None) -> bytes:
    """The body of a response with another status than 200."""
    message = {"message": _REASONS[status], "type": "error", "code": code}
    return json.dumps({"error": message}).encode()


def _reset(writer: asyncio.StreamWriter) -> None:
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
