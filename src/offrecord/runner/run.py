"""Running a study: its design written first, Inspect's eval set, then the import.

Inspect is called by its command line, in a process of its own: every option it has can
be passed through, its display and its handling of Ctrl-C are its own, and nothing of
it that is private is used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from offrecord.protocol.design import Design
from offrecord.records import OffrecordError
from offrecord.runner.options import split_options
from offrecord.runner.preflight import open_models
from offrecord.runner.resolve import (
    announcement,
    content_of,
    planned_runs,
    resolve_design,
)
from offrecord.study import Study, land
from offrecord.transcript.folder import (
    DESIGN_FILE,
    LOGS_FOLDER,
    MOVED,
    locked,
    save_design,
)
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.store import STUDY_FILE, TRANSCRIPT_FILE, read_transcript

_ALWAYS: Final = (
    # A retry of a whole eval deletes or repeats what is there: resuming is the user's
    # word, and a fault that stops an eval (key, credit, model) is not mended by time.
    "--no-retry-cleanup",
    "--no-retry-immediate",
    "--retry-attempts",
    "1",
    # A debate that failed is held again at the next call; the others go on meanwhile.
    "--continue-on-fail",
)


class Finished(NamedTuple):
    """What a call of `run` leaves."""

    study: Study
    ended: int
    """Runs that ended by themselves."""
    planned: int
    """Runs of the design."""


def run_study(
    file: Path | None, flags: Mapping[str, Any], options: Sequence[str], out: Path
) -> Finished:
    """Hold the debates that a design asks for and that the study does not have.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`, as given after `--`.
        out: The study's folder.

    Raises:
        OffrecordError: If the design is wrong, or no debate came back.
    """
    design = resolve_design(file, flags, options, out)
    planned = planned_runs(design)
    open_models(design, (*design.options, *options))
    with locked(out):
        # Another call may have added to the study since.
        design = resolve_design(file, flags, options, out)
        planned = planned_runs(design)
        refuse_lost_logs(out)
        begun = (out / DESIGN_FILE).exists()
        facts = save_design(out, design, content_of(design))
        click.echo(announcement(design, out, planned), err=True)
        code = _eval_set(design, options, out, str(facts["argument"]))
        logs = out / LOGS_FOLDER
        if not logs.is_dir() or not any(logs.rglob("*.eval")):
            if not begun:  # nothing was asked: leave nothing behind
                for name in (DESIGN_FILE, STUDY_FILE):
                    (out / name).unlink(missing_ok=True)
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
        study = land(out, imported)
    return Finished(study, study.ended_runs, planned)


def refuse_lost_logs(out: Path) -> None:
    """Refuse a study whose logs are gone: its runs would be held and paid for again.

    Raises:
        OffrecordError: Naming the first log that is missing.
    """
    if not (out / TRANSCRIPT_FILE).is_file():
        return
    for log in read_transcript(out)["log"].unique().drop_nulls().sort():
        if not (out / LOGS_FOLDER / log).exists():
            raise OffrecordError(
                f"{out / LOGS_FOLDER / log}: is gone, and its runs would be held again "
                "and their record lost: restore it, or make a new study"
            )


def _eval_set(design: Design, options: Sequence[str], out: Path, argument: str) -> int:
    command = [
        *(sys.executable, "-m", "inspect_ai", "eval-set", "offrecord/debate"),
        *("-T", f"study={argument}"),
        *("--log-dir", str(out / LOGS_FOLDER)),
        *("--model", ",".join(design.models)),
        *(
            part
            for role in design.roles.items()
            for part in ("--model-role", "=".join(role))
        ),
        *_ALWAYS,
        *design.options,
        *split_options(options)[1],
    ]
    environment = {**os.environ, MOVED: str(out.resolve())}
    with subprocess.Popen(command, env=environment) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # Ctrl-C reached Inspect as well: let it write its logs and end.
                continue
