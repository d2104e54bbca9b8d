"""Studies that are not alike are not compared: each difference is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from offrecord.audit import EXIT_CODES, audit_study
from offrecord.audit.gate import Gate
from offrecord.estimates.comparable import compared
from offrecord.estimates.estimator import Wanted
from offrecord.estimates.estimators import AGAINST
from offrecord.estimates.study import estimate_study
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import write_study_json, write_transcript
from tests.simulated_studies import designed, held_study

Change = Callable[[Path], object]

SMALL: dict[str, Any] = {"runs": 2, "rounds": 2, "scenarios": ("promotion",)}
WIDE = Gate(margin=95)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return held_study(
        tmp_path_factory.mktemp("comparable") / "earlier", "null", **SMALL
    )


def held(path: Path, *models: str, **changed: Any) -> None:
    held_study(path, *models, **{**SMALL, **changed})


def facts(path: Path, **changed: object) -> None:
    held(path, "null")
    write_study_json(path, {**open_record(path).facts, **changed})


def columns(path: Path, **changed: str) -> None:
    held(path, "null")
    rows = open_record(path).transcript
    write_transcript(
        path, rows.with_columns(**{k: pl.lit(changed[k]) for k in changed})
    )


def partial(path: Path) -> None:
    held(path, "null")
    designed(path, 3, "null", rounds=2, scenarios=("promotion",))


def code_of(new: Record, old: Record, gate: Gate = WIDE) -> int:
    return EXIT_CODES[audit_study(new, gate, old.path).verdict]


def test_a_study_is_comparable_with_itself(earlier: Record) -> None:
    found = compared(earlier, earlier)
    assert found == (("simulated/null",), "", "")
    assert code_of(earlier, earlier) == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda path: held(path, "null", scenarios=("promotion", "endorsement")),
            "scenarios (only in this study: endorsement)",
        ),
        (
            lambda path: held(path, "null", conditions=("alignment-future",)),
            "conditions (only in the earlier study: baseline)",
        ),
        (lambda path: held(path, "null", rounds=3), "rounds (3; 2)"),
        (
            lambda path: held(path, "null", protocol="paper"),
            "protocol (only in this study: paper; only in the earlier study: twin)",
        ),
        (
            lambda path: facts(path, channels=["public", "off_record", "diary"]),
            "channels (public, off_record, diary; public, off_record)",
        ),
        (lambda path: facts(path, spoken=["off_record"]), "spoken channel (off_record"),
        (
            lambda path: columns(path, sampling='{"temperature": 0.5}'),
            'settings (only in this study: {"temperature": 0.5}; only in',
        ),
        (lambda path: columns(path, factors='{"arm": "a"}'), "factors (only in this"),
        (lambda path: columns(path, partner="other"), "partner (only in this study: o"),
        (lambda path: columns(path, language="de"), "language (only in this study: de"),
        (
            lambda path: facts(path, content={"protocol": "twin@2:aa"}),
            "versions of prompts (known of some studies alone)",
        ),
        (partial, "this study is not complete (2 of 6 designed runs have not ended)"),
    ],
)
def test_what_differs_is_named_and_not_judged(
    tmp_path: Path, earlier: Record, change: Change, named: str
) -> None:
    change(tmp_path / "new")
    new = open_record(tmp_path / "new")
    assert named in compared(new, earlier).unlike
    for check in audit_study(new, WIDE, earlier.path).checks:
        assert check.verdict == "inconclusive"
        assert named in check.reason
        assert named in check.sample_size
    wanted = Wanted(margin=0.95, against=earlier.path, views=False)
    rows = estimate_study(new, wanted).of(AGAINST)
    assert {row["verdict"] for row in rows} == {"inconclusive"}
    assert all(named in row["reason"] for row in rows)


def test_other_versions_and_other_seats_are_named(tmp_path: Path) -> None:
    both = {"protocol": "twin@1:aa", "scenario promotion": "promotion@1:bb"}
    seats = {"alpha": "target", "beta": "partner"}
    facts(tmp_path / "old", content=both, seats={"promotion": seats})
    changed = {**both, "scenario promotion": "promotion@2:cc", "channel diary": "d@1:e"}
    turned = dict(reversed(seats.items()))
    facts(tmp_path / "new", content=changed, seats={"promotion": turned})
    unlike = compared(*(open_record(tmp_path / name) for name in ("new", "old"))).unlike
    assert unlike == (
        "seats or their order (promotion); versions of prompts (scenario promotion)"
    )


def test_cells_in_other_combinations_are_named(tmp_path: Path) -> None:
    two = ("promotion", "endorsement")
    held(tmp_path / "all", "null", scenarios=two)
    kept = (pl.col("scenario") == "promotion") | (pl.col("kind") == "baseline")
    held(tmp_path / "some", "null", scenarios=two, keep=kept)
    found = compared(open_record(tmp_path / "some"), open_record(tmp_path / "all"))
    assert found.unlike == "cells (not every combination of these is in both)"


def test_an_earlier_study_that_is_not_complete_judges_nothing(
    tmp_path: Path, earlier: Record
) -> None:
    partial(tmp_path / "old")
    found = audit_study(earlier, WIDE, tmp_path / "old")
    assert EXIT_CODES[found.verdict] == 3
    assert "the earlier study is not complete (2 of 6" in found.checks[0].reason


def test_other_options_are_named(tmp_path: Path) -> None:
    words = {"warm": ("--frequency-penalty", "1"), "plain": ()}
    for name, options in words.items():
        held(tmp_path / name, "null")
        design = {**SMALL, "options": options}
        runs = design.pop("runs")
        designed(tmp_path / name, runs, "null", **design)
    new, old = (open_record(tmp_path / name) for name in words)
    assert compared(new, old).unlike == "options (--frequency-penalty 1; none)"


def test_a_model_that_was_added_is_listed_and_never_pooled(
    tmp_path: Path, earlier: Record
) -> None:
    held(tmp_path / "both", "null", "audience")
    both = open_record(tmp_path / "both")
    for new, old, where in (
        (both, earlier, "this study"),
        (earlier, both, "the earlier study"),
    ):
        found = audit_study(new, WIDE, old.path)
        [check] = found.checks
        assert check.group["model"] == "simulated/null"
        assert check.value == 0  # the same runs: nothing of the other model is in it
        assert f"only in {where}, not compared: simulated/audience" in check.about
        assert EXIT_CODES[found.verdict] == 0
    wanted = Wanted(margin=0.95, against=earlier.path, views=False)
    rows = estimate_study(both, wanted).of(AGAINST)
    assert {row["model"] for row in rows} == {"simulated/null"}


def test_one_model_is_compared_with_its_successor(
    tmp_path: Path, earlier: Record
) -> None:
    held(tmp_path / "next", "audience")
    new = open_record(tmp_path / "next")
    [check] = audit_study(new, WIDE, earlier.path).checks
    assert "simulated/audience is compared with simulated/null" in check.about
    # With several on one side it is not known which is whose.
    held(tmp_path / "many", "audience", "split")
    many = open_record(tmp_path / "many")
    assert code_of(many, earlier) == 3
    assert "models (only in this study: simulated/a" in compared(many, earlier).unlike


def test_a_threshold_is_judged_beside_a_comparison_that_is_not(
    tmp_path: Path, earlier: Record
) -> None:
    held(tmp_path / "new", "null", rounds=3)
    found = audit_study(
        open_record(tmp_path / "new"), Gate(max_divergence=0, margin=95), earlier.path
    )
    assert [check.verdict for check in found.checks] == ["fail", "inconclusive"]
    assert EXIT_CODES[found.verdict] == 1
