"""Whatever interrupts a study, resuming gives exactly the study that it should be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from offrecord.measures.parsed import pairs_of
from offrecord.records import OffrecordError
from offrecord.transcript.ended import under_way
from offrecord.transcript.record import open_record
from offrecord.transcript.store import make_folder, write_json
from tests.interruptions import (
    DESIGN,
    MEASURES,
    Blow,
    estimates,
    faults_of,
    interrupted,
    some_point,
    torn_files,
)
from tests.test_inspect import QUIET, offrecord, runs_per_cell

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

SEED = 20260707


def run_words(out: Path) -> tuple[str, ...]:
    options = ("--display", "none", "--max-samples", "1", "-M", "latency=0.1")
    return ("run", *DESIGN, "--runs", "2", "--out", str(out), "--", *options)


def done(*words: str, study: Path) -> None:
    outcome = interrupted(words, study=study)
    assert outcome.code == 0, outcome.printed


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study that nothing interrupts, through every stage."""
    out = tmp_path_factory.mktemp("interruption") / "study"
    done(*run_words(out), study=out)
    done("measure", str(out), *MEASURES, study=out)
    done("estimate", str(out), study=out)
    return out


def test_a_run_that_was_killed_alone_and_resumed_is_the_same_study(
    whole: Path, tmp_path: Path
) -> None:
    # Inspect's eval set ends soon after the process that began it. A second one beside
    # it would delete its logs, so it waits.
    out = tmp_path / "study"
    begun = interrupted(
        run_words(out), Blow.KILL_ALONE, after=0, study=out, logged=True
    )
    assert begun.code == -9
    outcome = interrupted(run_words(out), study=out)
    assert outcome.code == 0, outcome.printed
    done("measure", str(out), *MEASURES, study=out)
    done("estimate", str(out), study=out)
    assert not faults_of(out, whole)
    assert estimates(out) == estimates(whole)


