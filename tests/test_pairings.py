"""Pairings: which two texts are compared, and that no planned pair is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from offrecord.measures.pairings import (
    NO_COUNTERPART,
    PAIR_SCHEMA,
    PAIRINGS,
    pair_rows,
)
from offrecord.records import OffrecordError
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

FACTS = {"rounds": 2, "channels": ["public", "off_record"], "shadows": 1}
AGENTS = {"alpha": 1, "beta": 2}


def test_what_was_said_before_by_the_same_agent_and_by_another() -> None:
    order = ["alpha", "alpha", "beta", "gamma", "alpha"]
    rows = [
        {**row("a1", "alpha", 1, "public", 0), "turn": n, "agent": agent, "round": n}
        | {"text": f"{agent} {n}"}
        for n, agent in enumerate(order, start=1)
    ]
    facts = {"rounds": 5, "channels": ["public"], "recorded": True}
    frame = pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)
    found = {
        name: pair_rows(frame, name, facts).select("left_text", "right_text").rows()
        for name in ("self", "heard")
    }
    assert found["self"] == [("alpha 2", "alpha 1"), ("alpha 5", "alpha 2")]
    assert found["heard"] == [
        ("beta 3", "alpha 2"),
        ("gamma 4", "beta 3"),
        ("alpha 5", "gamma 4"),
    ]


def row(run: str, agent: str, round_: int, channel: str, draw: int) -> dict[str, Any]:
    """One utterance whose text says where it stands."""
    return {
        "run": run,
        "model": "m",
        "partner": "m",
        "scenario": "s",
        "condition": run[0],
        "kind": "baseline",
        "timing": "none",
        "protocol": "twin",
        "factors": "{}",
        "repeat": int(run[1:]),
        "round": round_,
        "turn": 2 * round_ - 2 + AGENTS[agent],
        "agent": agent,
        "labels": ["SIGN", "DO NOT SIGN"],
        "channel": channel,
        "form": "utterance",
        "draw": draw,
        "attempt": 1,
        "ended": "completed",
        "text": f"{run} {agent} {round_} {channel} {draw}",
        "status": "ok",
    }


def study(*runs: str) -> list[dict[str, Any]]:
    """Whole runs, each named by its condition's letter and its repeat."""
    return [
        row(run, agent, round_, channel, draw)
        for run in runs
        for round_ in (1, 2)
        for agent in AGENTS
        for channel in ("off_record", "public")
        for draw in (0, 1)
    ]


def pairs(rows: list[dict[str, Any]], pairing: str, seed: int = 0) -> pl.DataFrame:
    transcript = pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)
    return pair_rows(transcript, pairing, FACTS, np.random.default_rng(seed))


def texts(table: pl.DataFrame) -> list[tuple[str, str]]:
    return table.select("left_text", "right_text").rows()


def test_channels_compare_the_spoken_with_each_other_one() -> None:
    assert texts(pairs(study("a1"), "channels")) == [
        (f"a1 {agent} {round_} public 0", f"a1 {agent} {round_} off_record 0")
        for round_ in (1, 2)
        for agent in AGENTS
    ]


def test_draws_are_all_pairs_of_samples_of_one_channel() -> None:
    rows = [
        *study("a1"),
        row("a1", "alpha", 1, "public", 2),
        row("a1", "alpha", 1, "public", 3),
    ]
    mine = pairs(rows, "draws").filter(
        left_agent="alpha", left_turn=1, left_channel="public"
    )
    assert mine.select("left_draw", "right_draw").rows() == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
        (2, 3),
    ]
    assert mine["right_channel"].unique().to_list() == ["public"]


def test_repeats_are_all_pairs_of_runs_of_one_cell() -> None:
    table = pairs(study("a1", "a2", "a3", "b1"), "repeats")
    mine = table.filter(left_turn=3, left_channel="off_record")
    assert texts(mine) == [
        (f"{left} alpha 2 off_record 0", f"{right} alpha 2 off_record 0")
        for left, right in (("a1", "a2"), ("a1", "a3"), ("a2", "a3"))
    ]
    assert len(table) == 3 * 2 * 2 * 2  # pairs of runs, agents, rounds, channels


def test_agents_are_compared_in_what_both_heard() -> None:
    assert texts(pairs(study("a1"), "agents")) == [
        (f"a1 alpha {round_} public 0", f"a1 beta {round_} public 0")
        for round_ in (1, 2)
    ]


