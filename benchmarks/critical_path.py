"""Critical path: how near a study comes to what latency and connections allow.

Studies go through `offrecord run`, Inspect and its OpenAI-compatible provider to a
server on this machine that answers each request after a fixed time. A run needs at
least one latency a turn, and all calls need their share of the connections: the larger
of the two is the limit. What is timed is from the first request received to the last
reply sent; the start of Python and of Inspect, and the import at the end, stand apart.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks import Figure, run_against
from benchmarks.serial import serial_seconds
from offrecord.measures.parsed import pairs_of
from offrecord.transcript.record import open_record
from tests.fake_server import FakeServer

LATENCY: Final = 0.5  # seconds
ROUNDS: Final = 5
AGENTS: Final = 2
CALLS: Final = ROUNDS * AGENTS * 6
"""Per turn an utterance, a shadow and a survey in each of two channels."""

MANY: Final = 50
CONNECTIONS: Final = 20
AIM: Final = "at most 1.15"

_TRIES: Final = {1: 3, MANY: 2}  # what else the machine does only adds to a time


class Held(NamedTuple):
    """One study, in seconds."""

    before: float
    """From the command to the first request."""
    debates: float
    """From the first request to the last reply."""
    after: float
    """From the last reply to the command's end: last logs written, import, tables."""
    pairs: int
    """Turns with both stances."""
    at_once: int
    """The most requests that waited at one time."""
    serial: float
    """The calls of one run one after another."""


def run() -> list[Figure]:
    """Time one run and many, and the same calls one after another."""
    return [*_figures(1), *_figures(MANY)]


def limit(runs: int) -> float:
    """Seconds that no schedule can beat."""
    turns = ROUNDS * AGENTS * LATENCY
    return max(turns, runs * CALLS * LATENCY / CONNECTIONS)


def _figures(runs: int) -> Iterator[Figure]:
    held = [_hold(runs) for _ in range(_TRIES[runs])]
    best, least = min(held, key=lambda one: one.debates), limit(runs)
    tries = ", ".join(f"{one.debates:.2f}" for one in held)
    name = f"{runs} run{'s' if runs > 1 else ''}, {CONNECTIONS} connections"
    yield Figure(
        f"{name}: first request to last reply, {LATENCY * 1000:.0f} ms a call",
        f"{tries} s",
        f"{least:g} s",
    )
    yield Figure(f"{name}: best over the limit", f"{best.debates / least:.3f}", AIM)
    yield Figure(
        f"{name}: pairs of stances", str(best.pairs), str(runs * ROUNDS * AGENTS)
    )
    yield Figure(f"{name}: most requests at once", str(best.at_once))
    yield Figure(
        f"{name}: before the first request, after the last reply",
        f"{best.before:.1f} s, {best.after:.1f} s",
    )
    serial = best.serial * runs
    of_one = " (one run's, times the runs)" if runs > 1 else ""
    yield Figure(f"{name}: one after another{of_one}", f"{serial:.0f} s")
    yield Figure(f"{name}: times faster than that", f"{serial / best.debates:.1f}")


def _hold(runs: int) -> Held:
    with FakeServer(LATENCY) as server, tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "study"
        begun = time.monotonic()
        _run(server, out, runs)
        ended, first, last = time.monotonic(), server.received[0], server.sent[-1]
        if len(server.bodies) != runs * CALLS:
            raise RuntimeError(f"{len(server.bodies)} calls instead of {runs * CALLS}")
        at_once = server.open_at_once
        pairs = pairs_of(open_record(out)).drop_nulls(["left", "right"]).height
        serial = serial_seconds(server.url, server.bodies[:CALLS])
    return Held(first - begun, last - first, ended - last, pairs, at_once, serial)


def _run(server: FakeServer, out: Path, runs: int) -> None:
    run_against(
        server,
        "fixed-latency",
        *("--out", str(out), "--scenario", "promotion"),
        *("--condition", "alignment-future", "--runs", str(runs)),
        *("--rounds", str(ROUNDS)),
        *("--", "--display", "none", "--max-connections", str(CONNECTIONS)),
    )
