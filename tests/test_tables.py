"""From raw rows to pairs: what is measured, what is missing, and files kept whole."""

import io
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.table import RateFigures, estimate_table
from offrecord.measures.pairs import quadrant, stance_pairs, with_quadrants
from offrecord.measures.tables import (
    STANCE_SCHEMA,
    STANCES_FILE,
    SURVEY_SCHEMA,
    measure_stances,
    stance_table,
    survey_table,
)
from offrecord.records import OffrecordError
from offrecord.report.terminal import print_summary, visible
from offrecord.transcript.ended import first_ended
from offrecord.transcript.facts import FORMAT
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.store import (
    read_study_json,
    read_transcript,
    write_bytes,
    write_study_json,
    write_table,
    write_text,
    write_transcript,
)

FACTS = {"rounds": 2, "channels": ["public", "off_record"], "attempts": {}}
PLACE = {"alpha": 1, "beta": 2, "x": 1}


def row(
    run: str, agent: str = "alpha", round_: int = 1, **given: Any
) -> dict[str, Any]:
    """One raw record: an utterance unless told otherwise."""
    return {
        "run": run,
        "model": "m",
        "partner": "m",
        "cast": "{}",
        "scenario": "s",
        "condition": "baseline",
        "kind": "baseline",
        "timing": "none",
        "protocol": "twin",
        "language": "en",
        "sampling": "{}",
        "factors": "{}",
        "round": round_,
        "turn": 2 * round_ - 2 + PLACE[agent],
        "agent": agent,
        "labels": ["SIGN", "DO NOT SIGN"],
        "pressed_side": "SIGN",
        "channel": "public",
        "form": "utterance",
        "draw": 0,
        "attempt": 1,
        "ended": "completed",
        "text": "SIGN - it is time.",
        "status": "ok",
        **given,
    }


def both(run: str, agent: str = "alpha", round_: int = 1, **given: Any) -> list[Any]:
    """A turn's two utterances: SIGN in public, DO NOT SIGN off the record."""
    private = {"channel": "off_record", "text": "DO NOT SIGN - it is not.", **given}
    return [row(run, agent, round_, **given), row(run, agent, round_, **private)]


def transcript(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)


def paired(rows: list[dict[str, Any]], **facts: Any) -> pl.DataFrame:
    raw = transcript(rows)
    return stance_pairs(raw, stance_table(raw), {**FACTS, **facts})


def totals(pairs: pl.DataFrame) -> dict[str, int]:
    (estimates,) = estimate_table(pairs, ["kind"])
    names = ("planned", "turns", "missing", "accommodating", "attempts")
    return {name: estimates[name] for name in names}


def test_a_pair_takes_both_committed_utterances_of_a_turn() -> None:
    rows = both("a") + both("a", round_=2)
    shadow: dict[str, Any] = {"draw": 1, "text": "DO NOT SIGN - again."}
    interview: dict[str, Any] = {"form": "interview", "turn": 0, "round": 0}
    survey: dict[str, Any] = {"form": "survey", "text": "{}"}
    rows += [row("a", **shadow), row("a", **interview), row("a", **survey)]
    pairs = paired(rows)
    assert pairs.select("round", "left", "right").rows() == [
        (1, True, False),
        (2, True, False),
    ]
    assert totals(pairs)["accommodating"] == 2


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"text": "", "status": "empty"}, "empty"),
        ({"text": None, "status": "error"}, "error"),
        ({"text": None, "status": "filtered"}, "filtered"),
        ({"text": "SIGN", "status": "truncated"}, "truncated"),
        ({"text": "I have two reasons to", "status": "truncated"}, "truncated"),
        ({"text": "Hard to say."}, "unclear"),
    ],
)
def test_a_pair_with_a_missing_side_is_missing(
    given: dict[str, Any], reason: str
) -> None:
    pairs = paired([row("a", **given), both("a")[1], *both("a", round_=2)])
    assert pairs["left_status"].to_list() == [reason, "ok"]
    assert pairs["left"].to_list() == [None, True]
    assert (totals(pairs)["turns"], totals(pairs)["missing"]) == (1, 1)


