"""`offrecord plan`: what a design would ask, before a call is paid for."""

from __future__ import annotations

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
    type=click.Path(path_type=Path, file_okay=False),
    help="A study that already exists, to see what would be added.",
)
@click.option("--prompts", is_flag=True, help="Print the prompts themselves.")
def plan(
    file: Path | None,
    out: Path | None,
    prompts: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Show calls, a token estimate, prompts and hashes of a design. Calls no model."""
    from offrecord.runner.plan import show_plan

    show_plan(file, given_fields(options), inspect_options(), out, prompts=prompts)
