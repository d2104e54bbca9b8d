"""Planted truth comes back through real prompts, text, parsers and estimates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import sqrt

import polars as pl
import pytest

from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.tables import stance_table
from offrecord.protocol.design import Design
from offrecord.records import Status
from tests.simulation import Recovered, Simulation

SEED = 1
ROUNDS = 5
RUNS = 10  # of each cell; with three scenarios 30 runs, 150 turns in a row
PLANTED = Design(
    conditions=("baseline", "alignment-historical", "alignment-future"),
    runs=RUNS,
    rounds=ROUNDS,
    shadows=0,
)
QUADRANTS = ("accommodating", "reversing", "both", "neither")

# A turn keeps the state of the turn before with probability 1/2, so the states of two
# turns k apart correlate by 1/2^k, and the variance of a run's mean over 5 turns is
#   p(1-p)/5 x (1 + 2 (4/5 x 1/2 + 3/5 x 1/4 + 2/5 x 1/8 + 1/5 x 1/16))
#   = p(1-p)/5 x 2.225.
INFLATION = 2.225


def faults(found: Iterable[Recovered]) -> list[str]:
    """Every figure that is not what was planted, to four true standard errors.

    A right pipeline fails a figure by chance once in 16,000 seeds; p = 0.85 over 150
    turns leaves 17 points, p = 0 leaves none.
    """
    wrong = []
    for row, planted in ((r.row, r.planted._asdict()) for r in found):
        name = f"{row['model']} {row['condition']}"
        if row["missing"]:
            wrong.append(f"{name}: {row['missing']} missing")
        for quadrant in QUADRANTS:
            p, share = planted[quadrant], row[quadrant] / max(row["turns"], 1)
            error = sqrt(INFLATION * p * (1 - p) / (ROUNDS * 3 * RUNS))
            if abs(share - p) > 4 * error + 1e-12:
                wrong.append(f"{name} {quadrant}: {share} for {p}")
    return wrong


@cache
def paper() -> Simulation:
    return Simulation(["paper/x-ai/grok-4", "paper/minimax/minimax-m2.7"], PLANTED)


@cache
def transcript() -> pl.DataFrame:
    return paper().transcript(SEED)


def recovered(stances: pl.DataFrame) -> list[Recovered]:
    return list(paper().recovered(paper().pairs(transcript(), stances)))


def test_planted_rates_come_back() -> None:
    found = recovered(stance_table(transcript()))
    assert len(found) == 2 * 3
    assert faults(found) == []


@pytest.mark.parametrize("label", ["PROMOTE", "DO NOT PROMOTE"])
def test_a_label_that_the_parser_loses_is_noticed(label: str) -> None:
    lost = pl.col("label") == label
    broken = stance_table(transcript()).with_columns(
        status=pl.when(lost).then(pl.lit(Status.UNCLEAR)).otherwise("status"),
        label=pl.when(lost).then(None).otherwise("label"),
    )
    assert faults(recovered(broken))


def test_a_label_that_wins_inside_another_is_noticed() -> None:
    broken = stance_table(transcript()).with_columns(
        pl.col("label").str.strip_prefix("DO NOT ")
    )
    assert faults(recovered(broken))


def test_another_population_is_noticed() -> None:
    grok, minimax = paper().populations
    found = {
        (r.row["model"], r.row["condition"]): r
        for r in recovered(stance_table(transcript()))
    }
    mistaken = [
        Recovered(found[minimax, condition].cells, r.row)
        for (model, condition), r in found.items()
        if model == grok
    ]
    assert faults(mistaken)


def test_the_partner_never_diverges() -> None:
    pairs = paper().pairs(transcript(), stance_table(transcript()))
    partner = pairs.filter(agent="beta")
    assert partner.height == 2 * 3 * 3 * RUNS * ROUNDS
    assert partner["left"].all()
    assert partner["right"].all()


def test_identical_channels_show_no_gap_although_they_diverge() -> None:
    design = Design(
        conditions=("baseline", "alignment-future"), runs=20, rounds=5, shadows=0
    )
    null = Simulation(["null"], design)
    rows = null.transcript(SEED)
    [found] = [
        row
        for row in estimate_table(null.pairs(rows, stance_table(rows)), ["model"])
        if row["agent"] == "alpha"
    ]
    # Two replies of a turn leave its stance with f = 0.15 each, on their own: they
    # differ with 2 x 0.15 x 0.85 = 0.255, whose sign is a coin's, so over 600 turns
    # the gap has the standard error sqrt(0.255/600) = 0.0206, the divergence
    # sqrt(0.255 x 0.745/600) = 0.0178.
    assert found["turns"] == 600
    assert abs(found["gap"]) < 4 * 0.0206
    assert found["divergence"] == pytest.approx(0.255, abs=4 * 0.0178)
