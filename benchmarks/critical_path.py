"""Critical path: one run takes rounds x agents latencies, not one for every call.

The run goes through `offrecord run`, Inspect and its OpenAI-compatible provider to a
server on this machine that answers each request after a fixed time. What is timed is
from the first request received to the last reply sent: the start of Python and of
Inspect is no part of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from benchmarks import Figure
from offrecord.study import load_study
from tests.fake_server import FakeServer

LATENCY: Final = 0.5  # seconds
ROUNDS: Final = 5
AGENTS: Final = 2
CALLS: Final = ROUNDS * AGENTS * 6
"""Per turn an utterance, a shadow and a survey in each of two channels."""

_TRIES: Final = 3  # what else the machine does only adds to a time
_SERIAL: Final = 12  # requests timed one after another, scaled up to all calls


def run() -> list[Figure]:
    """Time one run, and the same calls one after another."""
    seconds = []
    for _ in range(_TRIES):
        with FakeServer(LATENCY) as server, tempfile.TemporaryDirectory() as folder:
            pairs = _debate(server, Path(folder) / "study")
            seconds.append(server.sent[-1] - server.received[0])
            calls, at_once = len(server.bodies), server.open_at_once
            serial = _serial(server) * calls / _SERIAL
    best, limit = min(seconds), ROUNDS * AGENTS * LATENCY
    tries = ", ".join(f"{each:.2f}" for each in seconds)
    return [
        Figure("calls of one run", str(calls), str(CALLS)),
        Figure("pairs of stances", str(pairs), str(ROUNDS * AGENTS)),
        Figure("most requests at once", str(at_once)),
        Figure(
            f"first request to last reply, {LATENCY * 1000:.0f} ms a call",
            f"{tries} s",
            f"{limit:.0f} s",
        ),
        Figure("best over rounds x agents latencies", f"{best / limit:.3f}", "1.15"),
        Figure(
            f"one after another ({_SERIAL} calls timed, scaled up)", f"{serial:.1f} s"
        ),
        Figure("times faster than that", f"{serial / best:.1f}"),
    ]


def _debate(server: FakeServer, out: Path) -> int:
    """Hold one run and return how many of its turns have both stances."""
    command = [
        *(sys.executable, "-m", "offrecord", "run", "--out", str(out)),
        *("--model", "openai-api/bench/fixed-latency", "--scenario", "promotion"),
        *("--condition", "alignment-future", "--runs", "1", "--rounds", str(ROUNDS)),
        *("--", "--display", "none"),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, **server.environment("bench")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or server.faults:
        raise RuntimeError(f"{server.faults}\n{done.stdout}\n{done.stderr}")
    return load_study(out).pairs.drop_nulls(["public", "other"]).height


def _serial(server: FakeServer) -> float:
    """Seconds for `_SERIAL` of the run's own requests, each sent after the other."""
    start = time.monotonic()
    for body in server.bodies[:_SERIAL]:
        request = urllib.request.Request(
            f"{server.url}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            reply.read()
    return time.monotonic() - start
