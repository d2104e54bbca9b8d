"""A chat-completions server on this machine that answers after a fixed latency.

It stands where a hosted model would, so that tests and benches can send a debate
through Inspect's own provider, over HTTP, and see what was sent and when.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any, Self

_LABELS = re.compile(r"exactly these words, (.+?) or (.+?), then a dash")
_CODES = re.compile(r"statement codes (.+?), its values are whole numbers from (-?\d+)")
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    429: "Too Many Requests",
}

Answer = Callable[[list[dict[str, Any]]], str]
"""From the messages of a request to the text of the reply."""


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
    """

    def __init__(
        self,
        latency: float = 0.0,
        answer: Answer = well_formed,
        statuses: tuple[int, ...] = (),
    ) -> None:
        self.latency, self.answer, self.statuses = latency, answer, statuses
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
                writer.write(await self._reply(json.loads(body)))
                await writer.drain()
                self.sent.append(time.monotonic())
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the server stops
        except Exception as error:
            self.faults.append(error)
        finally:
            writer.close()

    async def _reply(self, body: dict[str, Any]) -> bytes:
        number = len(self.bodies)
        self.bodies.append(body)
        self.received.append(time.monotonic())
        self._open += 1
        self.open_at_once = max(self.open_at_once, self._open)
        status = self.statuses[number] if number < len(self.statuses) else 200
        content = _completion(body, self.answer) if status == 200 else _refusal(status)
        try:
            await asyncio.sleep(self.received[number] + self.latency - time.monotonic())
        finally:
            self._open -= 1
        return (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
            "content-type: application/json\r\n"
            f"content-length: {len(content)}\r\n\r\n"
        ).encode("ascii") + content


def _completion(body: dict[str, Any], answer: Answer) -> bytes:
    text = answer(body["messages"])
    prompt = sum(len(str(m["content"])) for m in body["messages"]) // 4
    completion = len(text) // 4
    return json.dumps(
        {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }
    ).encode()


def _refusal(status: int) -> bytes:
    message = {"message": _REASONS[status], "type": "error", "code": None}
    return json.dumps({"error": message}).encode()
