"""`offrecord export`: a study as Inspect logs, or as tidy tables."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("kind", type=click.Choice(["inspect", "csv", "parquet", "jsonl"]))
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="A new folder."
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice(["turns", "pairs", "surveys"]),
    help="Of csv, parquet and jsonl; may be repeated. Default: all three.",
)
def export(kind: str, study: Path, out: Path, tables: tuple[str, ...]) -> None:
    """Write STUDY for other tools into --out. The study itself is not changed.

    inspect: logs that Inspect View and Scout open. csv, parquet, jsonl: tables whose
    columns columns.csv explains. In csv, text that a spreadsheet would take for a
    formula begins with an apostrophe; the other two keep it as it is.
    """
    from offrecord.transcript.record import open_record

    loaded = open_record(study)
    if kind == "inspect":
        if tables:
            raise click.UsageError("--table: logs are not tables; leave it out")
        from offrecord.export.logs import export_inspect

        done = export_inspect(loaded, out)
        click.echo(
            f"{out}: {done.logs} logs, {done.runs} runs, {done.attempts} attempts, "
            f"{done.size / 1e6:.1f} MB; open with: inspect view start --log-dir {out}"
        )
    else:
        from offrecord.export.files import export_tables

        for table in export_tables(loaded, out, kind, tables):
            click.echo(f"{table.path}: {table.rows} rows, {table.size / 1e6:.1f} MB")
