"""Inspect's eval set, called by its command line in a process of its own.

Every option that it has can be passed through, its handling of Ctrl-C is its own, and
nothing of it that is private is used. Its display advertises ways to go on that would
pay again in another folder, so lines of progress take its place unless one is named.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import current_thread, main_thread
from types import MappingProxyType
from typing import Final

from offrecord.protocol.design import Design
from offrecord.protocol.models import served_as
from offrecord.records import OffrecordError
from offrecord.runner.addresses import is_remote
from offrecord.runner.connections import samples_options
from offrecord.runner.logs import set_aside_torn
from offrecord.runner.options import split_options
from offrecord.runner.todo import PROGRESS, ToDo
from offrecord.transcript.folder import DESIGN_FILE, MOVED
from offrecord.transcript.inspect_files import STUDY_TASK

RUNNING: Final = ".running"
"""Beside the logs: the file that a running eval set keeps locked."""

_ENCODING: Final = "PYTHONIOENCODING"
_LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether the study is still there."""

PATIENCE: Final = 30.0
"""Seconds that an eval set has to end in once whoever began it was killed."""

_ALWAYS: Final = (
    # A retry of a whole eval deletes or repeats what is there: resuming is the user's
    # word, and a fault that stops an eval (key, credit, model) is not mended by time.
    "--no-retry-cleanup",
    "--no-retry-immediate",
    "--retry-attempts",
    "1",
    # A debate that failed restarts at the next call; the others go on meanwhile.
    "--continue-on-fail",
    # Means over the debates so far, of which most are none yet.
    "--no-score-display",
)


INTERRUPTED: Final = 130
"""The code of an eval set that Ctrl-C ended, as shells have it."""


def eval_set(
    design: Design,
    options: Sequence[str],
    *,
    study: Path,
    argument: str,
    logs: str,
    todo: ToDo,
    patience: float = PATIENCE,
) -> int:
    """Run the debates of a design that its logs do not have.

    Args:
        design: The design.
        options: Options for `inspect eval-set`, as given after `--`.
        study: The folder with the design's file.
        argument: The task's one argument, by which Inspect tells its logs.
        logs: The folder or address of the logs, which no other eval set writes to.
        todo: What there is to do.
        patience: Seconds to wait for an earlier eval set there that is still running.

    Returns:
        The exit code, or `INTERRUPTED`.

    Raises:
        OffrecordError: If an eval set that was begun earlier is still running, since
            whoever began it was killed alone.
    """
    words = split_options(options)[1]
    roles = [
        part
        for role, name in design.roles.items()
        for part in ("--model-role", f"{role}={served_as(name)}")
    ]
    extra = (*samples_options(design, (*design.options, *words)), *design.options)
    return task_set(
        STUDY_TASK,
        (argument,),
        design.models,
        (*roles, *extra, *words),
        logs=logs,
        todo=todo,
        watched=study / DESIGN_FILE,
        more={MOVED: str(study.resolve())},
        patience=patience,
    )


def task_set(
    task: str,
    arguments: Sequence[str],
    models: Sequence[str],
    options: Sequence[str],
    *,
    logs: str,
    todo: ToDo,
    watched: Path,
    more: Mapping[str, str] = MappingProxyType({}),
    patience: float = PATIENCE,
) -> int:
    """Run those samples of a task that its logs do not have.

    Args:
        task: As Inspect names it.
        arguments: Its arguments, as `NAME=VALUE`.
        models: Who answers.
        options: Further options of `inspect eval-set`.
        logs: The folder or address of the logs, which no other eval set writes to.
        todo: What there is to do.
        watched: A file or folder without which there is no one left to pay for.
        more: Environment variables.
        patience: As in `eval_set`.

    Returns:
        The exit code, or `INTERRUPTED`.

    Raises:
        OffrecordError: As in `eval_set`.
    """
    if not is_remote(logs):
        set_aside_torn(Path(logs))
    command = [
        *(sys.executable, "-m", "offrecord.runner.process"),
        *("eval-set", task),
        *(part for argument in arguments for part in ("-T", argument)),
        *("--log-dir", logs),
        *("--model", ",".join(models)),
        *_ALWAYS,
        *options,
    ]
    environment = _environment(more)
    display = _display(options)
    if display is None:
        command += ("--display", "none")
        environment[PROGRESS] = " ".join(map(str, todo))
    with _inherited_lock(logs, patience) as locks:
        return _called(command, environment, display, locks, watched)


