"""Means, level shifts and splits with intervals: by hand and against references."""

import math
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offrecord.estimates.arrays.differences import (
    stratified_difference,
    stratified_mean_difference,
)
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.split import channels, mean_split, rate_split
from offrecord.estimates.arrays.stratified import stratified_mean, stratified_rate
from offrecord.estimates.frames.splits import split_rows
from offrecord.estimates.frames.table import estimate_table
from tests.test_estimates import find, pair, pairs
from tests.test_intervals import NAN, laid_out, sample, uneven


def answers(seed: int, shift: float = 0.0, first_run: int = 0) -> Sample:
    """Survey answers of runs with a level of their own."""
    rng = np.random.default_rng(seed)
    empty = uneven(seed)
    runs = empty.runs + first_run
    level = rng.normal(shift, 1, runs.max() + 1)[runs]
    cells = empty.strata + first_run
    return Sample(level + rng.normal(0, 1, runs.size), runs, runs, cells)


def test_mean_by_hand() -> None:
    # Runs 4 4 | 1 3 | 3 3 of one cell: mean 3, sums about it 2, -2, 0, squares 8,
    # variance 3/2 * 8 / 36 = 1/3; t(2) = 4.302653.
    found = stratified_mean(sample([4, 4, 1, 3, 3, 3], [1, 1, 2, 2, 3, 3], [1] * 6))
    assert (found.value, found.se) == pytest.approx((3, math.sqrt(1 / 3)))
    half = 4.302653 * math.sqrt(1 / 3)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), rel=1e-6)
    assert (found.clusters, found.runs, found.turns) == (3, 3, 6)


def test_mean_over_models_is_that_of_statsmodels() -> None:
    turns = answers(3)
    one_way = Sample(turns.values, turns.runs, turns.runs, np.zeros_like(turns.runs))
    fit = sm.OLS(turns.values, np.ones_like(turns.values)).fit(
        cov_type="cluster", cov_kwds={"groups": turns.runs}, use_t=True
    )
    found = stratified_mean(one_way, scope=Scope.MODELS)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))


def test_shift_of_single_turns_is_welchs() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(1, 2, 9), rng.normal(0, 1, 14)
    first = sample(a, list(range(9)), [0] * 9)
    second = sample(b, list(range(20, 34)), [1] * 14)
    found = stratified_mean_difference(first, second)
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high))


def test_shift_within_the_same_models_takes_their_covariance_out() -> None:
    # Every model is asked equally often in both: the shift is the mean of its own.
    first = answers(5)
    one = np.zeros_like(first.runs)
    first = Sample(first.values, first.runs, first.runs, one)
    rng = np.random.default_rng(6)
    second = first.of(first.values + rng.normal(0.5, 0.1, first.values.size))
    found = stratified_mean_difference(first, second, scope=Scope.MODELS)
    differing = stratified_mean(
        first.of(first.values - second.values), scope=Scope.MODELS
    )
    for name in ("value", "low", "high", "se", "clusters"):
        assert getattr(found, name) == pytest.approx(getattr(differing, name)), name


def test_split_of_a_measure_adds_up_and_knows_that_channels_hang_together() -> None:
    public, other = answers(1, 1.0), answers(2)
    other = public.of(public.values - 0.3 + 0.1 * other.values[: public.values.size])
    base = answers(3, first_run=100)
    moved = mean_split(
        channels(public, other), channels(base, base.of(base.values * 0.9))
    )
    x, y, z = moved
    assert x.value == pytest.approx(y.value + z.value)
    assert z.se < 0.5 * math.hypot(x.se, y.se), "public and off record move together"
    assert (x.runs, x.turns) == (30, public.values.size + base.values.size)


def test_a_turn_with_one_channel_missing_counts_in_neither() -> None:
    turns = sample([1, 0, NAN, 1], [1, 1, 2, 2], [1] * 4)
    pair_ = channels(turns, turns.of(np.array([1.0, NAN, 0.0, 0.0])))
    assert np.isnan(pair_.public.values).tolist() == [False, True, True, False]
    found = stratified_gap(pair_.gap)
    assert (found.value, found.turns, found.missing) == (0.5, 2, 2)


