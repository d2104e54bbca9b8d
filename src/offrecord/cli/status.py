"""`offrecord status`: how complete a study is, and what it used."""

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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(study: Path, prices: Path | None, as_json: bool) -> None:
    """Show which runs of STUDY have ended, which are missing, and what it cost.

    A study is complete, partial or running. Tokens are as the providers reported them.
    Prices come from your file, or from the logs if Inspect was given some
    (`run ... -- --model-cost-config FILE`); the same file serves both.
    """
    from offrecord.content.boundary.shown import escaped
    from offrecord.runner.costs import costs_of
    from offrecord.runner.prices import read_prices
    from offrecord.runner.status import progress_of, status_lines, status_object
    from offrecord.transcript.record import open_record
    from offrecord.transcript.store import TRANSCRIPT_FILE

    record = open_record(study)
    given = read_prices(prices) if prices else None
    imported = (study / TRANSCRIPT_FILE).is_file()
    costs = costs_of(record.usage, given) if imported else None
    progress = progress_of(record)
    if as_json:
        click.echo(json.dumps(status_object(record, progress, costs), indent=2))
        return
    for line in status_lines(record, progress, costs):
        click.echo(escaped(line))
