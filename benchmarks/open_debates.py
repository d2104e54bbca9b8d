"""Open debates: how early runs end, and what that costs, on a virtual clock.

Debates are held as a study holds them, with exact latencies and so many connections,
all of them open at once or as many as `offrecord run` keeps open. Nothing but waiting
takes time, so this is what the schedule alone allows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import trio
from trio.testing import MockClock

from benchmarks import Figure
from offrecord.protocol.debate import Reply, Request, Script, hold_debate
from offrecord.protocol.design import Design
from offrecord.runner.connections import MAX_SAMPLES, samples_options
from tests.debates import make_script, plain_text

RUNS: Final = 300
CONNECTIONS: Final = 100
FIRST: Final = 20
"""Latencies within which the first run is to end."""
SLOWER: Final = 1.05
"""How much longer all runs may take than without a limit."""


class Ends(NamedTuple):
    """When runs end, in latencies."""

    first: float
    last: float


def ends(script: Script, runs: int, connections: int, at_once: int) -> Ends:
    """Hold debates, and note when the first and the last one ends.

    Args:
        script: Of each run.
        runs: How many there are.
        connections: Requests under way at once; each takes one latency.
        at_once: Debates that are open at once.
    """
    ended = list[float]()

    async def main() -> None:
        lines = trio.CapacityLimiter(connections)
        opened = trio.CapacityLimiter(at_once)
        begun = trio.current_time()

        async def answer(request: Request) -> Reply:
            async with lines:
                await trio.sleep(1)
            return Reply(text=plain_text(request))

        async def hold(repeat: int) -> None:
            async with opened:
                await hold_debate(replace(script, repeat=repeat), answer)
            ended.append(trio.current_time() - begun)

        async with trio.open_nursery() as nursery:
            for repeat in range(1, runs + 1):
                nursery.start_soon(hold, repeat)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return Ends(min(ended), max(ended))


def kept_open(design: Design, connections: int) -> int:
    """How many debates of a design `offrecord run` keeps open."""
    words = ("--max-connections", str(connections))
    option, many = samples_options(design, words)
    assert option == MAX_SAMPLES
    return int(many)


def run() -> list[Figure]:
    """Hold the same runs with and without a limit."""
    at_once = kept_open(Design(), CONNECTIONS)
    script = make_script(rounds=5)
    free = ends(script, RUNS, CONNECTIONS, RUNS)
    held = ends(script, RUNS, CONNECTIONS, at_once)
    name = f"{RUNS} runs, {CONNECTIONS} connections"
    return [
        Figure(f"{name}: debates open at once", str(at_once)),
        Figure(
            f"{name}: first run ends, in latencies (without a limit)",
            f"{held.first:g} ({free.first:g})",
            f"at most {FIRST}",
        ),
        Figure(
            f"{name}: all runs, against no limit",
            f"{held.last / free.last:.3f}",
            f"at most {SLOWER}",
        ),
    ]
