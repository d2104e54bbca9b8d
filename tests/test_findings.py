"""What `estimate` prints beside its tables: flags, notes, and p-values."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from offrecord.estimates.estimator import Wanted
from offrecord.estimates.study import estimate_study
from offrecord.report.findings import print_estimates
from offrecord.report.numbers import chance
from tests.simulated_studies import held_study


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (1e-9, "<0.0001"),
        (0.0001, "0.0001"),
        (0.00042, "0.0004"),
        (0.0123, "0.012"),
        (0.9994, "0.999"),
        (0.99999, ">0.999"),
        (1.0, "1.000"),
        (float("nan"), "–"),
        (None, "–"),
    ],
)
def test_a_p_value_is_never_shown_as_an_end_that_it_has_not_reached(
    p: float | None, shown: str
) -> None:
    assert chance(p) == shown


def test_flags_and_what_cannot_be_fitted_name_their_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One of four baseline runs of alpha has no second turn: 1 of 8 turns.
    lost = (pl.col("condition") == "baseline") & (pl.col("agent") == "alpha")
    lost &= (pl.col("repeat") == 1) & (pl.col("round") == 2)
    lost &= pl.col("form") == "utterance"
    study = held_study(
        tmp_path / "one", "null", runs=4, rounds=2, scenarios=("promotion",), keep=~lost
    )
    estimates = estimate_study(study, Wanted(bayes=True))
    print_estimates(estimates)
    told = " ".join(capsys.readouterr().out.split())
    flags = told.split("Flag: ")[1:]
    assert flags[0].startswith(
        "simulated/null, baseline, alpha: 12.5% of 8 planned turns lack a stance"
    )
    assert len(flags) == 1
    why = "fewer than two models or two scenarios with known turns"
    assert f"no hierarchical model of baseline, alpha: {why}." in told
    assert told.count("no hierarchical model of") == 4
