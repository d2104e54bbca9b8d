"""Running a study on this machine: read the design, run its eval set, import its logs.

Studies that are run in parts or keep their logs elsewhere are in `runner/shards`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from offrecord.measures.parsed import write_parsed
from offrecord.protocol.declared import warn_of
from offrecord.records import OffrecordError
from offrecord.runner.evalset import INTERRUPTED, eval_set, nothing_ran
from offrecord.runner.logs import (
    forget_begun,
    is_sharded,
    log_root,
    refuse_lost_logs,
)
from offrecord.runner.preflight import open_models
from offrecord.runner.resolve import resolve_design
from offrecord.runner.todo import announcement, to_do
from offrecord.transcript.designed import content_of, planned_runs
from offrecord.transcript.folder import DESIGN_FILE, LOGS_FOLDER, locked, save_design
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import Record
from offrecord.transcript.store import STUDY_FILE, UnwritableError, refuse_gone


class Finished(NamedTuple):
    """What a call of `run` leaves."""

    study: Record
    ended: int
    """Runs that ended by themselves."""
    planned: int
    """Runs of the design."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""


def run_study(
    file: Path | None, flags: Mapping[str, Any], options: Sequence[str], out: Path
) -> Finished:
    """Run those debates of a design that the study does not have yet.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder.

    Raises:
        OffrecordError: If the design is wrong, or no debate came back.
    """
    if is_sharded(out, log_root(out, None)):
        raise OffrecordError(
            f"{out}: has been run in shards: resume with: offrecord run --out {out}"
        )
    design = resolve_design(file, flags, options, out)
    planned = planned_runs(design)
    open_models(design.called, design.models, (*design.options, *options))
    with locked(out):
        # Another call may have added to the study since.
        design = resolve_design(file, flags, options, out)
        planned = planned_runs(design)
        refuse_lost_logs(out)
        begun = (out / DESIGN_FILE).exists()
        facts = save_design(out, design, content_of(design), planned)
        todo = to_do(design, out, planned)
        for line in (*warn_of(design), announcement(todo)):
            click.echo(line, err=True)
        argument, logs = f"study={facts['argument']}", str(out / LOGS_FOLDER)
        code = eval_set(
            design, options, study=out, argument=argument, logs=logs, todo=todo
        )
        study = _import(out, code, begun)
    return Finished(study, study.ended_runs, planned, code == INTERRUPTED)


def _import(out: Path, code: int, begun: bool) -> Record:
    """Import what an eval set that ended with a code left in a study's folder."""
    logs = out / LOGS_FOLDER
    _refuse_removed(out, logs)
    if not logs.is_dir() or not any(logs.rglob("*.eval")):
        if not begun:
            forget_begun(out)
        raise nothing_ran(code)
    try:
        imported = import_inspect(logs, out.resolve().name)
    except OffrecordError:
        raise OffrecordError(
            f"no debate has ended yet: resume with: offrecord run --out {out}"
        ) from None
    _refuse_removed(out, logs)  # reading logs takes a while
    return write_parsed(out, imported)


def _refuse_removed(out: Path, logs: Path) -> None:
    """Refuse to go on in a study that was removed; its paid replies may be there yet.

    Inspect keeps a log in memory and writes it when it ends, its folder made anew.
    """
    if (out / STUDY_FILE).is_file():
        return
    refuse_gone(out / STUDY_FILE)
    raise UnwritableError(
        f"{out}: the study was removed while it was worked on; Inspect has written "
        f"what it had to {logs}: make a study of that with: offrecord import "
        f"inspect {logs} --out NEW"
    )
