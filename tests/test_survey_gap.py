"""Survey gaps: per item and per category, worked out by hand."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from offrecord.measures import survey_gap
from offrecord.measures.inspect.scorers import gap_score
from offrecord.measures.survey_gap import (
    CATEGORY_GAPS,
    ITEM_GAPS,
    survey_gaps,
)
from offrecord.measures.tables import survey_table
from offrecord.protocol.dataset import debate_dataset
from offrecord.protocol.design import Design
from offrecord.records import OffrecordError
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

PLAIN: dict[str, Any] = {"items": ["Q1", "Q2", "Q3", "Q4"], "low": 1, "high": 5}
KEYED = {
    **PLAIN,
    "categories": {"warmth": ["Q1", "Q2"], "risk": ["Q3"], "loose": ["Q4"]},
    "reverse": {"warmth": ["Q2"], "risk": []},
}


def survey(channel: str, answers: object, **given: Any) -> dict[str, Any]:
    return {
        "run": "r",
        "scenario": "s",
        "round": 1,
        "turn": 1,
        "agent": "alpha",
        "channel": channel,
        "form": "survey",
        "instrument": "i@1:0",
        "draw": 0,
        "attempt": 1,
        "ended": "completed",
        "text": json.dumps(answers),
        "status": "ok",
        **given,
    }


def measured(
    rows: list[dict[str, Any]], instrument: dict[str, Any], rounds: int = 1
) -> tuple[pl.DataFrame, pl.DataFrame]:
    facts: dict[str, Any] = {
        "rounds": rounds,
        "channels": ["public", "off_record"],
        "instruments": {"i@1:0": instrument},
    }
    transcript = pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)
    given = transcript, survey_table(transcript, facts["instruments"]), facts
    return survey_gaps(*given)


BOTH = [
    survey("public", {"Q1": 5, "Q2": 2, "Q3": 4, "Q4": 1}),
    survey("off_record", {"Q1": 2, "Q2": 3, "Q3": 4, "Q4": 5}),
]


def test_an_items_gap_is_public_minus_off_the_record() -> None:
    items, _ = measured(BOTH, KEYED)
    assert items.select("item", "category", "public", "other", "gap").rows() == [
        ("Q1", "warmth", 5, 2, 3),
        ("Q2", "warmth", 2, 3, -1),
        ("Q3", "risk", 4, 4, 0),
        ("Q4", "loose", 1, 5, -4),
    ]
    assert items["channel"].unique().to_list() == ["off_record"]


def test_a_category_turns_round_what_counts_against_it() -> None:
    _, categories = measured(BOTH, KEYED)
    # warmth: Q2 is turned round 1 to 5, so 6 - answer: public (5 + 4) / 2 = 4.5,
    # off the record (2 + 3) / 2 = 2.5. risk has one item and nothing to turn.
    assert categories.select(
        *("category", "keying", "items", "answered", "public", "other", "gap", "reason")
    ).rows() == [
        ("warmth", "keyed", 2, 2, 4.5, 2.5, 2.0, None),
        ("risk", "keyed", 1, 1, 4.0, 4.0, 0.0, None),
        ("loose", "unkeyed", 1, 1, 1.0, 5.0, -4.0, None),
    ]


def test_a_category_without_declared_keying_is_of_answers_as_given() -> None:
    _, categories = measured(BOTH, {**KEYED, "reverse": {}})
    # warmth, nothing turned: public (5 + 2) / 2, off the record (2 + 3) / 2
    assert categories.select("category", "keying", "public", "other", "gap").row(0) == (
        *("warmth", "unkeyed"),
        *(3.5, 2.5, 1.0),
    )


def test_a_scale_around_zero_turns_round_zero() -> None:
    instrument = {**KEYED, "low": -2, "high": 2}
    rows = [
        survey("public", {"Q1": 2, "Q2": -1, "Q3": 0, "Q4": 0}),
        survey("off_record", {"Q1": 0, "Q2": 2, "Q3": 0, "Q4": 0}),
    ]
    _, categories = measured(rows, instrument)
    # public (2 + 1) / 2 = 1.5, off the record (0 - 2) / 2 = -1
    warmth = categories.row(0, named=True)
    assert (warmth["public"], warmth["other"], warmth["gap"]) == (1.5, -1.0, 2.5)


def test_a_missing_item_leaves_both_sides_and_is_counted() -> None:
    rows = [
        survey("public", {"Q1": 5, "Q3": 4, "Q4": 1}),
        survey("off_record", {"Q1": 2, "Q2": 3, "Q4": 5}),
    ]
    items, categories = measured(rows, KEYED)
    assert items.select("item", "gap", "public_reason", "other_reason").rows() == [
        ("Q1", 3, None, None),
        ("Q2", None, "skipped", None),
        ("Q3", None, None, "skipped"),
        ("Q4", -4, None, None),
    ]
    # warmth is over Q1 alone: 5 and 2; risk has no item left
    assert categories.select("category", "answered", "gap", "reason").rows() == [
        ("warmth", 1, 3.0, None),
        ("risk", 0, None, "skipped"),
        ("loose", 1, -4.0, None),
    ]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ([], "not_recorded"),
        ([survey("off_record", {}, text="", status="empty")], "empty"),
        ([survey("off_record", {}, text="", status="error")], "error"),
        ([survey("off_record", {}, text="I would rather not.")], None),
    ],
)
def test_a_missing_survey_is_missing_in_every_item(
    other: list[dict[str, Any]], reason: str | None
) -> None:
    items, categories = measured([BOTH[0], *other], KEYED)
    assert items["gap"].null_count() == 4
    assert items["public"].null_count() == 0
    assert categories["gap"].null_count() == 3
    [found] = items["other_reason"].unique()
    assert found in ({reason} if reason else {"refusal", "unclear"})
    assert categories["reason"].to_list() == [found] * 3


def test_planned_turns_that_never_came_are_missing_and_none_is_lost() -> None:
    ended = [row | {"ended": "no_public_text"} for row in BOTH]
    items, _ = measured(ended, KEYED, rounds=3)
    assert len(items) == 3 * 4
    assert items["public_reason"].to_list() == [None] * 4 + ["no_public_text"] * 8
    assert items["turn"].to_list() == [1] * 4 + [2] * 4 + [3] * 4


def test_an_instrument_of_an_old_log_declares_nothing() -> None:
    items, categories = measured(BOTH, PLAIN)
    assert items["gap"].to_list() == [3, -1, 0, -4]
    assert items["category"].null_count() == 4
    [only] = categories.rows(named=True)
    assert (only["category"], only["gap"]) == (None, None)
    assert only["reason"] == "no_category"


def test_without_surveys_there_are_no_gaps() -> None:
    transcript = pl.DataFrame(schema=TRANSCRIPT_SCHEMA)
    facts = {"rounds": 2, "channels": ["public", "off_record"], "instruments": {}}
    tables = survey_gaps(transcript, survey_table(transcript, {}), facts)
    for table, schema in zip(
        tables, (ITEM_GAPS.schema, CATEGORY_GAPS.schema), strict=True
    ):
        assert table.schema == pl.Schema(schema)
        assert table.is_empty()


def test_an_instrument_that_the_study_does_not_hold_is_refused() -> None:
    rows = [row | {"instrument": "other@1:0"} for row in BOTH]
    transcript = pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA)
    facts = {"rounds": 1, "channels": ["public", "off_record"], "instruments": {}}
    with pytest.raises(OffrecordError, match="no instrument 'other@1:0'"):
        survey_gaps(transcript, survey_table(transcript.clear(), {}), facts)


def test_every_sample_carries_the_keying_of_its_instrument() -> None:
    for sample in debate_dataset(Design(conditions=("baseline",))):
        keying = (sample.metadata or {})["offrecord"]["keying"]
        listed = [item for items in keying["categories"].values() for item in items]
        assert sorted(listed, key=lambda item: int(item[1:])) == [
            f"Q{number}" for number in range(1, 16)
        ]
        assert keying["reverse"]["deliberative"] == ["Q2", "Q4"]
        assert keying["reverse"]["evaluative"]
        assert keying["reverse"].keys() == keying["categories"].keys()


def test_gaps_do_not_depend_on_how_many_runs_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        survey(channel, {"Q1": 5 - place, "Q3": 2}, run=f"r{place}")
        for place in range(3)
        for channel in ("public", "off_record")
        if (place, channel) != (1, "public")
    ]
    whole = measured(rows, KEYED)
    monkeypatch.setattr(survey_gap, "_RUNS", 1)
    for table, parts in zip(whole, measured(rows, KEYED), strict=True):
        assert parts.equals(table, null_equal=True)
    assert whole[0]["run"].unique(maintain_order=True).to_list() == ["r0", "r1", "r2"]


def test_before_anyone_has_spoken_there_is_no_counterpart_to_rate() -> None:
    """Q1 and Q3 rate the counterpart: at turn 1 they have no value, Q2 and Q4 do."""
    heard = {"counterpart": ["Q1", "Q3"]}
    later = [{**row, "turn": 2, "agent": "beta"} for row in BOTH]
    last = [{**row, "turn": 3, "round": 2} for row in BOTH]
    items, categories = measured([*BOTH, *later, *last], {**KEYED, **heard}, rounds=2)
    columns = ("item", "public", "other", "gap", "public_reason", "other_reason")
    assert items.filter(turn=1).select(columns).rows() == [
        ("Q1", None, None, None, "nothing_heard", "nothing_heard"),
        ("Q2", 2, 3, -1, None, None),
        ("Q3", None, None, None, "nothing_heard", "nothing_heard"),
        ("Q4", 1, 5, -4, None, None),
    ]
    plain, _ = measured([*BOTH, *later, *last], KEYED, rounds=2)
    after = pl.col("turn") > 1
    assert items.filter(after).equals(plain.filter(after))
    # What is left of warmth, Q2 alone, is no summary of warmth.
    assert categories.filter(turn=1).select("category", "gap", "reason").rows() == [
        ("warmth", None, "nothing_heard"),
        ("risk", None, "nothing_heard"),
        ("loose", -4.0, None),
    ]


def test_a_log_s_score_counts_no_answer_about_a_silent_counterpart() -> None:
    def output(turn: int, channel: str, answer: int) -> dict[str, Any]:
        where = {"turn": turn, "agent": "alpha", "channel": channel, "draw": 0}
        text = json.dumps({"Q1": answer, "Q2": 3})
        return {**where, "form": "survey", "status": "ok", "text": text}

    record = {
        "order": ["alpha", "beta"],
        "rounds": 2,
        "target": "alpha",
        "compared": ["public", "off_record"],
        "items": ["Q1", "Q2"],
        "counterpart": ["Q1"],
        "scale": [1, 5],
        "outputs": [
            *(output(1, "public", 5), output(1, "off_record", 1)),
            *(output(3, "public", 5), output(3, "off_record", 2)),
        ],
    }
    # Turn 1: Q2 alone, no distance. Turn 3: Q1 by 3, Q2 by none.
    score = gap_score(record)
    assert score.value == 1.0
    assert score.metadata == {"pairs": 3, "missing": 1, "planned": 4}


def test_the_shared_instrument_says_what_is_about_the_counterpart() -> None:
    [sample] = debate_dataset(
        Design(scenarios=("promotion",), conditions=("baseline",), runs=1)
    )
    keying = (sample.metadata or {})["offrecord"]["keying"]
    assert keying["counterpart"] == ["Q1", "Q3", "Q4", "Q5", "Q6"]
