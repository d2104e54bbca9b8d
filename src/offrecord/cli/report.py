"""`offrecord report`: a study as one page, or several side by side."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("studies", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write the figures there, as SVG, PDF and PNG.",
)
@click.option(
    "--figure-data",
    is_flag=True,
    help="With --figures: each figure's data (CSV) and Vega-Lite specification, too.",
)
@click.option(
    "--theme",
    type=click.Choice(["light", "dark"]),
    help="With --figures: their theme (default light). The page follows its reader.",
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
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Of several studies: the page to write. Default: named by the studies.",
)
def report(
    studies: tuple[Path, ...],
    figures: Path | None,
    figure_data: bool,
    theme: str | None,
    channel: str | None,
    max_runs: int | None,
    out: Path | None,
) -> None:
    """Write STUDY/report.html: results, figures and every turn, in one file.

    It loads nothing from the network. Estimates come from STUDY/estimates.json, and are
    made first if they are absent or older than the study.

    Several studies (old and new release, arms, models) are compared on a page of their
    own: each later study minus the first, on the cells that both have. What differs
    comes first, and what does not match is named.
    """
    from offrecord.cli.outputs import check_folder, check_outputs
    from offrecord.report.compare import compare_studies
    from offrecord.report.write import Report, report_study
    from offrecord.transcript.record import open_record

    if (figure_data or theme) and figures is None:
        raise click.UsageError("--figure-data and --theme: add --figures FOLDER")
    if len(studies) > 1:
        if figures or channel or max_runs:
            raise click.UsageError("several studies: takes --out and no other option")
        check_outputs({"--out": out})
        click.echo(compare_studies([open_record(one) for one in studies], out))
        return
    if out:
        raise click.UsageError("--out: one study is reported in its own folder")
    check_folder("--figures", figures)
    wanted = Report(
        channel=channel,
        max_runs=max_runs,
        figures=figures,
        theme=theme or "light",
        figure_data=figure_data,
    )
    for path in report_study(open_record(studies[0]), wanted):
        click.echo(path)
