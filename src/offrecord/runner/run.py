"""Running a study: its design written first, Inspect's eval set, then the import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from offrecord.measures.parsed import write_parsed
from offrecord.protocol.part import WHOLE
from offrecord.records import OffrecordError
from offrecord.runner.evalset import eval_set
from offrecord.runner.logs import forget_begun, refuse_lost_logs
from offrecord.runner.preflight import open_models
from offrecord.runner.resolve import (
    announcement,
    content_of,
    planned_runs,
    resolve_design,
)
from offrecord.runner.shards.shards import hold_shard, import_logs, in_parts, log_root
from offrecord.transcript.folder import (
    DESIGN_FILE,
    LOGS_FOLDER,
    locked,
    save_design,
)
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import Record
from offrecord.transcript.store import UnwritableError, refuse_gone


class Finished(NamedTuple):
    """What a call of `run` leaves."""

    study: Record
    ended: int
    """Runs that ended by themselves."""
    planned: int
    """Runs of the design."""


def run_study(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path,
    root: str | None = None,
) -> Finished:
    """Hold the debates that a design asks for and that the study does not have.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder.
        root: Where logs lie, if not in the study's folder.

    Raises:
        OffrecordError: If the design is wrong, or no debate came back.
    """
    logs_at = log_root(out, root)
    if in_parts(out, logs_at):
        # What shards hold is taken off; the rest is one more part, the whole.
        held = hold_shard(file, flags, options, out, WHOLE, logs_at)
        study = import_logs(logs_at, out)
        return Finished(study, study.ended_runs, held.planned)
    return _run_alone(file, flags, options, out)


def _run_alone(
    file: Path | None, flags: Mapping[str, Any], options: Sequence[str], out: Path
) -> Finished:
    """Hold a study in one eval set, in its own folder."""
    design = resolve_design(file, flags, options, out)
    planned = planned_runs(design)
    open_models(design, (*design.options, *options))
    with locked(out):
        # Another call may have added to the study since.
        design = resolve_design(file, flags, options, out)
        planned = planned_runs(design)
        refuse_lost_logs(out)
        begun = (out / DESIGN_FILE).exists()
        facts = save_design(out, design, content_of(design), planned)
        click.echo(announcement(design, out, planned), err=True)
        logs = out / LOGS_FOLDER
        code = eval_set(
            design,
            options,
            study=out,
            argument=f"study={facts['argument']}",
            logs=str(logs),
        )
        _refuse_removed(out, logs)
        if not logs.is_dir() or not any(logs.rglob("*.eval")):
            if not begun:
                forget_begun(out)
            raise OffrecordError(
                f"no debate came back (inspect eval-set ended with code {code}): see "
                "its message above"
            )
        try:
            imported = import_inspect(logs, out.resolve().name)
        except OffrecordError:
            raise OffrecordError(
                f"no debate has ended yet: resume with: offrecord run --out {out}"
            ) from None
        study = write_parsed(out, imported)
    return Finished(study, study.ended_runs, planned)


def _refuse_removed(out: Path, logs: Path) -> None:
    """Refuse to go on in a study that was removed; its paid replies may be there yet.

    Inspect holds a log in memory and writes it when it ends, its folder made anew.
    """
    try:
        refuse_gone(out)
    except UnwritableError:
        if not any(logs.glob("*.eval")):
            raise
        raise UnwritableError(
            f"{out}: the study was removed while it was worked on; Inspect has written "
            f"what it held to {logs}: make a study of that with: offrecord import "
            f"inspect {logs} --out NEW"
        ) from None
