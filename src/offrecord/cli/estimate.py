"""`offrecord estimate`: counts, rates and the split of a study."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    help="Group by model, condition, kind, timing, scenario, agent, round or a "
    "factor; may be repeated. Default: model and condition.",
)
@click.option("--json", "as_list", is_flag=True, help="Print a JSON list instead.")
def estimate(study: Path, by: tuple[str, ...], as_list: bool) -> None:
    """Print what the agents of STUDY said in public and off the record."""
    from offrecord.estimates.table import DEFAULT_BY, as_json, estimate_table
    from offrecord.report.terminal import print_summary
    from offrecord.study import load_study

    rows = estimate_table(load_study(study).pairs, by or DEFAULT_BY)
    if as_list:
        click.echo(as_json(rows))
    else:
        print_summary(rows)
