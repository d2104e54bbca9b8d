"""Power: the sizes that are given detect as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from offrecord.estimates.arrays.power import (
    Spread,
    certified,
    design_effect,
    detection_rows,
    pilot_spread,
    power_of_runs,
    runs_needed,
    scenarios_needed,
    stated_spread,
    turns_are_cheap,
)
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.stratified import stratified_rate
from tests.test_randomization import group_test


def runs_of(
    generator: np.random.Generator, rate: float, runs: int, turns: int, alike: float
) -> Values:
    """Turns, shape (runs, turns), that correlate by `alike` within a run."""
    a, b = rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike
    chances = generator.beta(a, b, (runs, 1))
    return (generator.random((runs, turns)) < chances).astype(np.float64)


@pytest.mark.parametrize(
    ("rate", "difference", "turns", "alike", "cells"),
    [(0.1, 0.25, 5, 0.4, 3), (0.5, 0.3, 5, 0.4, 1), (0.3, 0.3, 4, 0.2, 2)],
)
def test_the_runs_given_detect_as_often_as_asked(
    rate: float, difference: float, turns: int, alike: float, cells: int
) -> None:
    spread = stated_spread(rate, difference, turns, alike)
    needed = runs_needed(difference, spread, cells)
    size = int(needed.size) * cells
    ids = np.arange(size).repeat(turns)
    strata = ids // int(needed.size)
    generator, hits, samples = np.random.default_rng(2), 0, 300
    for _ in range(samples):
        high = runs_of(generator, rate + difference, size, turns, alike)
        low = runs_of(generator, rate, size, turns, alike)
        runs = np.concatenate([ids, ids + size])
        sample = Sample(
            np.concatenate([high.ravel(), low.ravel()]), runs, runs, np.tile(strata, 2)
        )
        first = np.repeat([True, False], ids.size)
        hits += group_test(sample, first, generator, draws=399).test.p <= 0.05
    error = math.sqrt(0.8 * 0.2 / samples)
    assert hits / samples >= 0.8 - 3 * error
    assert hits / samples <= needed.power + 3 * error


def test_power_is_that_of_the_t_test_of_statsmodels() -> None:
    # With endless turns rates move in no steps, and runs of one cell are two samples.
    spread = Spread(0.04, 0.04, 10**9)
    ours = power_of_runs(0.2, spread, 16, 1)
    theirs = TTestIndPower().power(effect_size=1.0, nobs1=16, alpha=0.05)
    assert ours == pytest.approx(theirs, abs=1e-6)
    assert power_of_runs(-0.2, spread, 16, 1) == ours


def test_one_run_less_would_not_do() -> None:
    spread = stated_spread(0.3, 0.1, 5, 0.4)
    needed = runs_needed(0.1, spread, 3)
    assert needed.power >= 0.8 > power_of_runs(0.1, spread, int(needed.size) - 1, 3)


def test_turns_are_worth_little() -> None:
    assert design_effect(5, 0.4) == pytest.approx(2.6)
    five, hundred = (
        runs_needed(0.2, stated_spread(0.3, 0.2, turns, 0.4), 3).size
        for turns in (5, 100)
    )
    assert 0.7 * five < hundred < five
    sentence = turns_are_cheap(5, 0.4)
    assert "5 turns count as 1.9 independent ones" in sentence
    assert "never more than 2.5" in sentence
    assert "10 as 10.0" in turns_are_cheap(5, 0)


def test_a_pilot_gives_the_spread_that_was_stated() -> None:
    generator = np.random.default_rng(3)
    values = runs_of(generator, 0.3, 6000, 5, 0.4)
    runs = np.arange(6000).repeat(5)
    found = pilot_spread(values.ravel(), runs, runs // 15)
    assert found == pytest.approx(stated_spread(0.3, 0, 5, 0.4).first, rel=0.05)
    # By hand: runs 1 1 and 0 0 in a cell, 1 0 alone in another: 2 x (1/2)^2 / 1.
    ids = np.array([1, 1, 2, 2, 3, 3])
    hand = pilot_spread(np.array([1.0, 1, 0, 0, 1, 0]), ids, ids // 3)
    assert hand == pytest.approx(0.5)
    assert math.isnan(pilot_spread(np.ones(2), ids[:2], ids[:2]))


def test_scenarios_are_needed_however_many_runs() -> None:
    spread = stated_spread(0.3, 0.1, 5, 0.4)
    few = scenarios_needed(0.1, spread, 5, 0.1)
    many = scenarios_needed(0.1, spread, 10_000, 0.1)
    assert few.size > many.size > 8
    # With endless runs it is the one-sample t test of effect size 1: ten scenarios.
    assert many.size == 10


def test_no_event_certifies_what_the_interval_would_show() -> None:
    ids = np.arange(15).repeat(5)
    expected = stratified_rate(Sample(np.zeros(75), ids, ids, ids // 5))
    assert certified(5, 3, 5) == expected.high
    assert certified(50, 3, 5) < certified(5, 3, 5) < 0.3
    assert certified(5, 3, 100) > 0.5 * certified(5, 3, 5), "turns certify little"


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_had_says_why() -> None:
    spread = stated_spread(0.3, 0.1, 5, 0.4)
    assert runs_needed(0.0, spread, 3).reason
    unknown = runs_needed(0.1, Spread(math.nan, 0.1, 5), 3)
    assert math.isnan(unknown.size)
    assert unknown.reason
    assert runs_needed(1.0, stated_spread(0, 1, 5), 1).size == 2
    [runs, power, scenarios, bound] = detection_rows(
        0.1, spread, runs=1, scenarios=1, turns=5, scenario_sd=0.05
    )
    assert runs["size"] > 100
    assert math.isnan(power["power"])
    assert power["reason"]
    assert scenarios["size"] > 5
    assert math.isnan(bound["size"])
    assert bound["reason"]


def test_rows_answer_what_is_asked() -> None:
    spread = stated_spread(0.3, 0.1, 5, 0.4)
    rows = detection_rows(0.1, spread, runs=5, scenarios=3, turns=5)
    assert [row["size"] for row in rows] == [
        runs_needed(0.1, spread, 3).size,
        5,
        certified(5, 3, 5),
    ]
    assert rows[1]["power"] == power_of_runs(0.1, spread, 5, 3)
