"""What a prefix cache can serve of a run's requests, by the rules of its maker.

A request can read what an earlier one of its run wrote, once that one is answered: so
the estimate follows the schedule, in steps of one latency. That other runs of the cell
begin with the same system prompt is left out: whether it is still there when they
begin depends on the order of things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from offrecord.content import data_folder, read_document
from offrecord.protocol.debate import Request
from offrecord.records import Form, digest

CHARACTERS_PER_TOKEN: Final = 4
"""Of English text, the usual rule of thumb."""


class CacheRule(BaseModel):
    """When a cache serves a prefix, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    providers: tuple[str, ...]
    minimum: int = Field(ge=0)
    """Tokens below which nothing is cached."""
    step: int | Literal["message"]
    """Prefixes are served in multiples of so many tokens, or up to whole messages."""
    writes: bool = False
    """Whether writing to the cache has a price of its own."""

    def __str__(self) -> str:
        whole = self.step == "message"
        steps = "whole messages" if whole else f"steps of {self.step} tokens"
        return f"{steps} from {self.minimum:,} on" if self.minimum else steps


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: dict[str, CacheRule]


@cache
def _rules() -> _Rules:
    return read_document(data_folder("prefix_caches.yaml")).validate(_Rules)


def rule_of(model: str) -> CacheRule | None:
    """The rule of a model's provider; None of one whose cache is not documented."""
    provider = model.partition("/")[0]
    for rule in _rules().rules.values():
        if provider in rule.providers:
            return rule
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens of one request, estimated from its characters."""

    input: int
    cached: int
    """Those of them that a cache can serve."""
    written: int
    """Those of them that are written to a cache at a price."""


def served(requests: Sequence[Request], rule: CacheRule | None) -> list[Tokens]:
    """What a cache can serve of each request of one run.

    Args:
        requests: All requests of a run, the spoken one first in each turn.
        rule: The cache's; without one nothing is assumed to be served.

    Returns:
        Tokens of each request, in the given order.
    """
    last = max((request.stamp.turn for request in requests), default=0)
    spoken = requests[0].stamp.channel if requests else ""
    answered: dict[str, int] = {}  # prefix to the step at which it can be read
    found = []
    for request in requests:
        stamp = request.stamp
        alone = (stamp.channel, stamp.form, stamp.draw) == (spoken, Form.UTTERANCE, 0)
        # Latencies that have passed when it starts: only the spoken one is waited for.
        start = stamp.turn - 1 if alone or stamp.turn == last else stamp.turn
        ends = list(_prefixes(request, rule)) if rule else []
        cached = max(
            (tokens for tokens, key in ends if answered.get(key, start + 1) <= start),
            default=0,
        )
        for _, key in ends:
            answered.setdefault(key, start + 1)
        whole = sum(len(text) for _, text in request.messages) // CHARACTERS_PER_TOKEN
        writes = rule is not None and rule.writes and whole >= rule.minimum
        found.append(
            Tokens(input=whole, cached=cached, written=whole - cached if writes else 0)
        )
    return found


def _prefixes(request: Request, rule: CacheRule) -> Iterator[tuple[int, str]]:
    """Prefixes of a request that a cache can hold: how long they are, and a name."""
    text = "".join(text for _, text in request.messages)
    if rule.step == "message":
        ends = list(accumulate(len(text) for _, text in request.messages))
    else:
        step = rule.step * CHARACTERS_PER_TOKEN
        ends = list(range(step, len(text) + 1, step))
    name, before = request.stamp.agent, 0
    for end in ends:
        name, before = digest([name, text[before:end]]), end
        if end // CHARACTERS_PER_TOKEN >= max(rule.minimum, 1):
            yield end // CHARACTERS_PER_TOKEN, name
