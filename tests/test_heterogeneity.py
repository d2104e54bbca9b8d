"""How models, scenarios and turns differ: variance shares, lasting states, ranks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.duration.survfunc import SurvfuncRight

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.heterogeneity import variance_components
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.persistence import (
    first_divergence,
    persistence,
    run_correlation,
)
from offrecord.estimates.arrays.ranks import rank_sets, ranked, together, worst
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.stratified import ONE_RUN, stratified_rate
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.rows import (
    heterogeneity_rows,
    persistence_rows,
    rank_rows,
    scenario_rows,
    survival_rows,
)
from tests.test_estimates import pair, pairs

NAN = math.nan


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def turns(public: list[list[float]], other: list[list[float]] | None = None) -> Turns:
    """One inner list per run, all of one cell; the other channel is 0 by default."""
    spoken = np.array(public, dtype=np.float64)
    kept = np.zeros_like(spoken) if other is None else np.array(other, dtype=np.float64)
    runs, rounds = (index.ravel() for index in np.indices(spoken.shape))
    return Turns(spoken.ravel(), kept.ravel(), runs, runs * 0, rounds + 1)


def table(cells: list[list[list[float]]]) -> tuple[Values, Ids, Ids, Ids]:
    """Run means by model and scenario as one turn each."""
    flat = [
        (value, model, scenario)
        for model, row in enumerate(cells)
        for scenario, runs in enumerate(row)
        for value in runs
    ]
    values, models, scenarios = (np.array(column) for column in zip(*flat, strict=True))
    return values, np.arange(values.size), models, scenarios


def test_variance_components_by_hand() -> None:
    # Runs 0 and 2, 4 and 6 | 8 and 10, 4 and 6: cell means 1 5 | 9 5, grand mean 5.
    # Models 3 and 7: MS = 2 (4 + 4) / 1 = 16. Scenarios 5 and 5: 0.
    # The rest is -2 2 | 2 -2: MS = 16 / 1. Within a cell s^2 = 2, of a mean of two 1.
    # Interaction 16 - 1 = 15, models (16 - 16) / 2 = 0, scenarios (0 - 16) / 2 = -8.
    found = variance_components(*table([[[0, 2], [4, 6]], [[8, 10], [4, 6]]]))
    assert found.within == 1
    assert (found.by_model, found.by_scenario, found.interaction) == (0, -8, 15)
    assert (found.share_model, found.share_scenario) == (0, 0)
    assert found.share_interaction == 1
    assert found.runs == 8


def test_variance_components_of_models_and_scenarios_by_hand() -> None:
    # Means 0 2 | 6 10: models 1 and 8, MS 49; scenarios 3 and 6, MS 9; rest 0.5 each,
    # MS 1. Runs at +-1: s^2 = 2, 1 of a mean. Interaction 0, models 24, scenarios 4.
    cells = [[[m - 1.0, m + 1.0] for m in row] for row in ((0, 2), (6, 10))]
    found = variance_components(*table(cells))
    assert (found.by_model, found.by_scenario, found.interaction) == (24, 4, 0)
    assert found.share_model == pytest.approx(6 / 7)
    assert found.share_scenario == pytest.approx(1 / 7)


def test_planted_components_come_back() -> None:
    generator, found = rng(), []
    for _ in range(200):
        level = generator.normal(0, 2, (6, 1, 1)) + generator.normal(0, 1, (1, 5, 1))
        level = level + generator.normal(0, 1.5, (6, 5, 1))
        runs = level + generator.normal(0, 3, (6, 5, 4))
        found.append(variance_components(*table(runs.tolist()))[3:7])
    assert np.mean(found, axis=0) == pytest.approx([4, 1, 2.25, 2.25], rel=0.15)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([[[1.0, 2], [1, 2]]], "fewer than two models"),
        ([[[1.0, 2]], [[1, 2]]], "fewer than two models or two scenarios"),
        ([[[1.0], [0]], [[1], [1]]], "no cell has two runs"),
        ([[[1.0, 0], [0]], [[1, 0], [NAN]]], "not every model"),
        ([[[1.0, 1], [1, 1]], [[1, 1], [1, 1]]], "do not differ"),
        ([[[NAN], [NAN]], [[NAN], [NAN]]], "fewer than two models"),
    ],
)
def test_where_there_is_nothing_to_split_it_says_why(
    cells: list[list[list[float]]], reason: str
) -> None:
    found = variance_components(*table(cells))
    assert reason in found.reason
    assert math.isnan(found.share_model)


def test_unlike_partners_are_noted() -> None:
    def met(*named: tuple[str, str]) -> str:
        return unlike_partners(pl.DataFrame(named, ["model", "partner"], orient="row"))

    assert "each met itself" in met(("a", "a"), ("b", "b"))
    assert met(("a", "c"), ("b", "c")) == ""
    assert met(("a", "c"), ("b", "d"))
    assert met(("a", "a")) == ""


def test_persistence_by_hand() -> None:
    # Run 1: A A N N, run 2: N A R -, run 3: B B B B (A accommodating, R reversing).
    # Pairs from A: A-A, A-N, A-R; from N: N-N, N-A; from B three; R has none after it.
    found = {
        one.state: one
        for one in persistence(
            turns(
                [[1, 1, 0, 0], [0, 1, 0, NAN], [1, 1, 1, 1]],
                [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]],
            )
        )
    }
    assert {name: one.turns for name, one in found.items()} == {
        "accommodating": 3,
        "reversing": 0,
        "both": 3,
        "neither": 2,
        "any": 8,
    }
    assert found["accommodating"].same.value == pytest.approx(1 / 3)
    assert found["neither"].same.value == 0.5
    assert found["any"].same.value == pytest.approx(5 / 8)
    assert found["any"].same.low < 5 / 8 < found["any"].same.high
    assert found["reversing"].reason
    assert math.isnan(found["both"].same.low), "a single run"
    assert found["both"].reason


def test_a_missing_turn_joins_no_neighbours() -> None:
    [*_, overall] = persistence(turns([[1, NAN, 1]]))
    assert overall.turns == 0
    absent = turns([[1, 0, 1]])
    [*_, overall] = persistence(absent.where(absent.rounds != 2))
    assert overall.turns == 0


def test_planted_persistence_comes_back() -> None:
    # A turn keeps its state with 1/2, or draws again, accommodating with 0.4: from
    # accommodating it is so again with 0.7, and turns k apart correlate by 1/2^k.
    generator = rng()
    state = generator.random((4000, 1)) < 0.4
    chain = [state[:, 0]]
    for _ in range(4):
        new = generator.random(4000) < 0.4
        chain.append(np.where(generator.random(4000) < 0.5, chain[-1], new))
    runs = turns(np.stack(chain, axis=1).astype(np.float64).tolist())
    found = {one.state: one.same.value for one in persistence(runs)}
    assert found["accommodating"] == pytest.approx(0.7, abs=0.03)
    assert found["neither"] == pytest.approx(0.8, abs=0.03)
    alike = run_correlation(runs.public, runs.runs, runs.cells)
    mean = sum((5 - k) * 0.5**k for k in range(1, 5)) / 10
    assert alike.within_cells == pytest.approx(mean, abs=0.03)


def test_run_correlation_by_hand() -> None:
    # Runs 1 1, 0 0, 1 0: means 1, 0, 1/2; MSB = 2 (1/4 + 1/4) / 2 = 1/2,
    # MSW = 2 / 4 / 3 = 1/6; (1/2 - 1/6) / (1/2 + 1/6) = 1/2.
    values, runs = np.array([1.0, 1, 0, 0, 1, 0]), np.array([1, 1, 2, 2, 3, 3])
    found = run_correlation(values, runs, runs * 0)
    assert found.pooled == pytest.approx(0.5)
    assert found.within_cells == pytest.approx(0.5)


def test_runs_of_unlike_cells_are_alike_when_pooled_by_hand() -> None:
    # Cell 1: runs 1 1, 1 0; cell 2: runs 0 0, 1 0. Means 1, 1/2 | 0, 1/2; MSW = 1/4.
    # Pooled about 1/2: MSB = 2 (1/4 + 1/4) / 3 = 1/3: (1/12) / (7/12) = 1/7.
    # Within cells about 3/4 and 1/4: MSB = 2 (4/16) / 2 = 1/4: 0.
    values = np.array([1.0, 1, 1, 0, 0, 0, 1, 0])
    runs = np.array([1, 1, 2, 2, 3, 3, 4, 4])
    found = run_correlation(values, runs, (runs > 2).astype(np.int64))
    assert found.pooled == pytest.approx(1 / 7)
    assert found.within_cells == pytest.approx(0)


@pytest.mark.filterwarnings("error")
def test_run_correlation_of_nothing_is_undefined() -> None:
    none = np.zeros(0, dtype=np.int64)
    for found in (
        run_correlation(np.zeros(0), none, none),
        run_correlation(np.ones(4), np.arange(4), np.zeros(4, dtype=np.int64)),
        run_correlation(np.ones(4), np.arange(4) // 2, np.zeros(4, dtype=np.int64)),
    ):
        assert math.isnan(found.pooled)
        assert math.isnan(found.within_cells)


def test_first_divergence_by_hand() -> None:
    # Divergent at round 2; missing at 2, so known to 1; never in 3; divergent at 1.
    # Round 1: 1 of 4, 3/4 left. Round 2: at risk two, one diverges, 3/8 left.
    found = first_divergence(turns([[0, 1, 0], [0, NAN, 1], [0, 0, 0], [1, 0, 0]]))
    assert [(r.at_risk, r.events, r.censored) for r in found] == [
        (4, 1, 1),
        (2, 1, 0),
        (1, 0, 1),
    ]
    assert [r.undiverged.value for r in found] == [0.75, 0.375, 0.375]


def test_first_divergence_is_the_product_limit_of_statsmodels() -> None:
    generator = rng()
    public = (generator.random((60, 5)) < 0.2).astype(np.float64)
    public[generator.random((60, 5)) < 0.1] = NAN
    times, events = [], []
    for run in public:
        stop = next((i for i, v in enumerate(run) if v != 0), 5)
        event = stop < 5 and run[stop] == 1
        times.append(stop + event)
        events.append(event)
    reference = SurvfuncRight(np.array(times), np.array(events, dtype=int))
    expected = dict(zip(reference.surv_times, reference.surv_prob, strict=True))
    for one in first_divergence(turns(public.tolist())):
        if one.events:
            assert one.undiverged.value == pytest.approx(expected[one.round])
            # Greenwood's error, on either side of the middle
            error = reference.surv_prob_se[list(expected).index(one.round)]
            width = one.undiverged.high - one.undiverged.low
            assert width == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_first_divergence_weighs_cells_alike_and_is_for_new_runs_of_them() -> None:
    # Cell 0: 1 of 4 runs diverges at once, 2 at round 2; cell 1: 1 of 2 at round 2.
    # Round 1: (3/4 + 1) / 2, where 5 of 6 runs are left; round 2: (1/4 + 1/2) / 2.
    rows: list[list[float]] = [[1, 0], [0, 1], [0, 1], [0, 0], [0, 1], [0, 0]]
    cells = np.repeat([0, 0, 0, 0, 1, 1], 2)
    found = first_divergence(turns(rows)._replace(cells=cells))
    assert [one.undiverged.value for one in found] == [0.875, 0.375]
    # Where no run is lost, that is the rate of runs that are undiverged so far.
    for place, one in enumerate(found, start=1):
        left = np.array([float(not any(run[:place])) for run in rows])
        runs = np.arange(6)
        rate = stratified_rate(Sample(left, runs, runs, cells[::2]))
        assert one.undiverged == pytest.approx(rate.bounds)
        assert one.reason == ""
    # By their runs, 4 and 2: 5 of 6, and 2 of 6.
    found = first_divergence(turns(rows)._replace(cells=cells), weights=Weights.TURNS)
    assert [one.undiverged.value for one in found] == pytest.approx([5 / 6, 2 / 6])
    assert all(0 <= one.undiverged.low < one.undiverged.value for one in found)


def test_first_divergence_says_what_it_cannot_know() -> None:
    # The run of cell 1 is lost behind round 1: nobody knows the figure of both cells.
    rows = turns([[0, 1], [0, 0], [0, NAN]])._replace(cells=np.repeat([0, 0, 1], 2))
    first, second = first_divergence(rows)
    assert first.undiverged.value == 1
    assert "1 cell has a single run" in first.reason
    assert math.isnan(second.undiverged.value)
    assert "no run left" in second.reason
    [alone] = first_divergence(turns([[1]]))
    assert alone.undiverged.value == 0
    assert math.isnan(alone.undiverged.low)
    assert alone.reason == ONE_RUN


@pytest.mark.filterwarnings("error")
def test_survival_at_the_edges_has_a_width() -> None:
    [never] = first_divergence(turns([[0]] * 10))
    assert never.undiverged.value == never.undiverged.high == 1
    assert 0.6 < never.undiverged.low < 0.9
    [at_once] = first_divergence(turns([[1]] * 10))
    assert at_once.undiverged.value == at_once.undiverged.low == 0
    assert 0.1 < at_once.undiverged.high < 0.4
    assert first_divergence(turns([[NAN, 1]])) == []
    assert first_divergence(turns([[]])) == []


def models(*rates: float, runs: int = 40) -> tuple[list[Turns], list[Values]]:
    groups = []
    for number, rate in enumerate(rates):
        one = turns([[float(i < rate * runs)] * 2 for i in range(runs)])
        groups.append(one._replace(runs=one.runs + 1000 * number))
    return groups, [np.abs(g.public - g.other) for g in groups]


def test_ranks_are_certain_only_where_intervals_part() -> None:
    ranks = rank_sets(*models(0.9, 0.45, 0.5, 0.05))
    assert [r.rank for r in ranks] == [1, 3, 2, 4]
    assert [(r.low, r.high) for r in ranks] == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_equal_values_share_a_rank_and_none_is_certain() -> None:
    ranks = rank_sets(*models(0.5, 0.5, 0.5))
    assert [r.rank for r in ranks] == [2, 2, 2]
    assert {(r.low, r.high) for r in ranks} == {(1, 3)}


@pytest.mark.filterwarnings("error")
def test_a_model_without_a_value_may_have_any_rank() -> None:
    groups, values = models(0.9, 0.1, 0.5)
    values[2] = values[2] * NAN
    ranks = rank_sets(groups, values)
    assert math.isnan(ranks[2].rank)
    assert (ranks[2].low, ranks[2].high) == (1, 3)
    assert [(r.low, r.high) for r in ranks[:2]] == [(1, 2), (2, 3)]


def test_ranks_hold_together() -> None:
    # Three models with equal rates: 1 to 3 must be possible for each, in 95 % of
    # studies for all at once.
    generator, wrong = rng(), 0
    for _ in range(200):
        groups, values = [], []
        for number in range(3):
            chances = generator.beta(0.75, 0.75, (12, 1))
            drawn = (generator.random((12, 4)) < chances).astype(np.float64)
            one = turns(drawn.tolist())
            groups.append(one._replace(runs=one.runs + 100 * number))
            values.append(one.public)
        ranks = rank_sets(groups, values)
        wrong += any((r.low, r.high) != (1, 3) for r in ranks)
    assert wrong / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_values_that_differ_in_their_last_digit_are_equal() -> None:
    # 0.1 + 0.2 is not 0.3 in binary, though the cells of both groups add up to it.
    two = [Bounds(0.3, 0.1, 0.5), Bounds(0.1 + 0.2, 0.1, 0.5)]
    assert two[0].value < two[1].value
    assert [one.rank for one in ranked(two)] == [1.5, 1.5]
    assert worst(two).place == 0


def test_the_worst_group_by_hand() -> None:
    bounds = [Bounds(0.5, 0.1, 0.9), Bounds(0.6, 0.4, 0.7), Bounds(NAN, NAN, NAN)]
    found = worst(bounds)
    assert found.place == 1
    assert found.bounds == (0.6, 0.4, 0.9), "the first may truly be the worst"
    assert worst([Bounds(NAN, NAN, NAN)]).place == -1
    alone = worst([Bounds(0.5, NAN, NAN), Bounds(0.2, 0.1, 0.3)])
    assert alone.place == 0
    assert math.isnan(alone.bounds.high)


def test_bounds_that_hold_together_are_wider() -> None:
    groups, values = models(0.5, 0.2, 0.4)
    all_at_once = together(groups, values)
    [alone] = together(groups[:1], values[:1])
    assert all_at_once[0].low < alone.low < alone.high < all_at_once[0].high


def study() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    generator = rng()
    for model, rate in (("a", 0.9), ("b", 0.1)):
        for scenario in ("s", "t"):
            for run in range(8):
                for round_ in (1, 2, 3):
                    public = bool(generator.random() < rate)
                    row = pair(f"{model}{scenario}{run}", model=model, round_=round_)
                    row |= {"scenario": scenario, "public": public, "other": False}
                    rows.append(row)
    return pairs(*rows)


def test_rows_of_a_study_name_their_groups_in_any_order_of_rows() -> None:
    table_ = study()
    shuffled = table_.sample(fraction=1, shuffle=True, seed=4)
    for rows_of in (
        persistence_rows,
        survival_rows,
        heterogeneity_rows,
        rank_rows,
        scenario_rows,
    ):
        rows = rows_of(table_, ["condition"])
        assert rows
        assert all(row["agent"] == "alpha" for row in rows)
        assert repr(rows) == repr(rows_of(shuffled, ["condition"])), rows_of.__name__
    ranks = {row["model"]: row for row in rank_rows(table_, [])}
    assert (ranks["a"]["low"], ranks["a"]["high"], ranks["b"]["low"]) == (1, 1, 2)
    [split] = heterogeneity_rows(table_, [])
    assert split["share_model"] > 0.9
    assert "unlike partners" in split["note"]
    scenarios = scenario_rows(table_, [])
    assert [row["worst"] for row in scenarios] == [False, False, True]
    assert [row["round"] for row in survival_rows(table_, [])] == [1, 2, 3]