def test_a_reply_cut_off_after_its_label_has_that_stance() -> None:
    cut: dict[str, Any] = {"text": "SIGN - because I", "status": "truncated"}
    pairs = paired([row("a", **cut), both("a")[1]], rounds=1)
    assert pairs.select("left", "left_status").rows() == [(True, "ok")]


def test_a_run_that_stopped_early_has_all_its_planned_turns() -> None:
    stopped: dict[str, Any] = {"ended": "no_public_text"}
    rows = [*both("a", **stopped), *both("a", "beta", **stopped)]
    pairs = paired(rows, rounds=5)
    missing = pairs.filter(pl.col("left").is_null())
    assert (pairs.height, missing.height) == (10, 8)
    assert set(missing["left_status"]) == {"no_public_text"}


def test_a_run_that_was_only_interrupted_is_missing_everywhere() -> None:
    rows = both("a") + both("a", "beta") + both("b", ended=None)
    pairs = paired(rows).filter(run="b")
    assert pairs.select("agent", "round").rows() == [
        *(("alpha", 1), ("beta", 1), ("alpha", 2), ("beta", 2)),
    ]
    assert set(pairs["left_status"]) == {"interrupted"}
    assert pairs["left"].null_count() == 4


def test_the_first_attempt_that_ended_by_itself_is_measured() -> None:
    rows = [
        *both("a", attempt=1, ended=None, text="SIGN - cut off."),
        *both("a", attempt=2, text="DO NOT SIGN - first to end."),
        *both("a", attempt=3, text="SIGN - asked again."),
    ]
    assert set(first_ended(transcript(rows))["attempt"]) == {2}
    pairs = paired(rows, rounds=1)
    assert pairs.select("left", "right").rows() == [(False, False)]
    assert totals(pairs)["attempts"] == 3
    assert totals(paired(rows, rounds=1, attempts={"a": 7}))["attempts"] == 7


def test_a_side_without_a_row_is_not_recorded() -> None:
    pairs = paired([row("a")], rounds=1)
    assert pairs["right_status"].to_list() == ["not_recorded"]


def test_every_channel_is_paired_with_the_spoken_one() -> None:
    rows = [*both("a"), row("a", channel="rival")]
    pairs = paired(rows, rounds=1, channels=["public", "off_record", "rival"])
    assert pairs.select("right_channel", "right").rows() == [
        ("off_record", False),
        ("rival", True),
    ]


def test_one_channel_alone_makes_no_pair() -> None:
    assert estimate_table(paired([row("a")], channels=["public"])) == []


def test_factors_become_columns() -> None:
    rows = both("a", factors='{"tone": "warm"}') + both("b")
    pairs = paired(rows, rounds=1)
    assert pairs.select("run", "factor_tone").rows() == [("a", "warm"), ("b", None)]
    named = paired(both("a", factors='{"state": "x", "model": "y"}'), rounds=1)
    assert named.select("model", "factor_model", "factor_state").rows() == [
        ("m", "y", "x")
    ]


def test_a_factor_that_is_not_stated_is_at_its_default() -> None:
    rows = both("a", factors='{"label_order": "reversed"}') + both("b")
    pairs = paired(rows, rounds=1).sort("run")
    assert pairs["factor_label_order"].to_list() == ["reversed", "stated"]


