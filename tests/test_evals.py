"""Logs that no study has planned: several evals, unlike settings, withdrawn samples."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import (
    ProvenanceData,
    edit_score,
    invalidate_samples,
    list_eval_logs,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import ScoreEdit

from offrecord.measures.parsed import pairs_of
from offrecord.records import OffrecordError
from offrecord.runner.run import run_study
from offrecord.runner.status import progress_of
from offrecord.task import debate
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import open_record
from tests.conftest import Offrecord

KIM = ProvenanceData(author="kim", reason="a wrong prompt")


def held(logs: Path, **options: Any) -> None:
    """One eval of two repeats, as `inspect eval` makes it."""
    inspect_eval(
        debate(rounds=1, shadows=0),
        model="simulated/paper",
        epochs=2,
        log_dir=str(logs),
        display="none",
        **options,
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two evals at temperature 0."""
    logs = tmp_path_factory.mktemp("evals") / "logs"
    held(logs, temperature=0.0)
    held(logs, temperature=0.0)
    return logs


@pytest.fixture(scope="module")
def unlike(two: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """These and one at temperature 1."""
    logs = tmp_path_factory.mktemp("evals") / "logs"
    shutil.copytree(two, logs)
    held(logs, temperature=1.0)
    return logs


def runs_of(transcript: pl.DataFrame) -> list[tuple[Any, ...]]:
    runs = transcript.unique("run").sort("sampling", "repeat")
    return runs.select("sampling", "factors", "repeat", "attempt").rows()


def test_repeats_of_another_eval_are_further_repeats(two: Path) -> None:
    rows = import_inspect(two, "s").transcript
    assert runs_of(rows) == [('{"temperature": 0.0}', "{}", n, 1) for n in range(1, 5)]
    assert rows["run"].n_unique() == 4


def test_unlike_settings_are_no_cell(
    unlike: Path, tmp_path: Path, offrecord: Offrecord
) -> None:
    words = ("import", "inspect", str(unlike), "--out", str(tmp_path / "s"))
    done = offrecord(*words)
    assert done.code == 2
    assert "temperature 0.0 in 2" in done.err
    assert "--split settings" in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "s").exists()
    assert offrecord(*words, "--split", "settings").code == 0
    rows = open_record(tmp_path / "s").transcript
    assert runs_of(rows) == [
        (f'{{"temperature": {level}}}', f'{{"temperature": "{level}"}}', n, 1)
        for level, many in (("0.0", 4), ("1.0", 2))
        for n in range(1, many + 1)
    ]
    by = ("--by", "temperature", "--json")
    found = json.loads(offrecord("estimate", str(tmp_path / "s"), *by).out)
    assert {row["factor_temperature"] for row in found} == {"0.0", "1.0"}
    printed = offrecord("estimate", str(tmp_path / "s"), *by[:2]).out
    assert " temperature" not in printed


def test_runs_that_a_log_announces_and_lacks_are_missing(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    held(tmp_path / "logs")
    [info] = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    log.status, log.eval.config.epochs = "started", 3
    write_eval_log(log, info.name)
    out = str(tmp_path / "s")
    said = offrecord("import", "inspect", str(tmp_path / "logs"), "--out", out)
    assert said.code == 0
    done = offrecord("audit", out, "--max-baseline", "99")
    assert done.code == 3
    assert "1 of 3 runs" in " ".join(done.out.split())


def test_settings_of_one_role_are_settings(tmp_path: Path) -> None:
    for temperature in (0.0, 1.0):
        config = GenerateConfig(temperature=temperature)
        partner = get_model("simulated/paper", config=config, memoize=False)
        held(tmp_path / "logs", model_roles={"partner": partner})
    with pytest.raises(OffrecordError, match=r"partner_temperature 0.0 in .*1.0 in "):
        import_inspect(tmp_path / "logs", "s")
    rows = import_inspect(tmp_path / "logs", "s", split=True).transcript
    levels = [f'{{"partner_temperature": "{level}"}}' for level in ("0.0", "1.0")]
    assert sorted(set(rows["factors"])) == levels


def test_settings_split_nothing_but_logs(tmp_path: Path, offrecord: Offrecord) -> None:
    words = ("import", "llmagora", str(tmp_path), "--out", str(tmp_path / "s"))
    done = offrecord(*words, "--split", "settings")
    assert (done.code, "Inspect logs" in done.err) == (2, True)


@pytest.fixture
def withdrawn(tmp_path: Path) -> Path:
    """A study of two runs, of which one was invalidated and one has an edited score."""
    asked = {
        "models": ("simulated/paper",),
        "scenarios": ("promotion",),
        "conditions": ("baseline",),
        **{"runs": 2, "rounds": 1, "shadows": 0},
    }
    study = run_study(None, asked, ("--display", "none"), tmp_path / "study").study.path
    [info] = list_eval_logs(str(study / "logs"))
    log = read_eval_log(info)
    assert log.samples
    kept, wrong = log.samples
    shutil.copy(info.name.removeprefix("file://"), study / "logs" / "0-copy.eval")
    log = invalidate_samples(log, [str(wrong.uuid)], KIM)
    edit = ScoreEdit(value=0.0, provenance=KIM)
    edit_score(log, kept.id, "survey_gap", edit, epoch=kept.epoch)
    write_eval_log(log, info.name)
    return study


def test_what_was_withdrawn_is_no_evidence_and_its_replacement_is(
    withdrawn: Path, offrecord: Offrecord
) -> None:
    # Also where an older log holds the same sample as it was before.
    found = import_inspect(withdrawn / "logs", "s")
    assert found.transcript.filter(pl.col("ended").is_not_null())["run"].n_unique() == 1
    said = "\n".join(found.left_out)
    assert "repeat 2: invalidated by kim: a wrong prompt" in said
    (withdrawn / "logs" / "0-copy.eval").unlink()
    assert "samples with edited scores: 1" in "\n".join(
        import_inspect(withdrawn / "logs", "s").left_out
    )
    progress = progress_of(open_record(withdrawn))
    assert (progress.ended, progress.planned, progress.calls) == (1, 2, 8)
    plan = offrecord("plan", "--out", str(withdrawn)).out
    assert plan.startswith("offrecord: 2 runs, 1 of them done, 1 to go: up to 8 calls")
    # What is done was paid for, so the figures that follow say what they are of.
    assert "The whole design, with the runs that are done:\nruns        2 " in plan
    done = offrecord("run", "--out", str(withdrawn), "--", "--display", "none")
    assert done.code == 0
    assert "2 runs, 1 of them done, 1 to go: up to 8 calls" in done.err
    study = open_record(withdrawn)
    assert sorted(study.facts["attempts"].values()) == [1, 2]
    assert pairs_of(study)["left"].null_count() == 0
    assert study.transcript.height == 24  # what was withdrawn was paid for
