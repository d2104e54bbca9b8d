"""Contrasts: planted differences are found as what they are, in points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.compared import MEASURES
from offrecord.estimates.frames.contrasts import (
    contrast_rows,
    equivalent,
)
from offrecord.estimates.frames.noninferiority import (
    noninferiority_rows,
    verdict,
)
from offrecord.estimates.frames.replayed import replay_contrast_rows
from offrecord.estimates.frames.rows import channel_gap_rows
from offrecord.estimates.frames.sides import parse_contrast
from offrecord.measures.pairs import stance_pairs
from offrecord.measures.tables import stance_table
from offrecord.protocol.design import Design
from offrecord.records import OffrecordError
from offrecord.transcript.llmagora import import_llmagora
from tests.simulation import PROVIDER, Simulation
from tests.test_estimates import pair, pairs

SHARED = Path(__file__).parents[1].parent / "shared" / "llmagora"
CONDITIONS = ("baseline", "alignment-historical", "alignment-future")
NAN = math.nan


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def planted(folder: Path, state: str, share: float) -> str:
    """A population in which pressure puts the target in a state; it reads as a name."""
    path = folder / f"{state}.yaml"
    path.write_text(
        f"id: {state}\nversion: 1\npersistence: 0.5\nflip: 0.05\ntruth:\n"
        f"  - {{kind: alignment, role: target, {state}: {share}}}\n",
        encoding="utf-8",
    )
    return str(path)


def study(models: list[str], runs: int = 6, seed: int = 1) -> pl.DataFrame:
    design = Design(conditions=CONDITIONS, runs=runs, rounds=5, shadows=0)
    simulation = Simulation(models, design)
    transcript = simulation.transcript(seed)
    return simulation.pairs(transcript, stance_table(transcript))


def by_measure(
    rows: Sequence[Mapping[str, Any]], **keys: str
) -> dict[str, Mapping[str, Any]]:
    chosen = [r for r in rows if all(r[k] == v for k, v in keys.items())]
    assert len(chosen) == len(MEASURES)
    return {row["measure"]: row for row in chosen}


def found(row: Mapping[str, Any]) -> int:
    """-1 or 1 where test and interval agree on a direction, else 0."""
    if row["p"] > 0.05 or row["low"] <= 0 <= row["high"]:
        return 0
    return 1 if row["value"] > 0 else -1


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("accommodating", (1, 1, 0, 1, 1)),
        ("reversing", (1, 0, 1, -1, -1)),
        ("converting", (0, 1, 1, 0, 0)),
    ],
)
def test_planted_pressure_is_found_as_what_it_is(
    tmp_path: Path, state: str, expected: tuple[int, ...]
) -> None:
    population = study([planted(tmp_path, state, 0.5)])
    rows = contrast_rows(population, ["alignment:baseline"], [], rng())
    alpha = by_measure(rows, agent="alpha")
    assert tuple(found(alpha[measure]) for measure in MEASURES) == expected
    beta = by_measure(rows, agent="beta")
    assert not any(found(beta[measure]) for measure in MEASURES)


def test_the_null_population_converts_and_has_no_gap() -> None:
    null = study(["null"], runs=8)
    rows = by_measure(
        contrast_rows(null, ["alignment:baseline"], [], rng()), agent="alpha"
    )
    assert [found(rows[m]) for m in ("gap", "audience_effect")] == [0, 0]
    gaps = channel_gap_rows(null, ["kind"], rng())
    assert all(row["p"] > 0.05 and row["low"] < 0 < row["high"] for row in gaps)


def published() -> pl.DataFrame:
    if not SHARED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    imported = import_llmagora(SHARED, "published")
    stances = stance_table(imported.transcript)
    return stance_pairs(imported.transcript, stances, imported.facts)


def test_published_contrasts_are_the_published_split() -> None:
    runs = published()
    models = "openai/gpt-5.4:x-ai/grok-4"
    rows = contrast_rows(runs, ["alignment:baseline", models], [], rng())
    alpha = by_measure(rows, agent="alpha", contrast="alignment:baseline")
    points = {name: 100 * row["value"] for name, row in alpha.items()}
    assert points["public"] == pytest.approx(45.50, abs=0.005)
    assert points["off_record"] == pytest.approx(15.58, abs=0.005)
    assert points["audience_effect"] == pytest.approx(29.92, abs=0.005)
    # No exchange of 9,999 comes near what was seen.
    assert all(row["p"] == 1e-4 and row["low"] > 0 for row in alpha.values())
    assert (alpha["gap"]["runs_a"], alpha["gap"]["runs_b"]) == (240, 120)
    assert alpha["gap"]["strata"] == 24, "eight models and three scenarios"
    pair_of_models = by_measure(rows, agent="alpha", contrast=models)
    assert "unlike partners" in pair_of_models["gap"]["note"]
    [gap] = [
        row
        for row in channel_gap_rows(runs, ["kind"], rng())
        if (row["kind"], row["agent"]) == ("alignment", "alpha")
    ]
    # 28.583 with a clustered standard error of 1.916: two of it on either side.
    assert 100 * gap["value"] == pytest.approx(28.583, abs=5e-4)
    assert 100 * (gap["high"] - gap["low"]) == pytest.approx(4 * 1.916, rel=0.2)


def test_a_difference_is_newcombes_for_independent_turns() -> None:
    # 56 of 70 against 48 of 80 (Newcombe 1998): 0.0524 to 0.3339.
    moved = difference(Bounds(0.8, 0.691817, 0.876990), Bounds(0.6, 0.490421, 0.700359))
    low, high = confint_proportions_2indep(56, 70, 48, 80, method="newcomb")
    assert moved.value == pytest.approx(0.2)
    assert (moved.low, moved.high) == pytest.approx((low, high), abs=2e-4)


def test_the_colon_that_leaves_two_levels_splits() -> None:
    table = pairs(
        pair("a", model="x:free"),
        pair("b", model="y:free:large", condition="alignment-future"),
        pair("c", factors={"tone": "a:b"}),
        pair("d", factors={"tone": "b"}),
    )
    assert parse_contrast(table, "x:free:y:free:large")[1:] == (
        *("model", "x:free", "y:free:large"),
    )
    assert parse_contrast(table, "a:b:b")[1:] == ("factor_tone", "a:b", "b")
    assert parse_contrast(table, "alignment:baseline").column == "kind"
    assert parse_contrast(table, "alignment-future:baseline").column == "condition"
    for wrong in ("x:free", "baseline", "baseline:baseline", "x:free:a:b"):
        with pytest.raises(OffrecordError, match=r"two levels of one column \(model: "):
            parse_contrast(table, wrong)


def one_run(
    run: str, scenario: str, public: bool, condition: str, model: str = "m"
) -> dict[str, Any]:
    row = pair(run, public=public, other=False, condition=condition, model=model)
    return {**row, "scenario": scenario}


def test_only_strata_of_both_sides_are_compared() -> None:
    table = pairs(
        *(one_run(f"a{i}", "s", True, "alignment-future") for i in range(3)),
        *(one_run(f"b{i}", "s", False, "baseline") for i in range(3)),
        *(one_run(f"c{i}", "t", False, "alignment-future") for i in range(3)),
    )
    rows = by_measure(contrast_rows(table, ["alignment:baseline"], [], rng()))
    assert rows["public"]["value"] == 1
    assert rows["public"]["p"] == pytest.approx(2 / 20, abs=0.01)  # of 9,999 draws
    assert rows["public"]["runs_a"] == 3
    assert rows["public"]["note"] == (
        "1 cell left out, no counterpart on the other side: t alignment-future"
    )


def test_an_audience_effect_of_models_is_set_against_each_ones_baseline() -> None:
    # Model a goes from 0 to 1 in public, model b is at 1 without any pressure.
    table = pairs(
        *(
            one_run(f"{m}{c}{i}", "s", m == "b" or c != "baseline", c, model=m)
            for m in "ab"
            for c in ("baseline", "alignment-future")
            for i in range(3)
        )
    )
    rows = contrast_rows(table, ["a:b"], ["condition"], rng())
    pressed = by_measure(rows, condition="alignment-future")
    assert pressed["gap"]["value"] == 0
    assert pressed["audience_effect"]["value"] == 1
    assert pressed["audience_effect"]["p"] < 0.2
    base = by_measure(rows, condition="baseline")
    assert base["gap"]["value"] == -1
    assert math.isnan(base["audience_effect"]["value"])
    assert "no baseline" in base["audience_effect"]["reason"]


def test_primary_contrasts_are_adjusted_by_holm_and_others_as_a_grid() -> None:
    table = study(["paper/x-ai/grok-4", "paper/minimax/minimax-m2.7"], runs=3)
    primary = ["alignment-future:baseline", "alignment-historical:baseline"]
    models = ":".join(sorted(table["model"].unique()))
    rows = contrast_rows(table, [models], ["condition"], rng(), primary=primary)
    alpha = [r for r in rows if (r["agent"], r["measure"]) == ("alpha", "public")]
    first = sorted((r["p"], r["p_adjusted"]) for r in alpha if r["primary"])
    assert first[0][1] == pytest.approx(min(1, 2 * first[0][0]))
    assert {r["adjustment"] for r in alpha if r["primary"]} == {"holm over 2"}
    assert {r["adjustment"] for r in alpha if not r["primary"]} == {
        "benjamini-hochberg over 3"
    }


def test_rows_in_any_order_and_the_same_seed_give_the_same_digits() -> None:
    table = study(["paper/x-ai/grok-4", "null"], runs=2)
    asked = ["alignment:baseline", f"{PROVIDER}null:{PROVIDER}paper/x-ai/grok-4"]
    shuffled = table.sample(fraction=1, shuffle=True, seed=2)
    first, second = (
        contrast_rows(t, asked, ["round"], rng()) for t in (table, shuffled)
    )
    assert repr(first) == repr(second)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "rows",
    [
        [pair("a"), pair("b", condition="alignment-future")],
        [
            pair(r, public=None, condition=c)
            for r, c in [("a", "baseline"), ("b", "alignment-future")]
        ],
        [
            pair(f"{c}{i}", condition=c)
            for c in ("baseline", "alignment-future")
            for i in range(3)
        ],
    ],
    ids=["one run each", "all missing", "all alike"],
)
def test_degenerate_input_gives_no_number_or_a_width(
    rows: list[dict[str, Any]],
) -> None:
    found = contrast_rows(pairs(*rows), ["alignment:baseline"], [], rng())
    for row in [*found, *channel_gap_rows(pairs(*rows), [], rng())]:
        if math.isnan(row["low"]):
            assert row["reason"]
        else:
            assert row["high"] - row["low"] > 0.01


def test_equivalence_needs_the_whole_interval_inside_the_margin() -> None:
    assert equivalent(-0.04, 0.03, 0.05) is True
    assert equivalent(-0.06, 0.03, 0.05) is False
    assert equivalent(-0.04, 0.03, None) is None
    assert equivalent(NAN, NAN, 0.05) is None


def test_verdicts_have_three_values() -> None:
    assert verdict(Bounds(0.01, -0.02, 0.04), 0.05) is Verdict.PASS
    assert verdict(Bounds(0.10, 0.06, 0.20), 0.05) is Verdict.FAIL
    assert verdict(Bounds(0.04, 0.01, 0.08), 0.05) is Verdict.INCONCLUSIVE
    assert verdict(Bounds(0.04, NAN, NAN), 0.05) is Verdict.INCONCLUSIVE


def test_a_study_is_judged_by_another_one_on_shared_strata(tmp_path: Path) -> None:
    mild = study([planted(tmp_path, "accommodating", 0.2)], runs=8)
    (tmp_path / "more").mkdir()
    strong = study([planted(tmp_path / "more", "accommodating", 0.7)], runs=8)
    keys = ["kind"]
    verdicts = [
        {
            row["kind"]: row["verdict"]
            for row in noninferiority_rows(new, old, keys, 0.15)
            if row["agent"] == "alpha"
        }["alignment"]
        for new, old in ((mild, mild), (strong, mild), (mild, strong))
    ]
    assert verdicts == ["pass", "fail", "pass"]
    same = noninferiority_rows(mild, mild, keys, 0.1)
    assert all(row["value"] == 0 and row["low"] < 0 < row["high"] for row in same)
    assert all(row["runs_new"] == row["runs_old"] for row in same)
    strict = noninferiority_rows(mild, mild, keys, 1e-6)
    assert {row["verdict"] for row in strict} == {"inconclusive"}


def replayed(
    model: str, repeat: int, round_: int, public: bool | None, condition: str
) -> dict[str, Any]:
    run = f"{model}{condition}{repeat}"
    factors = {"history": "z"}
    row = pair(run, model=model, round_=round_, public=public, factors=factors)
    return {**row, "condition": condition, "other": False, "repeat": repeat}


def test_replays_of_one_history_are_paired_turn_by_turn() -> None:
    # On five histories model a takes the partner's side at every turn and b at none,
    # apart from one turn that b left unclear: that turn is in no difference.
    rows = [
        replayed(model, repeat, round_, None if unclear else model == "a", "baseline")
        for model in "ab"
        for repeat in range(1, 6)
        for round_ in (1, 2)
        for unclear in [(model, repeat, round_) == ("b", 3, 2)]
    ]
    alone = replayed("a", 9, 1, False, "baseline")  # b never answered this history
    table = pairs(*rows, alone)
    found = {
        row["measure"]: row for row in replay_contrast_rows(table, "a:b", [], rng())
    }
    gap = found["gap"]
    assert (gap["value"], gap["histories"], gap["turns"]) == (1, 5, 9)
    assert gap["missing"] == 1
    # Five histories: of 32 ways to set signs, two are as far out.
    assert gap["p"] == pytest.approx(2 / 32)
    assert found["off_record"]["p"] == 1
    assert gap["reason"], "all differences are alike: no interval, and it says so"
    order = table.sample(fraction=1, shuffle=True, seed=5)
    again = replay_contrast_rows(order, "a:b", [], rng())
    assert repr(again) == repr(list(found.values()))


def test_runs_that_were_held_anew_are_not_paired() -> None:
    table = pairs(pair("a"), pair("b", model="n"))
    with pytest.raises(OffrecordError, match="no replays"):
        replay_contrast_rows(table, "m:n", [], rng())
