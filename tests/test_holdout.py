"""The hold-out: one more wording off the record, asked in addition, in no table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from offrecord.content.document import read_document
from offrecord.content.library import built_in, find
from offrecord.measures.draws import stance_draws
from offrecord.measures.parsed import holdout_pairs_of, pairs_of, stances_of
from offrecord.protocol.arms import read_arm
from offrecord.protocol.cases import cases
from offrecord.protocol.design import make_design
from offrecord.protocol.sample import sample_script
from offrecord.records import HOLDOUT, Form, OffrecordError, Role, due
from offrecord.runner.resolve import calls_per_run
from offrecord.transcript.record import Record, open_record
from tests.test_canary import hold_marked, leaks
from tests.test_inspect import QUIET, offrecord

DESIGN = """
models: [simulated/split]
scenarios: [promotion]
conditions: [baseline, alignment-future]
runs: 2
rounds: 2
shadows: 1
ask: {holdout: true, forms: [utterance], elicit: [target]}
factors: {arm: [none, reflection, reflection_placebo]}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Record:
    folder = tmp_path_factory.mktemp("holdout")
    (folder / "study.yaml").write_text(DESIGN)
    out = folder / "asked"
    offrecord("run", str(folder / "study.yaml"), "--out", str(out), *QUIET)
    return open_record(out)


def test_the_holdout_is_one_more_utterance_of_those_who_are_elicited() -> None:
    words = [*due(("public", "off_record"), 1, (Form.UTTERANCE,), HOLDOUT)]
    assert [one for one in words if one[0] == HOLDOUT] == [(HOLDOUT, "utterance", 0)]
    assert not [one for one in due(("public",), 1, (), HOLDOUT) if one[0] == HOLDOUT]
    base = {"scenarios": ["promotion"], "rounds": 5, "shadows": 0}
    asked = {"forms": [Form.UTTERANCE], "elicit": [Role.TARGET]}
    calls = [
        calls_per_run(make_design({**base, "ask": {**asked, "holdout": held}}))
        for held in (False, True)
    ]
    assert calls == [15, 20]  # public of both, off the record and hold-out of one


def test_the_holdout_enters_no_history() -> None:
    design = make_design({"scenarios": ["promotion"], "ask": {"holdout": True}})
    debate, asked = hold_marked(sample_script(design, cases(design)[0]))
    assert len([one for one in asked if one.stamp.channel == HOLDOUT]) == 10
    assert not list(leaks(asked))
    assert {said.channel for said in debate.history.said} == {"public"}


def test_no_channel_is_called_holdout_and_no_arm_uses_its_words() -> None:
    with pytest.raises(OffrecordError, match="'holdout' is none of the channels"):
        cases(make_design({"channels": ["public", "holdout"]}))
    told = read_document(find("channel", HOLDOUT)).section("utterance").lower()
    own = {"nobody", "minutes", "stays with you", "put down"}
    assert all(words in told for words in own)
    for name in built_in("arm"):
        text = read_arm(find("arm", name))[0].text.lower()
        assert not [words for words in own if words in text]
    others = [name for name in built_in("channel") if name != HOLDOUT]
    for name in others:
        text = " ".join(read_document(find("channel", name)).sections.values())
        assert not [words for words in own if words in text.lower()]


def test_tables_of_channels_are_those_of_a_study_without_it(study: Record) -> None:
    rows = study.transcript.filter(channel=HOLDOUT)
    turns = 2 * 3 * 2 * 2  # conditions, arms, runs, turns of the target
    assert rows.height == turns
    assert rows["draw"].unique().to_list() == [0]
    assert pairs_of(study)["right_channel"].unique().to_list() == ["off_record"]
    draws = stance_draws(study.transcript, stances_of(study))
    assert set(draws["channel"]) == {"public", "off_record"}


def test_its_pairs_are_planned_so_a_lost_one_is_missing(study: Record) -> None:
    pairs = holdout_pairs_of(study)
    assert pairs["right_channel"].unique().to_list() == [HOLDOUT]
    assert pairs.height == 2 * 3 * 2 * 2
    assert pairs["right"].null_count() == 0
    lost = study.transcript.filter(
        ~((pl.col("channel") == HOLDOUT) & (pl.col("round") == 2))
    )
    record = open_record(study.path)
    record.__dict__["transcript"] = lost
    again = holdout_pairs_of(record)
    assert again.height == pairs.height
    assert again.filter(round=2)["right_status"].unique().to_list() == ["not_recorded"]


def test_a_study_without_it_has_no_such_pairs(study: Record) -> None:
    facts = {**study.facts, "ask": {**study.facts["ask"], "holdout": False}}
    record = open_record(study.path)
    record.__dict__["facts"] = facts
    assert holdout_pairs_of(record).is_empty()


def test_a_replay_asks_stored_debates_without_an_arm_under_each_arm(
    study: Record, tmp_path: Path
) -> None:
    out = tmp_path / "screening"
    offrecord(
        *("run", "--on", str(study.path), "--model", "simulated/split"),
        *("--factor", "arm=none,reflection,partner_unnamed", "--shadows", "0"),
        *("--elicit", "target", "--out", str(out), *QUIET),
    )
    rows = open_record(out).transcript
    plain = study.transcript.filter(channel="public", factors="{}", draw=0)
    asked = plain.filter(agent="alpha")
    assert rows.filter(agent="alpha", channel="public").height == 3 * asked.height
    key = ["condition", "repeat", "turn"]
    plain = rows.filter(factors='{"history": "simulated/split"}')
    armed = rows.filter(pl.col("factors").str.contains('"arm": "reflection"'))
    both = armed.join(plain, on=[*key, "agent", "channel"], how="inner")
    assert both.height == plain.height
    assert (both["history_hash"] == both["history_hash_right"]).all()
    assert (both["prompt_hash"] != both["prompt_hash_right"]).all()
    assert set(open_record(out).facts["arms"]) == {"reflection", "partner_unnamed"}
