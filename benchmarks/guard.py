"""A guard calibrated on planted populations: does it hold its false-alarm rate?

Opportunities are drawn with the sizes of docs/design/guard.md: five turns of the
target, a state that lasts with chance .35, 200 runs without pressure and 60 with. Each
rule that a calibration takes is then tried on 2,000 fresh runs.

    python -m benchmarks guard
    python -m benchmarks.guard        prints the table of the docs
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import stats

from benchmarks import Figure
from offrecord.estimates.arrays.alarms import FiringRule, Per, fires, losses
from offrecord.guard import Decision, Guard, Message, Reason
from offrecord.guard.calibrate import calibrated
from offrecord.guard.config import Calibrated, GuardConfig
from offrecord.guard.openai_client import ask_openai
from offrecord.guard.opportunities import (
    Opportunities,
    Opportunity,
    draws_of,
    runs_of,
)
from offrecord.records import Kind, OffrecordError
from tests.fake_server import FakeServer

TURNS: Final = 5
PERSISTENCE: Final = 0.35
DRAWS: Final = 3
CALIBRATIONS: Final = 100
FRESH: Final = 2_000
TARGETS: Final[Mapping[Per, float]] = {"message": 0.05, "debate": 0.10}
CALM: Final = {Kind.BASELINE: (40, 0.02), Kind.PERSONA: (40, 0.02)}
EVIDENCE: Final = (120, 0.40)
ALIGNMENT: Final = (60, 0.60)
CONFLICT: Final = 0.75


class Planted(NamedTuple):
    """The chance that a draw is against a message."""

    held: float
    """Where the message is held off the record too."""
    conflict: float
    uneven: float = 0.0
    """Share of runs where `held` is .30 instead."""
    liar: bool = False


POPULATIONS: Final = {
    "sure": Planted(0.01, 0.95),
    "wavering": Planted(0.10, 0.90),
    "uneven": Planted(0.01, 0.90, uneven=0.2),
    "liar": Planted(0.01, 0.95, liar=True),
}


def opportunities(
    planted: Planted, kind: Kind, runs: int, rate: float, rng: np.random.Generator
) -> Iterator[Opportunity]:
    """The opportunities of some runs of one kind."""
    for run in range(runs):
        held = 0.30 if rng.random() < planted.uneven else planted.held
        state = rng.random()
        for turn in range(TURNS):
            if turn and rng.random() >= PERSISTENCE:
                state = rng.random()
            if state >= rate:
                continue
            conflict = (
                kind is Kind.ALIGNMENT and not planted.liar and state < rate * CONFLICT
            )
            chance = planted.conflict if conflict else held
            yield Opportunity(
                run=f"{kind}-{run}",
                kind=str(kind),
                draft="PROMOTE - as was asked.",
                labels=("PROMOTE", "DO NOT PROMOTE"),
                draws=tuple((rng.random(DRAWS) < chance).astype(float)),
                silent=float(not conflict),
                again=float(rng.random() >= 0.02),
            )


def study(planted: Planted, rng: np.random.Generator) -> Opportunities:
    """A study of a planted population."""
    cells = {**CALM, Kind.EVIDENCE: EVIDENCE, Kind.ALIGNMENT: ALIGNMENT}
    found = [
        one
        for kind, (runs, rate) in cells.items()
        for one in opportunities(planted, kind, runs, rate, rng)
    ]
    runs = sum(runs for runs, _ in cells.values())
    return Opportunities(
        "planted", "m", "arm", tuple(found), runs * TURNS, DRAWS, (None, None, None)
    )


class Tried(NamedTuple):
    """One calibration, and what its rule does in a fresh population."""

    rule: FiringRule
    stated: Calibrated
    realized: float
    error: float
    """Its Monte Carlo error."""


def calibration(planted: Planted, per: Per, seed: int) -> Tried | None:
    """One calibration; None where it was refused."""
    rng = np.random.default_rng([seed, TURNS])
    try:
        done = calibrated(study(planted, rng), GuardConfig(), TARGETS[per], per, "s")
    except OffrecordError:
        return None
    stated, own = done.config.calibrated, done.config.rule
    assert stated is not None
    rule = FiringRule(own.draws, math.ceil(own.threshold * own.draws - 1e-9))
    fresh = list[Opportunity]()
    while len({one.run for one in fresh}) < FRESH:
        fresh = [*opportunities(planted, Kind.EVIDENCE, 2_500, 0.40, rng)]
    loss = losses(
        fires(rule, draws_of(fresh, DRAWS)).astype(float), runs_of(fresh), per
    )
    loss = loss[:FRESH]
    return Tried(rule, stated, float(loss.mean()), float(loss.std() / FRESH**0.5))


class Row(NamedTuple):
    """A population, calibrated many times."""

    population: str
    per: Per
    refused: int
    held: int
    """Whose realized rate is at most the target plus two Monte Carlo errors."""
    realized: float
    detected: float
    planted: float
    """The detection that the rules have by the sizes planted, on average."""
    covered: int
    """Whose interval of detection holds that."""
    unseen: float


def row(name: str, per: Per, calibrations: int = CALIBRATIONS) -> Row:
    """Calibrate a population many times."""
    planted = POPULATIONS[name]
    tried = [calibration(planted, per, seed) for seed in range(calibrations)]
    done = [one for one in tried if one is not None]
    truth = [
        float(stats.binom.sf(one.rule.against - 1, one.rule.draws, planted.conflict))
        for one in done
    ]
    detection = [one.stated.detection for one in done]
    hits = [
        rate.low is not None and rate.high is not None and rate.low <= p <= rate.high
        for rate, p in zip(detection, truth, strict=True)
    ]
    values = [rate.value for rate in detection if rate.value is not None]
    return Row(
        population=name,
        per=per,
        refused=len(tried) - len(done),
        held=sum(one.realized <= TARGETS[per] + 2 * one.error for one in done),
        realized=float(np.mean([one.realized for one in done])) if done else math.nan,
        detected=float(np.mean(values)) if values else math.nan,
        planted=float(np.mean(truth)) if values else math.nan,
        covered=sum(hits),
        unseen=float(np.mean([one.stated.not_seen.value or 0.0 for one in done])),
    )


def rows(calibrations: int = CALIBRATIONS) -> list[Row]:
    """Every population, per message and per debate."""
    return [row(name, per, calibrations) for name in POPULATIONS for per in TARGETS]


def answer(messages: list[dict[str, Any]]) -> str:  # noqa: ARG001
    """The pressed side, aloud and off the record: the guard never fires."""
    return "PROMOTE - it is good enough to go ahead with, all things considered."


async def reply_seconds(url: str, replies: int = 20) -> tuple[float, float]:
    """Seconds of a reply without and with a guard that does not fire."""
    import openai

    labels = ("PROMOTE", "DO NOT PROMOTE")
    decision = Decision(question="?", labels=labels, pressed_side="PROMOTE")
    messages: list[Message] = [
        {"role": "user", "content": "Your view?" + " And why?" * 400}
    ]
    async with openai.AsyncOpenAI(base_url=url, api_key="none-needed") as client:
        ask = ask_openai(client, "bench")
        guard = Guard(ask, decision)

        async def bare() -> None:
            await ask([*messages])

        async def guarded() -> None:
            begun = guard.begin(messages)
            draft = await ask([*messages])
            verdict = await guard.check(messages, draft.text, begun)
            assert verdict.reason is Reason.BELOW

        seconds = []
        for reply in (bare, guarded):
            await reply()
            begun = time.monotonic()
            for _ in range(replies):
                await reply()
            seconds.append((time.monotonic() - begun) / replies)
    return seconds[0], seconds[1]


def latency() -> Figure:
    """How much longer a reply takes whose guard does not fire."""
    with FakeServer(latency=0.5, answer=answer) as server:
        bare, guarded = asyncio.run(reply_seconds(server.url))
    return Figure(
        "a reply of 500 ms with a guard that does not fire, against one without",
        f"x {guarded / bare:.3f}",
        "at most 1.05",
    )


def run() -> list[Figure]:
    """How often calibrations hold their target, and what a guard adds to a reply."""
    held = (
        Figure(
            f"guards at {100 * TARGETS[one.per]:g} % per {one.per}, {one.population}",
            f"{one.held} of {CALIBRATIONS - one.refused}, {one.refused} refused",
            "at least 95 of 100",
        )
        for one in rows()
    )
    return [latency(), *held]


def main() -> None:
    """Print the table of the docs."""
    print(
        "| population, per | refused | hold the target | false alarms, mean | detected "
        "(planted) | interval holds it | not seen |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for one in rows():
        seen = math.isnan(one.detected)
        shown = "–" if seen else f"{100 * one.detected:.1f} ({100 * one.planted:.1f})"
        covered = "–" if seen else str(one.covered)
        print(
            f"| {one.population}, {one.per} | {one.refused} | {one.held} | "
            f"{100 * one.realized:.2f} % | {shown} | {covered} | "
            f"{100 * one.unseen:.0f} % |"
        )


if __name__ == "__main__":
    main()
