"""`offrecord plan`: what decides comes first, and nothing is assumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from offrecord.transcript.store import write_study_json, write_transcript
from tests.conftest import Offrecord
from tests.test_tables import row, transcript

CELL = ("--scenario", "promotion", "--condition", "baseline", "--runs", "2")
MODEL = ("--model", "openai-api/gateway/m")


def named(text: str) -> dict[str, str]:
    """The lines of a plan by their names."""
    lines = (line.partition(" ") for line in text.splitlines())
    return {name: rest.strip() for name, _, rest in lines if name}


def test_a_plan_leads_with_runs_calls_cost_and_time(
    offrecord: Offrecord, tmp_path: Path
) -> None:
    found = named(offrecord("plan", *MODEL, *CELL).out)
    assert list(found)[:4] == ["runs", "calls", "cost", "time"]
    assert found["calls"] == "120 (60 a run)"
    assert found["cost"] == "not known: give --prices FILE"
    assert found["time"].startswith("not known: give --latency SECONDS or --pilot")
    assert "one after another" in found["time"]
    assert found["from"] == "cache  not known of openai-api, so none is assumed"
    assert "content" not in found
    prices = tmp_path / "prices.yaml"
    price = "{input: 1, output: 1, input_cache_read: 0, input_cache_write: 1}"
    prices.write_text(f"openai-api/gateway/m: {price}\n")
    cost = named(offrecord("plan", *MODEL, *CELL, "--prices", str(prices)).out)["cost"]
    assert cost.startswith("about 0.")
    assert "from the cache" not in cost
    prices.write_text(f"other/m: {price}\n")
    told = offrecord("plan", *MODEL, *CELL, "--prices", str(prices)).out
    assert "not known: prices.yaml has no price of openai-api" in named(told)["cost"]


@pytest.mark.parametrize(
    ("words", "time"),
    [
        # 120 calls over 100 connections are two latencies: a run's ten take longer.
        (("--latency", "3"), "30 s: 3 s a call, 100 connections"),
        (("--latency", "3", "--", "--max-connections", "2"), "3.0 min: 3 s a call, 2"),
        (("--latency", "300", "--", "--max-connections", "2"), "5.0 h: "),
    ],
)
def test_time_is_what_connections_or_one_run_take(
    words: tuple[str, ...], time: str, offrecord: Offrecord
) -> None:
    told = named(offrecord("plan", *MODEL, *CELL, *words).out)["time"]
    assert told.startswith(f"at least {time}")


def test_a_pilot_says_how_long_a_call_takes(
    offrecord: Offrecord, tmp_path: Path
) -> None:
    def pilot(*seconds: float | None) -> tuple[str, str]:
        rows = [row("a", round_=n, seconds=each) for n, each in enumerate(seconds, 1)]
        write_study_json(tmp_path, {"study": "pilot"})
        write_transcript(tmp_path, transcript(rows))
        return "--pilot", str(tmp_path)

    told = named(offrecord("plan", *MODEL, *CELL, *pilot(1, 3, None)).out)
    assert told["time"].startswith("at least 20 s: 2 s a call")
    failed = offrecord("plan", *MODEL, *CELL, *pilot(None))
    assert (failed.code, failed.out) == (2, "")
    assert "no reply says how long it took: give --latency SECONDS" in failed.err


@pytest.mark.parametrize("words", [("--batch",), ("--generate-config", "x.yaml")])
def test_time_is_not_known_where_connections_are_not(
    words: tuple[str, ...],
    offrecord: Offrecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("max_connections: 4")
    told = named(offrecord("plan", *MODEL, *CELL, "--latency", "3", "--", *words).out)
    assert told["time"].startswith("not known: batches")


def test_a_plan_shows_what_asking_for_less_saves(offrecord: Offrecord) -> None:
    words = ("plan", *CELL, "--detect", "10", "--elicit", "target")
    told = offrecord(*words).out  # without a model
    assert named(told)["models"] == "any model"
    [runs] = (line for line in told.splitlines() if "runs of each cell, for" in line)
    many = int(runs.rpartition(" ")[2])
    lines = [" ".join(line.split()) for line in told.splitlines()]
    for name, calls, own in (
        ("everything", 60, ""),
        ("--forms utterance", 40, ""),
        ("--elicit target", 35, " (this design)"),
        ("both of them", 25, ""),
    ):
        assert (
            f"{name}: {calls} calls a run, {2 * calls} in all, "
            f"to detect 10 points {many * calls:,} calls{own}"
        ) in lines


def test_a_channel_alone_is_said_before_it_is_paid_for(offrecord: Offrecord) -> None:
    told = named(offrecord("plan", *CELL, "--channels", "public").out)
    assert told["channels"] == "public alone: there is nothing to compare with it"
    assert named(offrecord("plan", *CELL).out)["channels"] == "public, off_record"


@pytest.mark.parametrize("rows", [[], [row("a")]])
def test_where_nothing_can_be_compared_no_empty_table_stands(
    rows: list[dict[str, Any]], offrecord: Offrecord, tmp_path: Path
) -> None:
    write_study_json(tmp_path, {"rounds": 1, "channels": ["public"]})
    write_transcript(tmp_path, transcript(rows))
    done = offrecord("estimate", str(tmp_path))
    assert done.code == 0
    assert done.out.startswith("Nothing to compare: ")
    assert "Percentage points" not in done.out


def test_hashes_stand_behind_a_flag(offrecord: Offrecord) -> None:
    told = offrecord("plan", *CELL, "--hashes").out
    assert "  condition promotion/baseline: baseline@1:" in told
    assert "  promotion_baseline off_record survey: " in told


def test_a_partner_with_written_lines_leaves_less_to_leave_out(
    offrecord: Offrecord,
) -> None:
    words = ("--role", "partner=scripted", "--forms", "utterance")
    told = offrecord("plan", *MODEL, *CELL, *words).out.splitlines()
    assert told[told.index("asking") + 1 :] == [
        "  everything:         30 calls a run, 60 in all",
        "  --forms utterance:  20 calls a run, 40 in all (this design)",
    ]
