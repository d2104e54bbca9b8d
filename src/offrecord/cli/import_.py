"""`offrecord import`: published runs or Inspect logs become a study."""

from __future__ import annotations

from pathlib import Path

import click

from offrecord.records import OffrecordError


@click.command(name="import")
@click.argument("kind", type=click.Choice(["llmagora", "inspect"]))
@click.argument("source")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The study."
)
@click.option(
    "--split",
    type=click.Choice(["settings"]),
    help="Inspect: make cells of logs whose settings (temperature and so on) differ.",
)
def import_(kind: str, source: str, out: Path, split: str | None) -> None:
    """Make the study --out from SOURCE, which is not changed.

    llmagora: a folder of published sweeps. inspect: logs of offrecord/debate and
    offrecord/study, in a folder or at any fsspec address; those of shards bring the
    study's design. Repeats of several evals of one cell are counted on.
    """
    from offrecord.cli.summary import show_partial, show_summary

    if kind == "inspect":
        from offrecord.runner.shards.run import import_logs

        study = import_logs(source, out, split=bool(split))
    elif split:
        raise OffrecordError("--split belongs to imports of Inspect logs")
    else:
        from offrecord.measures.parsed import write_parsed
        from offrecord.transcript.llmagora import import_llmagora
        from offrecord.transcript.record import refuse_other_study

        refuse_other_study(out, kind)
        study = write_parsed(out, import_llmagora(Path(source), out.resolve().name))
    show_summary(study)
    show_partial(study)