def _called(
    command: Sequence[str],
    environment: Mapping[str, str],
    display: str | None,
    locks: Sequence[int],
    watched: Path,
) -> int:
    apart = os.name == "posix" and display not in _OF_KEYS
    with (
        _noted_ctrl_c() as interrupts,
        subprocess.Popen(
            command,
            env=environment,
            pass_fds=locks,
            # Progress and faults are told on standard error.
            stdout=subprocess.DEVNULL if display is None else None,
            process_group=0 if apart else None,
        ) as process,
    ):
        if apart:
            interrupts.pass_to(process)
        code = _wait(process, watched)
        return INTERRUPTED if interrupts.noted else code


_OF_KEYS: Final = {"full", "conversation"}
"""Displays that take keys, so that the eval set must be in the foreground."""


def _display(options: Sequence[str]) -> str | None:
    """The display of Inspect that was asked for, if any was."""
    words = " ".join(options).replace("=", " ").split()
    named = [after for at, after in pairwise(words) if at == "--display"]
    return named[-1] if named else os.environ.get("INSPECT_DISPLAY")


@dataclass
class _Interrupts:
    """Interrupts of this process, which raise nothing and end the eval set.

    A terminal sends Ctrl-C to a whole group of processes, a supervisor to one of them.
    So an eval set has a group of its own and gets each interrupt from here, once. An
    exception could come at any line, and be lost where Python swallows one.
    """

    noted: bool = False
    process: subprocess.Popen[bytes] | None = None

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        if self.noted:
            self.note()

    def note(self, *_: object) -> None:
        self.noted = True
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)


@contextmanager
def _noted_ctrl_c() -> Iterator[_Interrupts]:
    interrupts = _Interrupts()
    here = current_thread() is main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(process: subprocess.Popen[bytes], watched: Path) -> int:
    """Wait for an eval set to end, or for what it is for to be removed."""
    while True:
        try:
            return process.wait(_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            if not watched.exists():  # no one is left to pay for
                process.send_signal(signal.SIGINT)
                return process.wait()


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Inspect's own, and a display that every terminal can show."""
    encoding = os.environ.get(_ENCODING, "").partition(":")[0]
    return {**os.environ, **more, _ENCODING: f"{encoding}:backslashreplace"}


def nothing_ran(code: int) -> OffrecordError:
    """What to raise where an eval set ended with a code and left no debate."""
    if code == INTERRUPTED:
        return OffrecordError("interrupted before a debate was logged: nothing is kept")
    return OffrecordError(
        f"no debate came back (inspect eval-set ended with code {code}): see its "
        "message above"
    )


@contextmanager
def _inherited_lock(logs: str, patience: float) -> Iterator[tuple[int, ...]]:
    """A lock that the eval set itself has, for as long as it lives.

    The study's own lock is gone with the process that was killed; the eval set that it
    had begun lives on, and a second one beside it would delete its logs.
    """
    if sys.platform == "win32" or is_remote(logs):
        yield ()
        return
    import fcntl

    folder = Path(logs)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / RUNNING).open("a") as file:
        waited = 0.0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if waited >= patience:
                    raise OffrecordError(
                        f"{logs}: an earlier call was killed, but the eval set that it "
                        "had begun is still running: wait for it to end, or end it"
                    ) from None
            waited += _LOOK_EVERY
            time.sleep(_LOOK_EVERY)
        yield (file.fileno(),)
