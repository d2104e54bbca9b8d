"""Scopes beyond the cells: by hand, against a reference, refusals, planted coverage.

By hand: two models in two scenarios, one condition, cells of weight 1/4 with rates
0, 1/2 (first model), 1/2, 1 (second). p = 1/2. Models have means 1/4 and 3/4: v = 2/1
times (1/4) (1/16 + 1/16) = 1/16, and so for scenarios, whose means are the same. Pairs:
4/3 times (1/16) (1/4 + 0 + 0 + 1/4) = 1/24. Both: 1/16 + 1/16 - 1/24 = 1/12.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from offrecord.estimates.arrays.differences import stratified_difference
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.sample import Sample, Side
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.arrays.scoped import (
    ALIKE,
    Clusters,
    anew,
    by_clusters,
    cells_of,
    two_way_variance,
)
from offrecord.estimates.arrays.signed import stratified_audience_effect
from offrecord.estimates.arrays.stratified import (
    NO_VALUE,
    stratified_mean,
    stratified_rate,
)

Rates = Values | Sequence[Sequence[float]]


def crossed(rates: Rates, scope: Scope = Scope.BOTH) -> Sample:
    """Cells of two runs of ten turns with these rates; models are the rows."""
    table = np.array(rates, dtype=np.float64)
    rows, columns = (ids.ravel() for ids in np.indices(table.shape))
    events = np.round(table.ravel() * 10).astype(int)
    turns = [[1.0] * e + [0.0] * (10 - e) for e in events for _ in range(2)]
    runs = np.repeat(np.arange(len(turns)), 10)
    cells = runs // 2
    ways = {
        Scope.MODELS: (rows[cells],),
        Scope.SCENARIOS: (columns[cells],),
        Scope.BOTH: (rows[cells], columns[cells]),
    }[scope]
    clusters = ways[0] if len(ways) == 1 else cells
    return Sample(np.array(turns).ravel(), runs, clusters, cells * 0, cells, ways)


def test_variances_by_hand() -> None:
    cells = cells_of([Side(crossed([[0, 0.5], [0.5, 1]]))])
    assert cells is not None
    assert cells.value == pytest.approx(1 / 2)
    models, scenarios = (cells.clusters(ids) for ids in cells.ways)
    pairs = cells.clusters(np.arange(4))
    assert models.variance == pytest.approx(1 / 16)
    assert models.freedom == pytest.approx(1)
    assert pairs.variance == pytest.approx(1 / 24)
    assert two_way_variance(models, scenarios, pairs) == pytest.approx(1 / 12)


def test_unlike_weights_by_hand() -> None:
    # Two clusters of weight 3/4 and 1/4 with means 0 and 1: both are off by 3/16 of
    # p = 1/4. v = s^2 (9/16 + 1/16), s^2 = 1/2.
    two = Clusters(np.array([0.75, 0.25]), np.array([-3 / 16, 3 / 16]))
    assert two.variance == pytest.approx(5 / 16)
    # S2 = 5/8, S4 = 82/256: worth 1.22 clusters, so one half is the least.
    assert two.freedom == 0.5
    three = Clusters(np.array([0.5, 0.25, 0.25]), np.zeros(3))
    assert three.freedom == pytest.approx((3 / 8) ** 2 / (18 / 256) - 1)


def test_two_ways_against_statsmodels() -> None:
    rng = np.random.default_rng(4)
    rates = rng.random((7, 6)).round(1)
    found = stratified_rate(crossed(rates), scope=Scope.BOTH)
    groups = np.stack([ids.ravel() for ids in np.indices(rates.shape)], axis=1)
    fit = sm.OLS(rates.ravel(), np.ones(42))
    both = [fit.fit(cov_type="cluster", cov_kwds={"groups": g}) for g in groups.T]
    pairs = fit.fit(cov_type="cluster", cov_kwds={"groups": np.arange(42)})
    # Its small-sample factor is G / (G - 1) too: n - 1 over n - k is 1 here.
    ways = [float(one.bse[0]) ** 2 for one in both]
    expected = max(sum(ways) - float(pairs.bse[0]) ** 2, *ways)
    assert found.se == pytest.approx(math.sqrt(expected))
    half = stats.t.ppf(0.975, 5) * found.se
    assert (found.low, found.high) == pytest.approx(
        (max(found.value - half, 0), min(found.value + half, 1))
    )
    assert (found.clusters, found.runs, found.turns) == (6, 84, 840)
    assert found.reason is None
    assert not found.refused


def test_new_scenarios_by_hand() -> None:
    # Six scenarios with means 0, .2, .4, .6, .8, 1: s^2 = 0.14, v = 0.14 / 6.
    sample = crossed([[0, 0.2, 0.4, 0.6, 0.8, 1.0]] * 2, Scope.SCENARIOS)
    found = stratified_rate(sample, scope=Scope.SCENARIOS)
    assert found.value == pytest.approx(0.5)
    assert found.se == pytest.approx(math.sqrt(0.14 / 6))
    assert found.high == pytest.approx(0.5 + stats.t.ppf(0.975, 5) * found.se)
    assert stratified_mean(sample, scope=Scope.SCENARIOS).se == pytest.approx(found.se)


def test_a_difference_is_of_the_clusters_that_both_sides_share() -> None:
    # Six scenarios, differences 0, .1, .2, .3, .4, .5 whatever baseline is: s^2 = .035.
    base = np.array([[0.0, 0.4, 0.1, 0.3, 0.2, 0.5]])
    under = base + np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    first, second = (crossed(rates, Scope.SCENARIOS) for rates in (under, base))
    found = stratified_difference(first, second, scope=Scope.SCENARIOS)
    assert found.value == pytest.approx(0.25)
    assert found.se == pytest.approx(math.sqrt(0.035 / 6))
    # The same of gaps, whose sides are one sample of signs and its opposite.
    gap = stratified_audience_effect(first, second, scope=Scope.SCENARIOS)
    assert (gap.value, gap.se) == pytest.approx((found.value, found.se))


@pytest.mark.parametrize("scope", [Scope.SCENARIOS, Scope.BOTH])
def test_fewer_than_six_scenarios_are_refused_in_words(scope: Scope) -> None:
    rates = np.full((7, 3), 0.4) + np.array([-0.1, 0, 0.1])
    found = stratified_rate(crossed(rates, scope), scope=scope)
    assert found.value == pytest.approx(0.4)
    assert found.refused
    assert found.reason == (
        "only 3 scenarios: an interval for new scenarios takes at least 6"
    )
    # Its t interval is there for whoever knows better, and nowhere shown.
    assert found.high == pytest.approx(0.4 + stats.t.ppf(0.975, 2) * 0.1 / math.sqrt(3))
    assert found.clusters == 3


def test_few_models_and_a_single_scenario_are_refused() -> None:
    few = stratified_rate(crossed(np.full((3, 7), 0.5)), scope=Scope.BOTH)
    assert few.reason == "only 3 models: an interval for new models takes at least 6"
    sample = crossed([[0.1], [0.5]], Scope.SCENARIOS)
    one = stratified_rate(sample, scope=Scope.SCENARIOS)
    assert one.reason == (
        "a single one of its scenarios: an interval for new scenarios takes at least 6"
    )
    assert math.isnan(one.low)


def test_alike_clusters_show_no_spread() -> None:
    for scope in (Scope.SCENARIOS, Scope.BOTH):
        found = stratified_rate(crossed(np.full((6, 6), 0.5), scope), scope=scope)
        assert found.reason == ALIKE
        assert math.isnan(found.low)


def test_new_models_are_wilson_s_without_the_cap_once_they_show_their_spread() -> None:
    rates = np.linspace(0.1, 0.9, 9)[:, None] * np.ones((1, 3))
    sample = crossed(rates.round(1), Scope.MODELS)
    found = stratified_rate(sample, scope=Scope.MODELS)
    p, v = 0.5, float(np.var(np.linspace(0.1, 0.9, 9), ddof=1)) / 9
    extra = stats.t.ppf(0.975, 8) ** 2 * v / (p * (1 - p))
    half = math.sqrt(extra * (p * (1 - p) + extra / 4)) / (1 + extra)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert found.se == pytest.approx(math.sqrt(v))
    capped = stratified_rate(sample, scope=Scope.PAIRS)
    assert found.high - found.low <= capped.high - capped.low + 1e-9


@pytest.mark.parametrize(
    "rates", [[0.0] * 8, [0.0] * 7 + [0.4], [0.0, 0.1, 0.0, 0.2, 0.1]]
)
def test_few_informative_models_keep_the_cap(rates: list[float]) -> None:
    sample = crossed(np.array(rates)[:, None] * np.ones((1, 3)), Scope.MODELS)
    found = stratified_rate(sample, scope=Scope.MODELS)
    capped = stratified_rate(sample, scope=Scope.TURNS)
    assert (found.low, found.high) == pytest.approx((capped.low, capped.high))
    assert found.reason is None


def test_differences_of_models_are_of_the_models_once_six_differ_from_0() -> None:
    # Eight models that move by .1 to .8, from a baseline of 0: s^2 = .06.
    under = np.linspace(0.1, 0.8, 8)[:, None] * np.ones((1, 3))
    first, second = (crossed(r, Scope.MODELS) for r in (under.round(1), under * 0))
    found = stratified_difference(first, second, scope=Scope.MODELS)
    assert found.se == pytest.approx(math.sqrt(0.06 / 8))
    half = stats.t.ppf(0.975, 7) * found.se
    assert (found.low, found.high) == pytest.approx((0.45 - half, 0.45 + half))
    # Five of them that move are too few to show it.
    few = crossed(under.round(1) * (under < 0.55), Scope.MODELS)
    sides = [Side(few), Side(second, -1)]
    assert not by_clusters(sides, Scope.MODELS, difference=True)
    assert stratified_difference(few, second, scope=Scope.MODELS).method.startswith(
        "MOVER"
    )


def test_nothing_is_made_of_no_value() -> None:
    for scope in (Scope.MODELS, Scope.SCENARIOS, Scope.BOTH):
        sample = crossed([[0.1, 0.5]], scope)
        gone = sample.of(np.full_like(sample.values, math.nan))
        assert stratified_rate(gone, scope=scope).reason == NO_VALUE
        assert stratified_difference(gone, gone, scope=scope).reason == NO_VALUE


def test_a_cell_of_two_models_is_refused() -> None:
    sample = crossed([[0.1, 0.5]])
    sample.ways[0][0] = 9
    with pytest.raises(ValueError, match="one model"):
        anew([Side(sample)], Scope.BOTH)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=6, max_size=6),
        min_size=6,
        max_size=8,
    )
)
def test_both_is_never_surer_than_either(rates: list[list[float]]) -> None:
    both = stratified_rate(crossed(rates), scope=Scope.BOTH)
    alone = stratified_rate(crossed(rates, Scope.SCENARIOS), scope=Scope.SCENARIOS)
    assert alone.reason is not None or both.se >= alone.se - 1e-12


def test_coverage_for_new_models_in_new_scenarios() -> None:
    # Planted: 10 models and 8 scenarios, effects of variance 1 each and 1 of the pair
    # about a mean of 0. 300 studies: below 91 % by chance once in 500.
    rng = np.random.default_rng(2)
    held = 0
    models, scenarios = (ids.ravel() for ids in np.indices((10, 8)))
    cells = np.arange(80)
    for _ in range(300):
        values = rng.normal(size=(10, 1)) + rng.normal(size=(1, 8))
        values = (values + rng.normal(size=(10, 8))).ravel()
        ways = models, scenarios
        sample = Sample(values, cells, cells, cells * 0, cells, ways)
        found = stratified_mean(sample, scope=Scope.BOTH)
        held += found.low <= 0 <= found.high
    assert held >= 0.91 * 300
