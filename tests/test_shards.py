"""Shards: parts of one study, run apart, are the study when they are imported."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.log import (
    EvalError,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
    write_eval_log,
)

from offrecord.cli import main
from offrecord.measures.parsed import pairs_of
from offrecord.protocol.part import WHOLE, Part, plan_of, runs_of, share_of
from offrecord.records import OffrecordError
from offrecord.runner.addresses import find_addresses, read_address, write_address
from offrecord.runner.logs import is_sharded, log_root
from offrecord.runner.run import run_study
from offrecord.runner.shards.run import (
    ShardFinished,
    import_logs,
    run_rest,
    run_shard,
)
from offrecord.transcript.folder import locked
from offrecord.transcript.record import Record
from tests.conftest import Offrecord

QUIET: Final = ("--display", "none")
ASKED: Final[dict[str, Any]] = {
    "models": ("simulated/paper", "simulated/null"),
    "scenarios": ("promotion",),
    "conditions": ("baseline", "alignment-future"),
    "runs": 2,
    "rounds": 1,
    "shadows": 0,
}


def shard(out: Path, part: Part, **flags: Any) -> ShardFinished:
    root = str((out / "logs").resolve())
    return run_shard(None, flags, QUIET, out, part, root)


def logged_in(folder: Path) -> int:
    """Samples in all logs under a folder."""
    logs = list_eval_logs(str(folder))
    return sum(len(read_eval_log_sample_summaries(log)) for log in logs)


def everything(study: Record) -> tuple[Any, ...]:
    """All that must not depend on how a study was run."""
    from offrecord.estimates.frames.table import as_json, estimate_table

    own = ["study", "log", "uuid", "started", "seconds"]
    rows = study.transcript.drop(own)
    table = estimate_table(pairs_of(study), ["model", "condition"])
    return study.design, rows.rows(), as_json(table)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Record:
    out = tmp_path_factory.mktemp("whole") / "study"
    return run_study(None, ASKED, QUIET, out).study


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four shards, all started at once; nothing imported."""
    out = tmp_path_factory.mktemp("four") / "study"
    with ThreadPoolExecutor() as pool:
        parts = [Part(number, 4) for number in range(1, 5)]
        done = list(pool.map(lambda part: shard(out, part, **ASKED), parts))
    assert done == [ShardFinished(2, 2)] * 4
    return out


def copied(four: Path, out: Path, shards: Sequence[int] = (1, 2, 3, 4)) -> Path:
    for number in shards:
        part = Part(number, 4).folder
        shutil.copytree(four / "logs" / part, out / "logs" / part)
    return out


@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 7), st.integers(1, 40))
def test_parts_are_disjoint_whole_and_even(
    models: int, samples: int, repeats: int, of: int
) -> None:
    runs = runs_of(
        [f"m{i}" for i in range(models)], [f"s{i}" for i in range(samples)], repeats
    )
    parts = [share_of(Part(number, of), runs) for number in range(1, of + 1)]
    assert Counter(run for part in parts for run in part) == Counter(runs)
    for key in (
        lambda run: (run.model, run.sample),
        lambda run: run.model,
        bool,
    ):
        for value in {key(run) for run in runs}:
            sizes = [sum(key(run) == value for run in part) for part in parts]
            assert max(sizes) - min(sizes) <= 1


def test_a_plan_is_of_these_runs_and_this_number_of_parts() -> None:
    runs, more = runs_of(["m"], ["s"], 2), runs_of(["m"], ["s"], 3)
    plans = [plan_of(runs, Part(1, 2)), plan_of(runs, Part(1, 3))]
    plans += [plan_of(runs, Part(2, 2)), plan_of(more, Part(1, 2))]
    assert len(set(plans)) == 4


def test_a_shard_writes_only_its_own_folder(four: Path) -> None:
    assert [path.name for path in four.iterdir()] == ["logs"]
    assert sorted(path.name for path in (four / "logs").iterdir()) == [
        f"{number}-of-4" for number in range(1, 5)
    ]


def test_four_shards_import_as_the_study_that_one_machine_makes(
    four: Path, whole: Record, tmp_path: Path
) -> None:
    out = copied(four, tmp_path / "study")
    study = import_logs(str(out / "logs"), out)
    assert everything(study) == everything(whole)
    assert study.facts["attempts"] == whole.facts["attempts"]
    assert study.facts["content"] == whole.facts["content"]
    assert everything(import_logs(str(out / "logs"), out)) == everything(whole)


