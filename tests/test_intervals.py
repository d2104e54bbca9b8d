"""Intervals of rates: by hand, against references, at the edges, on published runs."""

import math
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from benchmarks.bootstrap import bootstrap_means
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.intervals import wilson
from offrecord.estimates.arrays.rates import Ids, Values, quadrants
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.signed import stratified_gap
from offrecord.estimates.arrays.split import (
    Channels,
    channels,
    mean_split,
    rate_split,
)
from offrecord.estimates.arrays.stratified import stratified_rate
from offrecord.estimates.arrays.weighed import variance, weighed
from offrecord.estimates.frames.scopes import clustered, scoped
from offrecord.estimates.frames.splits import split_rows
from offrecord.estimates.frames.weighing import How
from offrecord.measures.parsed import pairs_of
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from offrecord.transcript.store import write_study_json, write_transcript
from tests.simulated_studies import pair_rows

SHARED = Path(__file__).parents[1].parent / "shared" / "llmagora"
NAN = math.nan
Designs = list[list[int]]


def sample(
    values: Values | list[float], runs: Ids | list[int], cells: Ids | list[int]
) -> Sample:
    ids = np.array(runs, dtype=np.int64)
    return Sample(
        np.array(values, dtype=np.float64), ids, ids, np.array(cells, dtype=np.int64)
    )


def laid_out(design: Designs) -> Sample:
    """A sample of zeros: for each cell the lengths of its runs."""
    lengths = [length for cell in design for length in cell]
    cells = np.repeat(np.arange(len(design)), [len(cell) for cell in design])
    return sample(
        np.zeros(sum(lengths)),
        np.repeat(np.arange(len(lengths)), lengths),
        np.repeat(cells, lengths),
    )


def uneven(seed: int) -> Sample:
    """Three cells of four to six runs of one to six turns."""
    rng = np.random.default_rng(seed)
    empty = laid_out([list(rng.integers(1, 7, size)) for size in (4, 5, 6)])
    rate = rng.random(empty.runs.max() + 1)[empty.runs]
    return empty.of((rng.random(rate.size) < rate).astype(np.float64))


# The published runs ---------------------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    if not SHARED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    study = tmp_path_factory.mktemp("published")
    imported = import_llmagora(SHARED, "published")
    write_transcript(study, imported.transcript)
    write_study_json(study, imported.facts)
    return pairs_of(open_record(study))


def of_kind(pairs: pl.DataFrame, kind: str, scope: Scope) -> Channels:
    rows = clustered(pairs).filter(agent="alpha", kind=kind)
    public, other = (
        scoped(rows, rows[name].to_numpy(), scope) for name in ("left", "right")
    )
    return channels(public, other)


def test_published_alignment_in_every_scope(published: pl.DataFrame) -> None:
    errors = {
        Scope.TURNS: 1.411,
        Scope.RUNS: 1.162,
        Scope.PAIRS: 7.684,
        Scope.MODELS: 11.570,
    }
    for scope, error in errors.items():
        gap = of_kind(published, "alignment", scope).gap
        found = stratified_rate(gap.of(np.abs(gap.values)), scope=scope)
        assert 100 * found.value == pytest.approx(39.417, abs=5e-4)
        assert 100 * found.se == pytest.approx(error, abs=5e-4)
        assert found.low < found.value < found.high
        assert found.scope == scope
    gap_now = stratified_gap(of_kind(published, "alignment", Scope.RUNS).gap)
    assert 100 * gap_now.value == pytest.approx(28.583, abs=5e-4)
    assert 100 * gap_now.se == pytest.approx(1.916, abs=5e-4)


def test_published_split_with_intervals(published: pl.DataFrame) -> None:
    pair, base = (of_kind(published, k, Scope.RUNS) for k in ("alignment", "baseline"))
    counts = quadrants(pair.public.values, pair.other.values)
    assert (counts.accommodating, counts.reversing, counts.turns) == (408, 65, 1200)
    (rows,) = (
        row.estimates
        for row in split_rows(published, ["kind"])
        if row.keys == {"kind": "alignment", "agent": "alpha"}
    )
    x, y, z = rate_split(pair, base)
    assert [100 * part.value for part in (x, y, z)] == pytest.approx(
        [45.50, 15.58, 29.92], abs=5e-3
    )
    assert x.value == pytest.approx(y.value + z.value, abs=1e-15)
    assert (rows["public_shift"], rows["audience_effect"]) == (x, z)
    for part, mean in zip((x, y, z), mean_split(pair, base), strict=True):
        # The two ways agree where nothing is near an edge.
        assert part.value == pytest.approx(mean.value)
        assert part.se == pytest.approx(mean.se)
        assert (part.low, part.high) == pytest.approx((mean.low, mean.high), abs=0.012)


