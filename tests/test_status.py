"""Status: what is missing by cell, what resuming takes, and whether a study runs."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from offrecord.runner.run import run_study
from offrecord.runner.status import CellRuns, StudyState, progress_of
from offrecord.transcript.folder import locked
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import write_transcript
from tests.conftest import Offrecord
from tests.simulated_studies import designed, held_study


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its logs: 2 runs of each of two cells, all ended."""
    asked = {
        "models": ("simulated/paper",),
        "scenarios": ("promotion",),
        "conditions": ("baseline", "alignment-future"),
        "runs": 2,
        "rounds": 1,
        "shadows": 0,
    }
    out = tmp_path_factory.mktemp("status") / "study"
    return run_study(None, asked, ("--display", "none"), out).study.path


def asking_for(runs: int, study: Path) -> Record:
    """A study whose design asks for more runs."""
    file = study / "study.yaml"
    text = file.read_text()
    assert "runs: 2" in text
    file.write_text(text.replace("runs: 2", f"runs: {runs}"))
    return open_record(study)


def test_a_complete_study_says_what_it_used(logged: Path, offrecord: Offrecord) -> None:
    said = offrecord("status", str(logged)).out.splitlines()
    assert said[0] == f"{logged}: complete, 4 of 4 runs have ended"
    assert said[1] == "simulated/paper"
    assert "To resume" not in "\n".join(said)
    text = offrecord("status", str(logged), "--json").out
    found: dict[str, Any] = json.loads(text)
    assert (found["state"], found["missing"]) == ("complete", [])
    assert found["calls_to_resume"] == 0
    assert found["usage"][0]["calls"] == open_record(logged).transcript.height


def test_missing_runs_are_counted_by_cell_and_resuming_in_calls(
    logged: Path,
    tmp_path: Path,
    offrecord: Offrecord,
) -> None:
    out = tmp_path / "study"
    shutil.copytree(logged, out)
    found = progress_of(asking_for(5, out))
    assert (found.state, found.ended, found.planned) == (StudyState.PARTIAL, 4, 10)
    assert found.missing == [
        CellRuns("simulated/paper", f"promotion_{condition}", 2, 5)
        for condition in ("baseline", "alignment-future")
    ]
    assert found.calls == 6 * 8  # two agents, each an utterance and a survey, twice
    said = offrecord("status", str(out)).out
    assert "  missing    3 of 5  simulated/paper  promotion_baseline\n" in said
    resume = f"To resume: offrecord run --out {out} (6 runs, up to 48 calls)"
    assert resume in said
    prices = tmp_path / "prices.yaml"
    price = "{input: 0, output: 1000000, input_cache_read: 0, input_cache_write: 0}"
    prices.write_text(f"simulated/paper: {price}\n")
    rows = open_record(out).transcript
    spent = float(rows["output_tokens"].sum())  # one a token, for 4 of 10 runs
    text = offrecord("status", str(out), "--json", "--prices", str(prices)).out
    assert json.loads(text)["cost_to_resume"] == spent * 6 / 4
    text = offrecord("status", str(out), "--prices", str(prices)).out
    assert f"up to 48 calls; about {spent * 6 / 4:,.2f} " in text
    # The transcript alone tells the same where the logs are elsewhere.
    shutil.rmtree(out / "logs")
    assert progress_of(open_record(out)) == found


def test_logs_tell_more_than_a_transcript_that_was_not_written_yet(
    logged: Path,
    tmp_path: Path,
    offrecord: Offrecord,
) -> None:
    out = tmp_path / "study"
    shutil.copytree(logged, out)
    (out / "transcripts.parquet").unlink()
    found = progress_of(asking_for(3, out))
    assert (found.ended, found.planned) == (4, 6)
    said = offrecord("status", str(out)).out
    assert "Tokens are known once the logs are imported" in said


def test_a_study_that_a_process_works_on_is_running(
    logged: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    shutil.copytree(logged, out)
    with locked(out):
        assert progress_of(open_record(out)).state is StudyState.RUNNING
    assert progress_of(open_record(out)).state is StudyState.COMPLETE
    # An eval set outlives the process that began it, and has a lock of its own.
    if sys.platform != "win32":
        import fcntl

        with (out / "logs" / ".running").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert progress_of(open_record(out)).state is StudyState.RUNNING


def test_cells_with_factors_are_told_apart(tmp_path: Path) -> None:
    factors = {"wave": ("1",), "label_order": ("stated", "reversed")}
    asked: dict[str, Any] = {
        "conditions": ("baseline",),
        "scenarios": ("promotion",),
        "factors": factors,
    }
    study = held_study(tmp_path / "study", "null", **asked, runs=1)
    designed(study.path, 3, "null", **asked)
    found = progress_of(open_record(study.path))
    assert [cell.cell for cell in found.missing] == [
        "promotion_baseline_wave-1",
        "promotion_baseline_label_order-reversed_wave-1",
    ]
    assert {(cell.ended, cell.planned) for cell in found.missing} == {(1, 3)}


def test_an_import_misses_what_was_interrupted_and_cannot_be_resumed(
    tmp_path: Path,
) -> None:
    study = held_study(tmp_path / "study", "null", runs=2)
    rows = study.transcript
    first = rows["run"][0]
    stopped = pl.when(pl.col("run") != first).then("ended").alias("ended")
    write_transcript(study.path, rows.with_columns(stopped))
    found = progress_of(open_record(study.path))
    assert (found.state, found.calls) == (StudyState.PARTIAL, None)
    assert found.planned - found.ended == 1
    assert [(cell.ended, cell.planned) for cell in found.missing] == [(1, 2)]
