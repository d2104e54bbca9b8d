"""Planning a study: what would be asked, counted and shown, without asking it.

What decides comes first: runs, calls, cost and time. A figure that nobody gave is not
known, and the line says what to give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from offrecord.protocol.cases import Case, cases
from offrecord.protocol.declared import warn_of
from offrecord.protocol.design import Design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.records import OffrecordError
from offrecord.runner.arms import arm_lines
from offrecord.runner.asking import Goal, Until, ask_lines, until_goals, until_lines
from offrecord.runner.connections import connections_of
from offrecord.runner.costs import money
from offrecord.runner.detect import Detect, detection_of
from offrecord.runner.prefixes import CacheRule, rule_of
from offrecord.runner.prices import Prices, read_prices
from offrecord.runner.probing import probe_volumes, sample_lines
from offrecord.runner.resolve import (
    calls_per_run,
    resolve_design,
    turn_calls,
    turns_of_run,
)
from offrecord.runner.todo import announcement, to_do
from offrecord.runner.volumes import ANY_MODEL, Volume, amount_of, volumes
from offrecord.transcript.designed import content_of, planned_runs
from offrecord.transcript.probes import probe_of
from offrecord.transcript.record import open_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a plan is to show beside the design."""

    prices: Path | None = None
    """A price file, for an estimate of the cost."""
    latency: float | None = None
    """Seconds that a call takes."""
    pilot: Path | None = None
    """A study whose calls show how long they take."""
    detect: Detect | None = None
    """What the design is to detect."""
    until: Until | None = None
    """The gate at whose verdict the runs are to stop."""
    prompts: bool = False
    """Whether to print the prompts of the first and the last turn."""
    hashes: bool = False
    """Whether to print the hashes of the content and of the first turn's prompts."""


def show_plan(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
    shown: Shown,
) -> None:
    """Print the plan of a design.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: An existing study, to see what it would become.
        shown: What to show.

    Raises:
        OffrecordError: If the design is wrong, or the price file is.
    """
    prices = read_prices(shown.prices) if shown.prices else None
    design = resolve_design(file, flags, options, out)
    told = list[str]()
    if out:
        todo = to_do(design, out, planned_runs(design))
        told += [announcement(todo)]
        told += ["The whole design, with the runs that are done:"] if todo.ended else []
    if design.on and shown.until:
        raise OffrecordError("--until: a replay has one run of each, and no blocks")
    every = (*design.options, *options)
    kind = _probe if design.sample else _replay if design.on else _debates
    told += kind(design, every, prices, shown)
    for line in warn_of(design):
        click.echo(line, err=True)
    click.echo("\n".join(told))
    if shown.hashes:
        _show_hashes(design)
    if shown.prompts and not design.on:
        _show_prompts(design, cases(design)[0])


def _debates(
    design: Design, options: Sequence[str], prices: Prices | None, shown: Shown
) -> Iterator[str]:
    planned = cases(design)
    runs = len(planned) * design.runs * max(len(design.models), 1)
    taken = volumes(design, planned)
    calls = calls_per_run(design)
    yield f"runs        {runs} ({design.runs} of each cell and model)"
    yield f"calls       {runs * calls:,} ({calls} a run)"
    yield _cost_line(taken, prices)
    most = max(volume.calls for volume in taken.values())
    yield _time_line(design, options, shown, most, turns_of_run(design))
    yield f"models      {', '.join(design.models) or ANY_MODEL}"
    yield f"partner     {design.roles.get('partner', 'the same model')}"
    yield f"cells       {len(planned)} a model: {', '.join(c.id for c in planned)}"
    yield from _token_lines(taken)
    alone = "" if design.listed[1:] else " alone: there is nothing to compare with it"
    also = ", and the hold-out" if design.ask.holdout else ""
    yield f"channels    {', '.join(design.listed)}{also}{alone}"
    yield f"surveys     {_surveys(design)}"
    goals, lines = list[Goal](), list[str]()
    if shown.detect:
        found = detection_of(design, shown.detect)
        if not math.isnan(found.runs):
            words = f"to detect {found.points:g} points"
            goals += [Goal(words, found.runs, found.runs)]
        lines += found.lines
    if shown.until:
        verdicts = shown.until.verdicts(design)
        goals += until_goals(verdicts)
        lines += until_lines(shown.until, verdicts, design.rounds)
    yield from arm_lines(design, planned)
    yield from ask_lines(design, planned, prices, goals)
    yield from lines