def test_the_published_audience_effect_for_new_models(
    published: pl.DataFrame,
) -> None:
    # Z of the eight models by hand, in turns of 150 under alignment, their baselines
    # taken twice: mean 44.875, so 29.92 points. Squares about it sum to 20354.9, so
    # the error is sqrt(20354.9 / 7 / 8) / 150 = 12.71 points; t of 7 degrees is 2.3646.
    z = np.array([10, -9, 137, 8, 85, 13, 16, 99])
    assert ((z - z.mean()) ** 2).sum() == pytest.approx(20354.875)
    half = 2.364624 * math.sqrt(20354.875 / 56) / 150
    (rows,) = (
        row.estimates
        for row in split_rows(published, ["kind"], How(Scope.MODELS))
        if row.keys == {"kind": "alignment", "agent": "alpha"}
    )
    found = rows["audience_effect"]
    by_hand = [359 / 1200 + sign * half for sign in (0, -1, 1)]
    assert list(found.bounds) == pytest.approx(by_hand, abs=1e-6)
    assert [round(100 * x, 1) for x in found.bounds] == [29.9, -0.1, 60.0]


def split_of_models(models: int, scope: Scope) -> dict[str, Estimate]:
    """A split in which every model moves by 1 turn of 4 in both channels but one."""
    rows: list[Any] = []
    for index in range(models):
        name = {"model": f"m{index}", "partner": f"m{index}"}
        public = [1, index % 2, 0, 0]
        rows.append((name, f"a{index}", public, [0, 0, 0, 0]))
        rows.append(({**name, "kind": "baseline"}, f"b{index}", [index % 2, 0], [0, 0]))
    found = {
        row.keys["kind"]: row.estimates
        for row in split_rows(pair_rows(*rows), ["kind"], How(scope))
    }
    return dict(found["alignment"])


@pytest.mark.parametrize("part", ["public_shift", "audience_effect"])
def test_two_clusters_show_no_correlation(part: str) -> None:
    # Two points are always in line: taken at that, their shift would have no width.
    two = split_of_models(2, Scope.MODELS)[part]
    assert two.clusters == 2
    public = split_of_models(2, Scope.MODELS)["public"]
    assert two.high - two.low >= public.high - public.low
    six = split_of_models(6, Scope.MODELS)[part]
    assert six.high - six.low < two.high - two.low


def test_turns_as_independent_are_those_of_both_sides() -> None:
    # 3 models of 4 turns under alignment and of 2 at baseline, in any order.
    found = split_of_models(3, Scope.TURNS)
    assert found["public"].clusters == 12
    assert found["audience_effect"].clusters == 12 + 6
    gap, base = [1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]
    apart = sum(np.var(side, ddof=1) / len(side) for side in (gap, base))
    assert found["audience_effect"].se == pytest.approx(math.sqrt(apart))


# References -----------------------------------------------------------------------


def test_default_interval_by_hand() -> None:
    # One cell, runs 11, 10, 00, 11, 00: p = 1/2, sums 2 1 0 2 0 about 1, squares 4,
    # v = 5/4 * 4 / 100 = 1/20, so 5 effective turns; the cap: 10 turns, one cell,
    # k = min(3, 3) - 1 = 2, 1 + .35 * 20/22 = 1.3182, R = 1 / (1 + (keep^2 v) / pq),
    # keep = 4/4.25, so R = .8495 and the cap 6.44 does not bind. t(4) = 2.7764.
    found = stratified_rate(
        sample([1, 1, 1, 0, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0] * 10)
    )
    half = 2.776445 / 5 * math.sqrt(5 / 4 + 2.776445**2 / 4) / (1 + 2.776445**2 / 5)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-6)
    assert found.se == pytest.approx(math.sqrt(0.05))


def test_scopes_without_strata_have_the_error_of_statsmodels() -> None:
    turns = uneven(7)
    one_way = Sample(turns.values, turns.runs, turns.runs, np.zeros_like(turns.runs))
    fit = sm.OLS(turns.values, np.ones_like(turns.values)).fit(
        cov_type="cluster", cov_kwds={"groups": turns.runs}
    )
    assert stratified_rate(one_way, scope=Scope.MODELS).se == pytest.approx(fit.bse[0])


@given(st.integers(0, 99), st.randoms(use_true_random=False))
def test_order_of_turns_means_nothing(seed: int, random: Random) -> None:
    turns = uneven(seed)
    order = list(range(turns.values.size))
    random.shuffle(order)
    moved = sample(turns.values[order], turns.runs[order], turns.strata[order])
    first, second = stratified_rate(turns), stratified_rate(moved)
    assert (second.low, second.high, second.se) == pytest.approx(
        (first.low, first.high, first.se), rel=1e-9, nan_ok=True
    )


