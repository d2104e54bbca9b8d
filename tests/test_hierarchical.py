"""The hierarchical model: its runs, its predictions, its likelihood, planted rates."""

from __future__ import annotations

import importlib.util
import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import betabinom, binom

from offrecord.estimates.arrays.rates import Ids
from offrecord.estimates.bayes.hierarchical import (
    OTHERS,
    hierarchical_rates,
    hierarchical_rows,
    quantities,
    summary,
)
from offrecord.estimates.bayes.posterior import Posterior, log_mass, outcomes_of
from offrecord.records import OffrecordError
from tests.test_estimates import pair, pairs

needs_bayes = pytest.mark.skipif(
    importlib.util.find_spec("numpyro") is None,
    reason="the extra bayes is not installed: pip install 'offrecord[bayes]'",
)


def ids(*values: int) -> Ids:
    return np.array(values, dtype=np.int64)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def posterior(size: int = 1, **scales: float) -> Posterior:
    """Two models (logits 0 and 2), three scenarios (-1, 0, 1), all draws alike."""

    def held(*values: float) -> Any:
        return np.broadcast_to(np.array(values), (1, size, len(values)))

    def one(name: str) -> Any:
        return np.full((1, size), scales.get(name, 0.0))

    names = ("scale_model", "scale_scenario", "scale_both", "correlation")
    return Posterior(
        one("overall"),
        held(0, 2),
        held(-1, 0, 1),
        np.broadcast_to(np.array([[0, 0, 0], [0, 0, 3.0]]), (1, size, 2, 3)),
        *(one(name) for name in names),
    )


def test_equal_runs_are_counted_and_runs_without_turns_left_out() -> None:
    found = outcomes_of(
        events=ids(2, 0, 2, 1, 0),
        turns=ids(5, 5, 5, 4, 0),
        models=ids(7, 7, 7, 9, 9),
        scenarios=ids(3, 3, 3, 1, 2),
    )
    assert found.models.tolist() == [7, 9]
    assert found.scenarios.tolist() == [1, 3]
    rows = np.stack(found[:5], axis=1)
    assert [tuple(row) for row in rows] == [
        (0, 1, 5, 0, 1),
        (0, 1, 5, 2, 2),
        (1, 0, 4, 1, 1),
    ]


def test_the_order_of_runs_does_not_matter() -> None:
    table = rng().integers(0, 4, (30, 4))
    table[:, 1] += table[:, 0]
    one, other = (outcomes_of(*rows.T) for rows in (table, rng().permutation(table)))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_more_divergent_turns_than_turns_are_refused() -> None:
    with pytest.raises(OffrecordError, match="0 to all of its turns"):
        outcomes_of(ids(6), ids(5), ids(0), ids(0))


def test_rates_without_spread_by_hand() -> None:
    found = quantities(posterior(), rng())
    second = (expit(1) + expit(2) + expit(6)) / 3
    assert found["model"][0, 0] == pytest.approx([0.5, second])
    assert found["new model"][0, 0] == pytest.approx(0.5)
    assert found["new scenario"][0, 0] == pytest.approx((0.5 + expit(2)) / 2)


@pytest.mark.parametrize(
    ("scale", "changed", "other"),
    [
        ("scale_model", "new model", "new scenario"),
        ("scale_scenario", "new scenario", "new model"),
    ],
)
def test_a_new_one_differs_by_the_scale_of_its_kind(
    scale: str, changed: str, other: str
) -> None:
    # At a scale of 8 nearly all new ones are at 0 or 1, in all cells at once.
    found = quantities(posterior(4000, **{scale: 8.0}), rng())
    assert np.ptp(found[other]) == 0
    assert np.mean((found[changed] < 0.1) | (found[changed] > 0.9)) > 0.6
    assert np.mean(found[changed]) == pytest.approx(0.5, abs=0.08)


def test_what_a_new_one_does_in_one_cell_only_averages_out() -> None:
    own = quantities(posterior(4000, scale_model=2.0), rng())["new model"]
    apart = quantities(posterior(4000, scale_both=2.0), rng())["new model"]
    assert apart.std() == pytest.approx(own.std() / math.sqrt(3), rel=0.1)


def test_a_summary_leaves_equal_tails() -> None:
    found = summary(np.arange(101.0).reshape(1, 101), 0.95)
    assert found == pytest.approx((50, 2.5, 97.5))


