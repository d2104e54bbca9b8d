"""Planning a study: what would be asked, counted and shown, without asking it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from offrecord.protocol.channel import find_channel
from offrecord.protocol.debate import Request, Script
from offrecord.protocol.design import Case, Design, cases
from offrecord.protocol.history import Spoken
from offrecord.protocol.prompts import find_protocol
from offrecord.records import Cell, Form
from offrecord.runner.detect import Detect, detection_lines
from offrecord.runner.resolve import (
    announcement,
    calls_per_run,
    content_of,
    planned_runs,
    resolve_design,
)
from offrecord.scenarios.load import load_scenario

_CHARACTERS_PER_TOKEN: Final = 4  # of English text, the usual rule of thumb
_SPOKEN_WORDS: Final = 44  # words of a published utterance, on average
_TOKENS_OUT: Final = {Form.UTTERANCE: 60, Form.SURVEY: 110}


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """An estimate of what a set of runs costs."""

    calls: int
    input_tokens: int
    shared_tokens: int
    """Input tokens that stand in an earlier prompt of the same agent as well, so
    that a prefix cache can serve them."""
    output_tokens: int


def sample_script(design: Design, case: Case) -> Script:
    """The script of one run of a case, as the solver would make it."""
    scenario = load_scenario(case.scenario)
    condition = scenario.conditions[case.condition]
    protocol = find_protocol(design.protocol)
    model = design.models[0] if design.models else "model"
    return Script(
        cell=Cell(
            model=model,
            partner=design.roles.get("partner", model),
            scenario=scenario.id,
            condition=condition.id,
            kind=condition.kind,
            timing=condition.timing,
            protocol=protocol.id,
            factors=case.factors,
        ),
        repeat=1,
        scenario=scenario,
        protocol=protocol,
        channels=tuple(find_channel(c, protocol.folder) for c in design.channels),
        rounds=design.rounds,
        shadows=design.shadows,
        seed=design.seed,
        structured=design.structured,
        intervention=case.intervention,
    )


def sample_requests(script: Script) -> list[Request]:
    """Every request of a run in which each utterance has the usual length."""
    history, requests = script.given, list[Request]()
    for turn in script.turns:
        spoken, others = script.outputs(turn, history)
        requests += [spoken, *others]
        text = f"{spoken.frame.labels[0]} - " + "reason " * _SPOKEN_WORDS
        words = Spoken.through(
            spoken.channel, turn=turn.number, agent=turn.agent.id, text=text.strip()
        )
        history = history.add(words)
    return requests


def volume(requests: Sequence[Request]) -> Volume:
    """Count a run's requests in tokens, by the usual rule of thumb."""
    earlier: dict[str, str] = {}
    total = shared = 0
    for request in requests:
        prompt = "\n".join(text for _, text in request.messages)
        before = earlier.get(request.stamp.agent, "")
        total += len(prompt)
        shared += _common_prefix(prompt, before)
        earlier[request.stamp.agent] = prompt
    return Volume(
        calls=len(requests),
        input_tokens=total // _CHARACTERS_PER_TOKEN,
        shared_tokens=shared // _CHARACTERS_PER_TOKEN,
        output_tokens=sum(_TOKENS_OUT[r.stamp.form] for r in requests),
    )


def _common_prefix(one: str, two: str) -> int:
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return index
    return min(len(one), len(two))


def show_plan(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
    *,
    detect: Detect | None,
    prompts: bool,
) -> None:
    """Print the plan of a design.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: An existing study, to see what it would become.
        detect: What the design is to detect, if that is asked.
        prompts: Whether to print the prompts of one run's last turn.

    Raises:
        OffrecordError: If the design is wrong.
    """
    design = resolve_design(file, flags, options, out)
    if out is not None:
        click.echo(announcement(design, out, planned_runs(design)))
    if design.on:
        _show_replay(design)
        return
    planned = cases(design)
    per_run = [volume(sample_requests(sample_script(design, case))) for case in planned]
    repeats = design.runs * len(design.models)
    runs = len(planned) * repeats
    total_in = sum(v.input_tokens for v in per_run) * repeats
    shared = sum(v.shared_tokens for v in per_run) * repeats
    total_out = sum(v.output_tokens for v in per_run) * repeats
    echo = click.echo
    echo(f"models      {', '.join(design.models)}")
    echo(f"partner     {design.roles.get('partner', 'the same model')}")
    echo(f"cells       {len(planned)} a model: {', '.join(c.id for c in planned)}")
    echo(f"runs        {runs} ({design.runs} of each cell and model)")
    echo(
        f"calls       {runs * calls_per_run(design):,} ({calls_per_run(design)} a run)"
    )
    echo(f"tokens in   about {total_in:,}, {_percent(shared, total_in)} of them in an")
    echo(
        "            earlier prompt of the same agent (a prefix cache can serve those)"
    )
    echo(f"tokens out  about {total_out:,}, reasoning not counted")
    echo(f"surveys     {'under a schema' if design.structured else 'free JSON'}")
    for line in detection_lines(design, detect) if detect else ():
        echo(line)
    echo("content")
    for name, stamp in content_of(design).items():
        echo(f"  {name}: {stamp}")
    _show_hashes(design, planned)
    if prompts:
        _show_prompts(design, planned[0])


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