@given(st.integers(0, 200))
def test_rate_split_adds_up_and_holds_its_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = uneven(seed)
    other = turns.of((rng.random(turns.values.size) < 0.4).astype(np.float64))
    base = Sample(
        other.values, turns.runs + 100, turns.clusters + 100, turns.strata + 9
    )
    condition = channels(turns, other)
    x, y, z = rate_split(condition, channels(base, base))
    assert x.value == pytest.approx(y.value + z.value)
    for part in (x, y, z, stratified_gap(condition.gap)):
        assert -2 <= part.low < part.value < part.high <= 2


def test_difference_of_independent_runs_is_mover_by_hand() -> None:
    first = uneven(2)
    second = Sample(
        uneven(3).values, uneven(3).runs + 50, uneven(3).runs + 50, uneven(3).strata + 5
    )
    a, b = stratified_rate(first), stratified_rate(second)
    found = stratified_difference(first, second)
    gap = a.value - b.value
    assert found.low == pytest.approx(
        gap - math.hypot(a.value - a.low, b.high - b.value)
    )
    assert found.high == pytest.approx(
        gap + math.hypot(a.high - a.value, b.value - b.low)
    )
    assert found.se == pytest.approx(math.hypot(a.se, b.se))


def test_channels_that_never_differ_still_have_a_gap_with_a_width() -> None:
    turns = uneven(1)
    found = stratified_gap(channels(turns, turns).gap)
    assert found.value == 0
    assert found.high > 0.02
    assert found.low == -found.high


def wide_or_reasoned(found: Estimate) -> None:
    if found.defined:
        assert found.high > found.low
    else:
        assert found.reason


@pytest.mark.parametrize(
    ("values", "runs"),
    [
        ([], []),
        ([NAN, NAN], [1, 2]),
        ([2, 1, 2], [1, 1, 1]),
        ([0, 0, 0, 0], [1, 1, 2, 2]),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.1], [1, 1, 2, 2, 3, 3]),
        ([1, 0, NAN], [1, 1, 2]),
    ],
    ids=["none", "missing", "one run", "zero", "alike", "one with a value"],
)
def test_degenerate_means_say_why(values: list[float], runs: list[int]) -> None:
    turns = sample(values, runs, [1] * len(runs))
    base = laid_out([[2, 2]]).of(np.array([0.0, 1, 1, 1]))
    base = Sample(base.values, base.runs + 10, base.runs + 10, base.strata + 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = stratified_mean(turns)
        pair_, beside = channels(turns, turns), channels(base, base)
        several = [
            stratified_mean(pair_.gap),
            stratified_gap(pair_.gap),
            *mean_split(pair_, beside),
        ]
        several += [*mean_split(pair_, pair_), *rate_split(pair_, beside)]
    assert not alone.defined
    assert alone.reason
    for found in several:
        wide_or_reasoned(found)


def test_rows_of_a_survey_item_split_by_the_baseline_of_that_item() -> None:
    def asked(run: str, condition: str, item: str, answer: int) -> dict[str, Any]:
        return {**pair(run, condition=condition), "item": item, "answer": answer}

    study = pairs(
        *(asked(run, "baseline", "Q1", 0) for run in "ab"),
        *(asked(run, "baseline", "Q2", 1) for run in "ab"),
        *(asked(run, "alignment-future", "Q1", 2) for run in "cd"),
        *(asked(run, "alignment-future", "Q2", -1) for run in "cd"),
    ).with_columns(left=pl.col("answer"), right=pl.lit(0))
    rows = split_rows(study, ["condition"], numeric=True, also=["item"])
    moved = {
        row.keys["item"]: row.estimates["public_shift"].value
        for row in rows
        if "public_shift" in row.estimates
    }
    assert moved == {"Q1": 2, "Q2": -2}


def test_split_rows_hold_the_rates_of_the_table() -> None:
    study = pairs(
        pair("a", public=False, other=False),
        pair("b", condition="alignment-future", public=True, other=False),
        pair("b", round_=2, condition="alignment-future", other=True),
        pair("c", condition="alignment-future", public=False, other=False),
    )
    table = find(estimate_table(study), condition="alignment-future")
    (found,) = (
        row.estimates
        for row in split_rows(study)
        if row.keys["condition"] == "alignment-future"
    )
    assert found["divergence"].value == table["divergence"]
    assert (found["divergence"].low, found["divergence"].high) == (
        table["ci_low"],
        table["ci_high"],
    )
    for name in ("public", "off_record", "gap", "public_shift", "audience_effect"):
        assert found[name].value == pytest.approx(table[name]), name