def test_shards_give_the_verdict_and_the_path_of_a_serial_run(
    four: Path, whole: Record, tmp_path: Path, offrecord: Offrecord
) -> None:
    sharded, serial = copied(four, tmp_path / "sharded"), tmp_path / "serial"
    import_logs(str(sharded / "logs"), sharded)
    shutil.copytree(whole.path, serial)
    seen = []
    for most in ("95", "99.9", "0.1"):
        judged = []
        for study in (sharded, serial):
            words = ("audit", str(study), "--anytime", "--max-divergence", most)
            done = offrecord(*words, "--json", str(tmp_path / "a.json"))
            found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
            judged.append((done.code, found["checks"]))
        assert judged[0] == judged[1]
        checks = judged[0][1]
        assert [len(check["e_below"]) for check in checks] == [2, 2]
        assert len({tuple(check["e_below"]) for check in checks}) == 2
        seen.append(judged[0][0])
    assert seen == [3, 0, 1]


def test_a_run_without_shard_adds_what_shards_left(
    four: Path, whole: Record, tmp_path: Path
) -> None:
    out = copied(four, tmp_path / "study", shards=(1, 3))
    finished = run_rest(None, {}, QUIET, out, str((out / "logs").resolve()))
    assert (finished.ended, finished.planned) == (8, 8)
    assert logged_in(out / "logs" / WHOLE.folder) == 4
    with pytest.raises(OffrecordError, match="has been run in shards"):
        run_study(None, {}, QUIET, out)
    assert everything(finished.study) == everything(whole)


