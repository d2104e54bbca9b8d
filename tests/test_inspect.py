"""Debates through Inspect: logs, import, resuming, adding, and what readers see."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import polars as pl
import pytest
from inspect_ai.event import ModelEvent, SpanBeginEvent
from inspect_ai.log import list_eval_logs, read_eval_log

from offrecord.cli import main
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.records import Form
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import open_record
from offrecord.transcript.schema import ROW_KEY

QUIET = ("--", "--display", "none")


def offrecord(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Call a verb in this process, which saves the seconds that all imports take."""
    out, err, ended = io.StringIO(), io.StringIO(), None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["offrecord", *words])
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                ended = end.code
    assert (ended or 0) == code, out.getvalue() + err.getvalue()
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_small(out: Path, *words: str, code: int = 0) -> None:
    offrecord(
        *("run", "--scenario", "promotion", "--condition", "baseline"),
        *("--rounds", "2", "--shadows", "1", *words, "--out", str(out), *QUIET),
        code=code,
    )


def runs_per_cell(study: Path) -> dict[tuple[str, ...], int]:
    rows = open_record(study).transcript.filter(pl.col("ended").is_not_null())
    cells = rows.unique("run").select("model", "scenario", "condition").rows()
    return dict(Counter(cells))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("studies") / "small"
    subprocess.run(
        [
            *(sys.executable, "-m", "offrecord", "run", "--scenario", "promotion"),
            *("--condition", "baseline", "--condition", "alignment-future"),
            *("--model", "simulated/paper", "--model", "simulated/null"),
            *("--rounds", "2", "--shadows", "1", "--runs", "2", "--out", str(out)),
            *QUIET,
        ],
        check=True,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study under the paper's protocol, with a partner of another model."""
    out = tmp_path_factory.mktemp("studies") / "other"
    models = ("--model", "simulated/paper", "--role", "partner=simulated/null")
    run_small(out, *models, "--protocol", "paper", "--runs", "1")
    return out


def test_a_study_holds_every_output_once(finished: Path) -> None:
    study = open_record(finished)
    rows = study.transcript
    # 2 models x 2 conditions x 2 runs; 4 turns; 2 channels; utterance, survey, shadow
    assert rows.height == 8 * 4 * 2 * 3
    assert rows.select(ROW_KEY).is_unique().all()
    assert rows["status"].unique().to_list() == ["ok"]
    assert rows["ended"].unique().to_list() == ["completed"]
    assert rows["prompt_hash"].null_count() == 0
    assert rows["input_tokens"].min() > 0  # type: ignore[operator]
    assert set(study.facts["channels"]) == {"public", "off_record"}
    assert study.facts["rounds"] == 2
    spoken = rows.filter(form=Form.UTTERANCE, channel="public")
    assert spoken["audience"].to_list() == [["participants", "record"]] * spoken.height
    assert len(stances_of(study)) == 8 * 4 * 2 * 2
    assert pairs_of(study)["left"].null_count() == 0


def test_the_log_reads_as_the_public_debate(finished: Path) -> None:
    info = list_eval_logs(str(finished / "logs"))[0]
    log = read_eval_log(info.name, resolve_attachments=True)
    assert log.samples
    sample = log.samples[0]
    assert not sample.target  # View would show it as the right answer
    kinds = [message.role for message in sample.messages]
    assert kinds == ["system", "assistant", "user", "assistant", "user"]
    # Every model call stands under its output, and that under its turn.
    spans = {e.id: e for e in sample.events if isinstance(e, SpanBeginEvent)}
    for event in sample.events:
        if isinstance(event, ModelEvent):
            output = spans[event.span_id or ""]
            turn = spans[output.parent_id or ""]
            stamp = event.input[-1].metadata["offrecord"]  # type: ignore[index]
            assert output.name.startswith(f"{stamp['channel']} {stamp['form']}")
            assert turn.name == f"Round {stamp['round']}, {stamp['agent']}"
            assert turn.type != "turn"  # which Inspect View shows as a number only
    names = {"stance_divergence", "survey_gap", "debate_summary"}
    assert set(sample.scores or {}) == names
    meta = sample.metadata["offrecord"]
    assert {"protocol", "channel public", "scenario promotion"} <= set(meta["content"])


def test_what_the_prompts_of_a_run_share_is_one_message_in_its_log(
    finished: Path,
) -> None:
    info = list_eval_logs(str(finished / "logs"))[0]
    log = read_eval_log(info.name, resolve_attachments=True)
    for sample in log.samples or []:
        inputs = [e.input for e in sample.events if isinstance(e, ModelEvent)]
        assert len(inputs) == 4 * 6
        common = {
            (place, message.role, message.text): set[str | None]()
            for prompt in inputs
            for place, message in enumerate(prompt[:-1])
        }
        for prompt in inputs:
            for place, message in enumerate(prompt[:-1]):
                common[place, message.role, message.text].add(message.id)
            assert len({message.id for message in prompt}) == len(prompt)
        assert all(len(ids) == 1 for ids in common.values())
        assert len({prompt[-1].id for prompt in inputs}) == len(inputs)


def test_running_again_asks_nothing_and_more_runs_add_just_those(
    finished: Path, tmp_path: Path
) -> None:
    out = tmp_path / "moved"  # a study can be moved and still be added to
    shutil.copytree(finished, out)
    before = open_record(out).transcript
    offrecord("run", "--out", str(out), *QUIET)
    assert open_record(out).transcript.drop("study").equals(before.drop("study"))
    offrecord("run", "--out", str(out), "--runs", "4", *QUIET)
    study = open_record(out)
    assert set(runs_per_cell(out).values()) == {4}
    assert len(runs_per_cell(out)) == 4
    kept = study.transcript.join(before, on=["run", "uuid"], how="semi")
    assert kept.height == before.height
    assert set(study.facts["attempts"].values()) == {1}


def test_a_condition_and_a_model_are_added(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "grown"
    shutil.copytree(finished, out)
    before = open_record(out).transcript
    offrecord(
        *("run", "--out", str(out), "--condition", "persona-future"),
        *("--model", "simulated/paper/openai/gpt-5.4", *QUIET),
    )
    after = open_record(out).transcript
    assert len(runs_per_cell(out)) == 3 * 3
    assert after.join(before, on=["run", "uuid"], how="semi").height == before.height
    assert after["run"].n_unique() == 3 * 3 * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--runs", "1"), "has 2 runs of every cell"),
        (("--rounds", "3"), "made with rounds 2, not 3"),
        (("--shadows", "0"), "made with shadows 1, not 0"),
        (("--protocol", "paper"), "made with protocol twin"),
    ],
)
def test_what_would_change_a_study_is_refused_in_one_line(
    finished: Path, words: tuple[str, ...], message: str
) -> None:
    before = (finished / "study.yaml").read_bytes()
    done = offrecord("run", "--out", str(finished), *words, *QUIET, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (finished / "study.yaml").read_bytes() == before


def test_changed_content_is_refused(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "changed"
    shutil.copytree(finished, out)
    facts = json.loads((out / "study.json").read_text())
    facts["content"]["protocol"] = "twin@1:0000000000000000"
    (out / "study.json").write_text(json.dumps(facts))
    done = offrecord("run", "--out", str(out), *QUIET, code=2)
    assert "protocol is now twin@1:" in done.stderr


def test_the_task_runs_under_inspect_alone_and_its_log_imports(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    subprocess.run(
        [
            *(sys.executable, "-m", "inspect_ai", "eval", "offrecord/debate"),
            *("--model", "simulated/paper", "-T", "scenario=promotion"),
            *("-T", "condition=alignment-future", "--limit", "1"),
            *("--log-dir", str(logs), "--display", "none"),
        ],
        check=True,
        capture_output=True,
    )
    out = tmp_path / "study"
    done = offrecord("import", "inspect", str(logs), "--out", str(out))
    assert "simulated/paper" in done.stdout
    assert open_record(out).transcript.height == 10 * 6


def test_a_request_that_was_sent_again_is_one_output(tmp_path: Path) -> None:
    # The messy population loses connections: Inspect leaves a model call in the log for
    # each try, and only the last one is what came back.
    out = tmp_path / "messy"
    run_small(out, "--model", "simulated/messy", "--runs", "8")
    study = open_record(out)
    rows = study.transcript
    assert rows["transport_retries"].sum() > 0
    assert rows.select(ROW_KEY).is_unique().all()
    pairs = pairs_of(study)
    assert pairs.height == 8 * 4  # runs x turns, however often a request was sent
    assert pairs.select("run", "agent", "round").is_unique().all()
    done = offrecord("estimate", str(out), "--json")
    for row in json.loads(done.stdout):
        assert row["planned"] == 16
        assert row["turns"] + row["missing"] == row["planned"]


def test_foreign_and_broken_logs_are_named_and_the_rest_imports(
    finished: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(finished / "logs", logs / "part")
    (logs / "broken.eval").write_bytes(b"not a log")
    good = next((logs / "part").glob("*.eval"))
    (logs / "cut.eval").write_bytes(good.read_bytes()[:5000])
    (logs / "outside.eval").symlink_to(finished / "study.json")
    imported = import_inspect(logs, "s")
    assert imported.transcript["run"].n_unique() == 8
    named = " ".join(imported.left_out)
    assert "broken.eval" in named
    assert "cut.eval" in named
    assert all("\n" not in line for line in imported.left_out)
    done = offrecord("import", "inspect", str(tmp_path / "none"), "--out", "x", code=2)
    assert done.stderr.count("\n") == 1


def test_a_partner_of_another_model(other: Path) -> None:
    rows = open_record(other).transcript
    models = rows.group_by("agent").agg(pl.col("agent_model").unique()).rows()
    assert dict(models) == {"alpha": ["simulated/paper"], "beta": ["simulated/null"]}
    assert rows["partner"].unique().to_list() == ["simulated/null"]


def test_simulated_agents_answer_the_paper_s_protocol(other: Path) -> None:
    study = open_record(other)
    assert set(study.transcript["protocol"]) == {"paper"}
    assert study.ended_runs == 1
    assert set(surveys_of(study)["status"]) == {"ok"}


# ------------------------------------------------ what is looked at before a call


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("contrasts: [alignment-future]", "needs A:B"),
        ("contrasts: ['alignment-future:nosuch']", "needs A:B"),
        ("contrasts: ['baseline:baseline']", "needs A:B"),
        ("runs: 010", "field 'runs'"),
        ("runs: 1:30", "field 'runs'"),
    ],
)
def test_a_design_that_could_not_be_estimated_is_refused(
    design: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        f"models: [simulated/paper]\nscenarios: [promotion]\n{design}\n",
        encoding="utf-8",
    )
    for verb in (("plan",), ("run", "--out", str(tmp_path / "out"))):
        done = offrecord(*verb, str(file), code=2)
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    file.write_text(
        file.read_text().replace(design, "contrasts: ['alignment:baseline']\nruns: 1")
    )
    offrecord("plan", str(file))


def test_a_declared_contrast_may_wait_for_its_runs(tmp_path: Path) -> None:
    out, file = tmp_path / "study", tmp_path / "study.yaml"
    file.write_text(
        "models: [simulated/paper]\nscenarios: [promotion]\nruns: 1\nrounds: 1\n"
        "conditions: [baseline, alignment-future]\n"
        "contrasts: ['alignment-future:baseline']\n",
        encoding="utf-8",
    )
    offrecord("run", "--out", str(out), "--shard", "1/2", str(file), *QUIET)
    offrecord("import", "inspect", str(out / "logs"), "--out", str(out))
    early = offrecord("estimate", str(out))
    assert "contrast alignment-future:baseline has no runs of both" in early.stdout
    offrecord("report", str(out))
    offrecord("run", "--out", str(out), "--shard", "2/2", *QUIET)
    offrecord("import", "inspect", str(out / "logs"), "--out", str(out))
    late = offrecord("estimate", str(out))
    assert "no runs of both" not in late.stdout
    estimates = json.loads((out / "estimates.json").read_bytes())
    assert estimates["contrasts_to_come"] == []
    assert {row["contrast"] for row in estimates["contrasts"]} == {
        "alignment-future:baseline"
    }


def test_a_study_is_read_without_its_scenario_s_folder(tmp_path: Path) -> None:
    here, out = tmp_path / "mine", tmp_path / "study"
    offrecord("content", "new", "scenario", str(here))
    offrecord(
        *("run", "--scenario", str(here), "--model", "simulated/split"),
        *("--runs", "1", "--rounds", "1", "--out", str(out), *QUIET),
    )
    here.rename(tmp_path / "elsewhere")
    for verb in (("estimate",), ("report",), ("audit", "--max-missing", "100")):
        done = offrecord(*verb[:1], str(out), *verb[1:])
        assert "partial" not in done.stdout + done.stderr


def test_a_replay_takes_no_size_of_its_own(other: Path, tmp_path: Path) -> None:
    call = ("run", "--on", str(other), "--model", "simulated/split", "--out")
    for words in (
        ("--rounds", "1"),
        ("--runs", "3"),
        ("--factor", "label_order=stated,reversed"),
    ):
        out = tmp_path / "replay"
        done = offrecord(*call, str(out), *words, *QUIET, code=2)
        assert "leave" in done.stderr
        assert not out.exists()
    offrecord(*call, str(out), "--rounds", "2", *QUIET)  # as its source has


def test_a_key_in_a_text_that_is_sent_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-test-" + 24 * "a"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = tmp_path / "told.md"
    text.write_text(f"---\nversion: 1\n---\n\n## text\n\nUse {key} here.\n")
    here = tmp_path / "mine"
    offrecord("content", "new", "scenario", str(here))
    scenario = here / "scenario.md"
    scenario.write_text(scenario.read_text() + f"\n<!-- {key} -->\n")
    for words in (
        ("--scenario", "promotion", "--factor", f"arm={text}"),
        ("--scenario", str(here)),
    ):
        done = offrecord(
            *("run", "--model", "simulated/paper", *words),
            *("--out", str(tmp_path / "out"), *QUIET),
            code=2,
        )
        assert "secret" in done.stderr
        assert key not in done.stderr + done.stdout
    assert not (tmp_path / "out").exists()