def test_bootstrap_finds_the_clustered_error_and_repeats_itself() -> None:
    design = laid_out([[5] * 6] * 4)
    rng = np.random.default_rng(3)
    rates = rng.random(24)[design.runs]
    sums = weighed(design.of((rng.random(rates.size) < rates).astype(np.float64)))
    assert sums is not None
    means = bootstrap_means(sums, np.random.default_rng(5))
    assert means.std() == pytest.approx(math.sqrt(float(variance(sums))), rel=0.03)
    assert np.array_equal(means, bootstrap_means(sums, np.random.default_rng(5)))


@pytest.mark.parametrize("events", [0, 7, 20])
def test_wilson_is_that_of_statsmodels(events: int) -> None:
    found = wilson(np.array(events / 20), 20, float(norm.ppf(0.975)))
    expected = proportion_confint(events, 20, method="wilson")
    assert (float(found.low), float(found.high)) == pytest.approx(expected)


# The edges ------------------------------------------------------------------------

lengths = st.lists(st.integers(1, 7), min_size=1, max_size=12)


@given(st.lists(lengths, min_size=1, max_size=5), st.data())
def test_one_more_event_than_none_lowers_no_bound(
    design: Designs, data: st.DataObject
) -> None:
    turns = laid_out(design)
    if np.unique(turns.runs).size < 2:
        return
    place = data.draw(st.integers(0, turns.values.size - 1))
    one = turns.values.copy()
    one[place] = 1
    none, some = stratified_rate(turns), stratified_rate(turns.of(one))
    assert none.low == 0
    assert some.low >= 0
    assert some.high >= none.high
    full, short = (
        stratified_rate(turns.of(1 - turns.values)),
        stratified_rate(turns.of(1 - one)),
    )
    assert full.high == 1
    assert short.high <= 1
    assert short.low <= full.low
    assert short.low == pytest.approx(1 - some.high)


@given(st.integers(0, 999))
def test_other_side_of_a_rate_mirrors_its_interval(seed: int) -> None:
    turns = uneven(seed)
    found, mirrored = (
        stratified_rate(turns),
        stratified_rate(turns.of(1 - turns.values)),
    )
    assert (mirrored.low, mirrored.high) == pytest.approx(
        (1 - found.high, 1 - found.low)
    )


def test_nothing_in_many_turns_of_few_runs_says_little() -> None:
    few_runs = stratified_rate(laid_out([[20] * 5]))
    many_runs = stratified_rate(laid_out([[1] * 100]))
    assert few_runs.turns == many_runs.turns
    assert many_runs.high == pytest.approx(1.984217**2 / (100 + 1.984217**2), rel=1e-6)
    # 100 / (1 + .35 * 19) turns are worth 13, and t(4) = 2.7764.
    worth = 100 / 7.65
    assert few_runs.high == pytest.approx(2.776445**2 / (worth + 2.776445**2), rel=1e-6)


degenerate: dict[str, tuple[list[float], list[int], list[int]]] = {
    "no turns": ([], [], []),
    "all missing": ([NAN, NAN], [1, 2], [1, 1]),
    "one turn": ([1], [1], [1]),
    "one run": ([1, 0, 1], [1, 1, 1], [1, 1, 1]),
    "one run with a value": ([1, 0, NAN], [1, 1, 2], [1, 1, 1]),
    "all zero": ([0, 0, 0, 0], [1, 1, 2, 2], [1, 1, 1, 1]),
    "all one": ([1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 1, 1]),
    "runs alike": ([1, 0, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3], [1] * 6),
    "a run a cell": ([1, 0, 0, 0], [1, 1, 2, 2], [1, 1, 2, 2]),
    "a run alone": ([1, 0, 0, 1, 0], [1, 1, 2, 3, 3], [1, 1, 1, 2, 2]),
}


@pytest.mark.parametrize("case", degenerate)
def test_degenerate_input_gives_a_width_or_a_reason(case: str) -> None:
    turns = sample(*degenerate[case])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = stratified_rate(turns)
    if found.defined:
        assert found.high > found.low
    else:
        assert math.isnan(found.high)
        assert found.reason
    if math.isnan(found.se):
        assert found.reason
    if case not in list(degenerate)[:5]:
        assert found.defined


def test_cells_of_one_run_are_taken_together_and_said() -> None:
    # Runs 00 and 11 in a cell each: between them is all that they show.
    apart = stratified_rate(sample([0, 0, 1, 1], [1, 1, 2, 2], [1, 1, 2, 2]))
    together = stratified_rate(sample([0, 0, 1, 1], [1, 1, 2, 2], [1, 1, 1, 1]))
    assert (apart.low, apart.high) == (together.low, together.high)
    assert math.isnan(apart.se)
    assert apart.reason is not None
    assert apart.reason.startswith("2 cells have a single run")
