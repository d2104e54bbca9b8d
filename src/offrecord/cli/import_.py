"""`offrecord import`: published runs or Inspect logs become a study."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="import")
@click.argument("kind", type=click.Choice(["llmagora", "inspect"]))
@click.argument("source")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The study."
)
def import_(kind: str, source: str, out: Path) -> None:
    """Make the study --out from SOURCE, which is not changed.

    llmagora: a folder of published sweeps. inspect: logs of offrecord/debate, in a
    folder or at any fsspec address; those of shards bring the study's design.
    """
    from offrecord.cli.summary import show_partial, show_summary

    if kind == "inspect":
        from offrecord.runner.shards.run import import_logs

        study = import_logs(source, out)
    else:
        from offrecord.measures.parsed import write_parsed
        from offrecord.transcript.llmagora import import_llmagora
        from offrecord.transcript.record import refuse_other_study

        refuse_other_study(out, kind)
        study = write_parsed(out, import_llmagora(Path(source), out.resolve().name))
    show_summary(study)
    show_partial(study)
