"""Rates, standard errors, the split, and the table made of them."""

import json
import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

import offrecord
from offrecord.estimates.arrays.rates import (
    Ids,
    Values,
    naive_error,
    quadrants,
)
from offrecord.estimates.arrays.turns import Turns
from offrecord.estimates.arrays.weighed import clustered_error
from offrecord.estimates.frames.table import as_json, estimate_table
from offrecord.records import OffrecordError

NAN = math.nan


def floats(*values: float) -> Values:
    return np.array(values, dtype=np.float64)


def ids(*values: int) -> Ids:
    return np.array(values, dtype=np.int64)


CELL_REST: Final = {"cast": "{}", "dose": None, "language": "en", "sampling": "{}"}
"""What every cell has beside the columns that tests vary."""


def pair(
    run: str,
    agent: str = "alpha",
    round_: int = 1,
    public: bool | None = True,
    other: bool | None = True,
    condition: str = "baseline",
    model: str = "m",
    channel: str = "off_record",
    attempts: int = 1,
    factors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One planned pair; None is a missing side."""
    kind, _, timing = condition.partition("-")
    factors = factors or {}
    return {
        "run": run,
        "attempts": attempts,
        "model": model,
        "partner": model,
        "scenario": "s",
        "condition": condition,
        "kind": kind,
        "timing": timing or "none",
        "protocol": "twin",
        **CELL_REST,
        "factors": json.dumps(factors),
        **{f"factor_{name}": level for name, level in factors.items()},
        "agent": agent,
        "round": round_,
        "channel": channel,
        "public": public,
        "other": other,
    }


def pairs(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows as `stance_pairs` gives them, from rows by the names of their sides."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    named = {"public": "left", "other": "right", "channel": "right_channel"}
    sides = pl.col("left", "right").cast(pl.Boolean), pl.col("dose").cast(pl.Float64)
    return table.rename(named).with_columns(*sides)


def find(rows: Sequence[Mapping[str, Any]], **keys: str) -> Mapping[str, Any]:
    (row,) = [r for r in rows if all(r[key] == keys[key] for key in keys)]
    return row


def test_quadrants_leave_out_pairs_with_a_missing_side() -> None:
    public = floats(1, 0, 1, 0, NAN, 1, NAN)
    other = floats(0, 1, 1, 0, 1, NAN, NAN)
    counts = quadrants(public, other)
    assert counts == (1, 1, 1, 1)
    assert (counts.turns, counts.divergent) == (4, 2)
    assert (counts.public, counts.other, counts.divergence) == (0.5, 0.5, 0.5)
    same = ids(*range(7))
    turns = Turns(public, other, same, same, same)
    assert np.array_equal(
        turns.divergent, floats(1, 1, 0, 0, NAN, NAN, NAN), equal_nan=True
    )


def test_naive_error_is_the_papers() -> None:
    # Alignment of all ten models in the paper: 598 of 1500 turns, 39.867 +- 1.265.
    values = np.repeat(floats(1, 0), [598, 902])
    assert 100 * naive_error(values) == pytest.approx(1.265, abs=5e-4)


def test_clustered_error_by_hand() -> None:
    # Cell 1: run 1 = 1 1, run 2 = 0 0. Cell 2: run 3 = 1 0, run 4 = 0 0.
    # mean 3/8; sums of (value - 3/8) by run: 1.25, -0.75 | 0.25, -0.75
    # about the cell's mean (0.25 | -0.25): 1, -1 | 0.5, -0.5
    # squares 2 | 0.5, times G/(G-1) = 2: 4 | 1; variance 5 / 8^2
    values = floats(1, 1, 0, 0, 1, 0, 0, 0)
    runs = ids(1, 1, 2, 2, 3, 3, 4, 4)
    cells = ids(1, 1, 1, 1, 2, 2, 2, 2)
    assert clustered_error(values, runs, cells) == pytest.approx(math.sqrt(5) / 8)


def test_clustered_error_with_missing_turns_by_hand() -> None:
    # The same with run 2's second turn missing and a run 5 of missing turns only:
    # 7 values; cells' means 2/3 and 1/4; sums about these: 2/3, -2/3 | 1/2, -1/2
    # squares 2 (2/3)^2 and 2 (1/2)^2, times 2: 4 (4/9 + 1/4) = 25 / 9
    values = floats(1, 1, 0, NAN, 1, 0, 0, 0, NAN, NAN)
    runs = ids(1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    cells = ids(1, 1, 1, 1, 2, 2, 2, 2, 2, 2)
    expected = math.sqrt(25 / 9) / 7
    assert clustered_error(values, runs, cells) == pytest.approx(expected)


def reference(values: Values, runs: Ids) -> float:
    """The standard error of a mean by statsmodels, clustered by run.

    Its correction, G/(G-1) (n-1)/(n-k), is ours with k = 1.
    """
    fit = sm.OLS(values, np.ones_like(values)).fit(
        cov_type="cluster", cov_kwds={"groups": runs, "use_correction": True}
    )
    return float(fit.bse[0])


def test_clustered_error_in_one_stratum_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    runs = np.repeat(np.arange(12), rng.integers(1, 6, 12)).astype(np.int64)
    values = (rng.random(runs.size) < 0.3 + 0.04 * runs).astype(np.float64)
    ours = clustered_error(values, runs, np.zeros_like(runs))
    assert ours == pytest.approx(reference(values, runs), rel=1e-12)


def test_clustered_error_in_strata_of_equal_runs_is_theirs_put_together() -> None:
    # With runs of equal length the cells' means add with the shares of their turns,
    # so variances add with the squares of these: a third and two thirds here.
    rng = np.random.default_rng(2)
    small = (rng.random(20) < 0.2).astype(np.float64)
    large = (rng.random(40) < 0.7).astype(np.float64)
    runs = np.repeat(np.arange(12), 5).astype(np.int64)
    cells = (runs >= 4).astype(np.int64)
    parts = (reference(small, runs[:20]) / 3, 2 * reference(large, runs[20:]) / 3)
    ours = clustered_error(np.concatenate([small, large]), runs, cells)
    assert ours == pytest.approx(math.hypot(*parts), rel=1e-12)


turn = st.tuples(
    st.integers(0, 9),
    st.sampled_from([0.0, 1.0, NAN]),
    st.sampled_from([0.0, 1.0, NAN]),
)


@given(st.lists(turn, max_size=60), st.randoms(use_true_random=False))
def test_order_of_turns_means_nothing(
    turns: list[tuple[int, float, float]], random: Random
) -> None:
    def figures(rows: list[tuple[int, float, float]]) -> list[float]:
        runs = ids(*(run for run, _, _ in rows))
        public = floats(*(public for _, public, _ in rows))
        other = floats(*(other for _, _, other in rows))
        values = np.abs(public - other)
        error = clustered_error(values, runs, runs // 4)
        return [*quadrants(public, other), naive_error(values), error]

    shuffled = list(turns)
    random.shuffle(shuffled)
    assert figures(shuffled) == pytest.approx(figures(turns), nan_ok=True)


@pytest.mark.parametrize(
    ("values", "runs"),
    [
        ((), ()),  # no turns
        ((NAN, NAN), (1, 2)),  # none known
        ((1, 0, 1), (1, 1, 1)),  # one run: its spread over runs is unknown
        ((1, 0, NAN), (1, 1, 2)),  # two runs, one of them without a value
    ],
)
def test_what_is_undefined_is_nan(
    values: tuple[float, ...], runs: tuple[int, ...]
) -> None:
    cells = np.zeros(len(runs), dtype=np.int64)
    assert math.isnan(clustered_error(floats(*values), ids(*runs), cells))


def test_one_run_in_one_of_two_strata_is_undefined() -> None:
    assert math.isnan(clustered_error(floats(1, 0, 1), ids(1, 2, 3), ids(1, 1, 2)))


def test_naive_error_of_one_turn_is_undefined() -> None:
    assert math.isnan(naive_error(floats(1, NAN)))
    assert naive_error(floats(1, 1)) == 0


stances = st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), min_size=1)


@given(stances, stances)
def test_public_shift_is_conversion_plus_audience_effect(
    condition: list[tuple[bool | None, bool | None]],
    base: list[tuple[bool | None, bool | None]],
) -> None:
    rows = [
        pair(f"{name}{i}", condition=name, public=public, other=other)
        for name, sides in (("baseline", base), ("alignment-future", condition))
        for i, (public, other) in enumerate(sides)
    ]
    before, after = estimate_table(pairs(*rows), ["condition"])
    moved = after.of.split
    expected = (
        after.of.public - before.of.public,
        after.of.off_record - before.of.off_record,
    )
    assert moved[:2] == pytest.approx(expected, abs=1e-15, nan_ok=True)
    assert moved.audience_effect == pytest.approx(
        moved.public_shift - moved.conversion, abs=1e-15, nan_ok=True
    )


def test_table_by_hand() -> None:
    rows = estimate_table(
        pairs(
            pair("a", public=False, other=False),
            pair("a", round_=2, public=False, other=True),
            pair("b", condition="alignment-future", public=True, other=False),
            pair("b", condition="alignment-future", round_=2, other=True),
            pair("c", condition="alignment-future", public=None, attempts=3),
            pair("c", condition="alignment-future", round_=2, other=True),
        )
    )
    assert [row["condition"] for row in rows] == ["baseline", "alignment-future"]
    row = find(rows, condition="alignment-future", agent="alpha", model="m")
    counts = ("runs", "strata", "planned", "turns", "missing", "attempts")
    assert [row[name] for name in counts] == [2, 1, 4, 3, 1, 4]
    quadrant = ("divergent", "accommodating", "reversing", "both", "neither")
    assert [row[name] for name in quadrant] == [1, 1, 0, 2, 0]
    # public 3/3 against 0/2; off the record 2/3 against 1/2
    assert row["gap"] == pytest.approx(1 / 3)
    assert row["public_shift"] == pytest.approx(1)
    assert row["conversion"] == pytest.approx(1 / 6)
    assert row["audience_effect"] == pytest.approx(5 / 6)
    assert math.isnan(find(rows, condition="baseline")["public_shift"])


def test_split_is_undefined_without_a_baseline_of_its_own() -> None:
    study = pairs(
        pair("a", model="with"),
        pair("b", model="with", condition="persona-future"),
        pair("c", model="without", condition="persona-future"),
    )
    rows = estimate_table(study)
    persona = {
        row["model"]: row["public_shift"]
        for row in rows
        if row["condition"] == "persona-future"
    }
    assert persona["with"] == 0
    assert math.isnan(persona["without"])
    pooled = find(estimate_table(study, ["model"]), model="with")
    assert math.isnan(pooled["public_shift"]), "pools baseline with another condition"


def test_split_by_timing_and_factor_uses_the_baseline_of_the_same_level() -> None:
    def level(run: str, condition: str, order: str, public: bool) -> dict[str, Any]:
        factors = {"label_order": order}
        return pair(run, condition=condition, public=public, factors=factors)

    rows = estimate_table(
        pairs(
            level("a", "baseline", "stated", False),
            level("b", "baseline", "reversed", True),
            level("c", "alignment-future", "stated", True),
            level("d", "alignment-future", "reversed", True),
        ),
        ["timing", "label_order"],
    )
    future = {
        r["factor_label_order"]: r["public_shift"]
        for r in rows
        if r["timing"] == "future"
    }
    assert future == {"stated": 1, "reversed": 0}


def test_agent_is_always_a_key_and_keys_stand_first() -> None:
    (first, second) = estimate_table(
        pairs(pair("a"), pair("a", agent="beta")), ["scenario", "scenario"]
    )
    assert list(first)[:3] == ["scenario", "agent", "runs"]
    assert (first["agent"], second["agent"]) == ("alpha", "beta")


def test_several_paired_channels_are_not_pooled() -> None:
    rows = estimate_table(
        pairs(pair("a"), pair("a", channel="rival", other=False)), ["kind"]
    )
    assert {row["right_channel"]: row["divergent"] for row in rows} == {
        "off_record": 0,
        "rival": 1,
    }


def test_unknown_key_names_those_that_are_possible() -> None:
    study = pairs(pair("a", factors={"tone": "plain"}))
    with pytest.raises(OffrecordError, match=r"--by modle: .*model, .*round, tone$"):
        estimate_table(study, ["modle"])


def test_json_has_null_for_what_is_undefined() -> None:
    row = estimate_table(pairs(pair("a", public=None)))[0]
    (read,) = json.loads(as_json([row]))
    undefined = [name for name, value in read.items() if value is None]
    assert undefined == [
        *("public", "off_record", "gap"),
        *("public_shift", "conversion", "audience_effect"),
        *("public_only", "off_record_only"),
        *("divergence", "se", "se_naive", "ci_low", "ci_high"),
        *(
            f"possible_{name}_{end}"
            for name in ("public_shift", "conversion", "audience_effect")
            for end in ("low", "high")
        ),
    ]
    assert (read["turns"], read["missing"], read["divergent"]) == (0, 1, 0)


def test_a_frame_of_pairs_is_estimated_as_a_long_frame() -> None:
    study = pairs(
        *(pair(f"{i}", public=False, other=False) for i in range(3)),
        *(pair(f"{i}x", condition="alignment-future", other=i > 0) for i in range(3)),
        pair("lost", condition="alignment-future", public=None),
    )
    found = offrecord.estimate(study, by=["kind"])
    assert found.columns == [
        *("kind", "agent", "quantity", "value", "low", "high", "se"),
        *("runs", "turns", "missing", "reason", "left_out", "scope"),
    ]
    named = {(row["kind"], row["quantity"]): row for row in found.iter_rows(named=True)}
    shift = named["alignment", "public_shift"]
    assert (shift["value"], shift["missing"], shift["turns"]) == (1, 1, 6)
    assert named["alignment", "conversion"]["value"] == pytest.approx(2 / 3)
    assert named["alignment", "divergence"]["runs"] == 3
    assert named["baseline", "gap"]["low"] < 0 < named["baseline", "gap"]["high"]
    assert ("baseline", "public_shift") not in named
    # What is undefined is null in every column, never NaN, and it says why.
    alone = offrecord.estimate(study, by=["kind"], scope="models")
    assert alone["low"].is_nan().sum() == 0
    undefined = alone.filter(pl.col("low").is_null())
    assert undefined.height
    assert undefined["reason"].is_not_null().all()
    assert set(alone["scope"]) == {"new models"}
    with pytest.raises(
        OffrecordError, match="use any of runs, pairs, scenarios, models"
    ):
        offrecord.estimate(study, scope="worlds")
