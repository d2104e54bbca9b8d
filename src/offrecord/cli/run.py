"""`offrecord run`: hold the debates of a design through Inspect, then import them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from offrecord.cli.options import (
    WithInspectOptions,
    design_options,
    given_fields,
    inspect_options,
)


@click.command(cls=WithInspectOptions)
@design_options
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The study's folder; an existing study is resumed or added to.",
)
def run(file: Path | None, out: Path, **options: Any) -> None:  # noqa: ANN401
    """Hold the debates of a design and print what came back.

    FILE is a study.yaml, which is only read; options come before it. Options after
    `--` go to `inspect eval-set`. Run again with the same --out to resume, or with
    more models, scenarios, conditions or runs to add to the study.
    """
    from offrecord.cli.summary import show_summary
    from offrecord.runner.run import run_study

    finished = run_study(file, given_fields(options), inspect_options(), out)
    show_summary(finished.study)
    if finished.ended < finished.planned:
        click.echo(
            f"offrecord: {finished.ended} of {finished.planned} runs are in; resume "
            f"with: offrecord run --out {out}",
            err=True,
        )
        sys.exit(1)
