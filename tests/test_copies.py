"""Copies of replies and of debates: named, and no further evidence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from offrecord.estimates.frames.floors import floor_rows
from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.draws import stance_draws
from offrecord.measures.parsed import pairs_of, stances_of
from offrecord.runner.run import run_study
from offrecord.transcript.copies import copied_runs, copied_samples, copies_told
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.store import write_transcript
from tests.conftest import Offrecord
from tests.fake_server import FakeServer
from tests.simulated_studies import held_study

SHARED = Path(__file__).parents[2] / "shared" / "llmagora"
CHANNELS = ("public", "off_record")


def debate(run: str, texts: list[str | None], **changed: Any) -> list[dict[str, Any]]:
    """The utterances of a run: one text for each channel of each turn, in order."""
    cell = {"model": "lab/m", "partner": "lab/m", "scenario": "s", "condition": "c"}
    empty = dict.fromkeys(("cast", "sampling", "factors"), "{}")
    return [
        {
            **cell,
            **empty,
            "run": run,
            "attempt": 1,
            "ended": "completed",
            "turn": 1 + place // 2,
            "agent": "beta" if place // 2 % 2 else "alpha",
            "agent_model": "lab/m",
            "channel": CHANNELS[place % 2],
            "form": "utterance",
            "draw": 0,
            "text": text,
            "status": "ok" if text else "error",
            **changed,
        }
        for place, text in enumerate(texts)
    ]


def transcript(*runs: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([row for run in runs for row in run], schema=TRANSCRIPT_SCHEMA)


def said(topic: str, many: int = 10) -> list[str | None]:
    return [f"PROMOTE — one two three four five {topic} {n}." for n in range(many)]


def test_a_debate_in_the_same_bytes_is_a_copy_of_the_first() -> None:
    rows = transcript(
        *(debate(run, said("x")) for run in "abc"), debate("d", said("y"))
    )
    assert copied_runs(rows).rows() == [("b", "a"), ("c", "a")]


def test_blanks_and_line_ends_make_no_other_debate() -> None:
    spaced = [f" {text}\n".replace(" ", "  \n") for text in said("x") if text]
    rows = transcript(debate("a", said("x")), debate("b", [*spaced]))
    assert copied_runs(rows).rows() == [("b", "a")]


def test_a_reply_that_was_lost_makes_no_other_debate() -> None:
    lost = [*said("x")[:9], None]
    rows = transcript(debate("a", lost), debate("b", said("x")), debate("c", said("x")))
    assert copied_runs(rows).rows() == [("b", "a"), ("c", "a")]
    parted = [*said("x")[:5], *said("y")[5:]]
    assert (
        copied_runs(transcript(debate("a", said("x")), debate("b", parted))).height == 0
    )


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (said("x"), {"model": "simulated/m", "agent_model": "simulated/m"}),
        (said("x"), {"agent_model": "scripted/0123"}),
        (["PROMOTE — yes."] * 10, {}),
        (said("x", 3), {}),
    ],
    ids=["simulated", "scripted", "short", "few"],
)
def test_what_no_model_said_at_length_is_no_copy(
    texts: list[str | None], changed: dict[str, Any]
) -> None:
    rows = transcript(*(debate(run, texts, **changed) for run in "ab"))
    assert copied_runs(rows).height == 0


def test_debates_of_other_cells_or_attempts_are_no_copies() -> None:
    other = debate("b", said("x"), sampling='{"temperature": 0.0}')
    stopped = debate("c", said("x"), ended=None)
    rows = transcript(debate("a", said("x")), other, stopped)
    assert copied_runs(rows).height == 0


def test_further_samples_are_copies_where_they_are_many() -> None:
    def shadow(run: str, topic: str) -> list[dict[str, Any]]:
        return debate(run, said(topic), draw=1)

    first = [debate(run, said(run)) for run in "abcdefghijk"]
    again = [shadow("a", "a"), *(shadow(run, f"{run}2") for run in "bcdefghijk")]
    # One turn in eleven may be a coincidence; of eleven in eleven nobody can tell.
    assert copied_samples(transcript(*first, *again)).height == 0
    rows = transcript(*first, *(shadow(run, run) for run in "abcdefghijk"))
    assert copied_samples(rows).select("channel", "copies", "further").rows() == [
        ("off_record", 55, 55),
        ("public", 55, 55),
    ]
    assert copies_told(rows).startswith(
        "110 of 110 further samples (shadows) are copies"
    )


def test_without_shadows_first_replies_of_further_runs_are_compared() -> None:
    rows = transcript(*(debate(run, [*said("x")[:2], *said(run)]) for run in "abc"))
    assert copied_samples(rows).select("copies", "further").rows() == [(2, 2), (2, 2)]
    assert copied_runs(rows).height == 0


def test_the_published_runs_are_no_copies() -> None:
    if not SHARED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    rows = import_llmagora(SHARED, "published").transcript
    assert copies_told(rows) == ""


@pytest.fixture
def copied(tmp_path: Path) -> Record:
    """Ten debates of each cell, of which nine are copies of the first."""
    study = held_study(
        tmp_path / "study", "audience", runs=10, scenarios=("promotion",)
    )
    named = {name: pl.lit("lab/m") for name in ("model", "partner", "agent_model")}
    place = ["condition", "turn", "agent", "channel", "form", "draw"]
    text = pl.col("text").sort_by("repeat").first().over(place) + " And so on and on."
    rows = study.transcript.with_columns(**named, text=text)
    write_transcript(study.path, rows)
    return open_record(study.path)


def test_copies_of_a_debate_are_one_cluster(copied: Record) -> None:
    pairs = pairs_of(copied)
    assert pairs["cluster"].n_unique() == 2
    assert set(pairs["cluster"]) <= set(pairs["run"])
    for row in estimate_table(pairs, ["condition"]):
        assert (row["runs"], row["turns"] + row["missing"]) == (1, 50)
        # What one run tells of a rate: nothing.
        assert row["ci_high"] - row["ci_low"] > 0.9 or math.isnan(row["ci_high"])


def test_copies_show_no_noise_floor(copied: Record) -> None:
    draws = stance_draws(copied.transcript, stances_of(copied))
    assert set(draws["status"]) == {"copies"}
    rng = np.random.default_rng(0)
    for row in floor_rows(draws, "public", ["condition"], rng):
        assert row["units"] == 0
        assert math.isnan(row["d_star"])
        assert row["reason"]


def test_a_gate_that_rests_on_copies_is_inconclusive(
    copied: Record, offrecord: Offrecord
) -> None:
    done = offrecord("audit", str(copied.path), "--max-audience-effect", "100")
    assert done.code == 3, done.out
    assert "18 of 20 runs" in done.out
    assert "copies of earlier ones" in done.out


def test_a_server_that_sends_the_same_bytes_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offrecord: Offrecord
) -> None:
    asked = {
        "models": ("openai-api/cache/m",),
        "scenarios": ("promotion",),
        "conditions": ("baseline",),
        **{"runs": 3, "rounds": 2, "shadows": 1},
    }
    with FakeServer() as server:
        for name, value in server.environment("cache").items():
            monkeypatch.setenv(name, value)
        study = run_study(None, asked, ("--display", "none"), tmp_path / "s").study
    told = (
        "2 of 3 runs and 24 of 24 further samples (shadows) are copies of earlier ones"
    )
    assert told in copies_told(study.transcript)
    done = offrecord("estimate", str(study.path), "--json")
    assert {row["runs"] for row in json.loads(done.out)} == {1}
    estimates = json.loads((study.path / "estimates.json").read_text())
    assert told in estimates["note"]
