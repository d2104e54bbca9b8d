"""`offrecord import`: published runs, logs or transcripts become a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.transcript.record import Record


@click.command(name="import")
@click.argument("kind", type=click.Choice(["llmagora", "inspect", "transcripts"]))
@click.argument("source")
@click.option("--out", type=click.Path(path_type=Path), help="The study.")
@click.option(
    "--content",
    type=click.Path(path_type=Path, file_okay=False),
    help="llmagora: make scenarios and a protocol of the prompts in a checkout.",
)
@click.option(
    "--map", "map_", help="Transcripts: a map that ships, or the file of your own."
)
@click.option(
    "--guess",
    is_flag=True,
    help="Transcripts: print a map to edit, and what it finds in three conversations.",
)
@click.option(
    "--split",
    type=click.Choice(["settings"]),
    help="Inspect: make cells of logs whose settings (temperature and so on) differ.",
)
def import_(
    kind: str,
    source: str,
    out: Path | None,
    content: Path | None,
    map_: str | None,
    split: str | None,
    *,
    guess: bool,
) -> None:
    """Make the study --out from SOURCE, which is not changed.

    llmagora: a folder of published sweeps, or with --content instead of --out a
    checkout of its code, whose exact prompts then run here. inspect: logs of
    offrecord/debate and offrecord/study, in a folder or at any fsspec address. Logs of
    shards include the design. Where several evals ran one cell, repeats get new
    numbers. transcripts: what deployed agents said, in a file or a folder, read by the
    map.
    """
    from offrecord.cli.summary import show_partial, show_summary

    if content is not None:
        if kind != "llmagora" or out is not None or split:
            raise OffrecordError("--content belongs to llmagora, without --out")
        return _make_content(Path(source), content)
    if (map_ or guess) and kind != "transcripts":
        raise OffrecordError("--map and --guess belong to imports of transcripts")
    if guess:
        return _guess(Path(source))
    if out is None:
        raise OffrecordError("--out: name the folder of the study")
    if kind == "inspect":
        from offrecord.runner.shards.run import import_logs

        study = import_logs(source, out, split=bool(split))
    elif split:
        raise OffrecordError("--split belongs to imports of Inspect logs")
    elif kind == "transcripts":
        study = _transcripts(Path(source), map_, out)
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


def _guess(source: Path) -> None:
    from offrecord.transcript.deployed import guessed

    for line in guessed(source):
        click.echo(line)


def _transcripts(source: Path, map_: str | None, out: Path) -> Record:
    from offrecord.measures.parsed import write_parsed
    from offrecord.transcript.deployed import import_transcripts, read_map
    from offrecord.transcript.record import refuse_other_study

    if map_ is None:
        raise OffrecordError(
            "give --map; 'offrecord import transcripts SOURCE --guess' prints one"
        )
    refuse_other_study(out, "transcripts", source.resolve().name)
    how, stamp = read_map(map_)
    return write_parsed(out, import_transcripts(source, how, stamp, out.resolve().name))
