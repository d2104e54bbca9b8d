"""Inspect's eval set, called by its command line in a process of its own.

Every option that it has can be passed through, its display and its handling of Ctrl-C
are its own, and nothing of it that is private is used.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from offrecord.protocol.design import Design
from offrecord.protocol.models import served_as
from offrecord.records import OffrecordError
from offrecord.runner.addresses import is_remote
from offrecord.runner.connections import samples_options
from offrecord.runner.logs import set_aside_torn
from offrecord.runner.options import split_options
from offrecord.transcript.folder import DESIGN_FILE, MOVED

RUNNING: Final = ".running"
"""Beside the logs: the file that a running eval set keeps locked."""

_ENCODING: Final = "PYTHONIOENCODING"

_LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether the study is still there."""

_ALWAYS: Final = (
    # A retry of a whole eval deletes or repeats what is there: resuming is the user's
    # word, and a fault that stops an eval (key, credit, model) is not mended by time.
    "--no-retry-cleanup",
    "--no-retry-immediate",
    "--retry-attempts",
    "1",
    # A debate that failed restarts at the next call; the others go on meanwhile.
    "--continue-on-fail",
)


def eval_set(
    design: Design,
    options: Sequence[str],
    *,
    study: Path,
    argument: str,
    logs: str,
    patience: float = 0,
) -> int:
    """Run the debates of a design that its logs do not have.

    Args:
        design: The design.
        options: Options for `inspect eval-set`, as given after `--`.
        study: The folder with the design's file.
        argument: The task's one argument, by which Inspect tells its logs.
        logs: The folder or address of the logs, which no other eval set writes to.
        patience: Seconds to wait for an earlier eval set there that is still running.

    Returns:
        The exit code.

    Raises:
        OffrecordError: If an eval set that was begun earlier is still running, since
            whoever began it was killed alone.
    """
    words = (*design.options, *split_options(options)[1])
    command = [
        *(sys.executable, "-m", "inspect_ai", "eval-set", "offrecord/debate"),
        *("-T", argument),
        *("--log-dir", logs),
        *("--model", ",".join(design.models)),
        *(
            part
            for role, name in design.roles.items()
            for part in ("--model-role", f"{role}={served_as(name)}")
        ),
        *_ALWAYS,
        *samples_options(design, words),
        *words,
    ]
    if not is_remote(logs):
        set_aside_torn(Path(logs))
    with (
        _inherited_lock(logs, patience) as locks,
        subprocess.Popen(command, env=_environment(study), pass_fds=locks) as process,
    ):
        while True:
            try:
                return process.wait(_LOOK_EVERY)
            except KeyboardInterrupt:
                # Ctrl-C reached Inspect as well: let it write its logs and end.
                continue
            except subprocess.TimeoutExpired:
                if not (study / DESIGN_FILE).exists():  # no one is left to pay for
                    process.send_signal(signal.SIGINT)
                    return process.wait()


def _environment(study: Path) -> dict[str, str]:
    """Inspect's own: where the study is, and a display that every terminal can show."""
    encoding = os.environ.get(_ENCODING, "").partition(":")[0]
    shown = f"{encoding}:backslashreplace"
    return {**os.environ, MOVED: str(study.resolve()), _ENCODING: shown}


def nothing_ran(code: int) -> OffrecordError:
    """What to raise where an eval set ended with a code and left no debate."""
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