def test_shuffled_pairs_share_a_cell_and_neither_run_nor_turn() -> None:
    rows = study(*(f"{cell}{repeat}" for cell in "ab" for repeat in range(1, 6)))
    table, default = pairs(rows, "shuffled"), pairs(rows, "channels")
    assert table["left_text"].equals(default["left_text"])
    for left, right in texts(table):
        (run, agent, round_, channel, _), (other, same, at, off, _) = (
            text.split() for text in (left, right)
        )
        assert run[0] == other[0]
        assert run != other
        assert (agent, channel, off) == (same, "public", "off_record")
        assert round_ != at


def test_shuffled_pairs_follow_their_seed_and_meet_every_other_run() -> None:
    rows = study("a1", "a2", "a3", "a4")
    first, again, other = (pairs(rows, "shuffled", seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    met = pl.concat(pairs(rows, "shuffled", seed) for seed in range(100))
    shares = met.filter(left_run="a1")["right_run"].value_counts(normalize=True)
    assert set(shares["right_run"]) == {"a2", "a3", "a4"}
    # 400 draws: a third, give or take four standard errors of 2.4 points
    assert shares["proportion"].is_between(0.24, 0.43).all()


def test_a_cell_of_one_run_has_no_counterpart_and_says_so() -> None:
    table = pairs(study("a1"), "shuffled")
    assert table["right_status"].to_list() == [NO_COUNTERPART] * 4
    assert table["right_text"].null_count() == 4


def test_what_was_planned_and_is_not_there_stays_with_its_reason() -> None:
    rows = study("a1", "a2", "a3")
    for one in rows:
        if one["run"] == "a2":
            one["ended"] = "no_public_text"
        if one["run"] == "a3":
            one["ended"] = None
    gone = [("a1", 1, "public"), ("a1", 4, "off_record")]
    kept = [
        one
        for one in rows
        if (one["run"], one["round"]) != ("a2", 2)
        and (one["run"], one["turn"], one["channel"]) not in gone
    ]
    table = pairs(kept, "channels")
    reasons = table.select(
        "left_run", "left_turn", "left_status", "right_status"
    ).rows()
    whole = ("ok", "ok")
    assert reasons == [
        ("a1", 1, "not_recorded", "ok"),
        ("a1", 2, *whole),
        ("a1", 3, *whole),
        ("a1", 4, "ok", "not_recorded"),
        ("a2", 1, *whole),
        ("a2", 2, *whole),
        ("a2", 3, "no_public_text", "no_public_text"),
        ("a2", 4, "no_public_text", "no_public_text"),
        *(("a3", turn, "interrupted", "interrupted") for turn in (1, 2, 3, 4)),
    ]
    for side in ("left", "right"):
        missing = table[f"{side}_text"].is_null()
        assert missing.equals(table[f"{side}_status"] != "ok")
    assert table.filter(left_run="a3")["left_attempt"].null_count() == 4


@pytest.mark.parametrize("status", ["empty", "filtered", "error", "truncated"])
def test_only_text_that_came_back_counts(status: str) -> None:
    rows = study("a1")
    rows[0] |= {"text": "part of it", "status": status}
    first = pairs(rows, "channels").row(0, named=True)
    assert first["right_status"] == status
    assert first["right_text"] == ("part of it" if status == "truncated" else None)


def test_only_the_measured_attempt_is_paired() -> None:
    second = [one | {"attempt": 2, "text": "again"} for one in study("a1")]
    table = pairs(study("a1") + second, "channels")
    assert len(table) == 4
    assert "again" not in table["left_text"].to_list()


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_every_pairing_has_the_declared_columns(pairing: str) -> None:
    for rows in (study("a1", "a2"), []):
        assert pairs(rows, pairing).schema == pl.Schema(PAIR_SCHEMA)


def test_an_unknown_pairing_is_refused_by_naming_the_known() -> None:
    with pytest.raises(OffrecordError, match="channels, draws, repeats, agents"):
        pairs(study("a1"), "chanels")


def test_a_random_pairing_wants_a_generator() -> None:
    transcript = pl.DataFrame(study("a1"), schema=TRANSCRIPT_SCHEMA)
    with pytest.raises(OffrecordError, match="give a Generator"):
        pair_rows(transcript, "shuffled", FACTS)
