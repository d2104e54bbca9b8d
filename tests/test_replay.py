"""Replays: fresh draws on stored public debates, and nothing else of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from offrecord.measures.parsed import pairs_of, write_parsed
from offrecord.protocol.cases import Case
from offrecord.protocol.history import History
from offrecord.protocol.merge import new_design
from offrecord.protocol.replay import replay_requests
from offrecord.protocol.script import cast_of, script_of
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from offrecord.transcript.replays import material, replayed_runs
from tests.test_inspect import QUIET, offrecord, run_small

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "llmagora"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="no published runs beside the project"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("replay") / "source"
    run_small(
        out,
        "--model",
        "simulated/paper",
        "--condition",
        "alignment-future",
        "--runs",
        "2",
    )
    return out


def test_a_replay_asks_all_draws_of_every_turn_on_the_same_words(
    source: Path, tmp_path: Path
) -> None:
    before = {p: p.read_bytes() for p in source.rglob("*") if p.is_file()}
    out = tmp_path / "replay"
    offrecord(
        *("run", "--on", str(source), "--model", "simulated/null", "--shadows", "2"),
        *("--out", str(out), *QUIET),
    )
    assert {p: p.read_bytes() for p in source.rglob("*") if p.is_file()} == before
    study = open_record(out)
    rows = study.transcript
    # 2 conditions x 2 runs, 4 turns, 2 channels x (draw 0 and two shadows), no surveys
    assert rows.height == 4 * 4 * 2 * 3
    assert rows["form"].unique().to_list() == ["utterance"]
    assert set(rows["draw"]) == {0, 1, 2}
    assert rows["factors"].unique().to_list() == ['{"history": "simulated/paper"}']
    assert pairs_of(study)["left"].null_count() == 0
    # Each turn was asked on the stored history, not on the replay's own words.
    stored = open_record(source).transcript.filter(form="utterance", draw=0)
    key = ["condition", "repeat", "turn"]
    both = rows.filter(channel="public", draw=0).join(
        stored.filter(channel="public"), on=key
    )
    assert both.height == 16
    assert (both["history_hash"] == both["history_hash_right"]).all()
    # Resuming asks nothing again.
    offrecord("run", "--out", str(out), *QUIET)
    assert open_record(out).transcript.equals(rows)


def test_a_changed_source_is_refused(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "replay"
    words = ("run", "--on", str(source), "--model", "simulated/null")
    offrecord(*words, "--condition", "baseline", "--out", str(out), *QUIET)
    facts = json.loads((out / "study.json").read_text())
    facts["content"]["histories"] = "0" * 16
    (out / "study.json").write_text(json.dumps(facts))
    done = offrecord("run", "--out", str(out), *QUIET, code=2)
    assert "histories is now" in done.stderr
    done = offrecord(
        "run", "--on", str(tmp_path), "--model", "a/b", "--out", "x", code=2
    )
    assert "no study here" in done.stderr


@needs_published
def test_published_runs_are_asked_as_they_were(tmp_path: Path) -> None:
    study = tmp_path / "published"
    write_parsed(study, import_llmagora(PUBLISHED, "published"))
    fields = {"on": str(study), "models": ("m",), "shadows": 0}
    design = new_design({}, fields)
    checked = 0
    for stored in replayed_runs(design):
        receipts = list(published_requests(study, stored.run))
        if not receipts:
            continue
        asked = material(design, stored.scenario)
        case = Case(scenario=stored.scenario, condition=stored.condition)
        cast = cast_of(asked.scenario, "m", {})
        script = script_of(design, case, asked, cast, given=History(stored.said))
        sent = {
            (r.stamp.turn, r.stamp.channel): r.messages for r in replay_requests(script)
        }
        assert len(sent) == 20
        for key, messages in receipts:
            assert list(sent[key]) == messages, key
            checked += 1
    assert checked == 15 * 20  # every run that keeps its receipts, both channels


@needs_published
def test_published_runs_of_all_scenarios_make_one_study(tmp_path: Path) -> None:
    study, out = tmp_path / "published", tmp_path / "replay"
    imported = import_llmagora(PUBLISHED, "published")
    few = imported.transcript.filter(
        model="x-ai/grok-4", condition="baseline", repeat=1
    )
    write_parsed(study, dataclasses.replace(imported, transcript=few))
    offrecord(
        *("run", "--on", str(study), "--model", "simulated/paper", "--shadows", "0"),
        *("--out", str(out), *QUIET),
    )
    replayed = open_record(out)
    assert replayed.facts["left_out"] == []
    assert replayed.transcript["scenario"].n_unique() == 3
    assert replayed.transcript.height == 3 * 10 * 2


def published_requests(
    study: Path, run: str
) -> Iterator[tuple[tuple[int, str], list[tuple[str, str]]]]:
    """The utterance requests of a run's receipts, adjacent messages merged."""
    transcript = open_record(study).transcript
    log = transcript.filter(pl.col("run") == run)["log"][0]
    channels = {"public_utterance": "public", "private_utterance": "off_record"}
    for receipt in json.loads((PUBLISHED / log).read_bytes())["llm_receipts"]:
        if receipt["event_type"] not in channels:
            continue
        messages: list[tuple[str, str]] = []
        for message in receipt["request"]["messages"]:
            if messages and messages[-1][0] == message["role"]:
                text = f"{messages[-1][1]}\n\n{message['content']}"
                messages[-1] = (message["role"], text)
            else:
                messages.append((message["role"], message["content"]))
        turn = 2 * receipt["turn_num"] - (receipt["speaker_name"] == "Alpha")
        yield (turn, channels[receipt["event_type"]]), messages
