"""`offrecord scenarios`: list, show, check and begin scenarios."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.group()
def scenarios() -> None:
    """List, show, check and begin scenarios, which are folders of text files."""


@scenarios.command("list")
def list_() -> None:
    """List the scenarios that ship with offrecord."""
    from rich.console import Console

    from offrecord.scenarios.load import builtin_ids, load_scenarios
    from offrecord.scenarios.show import overview

    Console().print(overview(load_scenarios(builtin_ids())))


@scenarios.command()
@click.argument("scenario", metavar="ID")
def show(scenario: str) -> None:
    """Print a scenario: a built-in ID, or the path of a folder."""
    from rich.console import Console

    from offrecord.scenarios.load import load_scenario
    from offrecord.scenarios.show import rendering

    Console().print(rendering(load_scenario(scenario)))


@scenarios.command()
@click.argument("path")
def check(path: str) -> None:
    """Say all that is wrong with the scenario folder PATH; exit 2 if anything is."""
    from offrecord.scenarios.check import check_folder

    finding = check_folder(path)
    for fault in finding.faults:
        click.echo(fault, err=True)
    if finding.faults:
        sys.exit(2)
    for warning in finding.warnings:
        click.echo(f"warning: {warning}")
    click.echo(finding.summary)


@scenarios.command()
@click.argument("path", type=click.Path(path_type=Path))
def new(path: Path) -> None:
    """Write a commented scenario folder PATH to start from."""
    from offrecord.scenarios.skeleton import write_skeleton

    folder = write_skeleton(path)
    click.echo(f"{folder}: edit its files, then: offrecord scenarios check {folder}")
