"""Shards: parts of one study, each held by a machine of its own.

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
from offrecord.protocol.cases import cases
from offrecord.protocol.design import Design
from offrecord.protocol.part import (
    PART_FILE,
    Part,
    Run,
    plan_of,
    runs_of,
    share_of,
    write_part,
)
from offrecord.records import OffrecordError
from offrecord.runner.addresses import is_remote, local_root
from offrecord.runner.evalset import eval_set
from offrecord.runner.held import read_held
from offrecord.runner.logs import refuse_lost_logs
from offrecord.runner.preflight import open_models
from offrecord.runner.resolve import calls_per_run, design_over, planned_of
from offrecord.runner.shards.files import (
    forget_shard,
    known_design,
    save_shard,
    shard_content,
    shard_designs,
)
from offrecord.transcript.folder import (
    DESIGN_FILE,
    LOGS_FOLDER,
    locked,
    save_design,
)
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import Record, refuse_other_study
from offrecord.transcript.replays import replayed_runs
from offrecord.transcript.store import STUDY_FILE, read_json, write_json

ROOT_KEY: Final = "log_root"
"""Where in study.json it says that logs lie elsewhere than in the study's folder."""

_DIRTY: Final = "--log-dir-allow-dirty"  # a design that grew is another plan


class ShardHeld(NamedTuple):
    """What a call leaves of a shard."""

    ended: int
    """Runs that were held whole, by this shard or before it."""
    planned: int
    """Runs of the shard."""


def log_root(out: Path, given: str | None) -> str:
    """Where the logs of a study lie: as given, as the study says, or in its folder.

    Raises:
        OffrecordError: If the study has its logs elsewhere.
    """
    known = None
    if (out / STUDY_FILE).is_file():
        known = read_json(out / STUDY_FILE).get(ROOT_KEY)
    root = local_root(given or known or str(out / LOGS_FOLDER))
    if known and root != known:
        raise OffrecordError(f"--log-root {given}: this study has its logs in {known}")
    return root


def in_parts(out: Path, root: str) -> bool:
    """Whether the logs of a study lie in folders of shards, or outside its folder."""
    own = local_root(str(out / LOGS_FOLDER))
    return root != own or bool(shard_designs(root))


def hold_shard(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path,
    part: Part,
    root: str,
    patience: float = 0,
) -> ShardHeld:
    """Hold those runs of a shard that no log holds yet.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder, from which its design is read where it has one.
        part: Which shard.
        root: Where the logs of all shards lie (see `log_root`).
        patience: Seconds to wait for another process that holds the shard.

    Raises:
        OffrecordError: If the design is wrong, the shard is being held by another
            process, or no debate came back.
    """
    design = design_over(known_design(out, root), file, flags, options, out)
    runs = planned(design)
    mine, plan = share_of(part, runs), plan_of(runs, part)
    open_models(design, (*design.options, *options))
    if root == local_root(str(out / LOGS_FOLDER)):
        refuse_lost_logs(out)
    logs = f"{root}/{part.folder}"
    with _alone(logs, patience), TemporaryDirectory(prefix="offrecord-") as made:
        study = Path(made)
        save_shard(study, logs, design)
        held = read_held(root, plan)
        asked = [run for run in mine if run not in held.elsewhere]
        left = [run for run in asked if run not in held.own]
        _announce(design, part, len(mine), len(left))
        code = 0
        if left:
            (study / PART_FILE).write_text(write_part(asked), encoding="utf-8")
            code = eval_set(
                design.model_copy(update={"models": _models(design, left)}),
                (*options, _DIRTY),
                study=study,
                argument=f"part={plan}",
                logs=logs,
                patience=patience,
            )
            held = read_held(root, plan)
    ended = len(set(mine) & (held.own | held.elsewhere))
    if mine and not ended:
        forget_shard(logs)
        raise OffrecordError(
            f"no debate came back (inspect eval-set ended with code {code}): see "
            "its message above"
        )
    return ShardHeld(ended, len(mine))


def planned(design: Design) -> list[Run]:
    """Every run of a design.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    if design.on:
        return runs_of(design.models, [run.run for run in replayed_runs(design)], 1)
    return runs_of(design.models, [case.id for case in cases(design)], design.runs)


def import_logs(source: str, out: Path) -> Record:
    """Make a study of Inspect logs; those of shards bring its design with them.

    Args:
        source: A log, or a folder or address under which logs lie.
        out: The study's folder; it may be the one that the logs lie in.

    Raises:
        OffrecordError: If nothing there can be read, the folder holds something else,
            or shards were asked for different studies.
    """
    root = local_root(source)
    if not _own(out, root):
        refuse_other_study(out, "inspect")
    designs = shard_designs(root)
    logs = root if is_remote(root) else Path(source.removeprefix("file://"))
    imported = import_inspect(logs, _name(out))
    if not designs and not (out / DESIGN_FILE).is_file():
        return write_parsed(out, imported)
    with locked(out):
        design = known_design(out, root)
        assert design is not None
        facts = save_design(out, design, shard_content(designs), len(planned(design)))
        if root != local_root(str(out / LOGS_FOLDER)):
            write_json(out / STUDY_FILE, {**facts, ROOT_KEY: root})
        return write_parsed(out, imported)


def absent_runs(study: Record) -> int:
    """How many runs of a study's design did not end yet; 0 where there is no design."""
    if not (study.path / DESIGN_FILE).is_file() or study.design.on:
        return 0
    return max(planned_of(study) - study.ended_runs, 0)


def _own(out: Path, root: str) -> bool:
    """Whether logs are those of the study that they are imported into."""
    return root == log_root(out, None) and (
        (out / DESIGN_FILE).is_file() or bool(shard_designs(root))
    )


def _name(out: Path) -> str:
    return out.resolve().name


@contextmanager
def _alone(logs: str, patience: float) -> Iterator[None]:
    """Hold a shard alone; nothing can be locked at an address of an object store."""
    if is_remote(logs):
        yield
        return
    with locked(Path(logs), patience):
        yield


def _models(design: Design, left: Sequence[Run]) -> tuple[str, ...]:
    wanted = {run.model for run in left}
    return tuple(model for model in design.models if model in wanted)


def _announce(design: Design, part: Part, mine: int, left: int) -> None:
    click.echo(
        f"offrecord: shard {part}: {mine} runs, {mine - left} of them in, {left} to "
        f"go: up to {left * calls_per_run(design):,} calls",
        err=True,
    )
