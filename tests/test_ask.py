"""Who is asked what: calls that a design does not make, and what is then due."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from offrecord.measures.parsed import pairs_of, stances_of
from offrecord.protocol.cases import cases
from offrecord.protocol.design import make_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.records import Asked, Form, OffrecordError, due
from offrecord.report.browser.index import browser_index
from offrecord.runner.resolve import calls_per_run, design_over
from offrecord.transcript.planned import outputs, planned
from offrecord.transcript.record import Record, open_record
from tests.test_inspect import QUIET, offrecord, run_small

TARGET = {"elicit": ["target"]}
WORDS = {"forms": ["utterance"]}


@pytest.mark.parametrize(
    ("ask", "calls"),
    # 5 rounds: 6 outputs of each of two agents; 6 and 1; 4 and 4; 4 and 1.
    [({}, 60), (TARGET, 35), (WORDS, 40), ({**TARGET, **WORDS}, 25)],
)
def test_calls_that_a_run_makes(ask: dict[str, list[str]], calls: int) -> None:
    design = make_design({"scenarios": ["promotion"], "ask": ask})
    requests = sample_requests(sample_script(design, cases(design)[0]))
    assert len(requests) == calls_per_run(design) == calls


def test_what_is_asked_is_asked_as_it_was() -> None:
    """Prompts hang on the spoken history alone, whoever else is asked for what."""
    every, fewer = (
        {request.stamp: request for request in sample_requests(script)}
        for design in (
            make_design({"scenarios": ["promotion"]}),
            make_design({"scenarios": ["promotion"], "ask": {**TARGET, **WORDS}}),
        )
        for script in [sample_script(design, cases(design)[1])]
    )
    assert all(every[stamp] == request for stamp, request in fewer.items())


def test_the_spoken_output_is_due_of_everyone() -> None:
    channels = ("public", "off_record")
    assert list(due(channels, 1, ())) == [("public", Form.UTTERANCE, 0)]
    assert list(due(channels, 1, (Form.UTTERANCE,))) == [
        ("public", Form.UTTERANCE, 0),
        ("off_record", Form.UTTERANCE, 0),
        ("public", Form.UTTERANCE, 1),
        ("off_record", Form.UTTERANCE, 1),
    ]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"forms": ["survey"]}, "field 'ask': forms are utterance, or utterance and"),
        ({"forms": ["utterance", "interview"]}, "field 'ask': forms are utterance"),
        ({"elicit": []}, "field 'ask': elicit names no role"),
        ({"elicit": ["judge"]}, "field 'ask.elicit"),
        ({"whom": ["target"]}, "field 'ask.whom'"),
        ({"elicit": ["bystander"]}, "ask: scenario 'promotion' has no bystander"),
    ],
)
def test_an_ask_of_what_is_not_there_is_refused(
    ask: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        cases(make_design({"scenarios": ["promotion"], "ask": ask}))


def test_a_study_keeps_its_ask_and_a_flag_sets_one_field_of_it(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("models: [a/b]\nscenarios: [promotion]\nask: {elicit: [target]}\n")
    design = design_over(None, file, {"ask": WORDS}, (), None)
    assert design.ask == Asked(forms=(Form.UTTERANCE,), elicit=design.ask.elicit)
    assert calls_per_run(design) == 25
    assert design_over(design, None, {"ask": TARGET}, (), None) == design
    message = "made with ask utterance of target, not utterance,survey of target"
    with pytest.raises(OffrecordError, match=message):
        grown_design(design, {"ask": {**TARGET, "forms": ["survey", "utterance"]}})


def test_a_replay_has_no_surveys() -> None:
    replay = new_design({}, {"models": ("a/b",), "on": "stored"})
    assert calls_per_run(replay) == 40


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Record:
    out = tmp_path_factory.mktemp("ask") / "study"
    words = ("--model", "simulated/paper", "--elicit", "target", "--forms", "utterance")
    run_small(out, *words, "--runs", "1")
    return open_record(out)


def test_what_was_not_asked_is_not_planned_and_not_missing(study: Record) -> None:
    rows = study.transcript
    # Two turns of the target with four utterances each, two of the partner with one.
    assert rows.height == 10
    assert planned(rows, study.facts, Form.SURVEY).is_empty()
    due = outputs(rows, study.facts, Form.UTTERANCE)
    assert due.height == 10
    assert set(due["status"]) == {"ok"}
    partner = due.filter(role="partner")
    assert partner.select("turn", "channel", "draw").rows() == [
        (2, "public", 0),
        (4, "public", 0),
    ]
    pairs = pairs_of(study)
    assert pairs.select("turn", "role").rows() == [(1, "target"), (3, "target")]
    lost = rows.filter(~((pl.col("turn") == 3) & (pl.col("channel") == "off_record")))
    status = outputs(lost, study.facts, Form.UTTERANCE)["status"]
    assert status.to_list().count("not_recorded") == 2  # draw 0 and its shadow


def test_later_stages_take_a_study_of_the_target_alone(
    study: Record, tmp_path: Path
) -> None:
    path = str(study.path)
    offrecord("measure", path, "--measures", "length,markers,survey")
    offrecord("report", path)
    gate = offrecord("audit", path, "--max-missing", "0")
    assert "missing turns" in gate.stdout
    assert "pass" in gate.stdout
    offrecord("export", "inspect", path, "--out", str(tmp_path / "logs"))
    again = tmp_path / "again"
    offrecord("import", "inspect", str(tmp_path / "logs"), "--out", str(again))
    assert open_record(again).facts["ask"] == study.facts["ask"]
    assert pairs_of(open_record(again)).height == 2
    estimates = json.loads((study.path / "estimates.json").read_text())
    assert {row["agent"] for row in estimates["rates"]} == {"alpha"}
    before = study.transcript
    offrecord("run", "--out", path, *QUIET)
    assert open_record(path).transcript.equals(before)


def test_the_page_tells_what_was_not_asked_from_what_is_missing(study: Record) -> None:
    pairs, parses = pairs_of(study), [stances_of(study)]
    index = browser_index(study.transcript, pairs, parses, study.facts)
    assert [mark == "-" for mark in index["marks"][0]] == [False, True, False, True]
