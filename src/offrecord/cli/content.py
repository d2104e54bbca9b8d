"""`offrecord content`: list, show, copy, create, check, pilot and draft content."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from offrecord.cli.generate import generate
from offrecord.cli.pilot import pilot

KINDS = click.Choice(["scenario", "channel", "protocol", "arm", "instrument"])


@click.group()
def content() -> None:
    """Scenarios, channels, protocols, arms and instruments: all are files.

    NAME is KIND/ID, such as scenario/promotion, or the path of a file or folder.
    """


@content.command("list")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--kind", type=KINDS, help="Only this kind.")
def list_(folder: Path | None, kind: str | None) -> None:
    """List built-in content, that of other packages, and that in FOLDER."""
    from rich.console import Console

    from offrecord.protocol.contents import overview

    lines, faults = overview(kind, folder)
    Console().print(lines)
    for fault in faults:
        click.echo(f"passed over: {fault}", err=True)


@content.command()
@click.argument("name")
def show(name: str) -> None:
    """Print NAME from top to bottom."""
    from rich.console import Console

    from offrecord.protocol.contents import rendering

    Console().print(rendering(name))


@content.command()
@click.argument("name", metavar="KIND/ID")
@click.argument("folder", type=click.Path(path_type=Path))
def copy(name: str, folder: Path) -> None:
    """Copy KIND/ID into FOLDER to edit it."""
    from offrecord.content.library import copy

    kind, _, identity = name.partition("/")
    if kind not in KINDS.choices:
        raise click.UsageError(f"{name}: write KIND/ID, such as channel/public")
    place = copy(kind, identity, folder)
    click.echo(f"{place}: give it a new id, edit it, {_next(place)}")


@content.command()
@click.argument("kind", type=KINDS)
@click.argument("path", type=click.Path(path_type=Path))
def new(kind: str, path: Path) -> None:
    """Create a commented skeleton of a KIND at PATH, a folder or a file."""
    from offrecord.content.library import new

    click.echo(f"{new(kind, path)}: edit it, {_next(path)}")


@content.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def check(names: tuple[str, ...]) -> None:
    """List everything that is wrong with NAME; exit with 2 if anything is.

    Several, such as a scenario with its protocol and channels, must be in one language.
    """
    from offrecord.protocol.contents import check, language_fault

    findings = [check(name) for name in names]
    faults = [fault for finding in findings for fault in finding.faults]
    if not faults and (fault := language_fault(names)):
        faults = [fault]
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        sys.exit(2)
    for finding in findings:
        for warning in finding.warnings:
            click.echo(f"warning: {warning}")
        click.echo(finding.summary)


content.add_command(pilot)
content.add_command(generate)


def _next(place: Path) -> str:
    from offrecord.content.library import entries

    taken = str(place) in {entry.id for entry in entries()[0]}  # by what ships, say
    return f"then: offrecord content check {'./' if taken else ''}{place}"