def test_shards_of_a_study_that_one_machine_began_run_what_it_lacks(
    whole: Record, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    shutil.copytree(whole.path, out)
    assert [shard(out, Part(number, 2)) for number in (1, 2)] == [
        ShardFinished(4, 4)
    ] * 2
    assert len(list((out / "logs").rglob("*.eval"))) == len(ASKED["models"])


def test_another_number_of_shards_and_more_runs_run_only_what_is_missing(
    four: Path, tmp_path: Path
) -> None:
    out = copied(four, tmp_path / "study")
    # 12 runs now, 8 of them by the four: of the 6 of one half, 2 are missing
    assert shard(out, Part(1, 2), runs=3) == ShardFinished(6, 6)
    assert logged_in(out / "logs" / "1-of-2") == 2
    study = import_logs(str(out / "logs"), out)
    assert study.ended_runs == 10
    assert study.design.runs == 3
    assert set(study.facts["attempts"].values()) == {1}


def test_a_shard_resumes_with_its_missing_runs(four: Path, tmp_path: Path) -> None:
    out = copied(four, tmp_path / "study", shards=(2,))
    kept, lost = sorted((out / "logs" / "2-of-4").glob("*.eval"))
    before = kept.read_bytes()
    lost.unlink()
    assert shard(out, Part(2, 4)) == ShardFinished(2, 2)
    assert kept.read_bytes() == before
    assert logged_in(out / "logs") == 2
    assert shard(out, Part(2, 4)) == ShardFinished(
        2, 2
    )  # nothing is left: no log is made
    assert len(list((out / "logs").rglob("*.eval"))) == 2


def test_shards_of_unlike_studies_are_refused(four: Path, tmp_path: Path) -> None:
    out = copied(four, tmp_path / "study", shards=(1,))
    with pytest.raises(OffrecordError, match="made with rounds 1, not 2"):
        shard(out, Part(2, 4), **{**ASKED, "rounds": 2})
    with pytest.raises(OffrecordError, match="has 2 runs of every cell"):
        shard(out, Part(2, 4), **{**ASKED, "runs": 1})
    design = out / "logs" / "1-of-4" / "study.yaml"
    other = out / "logs" / "2-of-4" / "study.yaml"
    write_address(str(other), design.read_bytes().replace(b"seed: 0", b"seed: 1"))
    with pytest.raises(OffrecordError, match=r"2-of-4/study.yaml: .* seed 0, not 1"):
        import_logs(str(out / "logs"), out)
    assert not (out / "study.yaml").exists()


def test_shards_held_with_other_content_are_refused(four: Path, tmp_path: Path) -> None:
    out = copied(four, tmp_path / "study", shards=(1, 2))
    beside = out / "logs" / "2-of-4" / "study.json"
    facts = json.loads(beside.read_text(encoding="utf-8"))
    facts["content"]["protocol"] = "twin@1:0000000000000000"
    beside.write_text(json.dumps(facts), encoding="utf-8")
    said = (
        "2-of-4/study.json: protocol is twin@1:0000000000000000, and another shard was "
        "run with twin@1:"
    )
    with pytest.raises(OffrecordError, match=said):
        import_logs(str(out / "logs"), out)
    assert not (out / "study.yaml").exists()
    assert not (out / "study.json").exists()


def failed(path: Path) -> None:
    """Make the first debate of a log one that an error cut off."""
    log = read_eval_log(str(path))
    assert log.samples
    sample = log.samples[0]
    sample.error = EvalError(message="lost", traceback="", traceback_ansi="")
    sample.events = [event for event in sample.events if event.event != "info"]
    write_eval_log(log, str(path))


def test_a_debate_that_failed_is_not_in(
    four: Path, whole: Record, tmp_path: Path
) -> None:
    out = copied(four, tmp_path / "study")
    failed(min((out / "logs" / "3-of-4").glob("*.eval")))
    finished = run_rest(None, {}, QUIET, out, str((out / "logs").resolve()))
    # 8 runs, one of which has failed: that one alone is run again, as its 2nd attempt.
    assert logged_in(out / "logs" / WHOLE.folder) == 1
    assert (finished.ended, finished.planned) == (8, 8)
    assert sorted(finished.study.facts["attempts"].values()) == [*7 * [1], 2]
    assert pairs_of(finished.study).height == pairs_of(whole).height
    assert pairs_of(finished.study)["left"].null_count() == 0


def test_a_shard_that_never_began_leaves_no_design(tmp_path: Path) -> None:
    out = tmp_path / "study"
    wrong = {**ASKED, "models": ("simulated/null",), "options": ("-M", "speed=1")}
    with pytest.raises(OffrecordError, match=r"model simulated/null: .*speed"):
        shard(out, Part(1, 2), **wrong)
    assert not list(out.rglob("study.*"))


def test_two_processes_do_not_run_one_shard(tmp_path: Path) -> None:
    out = tmp_path / "study"
    with (
        locked(out / "logs" / "1-of-2"),
        pytest.raises(OffrecordError, match="another process"),
    ):
        shard(out, Part(1, 2), **ASKED)


def test_logs_may_lie_elsewhere(tmp_path: Path) -> None:
    out, root = tmp_path / "study", f"file://{tmp_path}/far"
    asked = {**ASKED, "models": ("simulated/paper",), "runs": 1}
    far = log_root(out, root)
    assert is_sharded(out, far)
    finished = run_rest(None, asked, QUIET, out, far)
    assert not (out / "logs").exists()
    assert (tmp_path / "far" / "1-of-1" / "study.yaml").is_file()
    assert log_root(out, None) == far  # the study knows where its logs are
    again = run_rest(None, {}, QUIET, out, far)
    assert again.study.transcript.equals(finished.study.transcript)
    assert again.study.ended_runs == 2
    with pytest.raises(OffrecordError, match="has its logs in"):
        log_root(out, f"{tmp_path}/nearer")
    assert everything(import_logs(root, tmp_path / "copy")) == everything(again.study)


def test_files_at_an_address_of_an_object_store() -> None:
    root = "memory://bucket/study"
    assert find_addresses(root, "*-of-*/study.yaml") == []
    assert read_address(f"{root}/1-of-2/study.yaml") is None
    write_address(f"{root}/1-of-2/study.yaml", b"runs: 2")
    write_address(f"{root}/2-of-2/study.yaml", b"runs: 3")
    found = find_addresses(root, "*-of-*/study.yaml")
    assert [read_address(address) for address in found] == [b"runs: 2", b"runs: 3"]
    with pytest.raises(OffrecordError, match="nowhere://x: cannot be reached"):
        read_address("nowhere://x")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--shard 0/4 --out new", "--shard 0/4: write i/n"),
        ("--shard 5/4 --out new", "--shard 5/4: write i/n"),
        ("--shard 1/0 --out new", "--shard 1/0: write i/n"),
        ("--shard x --out new", "--shard x: write i/n"),
        ("--shard ½/1 --out new", "write i/n"),
        ("--shard 1/2", "Missing option '--out'"),
        ("--shard 1/2 --out new --rounds 0", "field 'rounds'"),
        ("--shard 1/2 --out new --log-root nowhere://x", "cannot be reached"),
    ],
)
def test_a_wrong_shard_gets_one_line_and_exit_code_2(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["offrecord", "run", "--model", "simulated/null", *words.split()]
    monkeypatch.setattr(sys, "argv", call)
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2, error
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
