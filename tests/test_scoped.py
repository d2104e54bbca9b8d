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

from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scoped import (
    ALIKE,
    Clusters,
    clusters_of,
    for_both,
    for_scenarios,
    rate_for_models,
    two_way_variance,
)
from offrecord.estimates.arrays.stratified import (
    NO_VALUE,
    ONE_RUN,
    stratified_rate,
)
from offrecord.estimates.arrays.weighed import weighed

SCOPE = "new models and new scenarios"


def crossed(rates: Values | Sequence[Sequence[float]]) -> tuple[Sample, Ids, Ids]:
    """Cells of two runs of ten turns with these rates; models are the rows."""
    table = np.array(rates, dtype=np.float64)
    models, scenarios = (ids.ravel() for ids in np.indices(table.shape))
    events = np.round(table.ravel() * 10).astype(int)
    runs = [[1.0] * e + [0.0] * (10 - e) for e in events for _ in range(2)]
    clusters = np.repeat(np.arange(len(runs)), 10)
    cells = clusters // 2
    sample = Sample(np.array(runs).ravel(), clusters, clusters, cells)
    return sample, models[cells], scenarios[cells]


def test_variances_by_hand() -> None:
    sample, _, _ = crossed([[0, 0.5], [0.5, 1]])
    data = weighed(sample)
    assert data is not None
    models, scenarios, pairs = (
        clusters_of(data, np.array(ids))
        for ids in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 2, 3])
    )
    assert models.means.tolist() == [0.25, 0.75]
    assert models.variance == pytest.approx(1 / 16)
    assert models.freedom == pytest.approx(1)
    assert pairs.variance == pytest.approx(1 / 24)
    assert two_way_variance(models, scenarios, pairs) == pytest.approx(1 / 12)


def test_unlike_weights_by_hand() -> None:
    # Two clusters of weight 3/4 and 1/4: v = s^2 (9/16 + 1/16), s^2 = 1/2 for 0 and 1.
    two = Clusters(np.array([0.75, 0.25]), np.array([0.0, 1.0]), np.ones(2))
    assert two.variance == pytest.approx(5 / 16)
    # S2 = 5/8, S4 = 82/256: worth 1.22 clusters, so one half is the least.
    assert two.freedom == 0.5
    three = Clusters(np.array([0.5, 0.25, 0.25]), np.zeros(3), np.ones(3))
    assert three.freedom == pytest.approx((3 / 8) ** 2 / (18 / 256) - 1)


def test_two_ways_against_statsmodels() -> None:
    rng = np.random.default_rng(4)
    rates = rng.random((7, 6)).round(1)
    sample, models, scenarios = crossed(rates)
    found = for_both(sample, models, scenarios, SCOPE)
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
        (found.value - half, found.value + half)
    )
    assert (found.clusters, found.runs, found.turns) == (6, 84, 840)
    assert found.reason is None


def test_new_scenarios_by_hand() -> None:
    # Six scenarios with means 0, .2, .4, .6, .8, 1: s^2 = 0.14, v = 0.14 / 6.
    sample, _, scenarios = crossed([[0, 0.2, 0.4, 0.6, 0.8, 1.0]] * 2)
    found = for_scenarios(sample, scenarios, "new scenarios")
    assert found.value == pytest.approx(0.5)
    assert found.se == pytest.approx(math.sqrt(0.14 / 6))
    assert found.high == pytest.approx(0.5 + stats.t.ppf(0.975, 5) * found.se)


def test_fewer_than_six_are_refused_in_words() -> None:
    sample, models, scenarios = crossed(np.full((7, 3), 0.5))
    for found in (
        for_scenarios(sample, scenarios, "new scenarios"),
        for_both(sample, models, scenarios, SCOPE),
    ):
        assert found.value == pytest.approx(0.5)
        assert math.isnan(found.low)
        assert math.isnan(found.se)
        assert found.reason == (
            "only 3 scenarios: an interval for new scenarios takes at least 6"
        )
        assert found.clusters == 3
    few = for_both(sample, scenarios, models, SCOPE)
    assert few.reason == "only 3 models: an interval for new models takes at least 6"
    one = for_scenarios(sample, np.zeros_like(scenarios), "new scenarios")
    assert one.reason == (
        "a single one of its scenarios: an interval for new scenarios takes at least 6"
    )


