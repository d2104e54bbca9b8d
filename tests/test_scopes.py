"""One scope for every interval of a study: written, printed, refused in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from offrecord.estimates.arrays.scope import RUNS_ONLY, Scope
from offrecord.estimates.estimator import Wanted
from offrecord.estimates.estimators import (
    CONTRASTS,
    EFFECT_TEST,
    FIRST_DIVERGENCE,
    FLOOR,
    RATES,
    SPLIT,
)
from offrecord.estimates.frames.contrasts import contrast_rows
from offrecord.estimates.frames.effects import effect_rows
from offrecord.estimates.frames.splits import split_rows
from offrecord.estimates.frames.table import estimate
from offrecord.estimates.frames.weighing import How
from offrecord.estimates.study import estimate_study
from offrecord.report.findings import print_estimates
from offrecord.transcript.record import Record
from tests.simulated_studies import held_study, pair_rows

BASE = {"kind": "baseline"}
NAMED = ("ranks", "hierarchical")
"""What names models, so that it is for new runs whatever is asked."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Two models in three scenarios."""
    path = tmp_path_factory.mktemp("scopes") / "study"
    return held_study(path, "audience", "split", runs=3, rounds=2)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("scope", list(Scope))
def test_every_interval_that_is_written_has_the_scope_asked_for(
    study: Record, scope: Scope
) -> None:
    wanted = Wanted(
        by=("kind",), scope=scope, contrasts=("alignment:baseline",), views=False
    )
    found = estimate_study(study, wanted).as_dict()
    rows = [
        (name, row)
        for name, part in found.items()
        if isinstance(part, list)
        for row in part
        if isinstance(row, dict) and "scope" in row and name not in NAMED
    ]
    assert {name for name, _ in rows} >= {
        *("rates", "split", "gap", "floor", "persistence", "first_divergence"),
        *("scenarios", "contrasts"),
    }
    for name, row in rows:
        assert row["scope"] == str(scope), name
        limits = [row[key] for key in ("low", "ci_low") if key in row]
        assert limits != [None] or row.get("reason"), name


def test_three_scenarios_are_refused_in_words_and_stand_in_the_file(
    study: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    estimates = estimate_study(study, Wanted(by=("kind",), scope=Scope.SCENARIOS))
    written: list[Any] = [row.of for row in estimates.of(SPLIT)]
    assert all(one.refused for one in written)
    assert any(one.low < one.value < one.high for one in written)
    shown = estimates.shown
    rows: list[Any] = [*shown.of(SPLIT), *shown.of(RATES)]
    assert all(math.isnan(row.of.bounds.low) for row in rows)
    rate = next(row.of for row in estimates.of(RATES) if row["kind"] == "alignment")
    assert rate.refused
    assert rate.ci_low < rate.divergence < rate.ci_high
    print_estimates(estimates)
    told = " ".join(capsys.readouterr().out.split())
    assert "[" not in told.split("Note:")[0]
    why = "only 3 scenarios: an interval for new scenarios takes at least 6"
    assert told.count(f"Note: no interval for new scenarios: {why}.") == 1


def test_what_is_for_new_runs_alone_has_no_interval_in_another_scope(
    study: Record,
) -> None:
    estimates = estimate_study(study, Wanted(scope=Scope.MODELS, views=False))
    rows: list[Any] = [*estimates.of(FLOOR), *estimates.of(FIRST_DIVERGENCE)]
    for row in rows:
        assert math.isnan(row.of.bounds.low)
        assert row["reason"]
    assert {row["reason"] for row in estimates.of(FIRST_DIVERGENCE)} == {RUNS_ONLY}


def test_a_difference_of_named_models_is_not_one_for_new_models() -> None:
    pairs = pair_rows(
        *(
            ({"model": m, "scenario": s}, f"{m}{s}{i}", [i % 2, s == m], [0, 0])
            for m in "ab"
            for s in "axy"
            for i in range(3)
        )
    )
    named = "a difference of named models is not one for new models"
    models, scenarios = (
        {
            row["measure"]: row.of
            for row in contrast_rows(pairs, ["a:b"], [], rng(), how=How(scope))
        }
        for scope in (Scope.MODELS, Scope.SCENARIOS)
    )
    assert {one.reason for one in models.values()} == {named}
    assert all(math.isnan(one.bounds.low) for one in models.values())
    assert scenarios["public"].reason.startswith("only 3 scenarios")
    assert scenarios["public"].refused
    assert scenarios["public"].bounds.low < scenarios["public"].bounds.value


def test_long_frames_show_no_refused_interval() -> None:
    pairs = pair_rows(
        *(({"scenario": s}, f"{s}{i}", [i % 2], [0]) for s in "xyz" for i in range(3))
    )
    frame = estimate(pairs, ["kind"], "scenarios")
    assert frame["low"].null_count() == frame.height
    assert frame["reason"].null_count() == 0


def test_the_audience_effect_has_a_test_of_its_own_by_hand() -> None:
    # Gaps of runs 1, 0 | 0, 0 under the condition and at baseline: Z = 1/2, s^2 = 1/2
    # in the one, so the square error is 1/4 and the statistic 1. Of 6 exchanges all
    # are as far out: any labelling has one run of gap 1 on one side.
    pairs = pair_rows(
        ({}, "a", [1], [0]),
        ({}, "b", [0], [0]),
        (BASE, "c", [1], [1]),
        (BASE, "d", [0], [0]),
    )
    rows = effect_rows(split_rows(pairs, ["kind"]), rng())
    [row] = rows
    assert row["kind"] == "alignment"
    assert row.of.value == pytest.approx(1 / 2)
    assert row.of.statistic == pytest.approx(1)
    assert row.of.outcome.p == 1


def test_the_test_of_a_group_leaves_out_what_has_no_baseline() -> None:
    pairs = pair_rows(
        *(({}, f"a{i}", [1, 1], [0, 0]) for i in range(3)),
        *((BASE, f"c{i}", [0, 0], [0, 0]) for i in range(3)),
        *((BASE | {"scenario": "t"}, f"d{i}", [0, 0], [0, 0]) for i in range(3)),
    )
    [row] = effect_rows(split_rows(pairs, ["kind"]), rng())
    assert row.of.value == 1
    assert 0.05 < row.of.outcome.p <= 0.15  # 2 of 20 exchanges are as far out


def test_p_of_the_audience_effect_is_printed(
    study: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    estimates = estimate_study(study, Wanted(by=("model", "kind")))
    assert len(estimates.of(EFFECT_TEST)) == 4
    assert not estimates.of(CONTRASTS)
    print_estimates(estimates)
    told = capsys.readouterr().out
    [head] = [line for line in told.splitlines() if "public shift " in line]
    assert head.split()[-1] == "p"
