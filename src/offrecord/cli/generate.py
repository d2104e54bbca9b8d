"""`offrecord content generate`: scenarios from a brief, drafted by a model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from offrecord.cli.options import WithInspectOptions, inspect_options


@click.command(cls=WithInspectOptions)
@click.argument("brief", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--model", required=True, help="Who drafts, as Inspect names it.")
@click.option(
    "--count",
    type=click.IntRange(1, 50),
    default=1,
    show_default=True,
    help="How many scenarios are wanted.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("generated"),
    show_default=True,
    help="The folder for scenarios and logs; what is there stays.",
)
def generate(brief: Path, model: str, count: int, out: Path) -> None:
    """Have a model draft scenarios from BRIEF, a text file.

    Only folders that pass `content check` are written; of every other draft a line
    says why not. Read each one, then `content pilot` it. Everything after `--` is
    passed to `inspect eval-set`.
    """
    from offrecord.runner.generate import generate_scenarios

    done = generate_scenarios(brief, model, count, out, inspect_options())
    for line in done.written:
        click.echo(line)
    for line in done.dropped:
        click.echo(f"left out: {line}", err=True)
    if len(done.written) < count:
        click.echo(f"offrecord: {len(done.written)} of {count} scenarios", err=True)
        sys.exit(1)
