"""Planning a study: what would be asked, counted and shown, without asking it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import click

from offrecord.protocol.cases import Case, cases
from offrecord.protocol.debate import Request
from offrecord.protocol.design import Design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.protocol.script import cast_of
from offrecord.records import SCRIPTED, Form
from offrecord.runner.costs import money
from offrecord.runner.detect import Detect, detection_lines
from offrecord.runner.prefixes import Tokens, rule_of, served
from offrecord.runner.prices import Prices, read_prices
from offrecord.runner.resolve import announcement, calls_per_run, resolve_design
from offrecord.transcript.designed import content_of, planned_runs

_TOKENS_OUT: Final = {Form.UTTERANCE: 60, Form.SURVEY: 110}


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
        for target in design.models:
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
        output_tokens=sum(_TOKENS_OUT[request.stamp.form] for request, _ in own),
    )


def show_plan(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
    *,
    detect: Detect | None,
    prompts: bool,
    prices: Path | None = None,
) -> None:
    """Print the plan of a design.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: An existing study, to see what it would become.
        detect: What the design is to detect, if that is asked.
        prompts: Whether to print the prompts of one run's last turn.
        prices: A price file, for an estimate of the cost.

    Raises:
        OffrecordError: If the design is wrong, or the price file is.
    """
    given = read_prices(prices) if prices else None
    design = resolve_design(file, flags, options, out)
    if out is not None:
        click.echo(announcement(design, out, planned_runs(design)))
    if design.on:
        _show_replay(design)
        return
    planned = cases(design)
    runs = len(planned) * design.runs * len(design.models)
    taken = volumes(design, planned)
    echo = click.echo
    echo(f"models      {', '.join(design.models)}")
    echo(f"partner     {design.roles.get('partner', 'the same model')}")
    echo(f"cells       {len(planned)} a model: {', '.join(c.id for c in planned)}")
    echo(f"runs        {runs} ({design.runs} of each cell and model)")
    echo(
        f"calls       {runs * calls_per_run(design):,} ({calls_per_run(design)} a run)"
    )
    for line in (*_token_lines(taken), *_cost_lines(taken, given)):
        echo(line)
    echo(f"surveys     {'under a schema' if design.structured else 'free JSON'}")
    for line in detection_lines(design, detect) if detect else ():
        echo(line)
    echo("content")
    for name, stamp in content_of(design).items():
        echo(f"  {name}: {stamp}")
    _show_hashes(design, planned)
    if prompts:
        _show_prompts(design, planned[0])


def _token_lines(taken: Mapping[str, Volume]) -> Iterator[str]:
    """Tokens of all models, and what caches can serve of them, rule by rule."""
    total = sum(taken.values(), Volume())
    yield f"tokens in   about {total.input_tokens:,}, at 4 characters a token"
    by_provider: dict[str, Volume] = {}
    for model, volume in taken.items():
        rule, provider = rule_of(model), model.partition("/")[0]
        known = "" if provider in rule.providers else ", assumed"
        cached = f"{provider}{known}: {rule}"
        by_provider[cached] = by_provider.get(cached, Volume()) + volume
    for cached, volume in by_provider.items():
        share = _percent(volume.cached_tokens, volume.input_tokens)
        yield f"from cache  about {share} of them ({cached})"
    yield f"tokens out  about {total.output_tokens:,}, reasoning not counted"


def _cost_lines(taken: Mapping[str, Volume], prices: Prices | None) -> Iterator[str]:
    """What the estimated tokens would cost, with the caches and without."""
    if prices is None:
        return
    with_cache = without = 0.0
    for model, used in taken.items():
        price = prices.models.get(model)
        if price is None:
            yield f"cost        unknown: {prices.name} has no price of {model}"
            return
        fresh = used.input_tokens - used.cached_tokens - used.written_tokens
        with_cache += price.cost(
            fresh, used.cached_tokens, used.written_tokens, used.output_tokens
        )
        without += price.cost(used.input_tokens, 0, 0, used.output_tokens)
    yield (
        f"cost        about {money(without, prices.currency)}, or "
        f"{money(with_cache, prices.currency)} with those from the cache"
    )
    yield f"            by {prices.name}; reasoning and requests sent again not counted"


def _show_hashes(design: Design, planned: Sequence[Case]) -> None:
    click.echo("prompts (hash of the first turn's requests)")
    for case in planned:
        for request in sample_requests(sample_script(design, case)):
            if request.stamp.turn == 1 and request.stamp.draw == 0:
                what = f"{request.stamp.channel} {request.stamp.form}"
                click.echo(f"  {case.id} {what}: {request.prompt_hash}")


def _show_replay(design: Design) -> None:
    runs = planned_runs(design)
    click.echo(f"models      {', '.join(design.models)}")
    click.echo(f"replay      of {design.on}: {runs} runs, {design.rounds} rounds")
    calls = calls_per_run(design)
    click.echo(f"calls       up to {runs * calls:,} ({calls} a run, no surveys)")
    click.echo("content")
    for name, stamp in content_of(design).items():
        click.echo(f"  {name}: {stamp}")


def _show_prompts(design: Design, case: Case) -> None:
    requests = sample_requests(sample_script(design, case))
    last = requests[-1].stamp.turn
    for request in requests:
        stamp = request.stamp
        if stamp.turn in {1, last} and stamp.draw == 0:
            click.echo(
                f"\n=== {case.id}, turn {stamp.turn}, {stamp.agent}, {stamp.channel} "
                f"{stamp.form} ==="
            )
            for sender, text in request.messages:
                click.echo(f"--- {sender}\n{text}")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"
