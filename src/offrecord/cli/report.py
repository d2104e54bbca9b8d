"""`offrecord report`: a study as one page, and its figures as files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write the figures there, as SVG, PDF and PNG.",
)
@click.option(
    "--channel",
    metavar="NAME",
    help="The channel to compare with the public one, if the study has several.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(min=1),
    help="Include transcripts of at most this many runs, evenly across cells.",
)
def report(
    study: Path, figures: Path | None, channel: str | None, max_runs: int | None
) -> None:
    """Write STUDY/report.html: results, figures and every turn, in one file.

    It loads nothing from the network. Estimates come from STUDY/estimates.json, and are
    made first if they are absent or older than the study.
    """
    from offrecord.cli.outputs import check_folder
    from offrecord.report.write import Report, report_study
    from offrecord.transcript.record import open_record

    check_folder("--figures", figures)
    wanted = Report(channel=channel, max_runs=max_runs, figures=figures)
    for path in report_study(open_record(study), wanted):
        click.echo(path)