def test_alike_clusters_show_no_spread() -> None:
    sample, models, scenarios = crossed(np.full((6, 6), 0.5))
    assert for_scenarios(sample, scenarios, "new scenarios").reason == ALIKE
    found = for_both(sample, models, scenarios, SCOPE)
    assert found.reason == ALIKE
    assert math.isnan(found.low)


def over_models(sample: Sample, models: Ids) -> Estimate:
    """The interval with models as clusters of one stratum, and its cap."""
    one = np.zeros_like(models)
    return stratified_rate(Sample(sample.values, models, models, one))


def test_new_models_are_wilson_s_without_the_cap_once_they_show_their_spread() -> None:
    rates = np.linspace(0.1, 0.9, 9)[:, None] * np.ones((1, 3))
    sample, models, _ = crossed(rates.round(1))
    found = rate_for_models(sample, models, "new models")
    p, v = 0.5, float(np.var(np.linspace(0.1, 0.9, 9), ddof=1)) / 9
    extra = stats.t.ppf(0.975, 8) ** 2 * v / (p * (1 - p))
    half = math.sqrt(extra * (p * (1 - p) + extra / 4)) / (1 + extra)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert found.se == pytest.approx(math.sqrt(v))
    assert found.width <= over_models(sample, models).width + 1e-9


def test_few_informative_models_keep_the_cap() -> None:
    for rates in ([0.0] * 8, [0.0] * 7 + [0.4], [0.0, 0.1, 0.0, 0.2, 0.1]):
        sample, models, _ = crossed(np.array(rates)[:, None] * np.ones((1, 3)))
        found = rate_for_models(sample, models, "new models")
        old = over_models(sample, models)
        assert (found.low, found.high) == pytest.approx((old.low, old.high), abs=1e-9)
        assert found.reason is None


def test_a_single_model_has_a_reason() -> None:
    sample, models, _ = crossed([[0.1, 0.5]])
    found = rate_for_models(sample, models, "new models")
    assert found.reason == ONE_RUN
    assert math.isnan(found.low)
    gone = sample.of(np.full_like(sample.values, math.nan))
    assert rate_for_models(gone, models, "new models").reason == NO_VALUE
    assert for_scenarios(gone, models, "new scenarios").reason == NO_VALUE
    assert for_both(gone, models, models, SCOPE).reason == NO_VALUE


def test_a_cell_of_two_models_is_refused() -> None:
    sample, models, _ = crossed([[0.1, 0.5]])
    mixed = models.copy()
    mixed[0] = 9
    with pytest.raises(ValueError, match="one model"):
        rate_for_models(sample, mixed, "new models")


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=6, max_size=6),
        min_size=6,
        max_size=8,
    )
)
def test_both_is_never_surer_than_either_and_ways_may_be_exchanged(
    rates: list[list[float]],
) -> None:
    sample, models, scenarios = crossed(rates)
    both = for_both(sample, models, scenarios, SCOPE)
    other = for_both(sample, scenarios, models, SCOPE)
    assert both.se == pytest.approx(other.se, nan_ok=True)
    alone = for_scenarios(sample, scenarios, "new scenarios")
    assert alone.reason is not None or both.se >= alone.se - 1e-12


def test_coverage_for_new_models_in_new_scenarios() -> None:
    # Planted: 10 models and 8 scenarios, effects of variance 1 each and 1 of the pair
    # about a mean of 0. 300 studies: below 91 % by chance once in 500.
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        values = rng.normal(size=(10, 1)) + rng.normal(size=(1, 8))
        values = values + rng.normal(size=(10, 8))
        models, scenarios = (ids.ravel() for ids in np.indices(values.shape))
        cells = np.arange(80)
        sample = Sample(values.ravel(), cells, cells, cells)
        found = for_both(sample, models, scenarios, SCOPE)
        held += found.low <= 0 <= found.high
    assert held >= 0.91 * 300
