"""`offrecord costs`: tokens and costs of a study."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML or JSON: model to prices per million tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="A list of objects.")
def costs(study: Path, prices: Path | None, as_json: bool) -> None:
    """Show what each model of STUDY used, as reported, and what that cost.

    Prices come from a file of yours, or from the logs where Inspect was given some
    (`run ... -- --model-cost-config FILE`); the same file serves both.
    """
    from offrecord.content.boundary.shown import escaped
    from offrecord.runner.costs import cost_lines, cost_objects, costs_of
    from offrecord.runner.prices import read_prices
    from offrecord.transcript.record import open_record

    found = costs_of(open_record(study).usage, read_prices(prices) if prices else None)
    if as_json:
        click.echo(json.dumps(cost_objects(found), indent=2))
        return
    for line in cost_lines(found):
        click.echo(escaped(line))
