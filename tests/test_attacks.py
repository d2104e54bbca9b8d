"""What attackers of the tool found: each kind of fault, and what must come instead."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.parsed import pairs_of, stances_of
from offrecord.protocol.cases import cases
from offrecord.protocol.design import make_design
from offrecord.protocol.prompts import find_protocol
from offrecord.records import OffrecordError
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import open_record
from tests.test_inspect import QUIET, offrecord, run_small

TWIN = find_protocol("twin").folder / "protocol.md"


def protocol_file(folder: Path, old: str, new: str) -> str:
    text = TWIN.read_text(encoding="utf-8")
    assert old in text
    path = folder / "own.md"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{audience}", "", r"section '## utterance' lacks \{audience\}"),
        ("{text}", "something", r"section '## heard' lacks \{text\}"),
        ("{setting}", "{Setting}", r"section '## system' lacks \{setting\}"),
        ("{items}", "{items} {mood}", r"section '## survey' asks for unknown \{mood\}"),
    ],
)
def test_a_protocol_that_would_not_ask_is_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    design = make_design(
        {"models": ["a/b"], "protocol": protocol_file(tmp_path, old, new)}
    )
    with pytest.raises(OffrecordError, match=message):
        cases(design)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"factors": {"Public": ["1"]}}, "use lower-case letters"),
        ({"factors": {"9turns": ["9"]}}, "use lower-case letters"),
        ({"order": ["alpha", "gamma"]}, "has alpha, beta"),
        ({"order": ["alpha", "alpha", "beta"]}, "order"),
        ({"models": ["a/b,c/d"]}, "without commas"),
        ({"runs": True}, "field 'runs'"),
        ({"rounds": 10**20}, "field 'rounds'"),
    ],
)
def test_a_design_that_would_mislead_is_refused(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        cases(make_design({"models": ["a/b"], **fields}))


def test_an_audience_of_no_one_is_refused(tmp_path: Path) -> None:
    channel = tmp_path / "own.md"
    words = "## utterance\n\nHeard.\n\n## survey\n\nSeen.\n"
    channel.write_text(f"---\nid: own\naudience: [betta]\n---\n\n{words}")
    design = make_design({"models": ["a/b"], "channels": [str(channel), "off_record"]})
    with pytest.raises(OffrecordError, match="audience 'betta' is no one"):
        cases(design)


def test_two_scenarios_of_one_id_are_refused(tmp_path: Path) -> None:
    offrecord("content", "new", "scenario", str(tmp_path / "one"))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    with pytest.raises(OffrecordError, match="named twice"):
        cases(make_design({"models": ["a/b"], "scenarios": folders}))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("attacks") / "small"
    run_small(out, "--model", "simulated/split", "--runs", "2", "--seed", "1")
    return out


def test_stored_parses_are_of_these_very_replies(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "other"
    shutil.copytree(small, out)
    path = out / "transcripts.parquet"
    rows = pl.read_parquet(path)
    turned = pl.when(form="utterance").then(pl.lit("PROMOTE - so.")).otherwise("text")
    rows.with_columns(text=turned).write_parquet(path)
    assert stances_of(open_record(out))["label"].unique().to_list() == ["PROMOTE"]
    # What is derived and cannot be read is made again.
    (out / "measures" / "stances.parquet").write_bytes(b"damaged")
    assert stances_of(open_record(out))["label"].unique().to_list() == ["PROMOTE"]


def test_a_study_whose_logs_are_gone_is_not_held_again(
    small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "gone"
    shutil.copytree(small, out)
    before = (out / "transcripts.parquet").read_bytes()
    shutil.rmtree(out / "logs")
    done = offrecord("run", "--out", str(out), *QUIET, code=2)
    assert "is gone" in done.stderr
    assert (out / "transcripts.parquet").read_bytes() == before


def test_a_study_file_edited_by_hand_is_refused(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "edited"
    shutil.copytree(small, out)
    path = out / "study.yaml"
    before = path.read_text()
    path.write_text(before.replace("rounds: 2", "rounds: 3"))
    for verb in (("run",), ("plan",)):
        done = offrecord(*verb, "--out", str(out), code=2)
        assert "was edited in what cannot change" in done.stderr
    named = [line for line in before.splitlines() if line.startswith("runs: ")]
    path.write_text(before.replace(named[0], "runs: 1"))
    done = offrecord("run", "--out", str(out), *QUIET, code=2)
    assert "and this study was begun with" in done.stderr
    path.write_text(before)
    offrecord("run", "--out", str(out), *QUIET)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-M", "api_key=sk-abcdefgh1234"], "looks like a secret"),
        (["--log-dir", "elsewhere"], "logs lie in the study's folder"),
        (["--max-connections", "3"], "give it after --"),
    ],
)
def test_options_of_a_file_are_checked_like_any_others(
    options: list[str], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps({"models": ["simulated/null"], "options": options}))
    out = tmp_path / "out"
    done = offrecord("run", str(file), "--out", str(out), *QUIET, code=2)
    assert message in done.stderr
    assert not out.exists()


def test_an_option_that_inspect_does_not_know_leaves_no_study(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("run", "--model", "simulated/null", "--scenario", "promotion")
    done = offrecord(
        *(*words, "--out", str(out), "--", "--no-such-option", "3"), code=2
    )
    assert "no debate came back" in done.stderr
    assert not (out / "study.yaml").exists()


def test_logs_of_other_channels_are_no_part_of_a_study(
    small: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run_small(
        other,
        "--model",
        "simulated/null",
        "--channels",
        "public,record_only",
        "--seed",
        "1",
        "--runs",
        "1",
    )
    logs = tmp_path / "logs"
    shutil.copytree(small / "logs", logs / "a")
    shutil.copytree(other / "logs", logs / "b")
    imported = import_inspect(logs, "both")
    assert imported.transcript["model"].unique().to_list() == ["simulated/split"]
    assert any("channels" in line for line in imported.left_out)


def test_a_condition_is_set_against_the_baseline_of_its_own_cells(
    small: Path,
) -> None:
    pairs = pairs_of(open_record(small))
    # A second scenario with a condition and no baseline: no shift can be told.
    pressed = pairs.with_columns(
        condition=pl.lit("boss-future"),
        kind=pl.lit("alignment"),
        timing=pl.lit("future"),
        run=pl.format("{}-p", "run"),
    )
    elsewhere = pressed.with_columns(
        scenario=pl.lit("other"), run=pl.format("{}-e", "run")
    )
    by = {"condition": "boss-future", "agent": "alpha"}
    for frame, known in ((pressed, True), (elsewhere, False)):
        rows = estimate_table(pl.concat([pairs, frame]), ["condition"])
        [row] = [r for r in rows if all(r[k] == v for k, v in by.items())]
        assert (row["public_shift"] == row["public_shift"]) is known