def _replay(
    design: Design, options: Sequence[str], _prices: Prices | None, shown: Shown
) -> Iterator[str]:
    runs, calls = planned_runs(design), calls_per_run(design)
    yield f"runs        {runs}: a replay of {design.on}, {design.rounds} rounds"
    yield f"calls       up to {runs * calls:,} ({calls} a run, no surveys)"
    most = runs * calls // len(design.models)
    yield _time_line(design, options, shown, most, 1)
    yield f"models      {', '.join(design.models)}"


def _probe(
    design: Design, options: Sequence[str], prices: Prices | None, shown: Shown
) -> Iterator[str]:
    probe, taken = probe_of(design), probe_volumes(design)
    calls = sum(volume.calls for volume in taken.values())
    each = turn_calls(design)
    yield f"turns       {calls // each} of {probe.turns:,} in {design.on}"
    yield f"calls       {calls:,} ({each} a turn)"
    yield _cost_line(taken, prices)
    most = max(volume.calls for volume in taken.values())
    yield _time_line(design, options, shown, most, 1)
    yield f"models      {', '.join(taken)}"
    yield from _token_lines(taken)
    yield from sample_lines(design)


def _surveys(design: Design) -> str:
    if not design.ask.surveys:
        return "none"
    return "under a schema" if design.structured else "free JSON"


def _cost_line(taken: Mapping[str, Volume], prices: Prices | None) -> str:
    """What the estimated tokens would cost, with the caches and without."""
    if prices is None:
        return "cost        not known: give --prices FILE"
    try:
        without, cached = amount_of(taken, prices)
    except OffrecordError as error:
        return f"cost        not known: {error}"
    amount = money(without, prices.currency)
    if any(used.cached_tokens for used in taken.values()):
        amount += f", or {money(cached, prices.currency)} with those from the cache"
    return (
        f"cost        about {amount} (by {prices.name}; reasoning and requests sent "
        "again not counted)"
    )


def _time_line(
    design: Design, options: Sequence[str], shown: Shown, calls: int, steps: int
) -> str:
    """How long a study takes at least.

    Args:
        design: Whose models.
        options: All options for `inspect eval-set`.
        shown: What says how long a call takes.
        calls: Those to the model that has most of them.
        steps: Calls of a run that wait for each other.
    """
    connections = connections_of(design, options)
    path = f"a run takes {steps} calls one after another" if steps > 1 else ""
    if connections is None:
        why = "batches, an embedded model or a configuration file decide it"
        return f"time        not known: {why}{path and '; '}{path}"
    seconds = shown.latency
    if seconds is None and shown.pilot is not None:
        seconds = _seconds_a_call(shown.pilot)
    if seconds is None:
        what = "give --latency SECONDS or --pilot STUDY"
        return f"time        not known: {what}{path and '; '}{path}"
    least = seconds * max(math.ceil(calls / connections), steps)
    return (
        f"time        at least {_duration(least)}: {seconds:.2g} s a call, "
        f"{connections} connections to a model{path and '; '}{path}"
    )


def _seconds_a_call(pilot: Path) -> float:
    """How long the calls of a study took on average.

    Raises:
        OffrecordError: If none of them says.
    """
    mean = open_record(pilot).transcript["seconds"].mean()
    if not isinstance(mean, float):
        raise OffrecordError(
            f"--pilot {pilot}: no reply says how long it took: give --latency SECONDS"
        )
    return mean


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def _token_lines(taken: Mapping[str, Volume]) -> Iterator[str]:
    """Tokens of all models, and what caches can serve of them, rule by rule."""
    total = sum(taken.values(), Volume())
    yield f"tokens in   about {total.input_tokens:,}, at 4 characters a token"
    by_provider: dict[tuple[str, CacheRule | None], Volume] = {}
    for model, volume in taken.items():
        key = model.partition("/")[0], rule_of(model)
        by_provider[key] = by_provider.get(key, Volume()) + volume
    for (provider, rule), volume in by_provider.items():
        if rule is None:
            yield f"from cache  not known of {provider}, so none is assumed"
        else:
            share = _percent(volume.cached_tokens, volume.input_tokens)
            yield f"from cache  about {share} of them ({provider}: {rule})"
    yield f"tokens out  about {total.output_tokens:,}, reasoning not counted"


def _show_hashes(design: Design) -> None:
    click.echo("content")
    for name, stamp in content_of(design).items():
        click.echo(f"  {name}: {stamp}")
    if design.on:
        return
    click.echo("prompts (hash of the first turn's requests)")
    for case in cases(design):
        for request in sample_requests(sample_script(design, case)):
            if request.stamp.turn == 1 and request.stamp.draw == 0:
                what = f"{request.stamp.channel} {request.stamp.form}"
                click.echo(f"  {case.id} {what}: {request.prompt_hash}")


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
