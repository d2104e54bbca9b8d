"""`offrecord run`: run the debates in a design through Inspect, then import them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from offrecord.cli.options import (
    WithInspectOptions,
    design_options,
    given_fields,
    inspect_options,
)
from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.runner.run import Finished


@click.command(cls=WithInspectOptions)
@design_options
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The study's folder; an existing study is resumed or added to.",
)
@click.option("--shard", help="i/n: run only this part, and import nothing.")
@click.option(
    "--log-root",
    help="Where logs are written: a folder or any fsspec address (default OUT/logs).",
)
@click.option(
    "--executor", type=click.Choice(["ray"]), help="Run shards as tasks on a cluster."
)
@click.option(
    "--address",
    help="Address of the Ray cluster; by default RAY_ADDRESS, or this machine.",
)
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    help="With --executor: number of shards; by default one per processor.",
)
@click.option(
    "--until",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A gate.yaml: add one run of each cell at a time until it has a verdict.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(min=1),
    help="With --until: runs of each cell at most.",
)
def run(
    file: Path | None,
    out: Path,
    shard: str | None,
    log_root: str | None,
    executor: str | None,
    address: str | None,
    shards: int | None,
    until: Path | None,
    max_runs: int | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Run the debates in a design and print what came back.

    FILE is a study.yaml, which is not changed; options override it. Everything after
    `--` is passed to `inspect eval-set`. Run again with the same --out to resume, or
    with more models, scenarios, conditions or runs to add to the study. Completed
    debates are never lost or repeated.
    """
    if executor is None and (address or shards):
        raise OffrecordError("--address and --shards belong to --executor ray")
    if max_runs and not until:
        raise OffrecordError("--max-runs belongs to --until")
    if shard is not None and (executor or until):
        raise OffrecordError(
            "--shard: the executor makes the shards itself, and --until needs them all"
        )
    from offrecord.runner.logs import is_sharded
    from offrecord.runner.logs import log_root as root_of

    fields, words = given_fields(options), inspect_options()
    if until is not None:
        from offrecord.cli.until import Call, run_to_verdict

        ray = {"address": address, "shards": shards} if executor else None
        call = Call(file, fields, words, out, log_root, ray)
        return run_to_verdict(call, until, max_runs)
    if shard is not None:
        return _run_shard(shard, file, out, log_root, fields, words)
    if executor is not None:
        from offrecord.runner.shards.ray import run_on_ray

        finished = run_on_ray(
            *(file, fields, words, out, log_root), address=address, shards=shards
        )
    elif is_sharded(out, root := root_of(out, log_root)):
        from offrecord.runner.shards.run import run_rest

        finished = run_rest(file, fields, words, out, root)
    else:
        from offrecord.runner.run import run_study

        finished = run_study(file, fields, words, out)
    _conclude(finished, out)


def _conclude(finished: Finished, out: Path) -> None:
    """Show what came back; the exit code says whether that is all."""
    from offrecord.cli.summary import said_nothing, show_summary

    if finished.interrupted:
        _say_interrupted(finished)
    show_summary(finished.study)
    silence = said_nothing(finished.study)
    if silence:
        click.echo(f"offrecord: {silence}", err=True)
        sys.exit(1)
    _end(finished.ended, finished.planned, f"resume with: offrecord run --out {out}")


def _end(ended: int, planned: int, then: str) -> None:
    """Exit with 1 where runs are not done, and say what to do."""
    if ended < planned:
        click.echo(f"offrecord: {ended} of {planned} runs are done; {then}", err=True)
        sys.exit(1)


def _say_interrupted(finished: Finished) -> NoReturn:
    """Say how much is done and what resuming repeats; there is nothing to conclude."""
    from offrecord.runner.evalset import INTERRUPTED
    from offrecord.transcript.ended import under_way

    again = under_way(finished.study.transcript).height
    click.echo(
        f"Interrupted: {finished.ended} of {finished.planned} runs complete; run the "
        f"same command to resume; about {again:,} calls will be repeated",
        err=True,
    )
    sys.exit(INTERRUPTED)


def _run_shard(
    shard: str,
    file: Path | None,
    out: Path,
    root: str | None,
    fields: dict[str, Any],
    words: list[str],
) -> None:
    from offrecord.protocol.part import parse_part
    from offrecord.runner.evalset import INTERRUPTED
    from offrecord.runner.logs import log_root
    from offrecord.runner.shards.run import run_shard

    part = parse_part(shard)
    logs = log_root(out, root)
    done = run_shard(file, fields, words, out, part, logs)
    click.echo(
        f"offrecord: shard {part}: {done.ended} of {done.planned} runs are done; when "
        f"all shards are: offrecord import inspect {root or out / 'logs'} --out {out}",
        err=True,
    )
    if done.ended < done.planned:
        sys.exit(INTERRUPTED if done.interrupted else 1)
