"""Shards as tasks on a Ray cluster: one call runs a study on all of its machines.

A task that is lost with its machine is started again elsewhere; it goes on from the
logs of the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from offrecord.protocol.part import Part
from offrecord.records import OffrecordError, first_line
from offrecord.runner.logs import log_root
from offrecord.runner.ray import start_ray
from offrecord.runner.resolve import design_over
from offrecord.runner.run import Finished
from offrecord.runner.shards.files import known_design
from offrecord.runner.shards.run import Cells, ShardFinished, import_logs, run_shard
from offrecord.transcript.designed import all_runs

RETRIES: Final = 3
"""How often a shard that was lost with its machine is started again."""

_PATIENCE: Final = 120.0
"""Seconds for what a lost machine left running to let go of its shard."""

_MOST: Final = 1000
"""Shards at most: each is an eval set with a start of its own."""


def run_on_ray(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path,
    root: str | None = None,
    *,
    address: str | None = None,
    shards: int | None = None,
    without: Cells = frozenset(),
) -> Finished:
    """Run what a study does not have on a Ray cluster, then import it.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder, which the cluster's machines need not see.
        root: Where the logs of all shards lie, if not in the study's folder; every
            machine sees it.
        address: Of the cluster, as Ray takes it; by default the one that the
            environment names, or else this machine alone.
        shards: How many; by default one for each processor of the cluster.
        without: Cells that get no more runs.

    Raises:
        OffrecordError: If Ray is not installed or not to be reached, the design is
            wrong, or no debate has ended.
    """
    logs = log_root(out, root)
    design = design_over(known_design(out, logs), file, flags, options, out)
    runs = len(all_runs(design))
    ray = start_ray(address)
    try:
        many = shards or int(ray.cluster_resources().get("CPU", 1))
        of = max(min(many, runs, _MOST), 1)
        asked = {**design.model_dump(), "options": ()}
        words = (*design.options, *_quiet(options))
        task = ray.remote(_run).options(
            num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD"
        )
        tasks = {
            Part(number, of): task.remote(
                asked, words, str(out), number, of, logs, without
            )
            for number in range(1, of + 1)
        }
        click.echo(f"offrecord: {runs} runs in {of} shards on Ray", err=True)
        for part, reference in tasks.items():
            _wait(ray, part, reference)
    finally:
        ray.shutdown()
    study = import_logs(logs, out)
    return Finished(study, study.ended_runs, runs)


def _run(
    asked: Mapping[str, Any],
    words: Sequence[str],
    out: str,
    number: int,
    of: int,
    root: str,
    without: Cells,
) -> ShardFinished:
    """What runs on the cluster: one shard, as `run --shard` would."""
    part = Part(number, of)
    return run_shard(
        *(None, asked, words, Path(out), part, root, _PATIENCE), without=without
    )


def _wait(ray: Any, part: Part, reference: object) -> None:  # noqa: ANN401
    """Wait for one shard; a fault is told and does not end the others."""
    try:
        done: ShardFinished = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        line = str(error.cause) if isinstance(error.cause, OffrecordError) else error
        click.echo(f"offrecord: shard {part}: {str(line).splitlines()[-1]}", err=True)
    except ray.exceptions.RayError as error:
        told = f"lost {RETRIES + 1} times ({first_line(error)})"
        click.echo(f"offrecord: shard {part}: {told}", err=True)
    else:
        click.echo(
            f"offrecord: shard {part}: {done.ended} of {done.planned} runs are done",
            err=True,
        )


def _quiet(options: Sequence[str]) -> tuple[str, ...]:
    """A display that draws on no terminal, unless one is asked for."""
    if any(option.partition("=")[0] == "--display" for option in options):
        return tuple(options)
    return ("--display", "none", *options)
