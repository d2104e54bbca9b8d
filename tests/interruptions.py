"""Verbs of the command line, interrupted at a random point of their work.

A verb runs in a process forked from one that has imported everything, so that the
point falls into its work and not into the start of Python. Whatever becomes of it,
`faults_of` says whether what is left afterwards is the study that it should be.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.records import Ended
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import open_record
from offrecord.transcript.schema import ROW_KEY

DESIGN: Final = (
    *("--model", "simulated/paper", "--scenario", "promotion", "--rounds", "2"),
    *("--condition", "baseline", "--condition", "alignment-future"),
)
MEASURES: Final = ("--measures", "stance,survey,attribution,markers")

_PRELOADED: Final = [
    *(f"offrecord.cli.{verb}" for verb in ("run", "import_", "measure", "estimate")),
    *(
        "offrecord.cli.report",
        "offrecord.cli.summary",
        "offrecord.runner.shards.run",
    ),
    *(
        "offrecord.estimates.study",
        "offrecord.measures.measure",
        "offrecord.report.write",
    ),
    *("offrecord.transcript.inspect_logs", "offrecord.report.terminal"),
]
_LONGEST: Final = 120.0  # seconds that any verb may take on a busy machine


class Blow(StrEnum):
    """What befalls a verb."""

    NONE = "none"
    KILL = "kill -9"
    KILL_ALONE = "kill -9 of the caller alone"
    CTRL_C = "Ctrl-C"
    FULL = "full disk"
    GONE = "vanished folder"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb did."""

    code: int
    """Its exit code; negative where a signal ended it."""
    printed: str
    seconds: float
    struck: bool
    """Whether the blow befell it: a quick machine may be through before."""


def interrupted(
    words: Sequence[str],
    blow: Blow = Blow.NONE,
    after: float = 0.0,
    *,
    study: Path | None = None,
    room: int = 0,
    logged: bool = False,
) -> Outcome:
    """Call a verb and strike.

    Args:
        words: The verb and its arguments.
        blow: What befalls it.
        after: Seconds from its begin to the blow.
        study: The folder that vanishes.
        room: Bytes that a file may have where the disk is full.
        logged: Whether to count from the first log of Inspect.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    room = room if blow is Blow.FULL else 0
    process = context.Process(target=_verb, args=(list(words), theirs, room))
    start = time.monotonic()
    process.start()
    theirs.close()
    printed: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, printed), daemon=True)
    reader.start()
    struck = False
    if blow not in {Blow.NONE, Blow.FULL}:
        while logged and process.is_alive() and not _has_logs(study):
            time.sleep(0.05)
        process.join(after)
        struck = process.is_alive() and _strike(process, blow, study)
    process.join(_LONGEST)
    assert process.exitcode is not None, f"{words} does not end"
    seconds = time.monotonic() - start
    reader.join(0.5)  # an eval set that outlives its caller keeps the pipe open
    text = b"".join(printed).decode(errors="replace")
    struck = struck or (blow is Blow.FULL and process.exitcode != 0)
    return Outcome(process.exitcode, text, seconds, struck)


def _read(end: Connection, printed: list[bytes]) -> None:
    while data := os.read(end.fileno(), 65536):
        printed.append(data)


def _has_logs(study: Path | None) -> bool:
    return study is not None and any(study.glob("logs/*.eval"))


def _strike(process: BaseProcess, blow: Blow, study: Path | None) -> bool:
    """Strike; whether there was still something to strike at."""
    assert process.pid is not None
    try:
        if blow is Blow.KILL_ALONE:
            os.kill(process.pid, signal.SIGKILL)
        elif blow is Blow.GONE:
            assert study is not None
            while study.exists():  # what is written meanwhile goes as well
                shutil.rmtree(study, ignore_errors=True)
        else:
            stop = signal.SIGINT if blow is Blow.CTRL_C else signal.SIGKILL
            os.killpg(process.pid, stop)
    except ProcessLookupError:
        return False  # it has not made its group yet, or it is through
    return True


def _verb(words: list[str], end: Connection, room: int) -> None:
    """The forked process: a group of its own, its output in a pipe."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(end.fileno(), 1)
    os.dup2(end.fileno(), 2)
    end.close()
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    from offrecord.cli import main

    sys.argv = ["offrecord", *words]
    main()


def faults_of(study: Path, reference: Path) -> list[str]:
    """What is wrong with a study that was interrupted and resumed.

    Args:
        study: The study.
        reference: The same one, never interrupted, with its estimates.
    """
    mine, theirs = open_record(study), open_record(reference)
    found = list(torn_files(study))
    rows, wanted = first_ended(mine.transcript), first_ended(theirs.transcript)
    if set(rows["run"]) != set(wanted["run"]):
        found.append(f"{rows['run'].n_unique()} runs, not {wanted['run'].n_unique()}")
    if mine.transcript.select(ROW_KEY).is_duplicated().any():
        found.append("an output stands twice")
    if set(rows["ended"]) != {Ended.COMPLETED}:
        found.append(f"runs ended {set(rows['ended'])}")
    said = [name for name in ROW_KEY if name != "attempt"] + ["text", "status"]
    if not rows.select(said).sort(said).equals(wanted.select(said).sort(said)):
        found.append("other replies")
    counted = dict(
        mine.transcript.group_by("run").agg(pl.col("uuid").n_unique()).iter_rows()
    )
    if mine.facts["attempts"] != counted:
        found.append("attempts are not those of the samples")
    return found


def torn_files(study: Path) -> list[str]:
    """Files of ours that are there and cannot be read."""
    found = []
    for path in study.rglob("*"):
        if path.parent.name == "logs":
            continue  # Inspect writes its listing anew; what is in its logs is compared
        try:
            if path.suffix == ".parquet":
                pl.read_parquet(path)
            elif path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.name == "report.html":
                assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
        except Exception as error:
            found.append(f"{path.name}: {error}")
    return found


def estimates(study: Path) -> str:
    """A study's estimates as stored, without what counts attempts.

    Each attempt is counted in `attempts`, `retries` and `attempts_per_run`, in a flag
    of its own, and in the lines that say of how many texts a measure was taken.
    """
    stored = json.loads((study / "estimates.json").read_bytes())
    for one in stored["measured"].values():
        one.pop("lines", None)
    return json.dumps(_without_attempts(stored), sort_keys=True)


_ATTEMPTS: Final = {"attempts", "retries", "attempts_per_run"}


def _without_attempts(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in _ATTEMPTS}
        return {key: _without_attempts(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [_without_attempts(one) for one in value if not _is_flag(one)]
    return value


def _is_flag(value: Any) -> bool:
    return isinstance(value, str) and "attempts per run" in value


def some_point(rng: np.random.Generator, seconds: float) -> float:
    """A moment within what a verb takes, and now and then just behind it."""
    return float(rng.uniform(0, 1.1 * seconds))
