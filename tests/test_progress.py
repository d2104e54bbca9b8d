"""The lines of an eval set under way, and its faults in one line."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from offrecord.runner.progress import Progress, Warnings, duration
from offrecord.runner.todo import PROGRESS, ToDo


def ended(progress: Progress, fault: str | None = None) -> None:
    error = None if fault is None else SimpleNamespace(message=fault)
    data = SimpleNamespace(sample=SimpleNamespace(error=error))
    anyio.run(progress.on_sample_end, cast("Any", data))


def test_a_line_counts_runs_calls_and_the_time_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(ToDo(planned=10, ended=4, calls=120))
    assert progress.line(passed=1) == "4 of 10 runs (1 s)"
    progress.calls = 40
    ended(progress)
    ended(progress, "RuntimeError('lost')")
    ended(progress, "OffrecordError('nothing but errors came back')")
    ended(progress, "CancelledError('by Ctrl-C')")
    assert progress.line(passed=90) == (
        "5 of 10 runs, 40 calls, 2 runs failed, about 3 min 0 s left (1 min 30 s)"
    )
    anyio.run(progress.on_run_end, cast("Any", None))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-3].startswith("offrecord: 5 of 10 runs, 40 calls, 2 runs failed")
    assert set(lines[-2:]) == {
        "offrecord: RuntimeError('lost') (1 times)",
        "offrecord: nothing but errors came back (1 times)",
    }


def test_a_log_file_gets_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(ToDo(10, 0, 1000))
    for _ in range(500):
        anyio.run(progress.on_model_usage, cast("Any", None))
    assert progress.calls == 500
    assert capsys.readouterr().err.count("\n") <= 1


def test_times_are_told_in_their_two_largest_units() -> None:
    assert [duration(t) for t in (0.4, 59, 60, 3599, 7260)] == [
        *("0 s", "59 s", "1 min 0 s", "59 min 59 s", "2 h 1 min")
    ]


def test_a_warning_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.Logger("x")
    log.addHandler(Warnings())
    for level in ("info", "warning", "warning"):
        getattr(log, level)("temperature is not supported")
    assert capsys.readouterr().err == (
        "offrecord: warning: temperature is not supported\n"
    )


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("-M", "foo=3"), "unexpected keyword argument 'foo'"),
        (("--model-cost-config", "/nowhere.yaml"), "/nowhere.yaml"),
    ],
)
def test_a_fault_of_inspect_is_one_line(
    option: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "offrecord.runner.process", "eval-set"),
            *("offrecord/debate", "--model", "simulated/paper", "--display", "none"),
            *("--log-dir", str(tmp_path), *option),
        ],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, PROGRESS: "1 0 60"},
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("offrecord: ")
    assert said in line


def test_a_line_says_why_requests_are_sent_again() -> None:
    progress = Progress(ToDo(1, 0, 10))
    refused = SimpleNamespace(exception_type="APIConnectionError", status_code=None)
    limited = SimpleNamespace(exception_type="RateLimitError", status_code=429)
    anyio.run(progress.on_model_retry, cast("Any", SimpleNamespace()))
    assert progress.line(1) == "0 of 1 runs, 1 requests sent again (1 s)"
    for data in (refused, limited, limited):
        anyio.run(progress.on_model_retry, cast("Any", data))
    assert progress.line(1) == (
        "0 of 1 runs, 4 requests sent again (most often RateLimitError 429) (1 s)"
    )