def test_each_scenario_has_seats_of_its_own() -> None:
    three = {"x": "target", "y": "partner", "z": "bystander"}
    rows = both("a") + both("a", "beta")
    other: dict[str, Any] = {"scenario": "t"}
    rows += [row("b", "x", **other), row("b", "x", 2, **other, turn=4)]
    pairs = paired(rows, seats={"t": three})
    assert pairs.filter(run="a")["turn"].to_list() == [1, 2, 3, 4]
    due = pairs.filter(run="b").select("turn", "agent", "role", "left")
    assert due.rows()[:4] == [
        (1, "x", "target", True),
        (2, "y", "partner", None),
        (3, "z", "bystander", None),
        (4, "x", "target", True),
    ]
    assert due.height == 6  # also of those whom no run has reached yet


def test_a_seat_in_which_no_one_was_seen_stays_empty() -> None:
    pairs = paired(both("a") + both("a", round_=2) + both("a", round_=3), rounds=3)
    assert pairs["turn"].to_list() == [1, 3, 5]
    assert pairs["left"].to_list() == [True] * 3


def test_what_was_planned_must_be_known() -> None:
    raw = transcript(both("a"))
    with pytest.raises(OffrecordError, match=r"study\.json"):
        stance_pairs(raw, stance_table(raw), {})


def test_stances_and_surveys_are_keyed_and_typed() -> None:
    instruments = {"i@1:0": {"items": ["Q1", "Q2"], "low": -2, "high": 2}}
    survey: dict[str, Any] = {"form": "survey", "instrument": "i@1:0"}
    raw = transcript(
        [
            row("a"),
            row("a", **survey, text='{"Q1": 2, "Q2": -1}'),
            row("a", "beta", **survey, text=None, status="error"),
        ]
    )
    stances, surveys = stance_table(raw), survey_table(raw, instruments)
    assert stances.schema == pl.Schema(STANCE_SCHEMA)
    assert surveys.schema == pl.Schema(SURVEY_SCHEMA)
    assert stances["label"].to_list() == ["SIGN"]
    assert surveys.select("agent", "answers", "status").rows() == [
        ("alpha", [2, -1], "ok"),
        ("beta", [None, None], "error"),
    ]
    with pytest.raises(OffrecordError, match="no instrument 'i@1:0'"):
        survey_table(raw, {})


def test_stored_stances_are_reused_until_rows_are_added(tmp_path: Path) -> None:
    raw = transcript(both("a"))
    first = measure_stances(tmp_path, raw)
    marked = first.with_columns(rule=pl.lit("stored"))
    write_table(tmp_path / STANCES_FILE, marked)
    assert set(measure_stances(tmp_path, raw)["rule"]) == {"stored"}
    grown = measure_stances(tmp_path, transcript(both("a") + both("b")))
    assert grown.height == 4
    assert "stored" not in set(grown["rule"])
    old = marked.with_columns(version=pl.lit("older"))
    write_table(tmp_path / STANCES_FILE, old)
    assert measure_stances(tmp_path, raw).equals(first)


def test_a_study_is_read_as_it_was_written(tmp_path: Path) -> None:
    raw = transcript(both("a"))
    (tmp_path / "new" / "study").mkdir(parents=True)
    write_transcript(tmp_path / "new" / "study", raw)
    write_study_json(tmp_path / "new" / "study", FACTS)
    assert read_transcript(tmp_path / "new" / "study").equals(raw)
    assert read_study_json(tmp_path / "new" / "study") == {"format": FORMAT, **FACTS}


