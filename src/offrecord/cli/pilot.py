"""`offrecord content pilot`: does a scenario measure what it claims?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offrecord.cli.options import WithInspectOptions, inspect_options
from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.scenarios.model import Scenario


@click.command(cls=WithInspectOptions)
@click.argument("name")
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    help="A model of the panel, as Inspect names it; repeatable.",
)
@click.option(
    "--calls",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Calls at most, over all models.",
)
@click.option("--judge", metavar="MODEL", help="Reads each text for an objective.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for the logs (default ./pilot-ID); the same call resumes there.",
)
@click.option("--json", "as_json", metavar="FILE", help="Write JSON; - prints it.")
def pilot(
    name: str,
    models: tuple[str, ...],
    calls: int,
    judge: str | None,
    out: Path | None,
    as_json: str | None,
) -> None:
    """Test whether the scenario NAME measures what it claims, by single turns.

    Prints first what so many calls can resolve, then each line with its interval.
    Everything after `--` is passed to `inspect eval-set`. Exit code 0: every line
    passes. 1: a line fails. 3, inconclusive: neither. 2 is a usage error.
    """
    from offrecord.audit import EXIT_CODES
    from offrecord.audit.checks import worst
    from offrecord.audit.pilot import expected_lines, objective_line, pilot_lines
    from offrecord.protocol.contents import locate
    from offrecord.report.pilot import print_found, print_plan
    from offrecord.runner.pilot import ask_pilot, rounds_of
    from offrecord.scenarios.load import load_scenario
    from offrecord.transcript.store import write_output

    models = tuple(dict.fromkeys(models))
    kind, folder = locate(name)
    if kind != "scenario":
        raise OffrecordError(f"{name}: a pilot is of a scenario, not of a {kind}")
    _refuse_faults(name)
    scenario = load_scenario(folder)
    rounds = rounds_of(scenario, models, calls)
    if as_json != "-":
        print_plan([one.as_dict() for one in expected_lines(scenario, models, rounds)])
        _say_needed(scenario, models, rounds)
    place = out or Path(f"pilot-{scenario.id}")
    answers = ask_pilot(scenario, str(folder), models, rounds, place, inspect_options())
    lines = (
        *pilot_lines(scenario, answers, rounds),
        objective_line(folder, scenario, judge, place),
    )
    verdict = worst(line.verdict for line in lines)
    found: dict[str, Any] = {
        "scenario": scenario.stamp,
        "models": list(models),
        "rounds": rounds,
        "verdict": str(verdict),
        "exit": EXIT_CODES[verdict],
        "lines": [line.as_dict() for line in lines],
    }
    text = json.dumps(found, indent=1, allow_nan=False)
    if as_json == "-":
        click.echo(text)
    else:
        print_found(found["lines"])
        click.echo(f"Verdict: {verdict}. Kept in {place}.")
        if as_json:
            write_output(Path(as_json), text + "\n")
    sys.exit(EXIT_CODES[verdict])


def _say_needed(scenario: Scenario, models: tuple[str, ...], rounds: int) -> None:
    """Say how many calls a sound scenario takes to pass, where these are too few."""
    from offrecord.audit.pilot import rounds_needed
    from offrecord.runner.pilot import calls_of_round

    needed = rounds_needed(scenario, models)
    if needed is not None and needed > rounds:
        many = needed * calls_of_round(scenario, models)
        click.echo(f"Even a sound scenario takes {many:,} calls to pass every line.")


def _refuse_faults(name: str) -> None:
    from offrecord.protocol.contents import check

    finding = check(name)
    for fault in finding.faults:
        click.echo(fault, err=True)
    if finding.faults:
        sys.exit(2)
    for warning in finding.warnings:
        click.echo(f"warning: {warning}", err=True)
