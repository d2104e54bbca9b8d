"""Inspect's eval set, called by its command line in a process of its own.

Every option that it has can be passed through, its display and its handling of Ctrl-C
are its own, and nothing of it that is private is used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offrecord.protocol.design import Design
from offrecord.runner.options import split_options
from offrecord.transcript.folder import MOVED

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


def eval_set(
    design: Design,
    options: Sequence[str],
    *,
    study: Path,
    argument: str,
    logs: str,
) -> int:
    """Hold the debates of a design that its logs do not have.

    Args:
        design: The design.
        options: Options for `inspect eval-set`, as given after `--`.
        study: The folder that holds the design's file.
        argument: The task's one argument, by which Inspect tells its logs.
        logs: The folder or address of the logs, which no other eval set writes to.

    Returns:
        The exit code.
    """
    command = [
        *(sys.executable, "-m", "inspect_ai", "eval-set", "offrecord/debate"),
        *("-T", argument),
        *("--log-dir", logs),
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
    environment = {**os.environ, MOVED: str(study.resolve())}
    with subprocess.Popen(command, env=environment) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # Ctrl-C reached Inspect as well: let it write its logs and end.
                continue
