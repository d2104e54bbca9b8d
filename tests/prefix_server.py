"""A provider with a prefix cache: the fake server, and a simple model of such a cache.

A prompt is read in tokens of four characters. What it begins with can be read from the
cache, in whole blocks, once an earlier request with the same beginning is answered.
"""

from __future__ import annotations

import json
import time
from typing import Any

from tests.fake_server import Answer, FakeServer, Wire, completion, http, well_formed

CHARACTERS = 4
WORDS = " ".join(["reason"] * 44)
"""What a published utterance is as long as."""


class PrefixServer(FakeServer):
    """Answers as `FakeServer` does, and reports how much of a prompt was cached.

    Args:
        latency: Seconds from a request's last byte to its reply's first.
        step: Tokens of one block of the cache.
        minimum: Tokens below which nothing is read from it.
        answer: Gives the text of a reply.
    """

    def __init__(
        self,
        latency: float,
        step: int = 16,
        minimum: int = 0,
        answer: Answer = well_formed,
    ) -> None:
        super().__init__(latency, answer, respond=self._cached)
        self.step, self.minimum = step, minimum
        self.read: list[tuple[int, int]] = []
        """Of each request: tokens of its prompt, and those from the cache."""
        self._readable: dict[str, float] = {}
        """A prefix to the time from which on it can be read."""

    @property
    def share(self) -> float:
        """The share of all prompt tokens that came from the cache."""
        return sum(hit for _, hit in self.read) / sum(whole for whole, _ in self.read)

    def _cached(self, body: dict[str, Any]) -> Wire:
        prompt = "".join(message["content"] for message in body["messages"])
        whole, block = len(prompt) // CHARACTERS, self.step * CHARACTERS
        prefixes = [prompt[:end] for end in range(block, len(prompt) + 1, block)]
        now, hit = time.monotonic(), 0
        for prefix in prefixes:
            if self._readable.get(prefix, now + 1) > now:
                break
            hit = len(prefix) // CHARACTERS
        if hit < self.minimum:
            hit = 0
        for prefix in prefixes:
            self._readable.setdefault(prefix, now + self.latency)
        self.read.append((whole, hit))
        text = self.answer(body["messages"])
        if " - " in text:
            text = f"{text.partition(' - ')[0]} - {WORDS}"
        reply = completion(body, text)
        reply["usage"]["prompt_tokens"] = whole
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": hit}
        return Wire(http(json.dumps(reply).encode()))