def debates_logged(logs: Path) -> int:
    """How many debates stand in the logs of a study that is under way."""
    found = 0
    for log in logs.glob("*.eval"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(log) as archive:
            names = archive.namelist()
            found += sum(name.startswith("samples/") for name in names)
    return found


@pytest.mark.parametrize(
    ("stop", "send"),
    [
        (signal.SIGINT, os.killpg),
        (signal.SIGINT, os.kill),
        (signal.SIGKILL, os.killpg),
        (signal.SIGTERM, os.kill),
    ],
    ids=["ctrl-c", "an interrupt of one process", "kill -9", "kill"],
)
def test_a_stopped_study_loses_no_run_doubles_none_and_asks_no_more(
    stop: signal.Signals, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    out = tmp_path / "stopped"
    command = [
        *(sys.executable, "-m", "offrecord", "run", "--scenario", "promotion"),
        *("--condition", "baseline", "--rounds", "2", "--runs", "3"),
        *("--model", "simulated/paper", "--model", "simulated/null"),
        *("--out", str(out), "--", "--max-samples", "1"),
        *("--log-buffer", "1", "-M", "latency=0.3"),
    ]
    with subprocess.Popen(
        command,
        start_new_session=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not debates_logged(out / "logs"):
            time.sleep(0.05)
        time.sleep(0.2)  # into the next debate
        send(process.pid, stop)
        printed, errors = process.communicate(timeout=120)
    if stop is signal.SIGINT:
        assert process.returncode == 130, errors
        partial = open_record(out)
        assert 0 < partial.ended_runs < 6
        again = under_way(partial.transcript).height
        assert errors.splitlines()[-1] == (
            f"Interrupted: {partial.ended_runs} of 6 runs complete; run the same "
            f"command to resume; about {again} calls will be repeated"
        )
        # Nothing advertises another way to go on, and nothing is concluded.
        assert "eval-retry" not in errors
        assert not printed
        first = partial.transcript.filter(pl.col("ended").is_not_null())
    done = offrecord("run", "--out", str(out), *QUIET)
    assert "Traceback" not in done.stderr
    assert runs_per_cell(out) == {
        ("simulated/null", "promotion", "baseline"): 3,
        ("simulated/paper", "promotion", "baseline"): 3,
    }
    whole = open_record(out)
    if stop is signal.SIGINT:
        kept = whole.transcript.join(first, on=["run", "uuid"], how="semi")
        assert kept.height == first.height
    # What was interrupted is kept as an attempt and counted.
    attempts = whole.facts["attempts"].values()
    assert len(attempts) == 6
    assert sum(attempts) > 6
    assert pairs_of(whole).height == 6 * 4
    assert pairs_of(whole)["left"].null_count() == 0


@pytest.mark.parametrize("verb", ["import", "measure", "estimate"])
def test_nine_kills_at_random_points_of_what_follows_a_run(
    verb: str, whole: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng([SEED, len(verb)])
    out = tmp_path / "study"
    words: tuple[str, ...] = (verb, str(out))
    if verb == "import":
        words = ("import", "inspect", str(whole / "logs"), "--out", str(out))
    else:
        shutil.copytree(whole, out)
        shutil.rmtree(out / "measures")
        (out / "estimates.json").unlink()
    if verb == "measure":
        words += MEASURES
    for _ in range(3):
        interrupted(words, Blow.KILL, some_point(rng, 1.5), study=out)
        assert not out.exists() or not torn_files(out)
    done(*words, study=out)
    if verb != "measure":
        done("measure", str(out), *MEASURES, study=out)
    done("estimate", str(out), study=out)
    assert not faults_of(out, whole)
    if verb != "import":  # which has no design, and so no words on what was planned
        assert estimates(out) == estimates(whole)


def test_a_full_disk_is_one_line_and_what_was_there_stays(
    whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    shutil.copytree(whole, out)
    before = (out / "estimates.json").read_bytes()
    for words in (("estimate", str(out)), ("measure", str(out), *MEASURES)):
        outcome = interrupted(words, Blow.FULL, study=out, room=3000)
        assert outcome.code == 2, outcome.printed
        assert "cannot be written" in outcome.printed
        assert "Traceback" not in outcome.printed
        assert not torn_files(out)
    assert (out / "estimates.json").read_bytes() == before
    assert not list(out.rglob("*.part"))
    imported = tmp_path / "imported"
    again = ("import", "inspect", str(whole / "logs"), "--out", str(imported))
    for room in (1, 500, 3000, 10_000):
        outcome = interrupted(again, Blow.FULL, study=imported, room=room)
        assert outcome.code == 2, outcome.printed
        assert outcome.printed.count("\n") == 1, outcome.printed
    done(*again, study=imported)
    assert not faults_of(imported, whole)


def test_a_study_removed_while_it_is_worked_on_does_not_come_back(
    whole: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(SEED)
    seen = set()
    for index in range(4):
        out = tmp_path / f"study{index}"
        shutil.copytree(whole, out)
        words = ("measure", str(out), *MEASURES)
        after = some_point(rng, 0.6)
        outcome = interrupted(words, Blow.GONE, after, study=out)
        if not outcome.struck:  # through before its folder went
            assert outcome.code == 0, outcome.printed
            continue
        seen.add(outcome.code)
        assert outcome.code in {0, 2}, outcome.printed
        assert outcome.code == 0 or outcome.printed.count("offrecord: ") == 1
        assert "Traceback" not in outcome.printed
        assert not out.exists()
    assert 2 in seen
    study = open_record(whole)
    gone = tmp_path / "gone"
    shutil.copytree(whole, gone)
    study = open_record(gone)
    shutil.rmtree(gone)
    with pytest.raises(OffrecordError, match="was removed while it was worked on"):
        write_json(study.path / "measures" / "new.json", {})
    assert not gone.exists()
    # gone between the question whether it is there and the writing
    with pytest.raises(OffrecordError, match="was removed while it was worked on"):
        make_folder(study.path / "measures" / "deeper")
    assert not gone.exists()


def test_replies_that_were_paid_for_outlive_a_removed_study(tmp_path: Path) -> None:
    out, new = tmp_path / "study", tmp_path / "new"
    words = (*run_words(out), "-M", "latency=1")  # long enough to be struck
    gone = interrupted(words, Blow.GONE, 3, study=out, logged=True)
    assert (gone.code, gone.struck) == (2, True), gone.printed
    said = gone.printed.splitlines()[-1]
    assert f"offrecord import inspect {out / 'logs'} --out NEW" in said, gone.printed
    assert {path.name for path in out.iterdir()} == {"logs"}
    done("import", "inspect", str(out / "logs"), "--out", str(new), study=new)
    assert open_record(new).transcript.height > 0


def test_a_partial_study_is_estimated_and_says_so(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    shutil.copytree(whole, out)
    design = (out / "study.yaml").read_text()
    assert "runs: 2" in design
    (out / "study.yaml").write_text(design.replace("runs: 2", "runs: 5"))
    outcome = interrupted(("estimate", str(out)), study=out)
    assert outcome.code == 0
    assert "a partial study: 4 of 10 planned runs have ended" in outcome.printed


def test_what_a_killed_process_left_is_no_hindrance_and_goes_in_time(
    whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    out.mkdir()
    old, fresh = (out / f".study.json.{pid}.part" for pid in (1, 2))
    for part in (old, fresh):
        part.write_text("{")
    os.utime(old, (0, 0))
    done("import", "inspect", str(whole / "logs"), "--out", str(out), study=out)
    assert not old.exists()
    assert fresh.exists()  # another process may be writing it


def test_a_disk_that_is_full_from_the_start_leaves_a_folder_to_begin_in(
    tmp_path: Path,
) -> None:
    out = tmp_path / "study"
    for room in (100, 700):  # too little for study.yaml, and for Inspect's first log
        outcome = interrupted(run_words(out), Blow.FULL, study=out, room=room)
        assert outcome.code == 2, outcome.printed
        assert {path.name for path in out.iterdir()} <= {".lock"}


def test_a_torn_log_is_set_aside_and_its_runs_are_held_again(
    whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    shutil.copytree(whole, out)
    [log] = (out / "logs").glob("*.eval")
    log.write_bytes(log.read_bytes()[:20_000])
    refused = interrupted(("run", "--out", str(out)), study=out)
    assert refused.code == 2
    assert "cannot be read" in refused.printed  # and was imported: not held again
    (out / "transcripts.parquet").unlink()
    outcome = interrupted(
        ("run", "--out", str(out), "--", "--display", "none"), study=out
    )
    assert outcome.code == 0, outcome.printed
    assert "set aside" in outcome.printed
    assert not faults_of(out, whole)
    assert list((out / "logs").glob("*.unreadable"))
