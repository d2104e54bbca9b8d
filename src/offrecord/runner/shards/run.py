"""Shards: parts of one study, each run by a machine of its own.

A shard writes into `LOGS/i-of-n` alone: its logs, and the design that it was asked for.
It needs nothing of the other shards and locks nothing of theirs. Importing all logs
makes the study, its design joined from theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import click

from offrecord.measures.parsed import write_parsed
from offrecord.protocol.design import Design
from offrecord.protocol.part import (
    PART_FILE,
    WHOLE,
    Part,
    Run,
    plan_of,
    share_of,
    write_part,
)
from offrecord.runner.addresses import is_remote, local_root
from offrecord.runner.evalset import (
    INTERRUPTED,
    PATIENCE,
    eval_set,
    nothing_ran,
)
from offrecord.runner.logged import read_logged
from offrecord.runner.logs import ROOT_KEY, log_root, refuse_lost_logs, shard_designs
from offrecord.runner.preflight import open_models
from offrecord.runner.resolve import calls_per_run, design_over
from offrecord.runner.run import Finished
from offrecord.runner.shards.files import (
    forget_shard,
    known_design,
    save_shard,
    shard_content,
)
from offrecord.runner.todo import ToDo, announcement
from offrecord.transcript.designed import all_runs
from offrecord.transcript.folder import (
    DESIGN_FILE,
    LOGS_FOLDER,
    locked,
    save_design,
)
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import Record, refuse_other_study
from offrecord.transcript.store import write_study_json

Cells = frozenset[tuple[str, str]]
"""Cells as Inspect tells them: model and sample."""

_DIRTY: Final = "--log-dir-allow-dirty"  # a design that grew is another plan


class ShardFinished(NamedTuple):
    """What a call leaves of a shard."""

    ended: int
    """Runs that ended, in this shard or before it."""
    planned: int
    """Runs of the shard."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""


def run_rest(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path,
    root: str,
    without: Cells = frozenset(),
) -> Finished:
    """Run what the shards of a study left, as one more shard, and import all of it.

    Args and errors are those of `run_shard`.
    """
    rest = run_shard(file, flags, options, out, WHOLE, root, without=without)
    study = import_logs(root, out)
    return Finished(study, study.ended_runs, rest.planned, rest.interrupted)


def run_shard(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path,
    part: Part,
    root: str,
    patience: float = 0,
    without: Cells = frozenset(),
) -> ShardFinished:
    """Run those debates of a shard that no log has yet.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder, from which its design is read where it has one.
        part: Which shard.
        root: Where the logs of all shards lie (see `log_root`).
        patience: Seconds to wait for another process that runs the shard.
        without: Cells that get no more runs.

    Raises:
        OffrecordError: If the design is wrong, another process runs the shard, or no
            debate came back.
    """
    design = design_over(known_design(out, root), file, flags, options, out)
    runs = all_runs(design)
    plan = plan_of(runs, part)
    mine = [run for run in share_of(part, runs) if run[:2] not in without]
    open_models(design.called, design.models, (*design.options, *options))
    if root == local_root(str(out / LOGS_FOLDER)):
        refuse_lost_logs(out)
    logs, code = f"{root}/{part.folder}", 0
    with _alone(logs, patience), TemporaryDirectory(prefix="offrecord-") as made:
        study = Path(made)
        save_shard(study, logs, design)
        logged = read_logged(root, plan)
        asked = [run for run in mine if run not in logged.elsewhere]
        left = [run for run in asked if run not in logged.own]
        calls = len(left) * calls_per_run(design)
        todo = ToDo(len(mine), len(mine) - len(left), calls)
        click.echo(announcement(todo, f"shard {part}: "), err=True)
        if left:
            (study / PART_FILE).write_text(write_part(asked), encoding="utf-8")
            code = eval_set(
                design.model_copy(update={"models": _models(design, left)}),
                (*options, _DIRTY),
                study=study,
                argument=f"part={plan}",
                logs=logs,
                todo=todo,
                patience=max(patience, PATIENCE),
            )
            logged = read_logged(root, plan)
    ended = len(logged.all.intersection(mine))
    if mine and not ended:
        forget_shard(logs)
        raise nothing_ran(code)
    return ShardFinished(ended, len(mine), code == INTERRUPTED)


def import_logs(source: str, out: Path, *, split: bool = False) -> Record:
    """Make a study of Inspect logs; those of shards bring its design with them.

    Args:
        source: A log, or a folder or address under which logs lie.
        out: The study's folder; it may be the one that the logs lie in.
        split: Whether settings that differ between logs of one model become factors.

    Raises:
        OffrecordError: If nothing there can be read, the folder has something else
            in it, settings differ and are not to be split, or shards were asked for
            different studies.
    """
    root = local_root(source)
    designs = shard_designs(root)
    own = root == log_root(out, None) and ((out / DESIGN_FILE).is_file() or designs)
    if not own:
        refuse_other_study(out, "inspect")
    logs = root if is_remote(root) else Path(source.removeprefix("file://"))
    imported = import_inspect(logs, out.resolve().name, split=split)
    if not designs and not (out / DESIGN_FILE).is_file():
        return write_parsed(out, imported)
    with locked(out):
        design = known_design(out, root)
        assert design is not None
        facts = save_design(out, design, shard_content(designs), len(all_runs(design)))
        if root != local_root(str(out / LOGS_FOLDER)):
            write_study_json(out, {**facts, ROOT_KEY: root})
        return write_parsed(out, imported)


@contextmanager
def _alone(logs: str, patience: float) -> Iterator[None]:
    """Lock a shard; nothing can be locked at an address of an object store."""
    if is_remote(logs):
        yield
        return
    with locked(Path(logs), patience):
        yield


def _models(design: Design, left: Sequence[Run]) -> tuple[str, ...]:
    wanted = {run.model for run in left}
    return tuple(model for model in design.models if model in wanted)
