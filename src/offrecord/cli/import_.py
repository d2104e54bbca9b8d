"""`offrecord import`: published runs or Inspect logs become a study."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="import")
@click.argument("kind", type=click.Choice(["llmagora", "inspect"]))
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The study."
)
def import_(kind: str, source: Path, out: Path) -> None:
    """Make the study --out of SOURCE, which is only read.

    llmagora: a folder of published sweeps. inspect: logs of offrecord/debate.
    """
    from offrecord.cli.summary import show_summary
    from offrecord.study import land, refuse_other_study

    refuse_other_study(out, kind)
    if kind == "llmagora":
        from offrecord.transcript.llmagora import import_llmagora as read
    else:
        from offrecord.transcript.inspect_logs import import_inspect as read
    show_summary(land(out, read(source, out.resolve().name)))
