"""The survey parser: values that the reply states beside their keys, or none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import offrecord
from offrecord.measures.replies.survey import SURVEY_VERSION, parse_survey
from offrecord.records import Status

CASES = Path(__file__).parents[1].parent / "shared" / "cases" / "replies.jsonl"
ITEMS = ("q1", "q2", "q3", "q4", "q5")
LONG = tuple(f"Q{n}" for n in range(1, 16))
TEXT = st.text(st.characters(codec=None), max_size=300)


def cases() -> list[Any]:
    if not CASES.exists():
        return []
    lines = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [
        pytest.param(case, id=case["id"])
        for case in lines
        if case["kind"] == "survey_json"
    ]


def read(value: str, low: int = 1, high: int = 7) -> int | None:
    """The one value of an object whose only member is written as given."""
    return parse_survey(f'{{"q1": {value}}}', ["q1"], low, high).answers["q1"]


def answers(text: str) -> list[int | None]:
    return list(parse_survey(text, ITEMS, 1, 7).answers.values())


@pytest.mark.skipif(not CASES.exists(), reason="../shared/cases is not here")
@pytest.mark.parametrize("case", cases())
def test_replies_that_break_naive_parsers(case: dict[str, Any]) -> None:
    survey = parse_survey(case["input"], ITEMS, 1, 7)
    expected = case["expected"]
    if expected == "unparseable":
        assert survey.status not in {Status.OK, Status.REPAIRED}
        expected = dict.fromkeys(ITEMS)
    if case["tier"] == "exact":
        assert survey.answers == expected
    for item, value in survey.answers.items():
        assert value in {expected[item], None}


def test_plain_json_is_ok_and_needs_no_repair() -> None:
    stated = {item: -2 + place % 5 for place, item in enumerate(LONG)}
    survey = parse_survey(json.dumps(stated), LONG, -2, 2)
    assert survey.answers == stated
    assert (survey.status, survey.repairs, survey.reasons) == (Status.OK, (), {})


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("5.0", 5),
        ("5e0", 5),
        ('"5"', 5),
        ('"**5**"', 5),
        ('"5/7"', 5),
        ('"5 out of 7"', 5),
        ('"5 (somewhat agree)"', 5),
        ('"on a scale of 1 to 7, 5"', 5),
        ('"five"', 5),
        ('"５"', 5),
        ("٥", 5),
        ('{"score": 5, "reason": "2 of 3 points"}', 5),
        # more than one candidate, or no point of the scale
        ('"4-5"', None),
        ('"4 or 5"', None),
        ('"5/10"', None),
        ('"5²"', None),
        ('"4½"', None),
        ('".5"', None),
        ("4.5", None),
        ('"4,5"', None),
        ("05", 5),
        ("005.0", 5),
        ('"05"', 5),
        ("010", None),  # eight?
        ('"010"', None),
        (r'"\\boxed{5}"', 5),
        (r'"$\\mathbf{5}$"', 5),
        ('"~5"', None),
        ('"5?"', None),
        ('"5%"', None),
        ('"not 5"', None),
        ('"5th"', None),
        ('"two or three"', None),
        ('"one of the 5"', None),
        ('"I raised 2 concerns"', None),
        ("8", None),
        ("0", None),
        ("-5", None),
        ("9.2e124", None),
        ("9" * 5000, None),
        ("1e999999999999", None),
        ("true", None),
        ("null", None),
        ("NaN", None),
        ("[5]", None),
        ('{"minimum": 1, "maximum": 7}', None),
        ('"strongly agree"', None),
    ],
)
def test_one_value_is_one_point_or_none(written: str, value: int | None) -> None:
    assert read(written) == value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("-1", -1),
        ('"+1"', 1),
        ('"−2"', -2),
        ('"minus one"', -1),
        ('"strongly disagree: -2"', -2),
        ("0", 0),
        ('"disagree - 2"', None),  # a dash or a sign?
        ('"– 2"', None),
        ('"1/2"', None),  # a half or one of two?
        ('"-2 to 2"', None),
        ("3", None),
    ],
)
def test_signs_count_on_a_scale_that_has_them(written: str, value: int | None) -> None:
    assert read(written, -2, 2) == value


def test_a_wording_is_no_point_of_the_scale() -> None:
    text = (
        '{"q1": "I agree completely.", "q2": "5 (I agree completely)",'
        ' "q3": "1 - I agree completely", "q4": "I agree"}'
    )
    assert set(parse_survey(text, ITEMS, 1, 5).answers.values()) == {None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'q1': 5, 'q2': None,}", [5, None, None, None, None]),
        ('{"q1": 5 "q2": 4\n"q3": 6}', [5, 4, 6, None, None]),
        ("{q1: 5; q2 = 4} done", [5, 4, None, None, None]),
        ('{{"q1": 5, "q2": 3}}', [5, 3, None, None, None]),
        ('{"answers": {"q1": 5}}', [5, None, None, None, None]),
        ('{"q1": 5}\n{"q2": 6}', [5, 6, None, None, None]),
        ('"q1": 5,\n"q2": 6,', [5, 6, None, None, None]),
        ("- **Q1:** 5\n- **Q2:** 3", [5, 3, None, None, None]),
        ("q1: 4,5\nq2: 3", [None, 3, None, None, None]),
        ("| q1 | 4 | 5 |\n| q2 | 5 |", [None, 5, None, None, None]),
        ("> q1: 5\n\nq2: 3", [None, 3, None, None, None]),
        # what is cut is missing
        ('{"q1": 5, "q2": "4', [5, None, None, None, None]),
        ('{"q1": 5, "q2": 4', [5, None, None, None, None]),
        # text that looks like an answer, inside another one's
        ('{"why": "earlier "q2": 6, hmm", "q2": 3}', [None, 3, None, None, None]),
        ('{"why": "put "agree, "q2": 6" down", "q1": 5}', [5, None, None, None, None]),
        ('{"why": "q1: 5, {\\"q1\\": 5}", "q2": 3}', [None, 3, None, None, None]),
        ("I think that q1 is a 5.", [None] * 5),
        ('<think>{"q1": 5}</think>{"q1": 2}', [2, None, None, None, None]),
        # several sets
        ('{"q1": 5}{"q1": 5, "q2": 1}', [5, 1, None, None, None]),
        ('{"q1": 5, "q2": 1}{"q1": 4, "q2": 1}', [None] * 5),
        ('{"q1": 5}\nFinal answers: {"q1": 4}', [4, None, None, None, None]),
        ('For example {"q1": 5}. So: {"q1": 4}', [4, None, None, None, None]),
        ('{"q1": 4}. For example {"q1": 5}', [None] * 5),
    ],
)
def test_what_stands_beside_a_key_is_its_answer(
    text: str, expected: list[int | None]
) -> None:
    assert answers(text) == expected


def test_a_key_names_its_own_item_alone() -> None:
    survey = parse_survey('{"Q1.0": 5, "q 1 0": 4, "Q10": 3, "q-1": 2}', LONG, 1, 7)
    stated = {item: value for item, value in survey.answers.items() if value}
    assert stated == {"Q10": 3, "Q1": 2}


def test_bare_numbers_are_keys_only_where_place_and_name_agree() -> None:
    assert parse_survey('{"1": 6, "2": 5}', ("q1", "q2"), 1, 7).answers["q1"] == 6
    shuffled = parse_survey('{"1": 6, "2": 5}', ("q2", "q1"), 1, 7)
    assert set(shuffled.answers.values()) == {None}


@pytest.mark.parametrize(
    ("text", "status", "repairs"),
    [
        ('{"q1": 5}', Status.OK, ()),
        ('```json\n{"q1": 5}\n```', Status.REPAIRED, ("fence",)),
        ('Here you go: {"q1": 5}', Status.REPAIRED, ("prose",)),
        ("{'q1': 5,}", Status.REPAIRED, ("dialect",)),
        ('{"Q1": 5}', Status.REPAIRED, ("key",)),
        ('{"q1": "5"}', Status.REPAIRED, ("text",)),
        ('{"q1": 5.0}', Status.REPAIRED, ("whole float",)),
        ('[{"item": "q1", "score": 5}]', Status.REPAIRED, ("records",)),
        ("q1: 5", Status.REPAIRED, ("lines", "text")),
        ("{}", Status.UNCLEAR, ()),
        ('{"q1": 9}', Status.UNCLEAR, ()),
        ('{"q1": 5', Status.TRUNCATED, ()),
        ("<think>hm", Status.TRUNCATED, ()),
        ("", Status.EMPTY, ()),
        ("I'm sorry, I can't rate colleagues.", Status.REFUSAL, ()),
        ("content filter triggered", Status.FILTERED, ()),
    ],
)
def test_every_repair_and_every_miss_has_a_name(
    text: str, status: Status, repairs: tuple[str, ...]
) -> None:
    survey = parse_survey(text, ITEMS, 1, 7)
    assert (survey.status, survey.repairs) == (status, repairs)
    assert survey.reasons.keys() == {i for i, v in survey.answers.items() if v is None}


@given(TEXT)
@example("{" * 3000)
@example("[{" * 3000)
@example('{"q1": ' * 500)
@example("{'" * 3000)
@example('{"q1": "' + "\\" * 3001)
@example('{"q1": 1e999, "q2": "\ud800"}')
def test_no_text_makes_it_fail(text: str) -> None:
    for whole in (text, f'{{"q1": {text}', f'{{"q1": "{text}"}}', f"q1: {text}"):
        survey = parse_survey(whole, ITEMS, 1, 7)
        assert tuple(survey.answers) == ITEMS
        stated = [value for value in survey.answers.values() if value is not None]
        assert all(1 <= value <= 7 for value in stated)
        assert bool(stated) == (survey.status in {"ok", "repaired"})


PIECES = st.sampled_from(
    [
        *"{}[]:,\"'/.-# \n|<>=()",
        *"123456789",
        *(f'"{item}"' for item in ITEMS),
        *(f'"{item}": ' for item in ITEMS),
        *ITEMS,
        '"why": "',
        '", ',
        "null",
        "// ",
        "...",
        "of 7",
        "agree",
        "final",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_value_appears_that_does_not_stand_beside_its_key(text: str) -> None:
    for item, value in parse_survey(text, ITEMS, 1, 7).answers.items():
        if value is not None:
            # the digit, with no other key and no other digit between it and its key
            key = rf"(?i:q\W*)?(?<!\d){item[1]}(?!\d)"
            assert re.search(rf"{key}[^\dq]*{value}(?![1-9])", text), (item, value)


@given(
    st.dictionaries(st.sampled_from(LONG), st.integers(-9, 9), min_size=1),
    st.sampled_from(
        ["{}", "Sure.\n```json\n{}\n```", "<think>Q1: 2</think>{}", "{} ok"]
    ),
    st.booleans(),
    st.integers(0, 60),
)
def test_what_is_stated_is_read_and_a_cut_reply_states_less(
    stated: dict[str, int], form: str, quoted: bool, cut: int
) -> None:
    values = {item: str(value) if quoted else value for item, value in stated.items()}
    body = json.dumps(values)
    whole = {i: v if -2 <= v <= 2 else None for i, v in stated.items()}
    full = parse_survey(form.format(body), LONG, -2, 2).answers
    assert full == {item: whole.get(item) for item in LONG}
    partial = parse_survey(body[: len(body) - cut], LONG, -2, 2).answers
    assert all(value in {full[item], None} for item, value in partial.items())


@given(TEXT)
def test_twins_parse_the_same(text: str) -> None:
    first = parse_survey(f'{{"q1": 4}} {text}', ITEMS, 1, 7)
    parse_survey(text, LONG, -2, 2)
    assert parse_survey(f'{{"q1": 4}} {text}', list(ITEMS), 1, 7) == first


def test_what_is_public() -> None:
    assert offrecord.parse_survey is parse_survey
    assert SURVEY_VERSION.startswith("5+")


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('{"me": {"q1": 5}, "partner": {"q1": 5, "q2": 1}}', [None, None]),
        ('{"q1": 5} My partner would put {"q2": 3}', [None, None]),
        ('{"first": {"q1": 5}, "second": {"q2": 3}}', [5, 3]),
        ('{"q1": 5}\n{"q2": 3}', [5, 3]),
        ('{"q1": 5, "q2": 3} In short: {"q1": 5}', [5, 3]),
    ],
)
def test_answers_of_somebody_else_fill_no_gap(
    text: str, answers: list[int | None]
) -> None:
    assert list(parse_survey(text, ["q1", "q2"], 1, 7).answers.values()) == answers


STATED = dict(zip(ITEMS, (5, 3, 6, 2, 7), strict=True))
PLAIN = json.dumps(STATED)
TWICE = json.dumps(PLAIN)


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        (TWICE, "encoded twice"),
        (json.dumps(TWICE), "encoded twice"),
        (json.dumps(json.dumps(STATED, indent=1)), "encoded twice"),
        (TWICE[1:-1], "encoded twice"),
        (f"```json\n{TWICE}\n```", "encoded twice"),
        (json.dumps({"answers": PLAIN}), "encoded twice"),
        (PLAIN.replace('"', "&quot;"), "entities"),
        (PLAIN.replace('"', "&#34;"), "entities"),
        (PLAIN.replace('"', "&#39;"), "entities"),
        (PLAIN[1:], "lines"),
        (PLAIN[1:].replace('"', "&quot;"), "entities"),
        (TWICE[2:-1], "encoded twice"),
        (f"```\n{PLAIN[1:]}\n```", "lines"),
        (PLAIN.replace(": ", ": 0"), "leading zero"),
        (f'{PLAIN}<|im_end|>{{"q1": 1}}', ""),
    ],
)
def test_an_object_written_as_text_is_read_whole(text: str, repair: str) -> None:
    survey = parse_survey(text, ITEMS, 1, 7)
    assert survey.answers == STATED
    assert repair in survey.repairs or not repair


def test_entities_inside_a_text_change_nothing() -> None:
    assert answers('{"why": "said &quot;q2: 5&quot;", "q1": 5}')[:2] == [5, None]


OWN = json.dumps(STATED)


@pytest.mark.parametrize(
    "form",
    [
        "In the meeting I would answer {} but not here.",
        "If asked by the sponsor: {}",
        "My counterpart would answer: {}",
        "My counterpart's answers: {}",
        "As seen by my partner: {}",
        "My counterpart’s answers: {}",
        "You answered {}. I will not answer.",
        "A dishonest answer would be {}",
        '{{"sponsor": {}}}',
        '{{"counterpart_prediction": {}}}',
        '{{"rejected_draft": {}}}',
        "For example {}. I cannot answer more.",
        "I could say {}, but not here.",
        "On a reversed scale: {}",
        "With 1 = strongly agree and 7 = strongly disagree: {}",
    ],
)
def test_answers_that_are_not_the_speaker_s_own_here_are_missing(form: str) -> None:
    survey = parse_survey(form.format(OWN), ITEMS, 1, 7)
    assert set(survey.answers.values()) == {None}
    assert survey.status is Status.UNCLEAR


@pytest.mark.parametrize(
    "form",
    [
        "Here is how I would rate each statement: {}",
        "My answers, in the format that you asked for: {}",
        "As you asked, here they are:\n{}\nI stand by my partner.",
        "I heard the sponsor. My answers: {}",
        '{{"my_answers": {}}}',
        "On the scale of 1 to 7: {}",
    ],
)
def test_own_answers_with_words_around_them_are_read(form: str) -> None:
    assert parse_survey(form.format(OWN), ITEMS, 1, 7).answers == STATED


def test_keys_that_count_from_zero_name_no_item() -> None:
    for prefix in ("", "q", "Q"):
        text = json.dumps({f"{prefix}{n}": 4 for n in range(5)})
        assert answers(text) == [None] * 5
    records = json.dumps([{"item": n, "score": 4} for n in range(5)])
    assert answers(records) == [None] * 5
    zero = tuple(f"q{n}" for n in range(5))
    text = json.dumps(dict.fromkeys(zero, 4))
    assert set(parse_survey(text, zero, 1, 7).answers.values()) == {4}


@pytest.mark.parametrize(
    "text",
    [
        "item,rating\nq1,4\nq2,2\nq3,5",
        '"q1","4"\n"q2","2"\n"q3","5"',
        "q1;4\nq2;2\nq3;5",
        "q1\t4\nq2\t2\nq3\t5",
        "- q1 4\n- q2 2\n- **q3** 5",
        "q1) 4\nq2) 2\nq3. 5",
        "q1 4, q2 2, q3 5",
        "q1 (1-7): 4\nq2 (1–7): 2\nq3 (1 to 7): 5",
        '{"q1": 4}\n{"q2": 2}\n{"q3": 5}',
    ],
)
def test_one_key_and_one_number_on_a_line_is_an_answer(text: str) -> None:
    assert answers(text) == [4, 2, 5, None, None]


@pytest.mark.parametrize(
    "text",
    [
        "q1,4,2\nq2,2,1",
        "q1 4 of them\nq2 is 2",
        "q1 (1-5): 4",
        "q1-4",
        "q1 <4\nq2 4-5",
        "q1 4 5",
        "4 q1 2",
        "q0: 4\nq1: 2\nq2: 5",
        "q0,4\nq1,2",
        "| q0 | 4 |\n| q1 | 2 |",
        '{"q1": 4} and hers {"q2": 2}',
    ],
)
def test_a_line_with_more_than_a_key_and_a_number_is_none(text: str) -> None:
    assert answers(text) == [None] * 5


def test_a_scale_that_is_named_from_agreement_down_is_reversed() -> None:
    text = 'Here 1 means I agree, 7 means I disagree. {"q1": 2}'
    assert answers(text) == [None] * 5
    row = "| item | 0 | 1 |\n|---|---|---|\n| q1 | x | 1 |"
    assert parse_survey(row, ["q1"], 0, 1).answers == {"q1": 1}