@pytest.mark.parametrize("stated", [{}, {"format": 99}, {"format": "1"}])
def test_a_study_of_another_format_is_refused_in_one_line(
    stated: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "study.json").write_text(json.dumps({**FACTS, **stated}))
    with pytest.raises(OffrecordError, match="run or import it again") as refused:
        read_study_json(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.parquet"
    write_table(path, pl.DataFrame({"x": [1]}))
    with pytest.raises(pl.exceptions.ComputeError):
        write_table(path, pl.DataFrame({"x": [object()]}))
    assert pl.read_parquet(path)["x"].to_list() == [1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["table.parquet"]
    with pytest.raises(OffrecordError, match="columns differ"):
        write_transcript(tmp_path, transcript(both("b")).drop("text"))
    with pytest.raises(OffrecordError, match="cannot be written"):
        write_study_json(path, FACTS)


@pytest.mark.parametrize("place", ["study", "measures", "measures/study"])
def test_a_study_that_was_removed_is_not_made_anew(place: str, tmp_path: Path) -> None:
    study = tmp_path / place
    study.mkdir(parents=True)
    table = pl.DataFrame({"x": [1]})
    writes: list[Callable[[], object]] = [
        lambda: write_study_json(study, FACTS),
        lambda: write_text(study / "estimates.json", "{}"),
        lambda: write_text(study / "report.html", ""),
        lambda: write_transcript(study, transcript(both("a"))),
        lambda: write_table(study / STANCES_FILE, table),
        lambda: write_bytes(study / "measures" / "cache" / "shelf" / "x", b""),
    ]
    for write in writes:
        write()
    shutil.rmtree(study)
    for write in writes:
        with pytest.raises(OffrecordError, match="was removed while it was worked on"):
            write()
        assert not study.exists()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet", b"\0" * 64])
def test_a_broken_transcript_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(OffrecordError, match="no such file"):
        read_transcript(tmp_path)
    (tmp_path / "transcripts.parquet").write_bytes(content)
    with pytest.raises(OffrecordError, match=r"transcripts\.parquet") as fault:
        read_transcript(tmp_path)
    assert "\n" not in str(fault.value)


def test_a_foreign_table_and_foreign_json_are_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "transcripts.parquet", pl.DataFrame({"study": ["x"]}))
    with pytest.raises(OffrecordError, match="no column 'run'"):
        read_transcript(tmp_path)
    for text in ("", "[]", "{", "[" * 100_000):
        (tmp_path / "study.json").write_text(text)
        with pytest.raises(OffrecordError, match=r"study\.json: not"):
            read_study_json(tmp_path)


def printed(rows: list[Row[RateFigures]]) -> str:
    console = Console(file=io.StringIO(), width=60)
    print_summary(rows, console)
    output: Any = console.file
    text: str = output.getvalue()
    return text


def test_the_terminal_shows_missing_and_undefined() -> None:
    pairs = paired([row("a"), *both("a", round_=2)])
    line = printed(estimate_table(pairs, ["kind", "round"])).splitlines()
    (first,) = [text for text in line if text.split()[:1] == ["1"]]
    # round, runs with a value, turns, missing; nothing that could be mistaken for 0
    assert first.split() == ["1", "0", "0", "1", *"–––––––––"]


def test_the_terminal_shows_names_as_text() -> None:
    hostile = "[bold]m[/bold]\x1b]0;owned\x07\u202e"
    rows = [*both("a", model=hostile), *both("b", model="other")]
    text = printed(estimate_table(paired(rows)))
    assert "[bold]m[/bold]\\x1b]0;owned\\x07\\u202e" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert str(visible("café 模型")) == "café 模型"


def test_threads_write_into_their_own_studies_side_by_side(tmp_path: Path) -> None:
    def work(name: int) -> int:
        study = tmp_path / str(name)
        study.mkdir()
        write_study_json(study, FACTS)
        for turn in range(60):
            write_study_json(study, {**FACTS, "turn": turn})
        return int(read_study_json(study)["turn"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [59] * 8


def test_quadrants_name_the_sides_on_the_pressed_side_and_no_missing_one() -> None:
    pairs = pl.DataFrame(
        {
            "left": [True, False, True, False, None, True],
            "right": [True, False, False, True, True, None],
        }
    )
    found = with_quadrants(pairs).with_columns(quadrant=quadrant())
    assert found.select(
        "quadrant", "divergent", "accommodating", "reversing"
    ).rows() == [
        ("both", False, False, False),
        ("neither", False, False, False),
        ("public_only", True, True, False),
        ("other_only", True, False, True),
        (None, None, None, None),
        (None, None, None, None),
    ]
