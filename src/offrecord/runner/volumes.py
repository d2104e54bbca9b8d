"""What a design takes of each model, estimated from its prompts, without asking it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, NamedTuple

from offrecord.protocol.cases import Case
from offrecord.protocol.debate import Request
from offrecord.protocol.design import Design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.protocol.script import cast_of
from offrecord.records import SCRIPTED, Form, OffrecordError
from offrecord.runner.prefixes import Tokens, rule_of, served
from offrecord.runner.prices import Prices

ANY_MODEL: Final = "any model"
"""What stands for the model of a design that names none yet."""

TOKENS_OUT: Final = {Form.UTTERANCE: 60, Form.SURVEY: 110}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """An estimate of what a set of requests takes."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that a prefix cache can serve (see `served`)."""
    written_tokens: int = 0
    """Input tokens that are written to a cache at a price."""
    output_tokens: int = 0
    """Reasoning not counted."""

    def __add__(self, other: Volume) -> Volume:
        """Both together."""
        return Volume(**{n: getattr(self, n) + getattr(other, n) for n in _COUNTED})

    def __mul__(self, times: int) -> Volume:
        """So many of it."""
        return Volume(**{n: getattr(self, n) * times for n in _COUNTED})


_COUNTED: Final = tuple(Volume.__dataclass_fields__)


def volumes(design: Design, planned: Sequence[Case]) -> dict[str, Volume]:
    """What a design takes of each model: an estimate at four characters a token.

    Args:
        design: The design.
        planned: Its cases.

    Returns:
        By model, targets first.
    """
    found: dict[str, Volume] = {}
    for case in planned:
        script = sample_script(design, case)
        requests = sample_requests(script)
        # Worked out once for each rule: models share few of them.
        tokens = cache(partial(served, requests))
        for target in design.models or (ANY_MODEL,):
            cast = cast_of(script.scenario, target, design.roles)
            for agent, model in cast.items():
                if model == SCRIPTED:
                    continue
                run = _volume(requests, tokens(rule_of(model)), agent)
                found[model] = found.get(model, Volume()) + run * design.runs
    return found


def _volume(
    requests: Sequence[Request], tokens: Sequence[Tokens], agent: str
) -> Volume:
    """What the requests of one agent of a run take."""
    pairs = zip(requests, tokens, strict=True)
    own = [(request, each) for request, each in pairs if request.stamp.agent == agent]
    return Volume(
        calls=len(own),
        input_tokens=sum(each.input for _, each in own),
        cached_tokens=sum(each.cached for _, each in own),
        written_tokens=sum(each.written for _, each in own),
        output_tokens=sum(TOKENS_OUT[request.stamp.form] for request, _ in own),
    )


class Amount(NamedTuple):
    """What estimated tokens cost."""

    without: float
    """All of them at the full price."""
    cached: float
    """With those that a cache can serve at theirs."""


def amount_of(taken: Mapping[str, Volume], prices: Prices) -> Amount:
    """What a design costs.

    Args:
        taken: What it takes of each model.
        prices: The user's prices.

    Raises:
        OffrecordError: If a model has no price.
    """
    without = cached = 0.0
    for model, used in taken.items():
        price = prices.models.get(model)
        if price is None:
            raise OffrecordError(f"{prices.name} has no price of {model}")
        fresh = used.input_tokens - used.cached_tokens - used.written_tokens
        cached += price.cost(
            fresh, used.cached_tokens, used.written_tokens, used.output_tokens
        )
        without += price.cost(used.input_tokens, 0, 0, used.output_tokens)
    return Amount(without, cached)
