"""Benchmarks: what the project promises in figures, measured on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

from tests.fake_server import FakeServer


class Figure(NamedTuple):
    """One line of the table that `python -m benchmarks` prints."""

    name: str
    """What was measured."""
    value: str
    """The figure, with its unit."""
    aim: str = ""
    """What it should be; empty where it only informs."""


def run_against(server: FakeServer, model: str, *words: str) -> None:
    """Hold a study on a server of this machine, through the command line.

    Args:
        server: The server, running.
        model: What it is called.
        words: The other options of `offrecord run`, those of Inspect behind `--`.

    Raises:
        RuntimeError: If the run failed, or the server.
    """
    command = [sys.executable, "-m", "offrecord", "run"]
    done = subprocess.run(
        [*command, "--model", f"openai-api/bench/{model}", *words],
        env={**os.environ, **server.environment("bench")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or server.faults:
        raise RuntimeError(f"{server.faults}\n{done.stdout}\n{done.stderr}")
