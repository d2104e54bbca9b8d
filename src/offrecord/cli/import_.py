"""`offrecord import`: published runs or Inspect logs become a study."""

from __future__ import annotations

from pathlib import Path

import click

from offrecord.records import OffrecordError


@click.command(name="import")
@click.argument("kind", type=click.Choice(["llmagora", "inspect"]))
@click.argument("source")
@click.option("--out", type=click.Path(path_type=Path), help="The study.")
@click.option(
    "--content",
    type=click.Path(path_type=Path, file_okay=False),
    help="llmagora: make scenarios and a protocol of the prompts in a checkout.",
)
@click.option(
    "--split",
    type=click.Choice(["settings"]),
    help="Inspect: make cells of logs whose settings (temperature and so on) differ.",
)
def import_(
    kind: str, source: str, out: Path | None, content: Path | None, split: str | None
) -> None:
    """Make the study --out from SOURCE, which is not changed.

    llmagora: a folder of published sweeps, or with --content instead of --out a
    checkout of its code, whose exact prompts then run here. inspect: logs of
    offrecord/debate and offrecord/study, in a folder or at any fsspec address; those of
    shards bring the design. Repeats of several evals of one cell are counted on.
    """
    from offrecord.cli.summary import show_partial, show_summary

    if content is not None:
        if kind != "llmagora" or out is not None or split:
            raise OffrecordError("--content belongs to llmagora, without --out")
        return _make_content(Path(source), content)
    if out is None:
        raise OffrecordError("--out: name the folder of the study")
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


def _make_content(checkout: Path, folder: Path) -> None:
    """Make a folder of content, and say how it is run."""
    from offrecord.transcript.llmagora_content import content_of_checkout
    from offrecord.transcript.llmagora_names import PROTOCOL

    for line in content_of_checkout(checkout, folder):
        click.echo(line)
    click.echo(
        f"Run one: offrecord run --protocol {folder}/protocols/{PROTOCOL} --scenario "
        f"{folder}/scenarios/ID --model MODEL --out STUDY"
    )
