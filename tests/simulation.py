"""A study of simulated agents held in this process: everything but Inspect is real.

Prompts are rendered, the population reads and answers them, and its text goes through
the parsers, the pairs and the estimates, as that of a live study does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, Final, NamedTuple

import anyio
import polars as pl

from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.pairs import stance_pairs
from offrecord.protocol.cases import cases
from offrecord.protocol.debate import Debate, Reply, Request, Script, hold_debate
from offrecord.protocol.design import Design
from offrecord.protocol.sample import sample_script
from offrecord.providers.population import Population, load_population
from offrecord.records import Form, Role
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from tests.planted import Rates, true_rates

PROVIDER: Final = "simulated/"

Rows = list[dict[str, Any]]


class Recovered(NamedTuple):
    """One row of the target agent's estimates beside the truth that was planted."""

    cells: tuple[Rates, ...]
    """The true rates of each cell that the row pools, all of one size."""
    row: Mapping[str, Any]
    """What `estimate --json` prints."""

    @property
    def planted(self) -> Rates:
        """The true rates of the row."""
        return Rates(*(fmean(shares) for shares in zip(*self.cells, strict=True)))

    @property
    def error(self) -> float:
        """Estimated less planted divergence, as a fraction of 1."""
        return float(self.row["divergence"]) - self.planted.divergence

    @property
    def covered(self) -> bool:
        """Whether the planted rate is within two clustered standard errors."""
        # Shares are counts over few turns: rounding must not decide at the border.
        return abs(self.error) <= 2 * float(self.row["se"]) + 1e-12


class Simulation:
    """Debates of simulated models, one seed at a time.

    Args:
        models: Populations, without the provider's name.
        design: Scenarios, conditions, runs, rounds and channels; all that ship with
            the package by default, without shadows.
    """

    def __init__(self, models: Sequence[str], design: Design | None = None) -> None:
        self.design = design or Design(shadows=0)
        self.populations = {PROVIDER + m: load_population(m) for m in models}
        self.scripts = [
            sample_script(self.design.model_copy(update={"models": (model,)}), case)
            for model in self.populations
            for case in cases(self.design)
        ]

    def transcript(self, seed: int) -> pl.DataFrame:
        """Hold every run and give its committed utterances in `TRANSCRIPT_SCHEMA`."""
        rows = anyio.run(partial(self._hold, seed))
        return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)

    def pairs(self, transcript: pl.DataFrame, stances: pl.DataFrame) -> pl.DataFrame:
        """The pairs of a transcript's stances, as `stance_pairs` gives them."""
        facts = {"rounds": self.design.rounds, "channels": list(self.design.channels)}
        return stance_pairs(transcript, stances, facts)

    def recovered(
        self, pairs: pl.DataFrame, by: Sequence[str] = ("model", "condition")
    ) -> Iterator[Recovered]:
        """The target's estimates, each beside its planted truth.

        Args:
            pairs: What `pairs` gives.
            by: Model and condition, or condition alone.
        """
        for row in estimate_table(pairs, by):
            if row["agent"] == "alpha":
                pooled = [
                    script.cell
                    for script in self.scripts
                    if script.cell.condition == row["condition"]
                    and row.get("model") in {None, script.cell.model}
                ]
                truth = (
                    true_rates(self.populations[c.model], c, Role.TARGET)
                    for c in pooled
                )
                yield Recovered(tuple(truth), row)

    async def _hold(self, seed: int) -> Rows:
        rows = Rows()
        for script in self.scripts:
            for repeat in range(1, self.design.runs + 1):
                fixed = replace(script, repeat=repeat, seed=seed)
                answer = partial(_answer, self.populations[script.cell.model])
                rows += _rows(fixed, await hold_debate(fixed, answer))
        return rows


async def _answer(population: Population, request: Request) -> Reply:
    answer = population.answer(request.stamp, request.frame, request.messages)
    return Reply(text=answer.text, stop_reason=answer.stop_reason, error=answer.error)


def _rows(script: Script, debate: Debate) -> Iterator[dict[str, Any]]:
    """The committed utterances of a debate; what no estimate reads stays null."""
    cell = script.cell
    common = {
        "study": "simulation",
        "run": cell.run(script.repeat),
        **cell.as_row(),
        "repeat": script.repeat,
        "attempt": 1,
        "ended": str(debate.ended),
    }
    for request, reply in debate.outputs:
        stamp, frame = request.stamp, request.frame
        if stamp.form is Form.UTTERANCE and stamp.draw == 0:
            yield {
                **common,
                "round": stamp.round,
                "turn": stamp.turn,
                "agent": stamp.agent,
                "role": str(frame.role),
                "side": frame.side,
                "pressed_side": frame.pressed_side,
                "labels": list(frame.labels),
                "channel": stamp.channel,
                "form": str(stamp.form),
                "draw": stamp.draw,
                "text": reply.text,
                "status": str(reply.status),
            }