@pytest.mark.parametrize(
    ("turns", "models", "scenarios"),
    [
        (ids(), ids(), ids()),
        (ids(0, 0), ids(0, 1), ids(0, 1)),
        (ids(5, 5), ids(0, 0), ids(0, 1)),
        (ids(5, 5), ids(0, 1), ids(0, 0)),
    ],
    ids=["no run", "all missing", "one model", "one scenario"],
)
@pytest.mark.filterwarnings("error")
def test_too_little_to_pool_is_nan_with_a_reason(
    turns: Ids, models: Ids, scenarios: Ids
) -> None:
    rows = hierarchical_rates(turns * 0, turns, models, scenarios, 0)
    known = np.unique(models[turns > 0]).tolist()
    assert [row["model"] for row in rows] == known + [None] * len(OTHERS)
    for row in rows:
        assert math.isnan(row["value"])
        assert math.isnan(row["low"])
        assert "fewer than two" in row["reason"]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpyro.infer", None)
    with pytest.raises(OffrecordError, match=r"pip install 'offrecord\[bayes\]'"):
        hierarchical_rates(ids(0, 0), ids(5, 5), ids(0, 1), ids(0, 1), 0)


@needs_bayes
@pytest.mark.parametrize("correlation", [0.05, 0.3, 0.9])
def test_the_likelihood_is_beta_binomial(correlation: float) -> None:
    events, turns = (grid.ravel() for grid in np.indices((7, 7)))
    events, turns = events[events <= turns][1:], turns[events <= turns][1:]
    size = (1 - correlation) / correlation
    expected = betabinom.logpmf(events, turns, 0.2 * size, 0.8 * size)
    ways = binom.logpmf(events, turns, 0.5) - turns * math.log(0.5)
    found = log_mass(events, turns, np.full(events.size, logit(0.2)), correlation)
    assert np.asarray(found) == pytest.approx(expected - ways, abs=1e-4)


@needs_bayes
def test_turns_that_hardly_depend_on_each_other_are_binomial() -> None:
    events, turns = np.arange(6), np.full(6, 5)
    expected = events * math.log(0.2) + (5 - events) * math.log(0.8)
    found = log_mass(events, turns, np.full(6, logit(0.2)), 1e-9)
    assert np.asarray(found) == pytest.approx(expected, abs=1e-4)


def planted(rates: tuple[float, ...], correlation: float) -> list[dict[str, Any]]:
    """Six runs of five turns of each model in each of four scenarios."""
    draw, size = rng(), (1 - correlation) / correlation
    rows = []
    for model, rate in enumerate(rates):
        for scenario, run in np.ndindex(4, 6):
            chance = draw.beta(rate * size, (1 - rate) * size)
            for turn in range(5):
                name = f"m{model}"
                one = pair(
                    f"{model}-{scenario}-{run}",
                    round_=turn + 1,
                    other=bool(draw.random() >= chance),
                    condition="alignment-future",
                    model=name,
                )
                rows.append({**one, "scenario": f"s{scenario}"})
    return rows


@needs_bayes
def test_planted_rates_are_found_and_drawn_together() -> None:
    frame = pairs(*planted((0.05, 0.4, 0.5, 0.9), 0.3))
    rows = hierarchical_rows(frame, ["condition", "model"], 0)
    models = [row for row in rows if row["quantity"] == "model"]
    assert [row["model"] for row in models] == ["m0", "m1", "m2", "m3"]
    assert {(row["condition"], row["agent"]) for row in rows} == {
        ("alignment-future", "alpha")
    }
    for row in models:
        assert row["low"] < row["observed"] < row["high"]
        assert row["value"] == pytest.approx(row["observed"], abs=0.06)
        assert (row["runs"], row["turns"]) == (24, 120)
    assert models[0]["value"] > models[0]["observed"]
    assert models[3]["value"] < models[3]["observed"]
    named = {row["quantity"]: row for row in rows}
    new = named["new model"]
    assert new["high"] - new["low"] > max(row["high"] - row["low"] for row in models)
    assert named["scale of models"]["value"] > named["scale of scenarios"]["value"]
    alike = named["correlation within a run"]
    assert alike["low"] < 0.3 < alike["high"]
    assert all(row["r_hat"] < 1.02 for row in rows)


@needs_bayes
def test_no_event_at_all_still_has_an_interval() -> None:
    models, scenarios = (grid.ravel() for grid in np.indices((3, 4)))
    turns = np.full(12, 5)
    rows = hierarchical_rates(turns * 0, turns, models, scenarios, 0, draws=20)
    for row in rows[:3]:
        assert row["observed"] == 0
        assert 0 < row["low"] < row["value"] < row["high"] < 0.5
    assert "effective sample size" in rows[0]["reason"]
