"""`offrecord measure`: take measures of a stored study, calling no debating model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.measures.measure import Done


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--measures",
    help="Names, separated by commas; by default all, other packages' included.",
)
@click.option("--embedder", help="Similarity: a known model, a folder or a Hub id.")
@click.option("--nli", help="Entailment: a folder or a Hub id.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    help="Attribution: any Inspect model, repeatable.",
)
@click.option("--device", help="cuda, mps or cpu; by default the best available.")
@click.option(
    "--pairing",
    "pairings",
    multiple=True,
    help="channels (default), draws, repeats, agents, shuffled; repeatable.",
)
@click.option(
    "--variant",
    "variants",
    multiple=True,
    type=click.Choice(["clean", "unstripped", "swapped", "authors"]),
    help="How texts are prepared: clean (default); repeatable.",
)
@click.option(
    "--whole", is_flag=True, help="Entailment of whole texts, as in the paper."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    help="Seed of random pairings and orders (default 0).",
)
@click.option(
    "--write-sheet",
    "sheet",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a CSV for coding stances by hand.",
)
@click.option(
    "--read-sheet",
    "coded",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read a CSV that a coder filled in; repeatable.",
)
@click.option(
    "--executor",
    type=click.Choice(["ray"]),
    help="Run similarity and entailment on a cluster; each worker loads models once.",
)
@click.option(
    "--address",
    help="Address of the Ray cluster; by default RAY_ADDRESS, or this machine.",
)
def measure(
    study: Path,
    measures: str | None,
    embedder: str | None,
    nli: str | None,
    judges: tuple[str, ...],
    device: str | None,
    pairings: tuple[str, ...],
    variants: tuple[str, ...],
    whole: bool,
    seed: int,
    sheet: Path | None,
    coded: tuple[Path, ...],
    executor: str | None,
    address: str | None,
) -> None:
    """Measure what the agents of STUDY said. The debating model is never called."""
    from offrecord.cli.outputs import check_outputs
    from offrecord.measures.executor import in_process
    from offrecord.measures.measure import measure_study
    from offrecord.measures.options import Options
    from offrecord.measures.pairings import DEFAULT_PAIRING
    from offrecord.measures.texts.preparation import Variant
    from offrecord.protocol.models import UnopenedError
    from offrecord.runner.ray import OnRay
    from offrecord.transcript.record import open_record

    if executor is None and address:
        raise OffrecordError("--address belongs to --executor ray")
    for path in coded:
        if not path.is_file():
            raise OffrecordError(f"--read-sheet {path}: no such file")
    check_outputs({"--write-sheet": sheet}, *coded)
    asked = [] if measures is None else [part.strip() for part in measures.split(",")]
    if measures is not None and not any(asked):
        raise OffrecordError("--measures: name at least one, or leave the option out")
    names = list(dict.fromkeys(asked))
    options = Options(
        embedder=embedder,
        nli=nli,
        judges=judges,
        device=device,
        pairings=pairings or (DEFAULT_PAIRING,),
        variants=tuple(map(Variant, variants)) or (Variant.CLEAN,),
        whole=whole,
        seed=seed,
        sheet=sheet,
        coded=coded,
        through=in_process if executor is None else OnRay(address),
    )

    taken = measure_study(open_record(study), names, options, begin=_begin, tell=_tell)
    unread = coded and not any(d.measured for d in taken if d.name == "stance")
    unopened = any(isinstance(done.fault, UnopenedError) for done in taken)
    if unread or unopened or (names and not any(done.measured for done in taken)):
        sys.exit(2)  # what was asked for could not be measured


def _begin(name: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{name:<12} ...", err=True, nl=False)


def _tell(done: Done) -> None:
    from offrecord.content.boundary.shown import escaped

    if sys.stderr.isatty():
        click.echo("\r", err=True, nl=False)
    click.echo(f"{done.name:<12} {escaped(done.line)}", err=not done.measured)
