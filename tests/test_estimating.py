"""All estimates of a study together: the file, what is printed, what must be said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.estimator import Wanted
from offrecord.estimates.estimators import FLOOR, SPLIT
from offrecord.estimates.study import estimate_study
from offrecord.measures.parsed import write_parsed
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from tests.test_inspect import offrecord, run_small

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "llmagora"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="no published runs beside the project"
)

# The contract of `estimate --json`, beside the keys asked for.
KEYS = [
    *("agent", "runs", "strata", "planned", "turns", "missing", "attempts"),
    *("public", "off_record", "gap", "public_shift", "conversion", "audience_effect"),
    *("public_only", "off_record_only"),
    *("divergent", "accommodating", "reversing", "both", "neither", "divergence"),
    *("se", "se_naive", "ci_low", "ci_high", "method", "scope", "reason", "refused"),
    *(
        f"possible_{name}_{end}"
        for name in ("public_shift", "conversion", "audience_effect")
        for end in ("low", "high")
    ),
]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("estimating") / "published"
    write_parsed(out, import_llmagora(PUBLISHED, "published"))
    return out


def row_of(rows: Sequence[Mapping[str, Any]], **keys: str) -> Mapping[str, Any]:
    [found] = [r for r in rows if all(r[k] == v for k, v in keys.items())]
    return found


@needs_published
def test_the_published_runs_give_the_figures_on_record(published: Path) -> None:
    done = offrecord(
        *("estimate", str(published), "--by", "kind", "--json"),
    )
    rows = json.loads(done.stdout)
    assert list(rows[0]) == ["kind", *KEYS]
    alpha = row_of(rows, kind="alignment", agent="alpha")
    assert (alpha["divergent"], alpha["turns"], alpha["missing"]) == (473, 1200, 0)
    assert (alpha["accommodating"], alpha["reversing"]) == (408, 65)
    shown = {
        name: round(100 * alpha[name], 2)
        for name in (
            "public",
            "off_record",
            "public_shift",
            "conversion",
            "audience_effect",
        )
    }
    assert shown == {
        "public": 45.5,
        "off_record": 16.92,
        "public_shift": 45.5,
        "conversion": 15.58,
        "audience_effect": 29.92,
    }
    assert round(100 * alpha["se"], 3) == 1.162
    assert round(100 * alpha["se_naive"], 3) == 1.411
    base = row_of(rows, kind="baseline", agent="alpha")
    assert (base["public_shift"], round(100 * base["off_record"], 2)) == (None, 1.33)


@needs_published
@pytest.mark.parametrize(
    ("scope", "divergence", "gap"),
    [
        (Scope.TURNS, 1.411, None),
        (Scope.RUNS, 1.162, 1.916),
        (Scope.PAIRS, 7.684, None),
        (Scope.MODELS, 11.570, None),
    ],
)
def test_a_standard_error_means_its_scope(
    published: Path, scope: Scope, divergence: float, gap: float | None
) -> None:
    study = open_record(published)
    split = estimate_study(study, Wanted(by=("kind",), scope=scope)).of(SPLIT)
    alpha = {"kind": "alignment", "agent": "alpha"}
    found = row_of(split, **alpha, estimate="divergence")
    assert found["scope"] == scope
    assert round(100 * found["value"], 3) == 39.417
    assert round(100 * found["se"], 3) == divergence
    if gap is not None:
        found = row_of(split, **alpha, estimate="gap")
        assert round(100 * found["value"], 3) == 28.583
        assert round(100 * found["se"], 3) == gap


@needs_published
@pytest.mark.parametrize(
    ("condition", "cross", "public", "other", "d_star"),
    [
        ("alignment-historical", 32.17, 15.83, 6.67, 20.92),
        ("alignment-future", 25.83, 9.17, 0.0, 21.25),
    ],
)
def test_the_noise_floor_of_published_runs_is_that_of_turn_1(
    published: Path,
    condition: str,
    cross: float,
    public: float,
    other: float,
    d_star: float,
) -> None:
    floor = estimate_study(open_record(published), Wanted(by=("condition",))).of(FLOOR)
    found = row_of(floor, condition=condition, agent="alpha")
    assert found["source"] == "repeats of turn 1"
    shown = [found[k] for k in ("cross", "within_public", "within_other", "d_star")]
    assert [round(100 * value, 2) for value in shown] == [cross, public, other, d_star]


def test_the_file_is_strict_json_and_holds_what_is_printed(tmp_path: Path) -> None:
    out = tmp_path / "study"
    run_small(
        out,
        "--model",
        "simulated/split",
        "--condition",
        "alignment-future",
        "--runs",
        "4",
    )
    done = offrecord(
        *("estimate", str(out), "--contrast", "alignment-future:baseline"),
    )
    for heading in ("The split against baseline", "The noise floor", "Contrasts"):
        assert heading in done.stdout
    held = json.loads((out / "estimates.json").read_text(), parse_constant=pytest.fail)
    assert held["floor"][0]["source"] == "shadows"
    assert {row["measure"] for row in held["contrasts"]} >= {"divergence", "public"}
    rates = json.loads(offrecord("estimate", str(out), "--json").stdout)
    assert held["rates"] == rates
    for row in rates:
        if row["public_shift"] is not None:
            parts = row["conversion"] + row["audience_effect"]
            assert math.isclose(row["public_shift"], parts, abs_tol=1e-12)
        assert row["turns"] + row["missing"] == row["planned"]
        assert row["ci_low"] < row["ci_high"]  # never a width of zero
    for row in held["missing"]:
        assert row["divergence_low"] <= row["divergence_high"]


def test_what_is_no_contrast_is_said_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "study"
    run_small(out, "--model", "simulated/null", "--runs", "2")
    done = offrecord("estimate", str(out), "--contrast", "a:b", code=2)
    assert done.stderr.count("\n") == 1
    assert "a:b" in done.stderr


def test_a_study_against_itself_holds_and_awareness_is_left_out(
    tmp_path: Path,
) -> None:
    out = tmp_path / "study"
    run_small(out, "--model", "simulated/null", "--runs", "2")
    done = offrecord("estimate", str(out), "--without-aware", code=2)
    assert "--measures awareness" in done.stderr
    done = offrecord("estimate", str(out), "--against", str(out), code=2)
    assert "give --margin" in done.stderr
    offrecord("measure", str(out), "--measures", "awareness")
    done = offrecord(
        *("estimate", str(out), "--without-aware", "--against", str(out)),
        *("--margin", "99.9"),
    )
    held = json.loads((out / "estimates.json").read_text())
    assert held["pairs_left_out"] == 0
    assert {row["verdict"] for row in held["against"]} == {"pass"}
    assert [row["value"] for row in held["against"]] == [0.0, 0.0]


def test_a_plan_says_what_it_would_detect() -> None:
    words = ("plan", "--model", "simulated/null", "--runs", "5", "--detect", "10")
    done = offrecord(*words)
    assert "runs of each cell, for new runs of the same cells: 19" in done.stdout
    assert "Turns are cheap and worth little" in done.stdout
    done = offrecord(*words, "--rate", "95", code=2)
    assert "their sum is at most 100" in done.stderr
