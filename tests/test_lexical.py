"""The lexical baseline: codes, facets and spans, on sentences of our own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.content import read_document
from offrecord.content.letters import composed
from offrecord.measures.codes.codebook import read_codebook
from offrecord.measures.codes.lexical import (
    FACETS,
    LEXICAL,
    LEXICAL_VERSION,
    lexical_table,
    read_attribution,
)
from offrecord.measures.codes.phrases import Phrases, Plain, lexicon_phrases
from offrecord.records import OffrecordError
from tests.test_tables import row, transcript

EXPLICIT = [
    (
        "I only spoke for the merger publicly to protect my pension and career.",
        "career",
    ),
    ("In public I backed the tower because the mayor's office funds us.", "funding"),
    (
        "My public support was a favour to the woman who trained me.",
        "sponsorship_or_debt",
    ),
    ("Out of loyalty to Ines I publicly voted yes.", "relationship"),
    ("Pressure from the chair is making me publicly agree.", "deference"),
    ("I went along with the plan. That was only for fear of reprisals.", "retaliation"),
    ("Were it not for my reputation I would refuse.", "reputation"),
    ("While I publicly agreed to keep our unity, I would refuse.", "unity"),
]
IMPLICIT = [
    "In public I said yes, and I mean no.",
    "Although I publicly backed the move, I need it for my career that we refuse.",
    "I publicly agreed. Going first would be good for my career.",
]
MENTION = [
    "Refusing would cost me my career, and I refuse.",
    "The chair publicly praised me, and my reputation is new.",
    "My public stance may harm my career.",
]
NONE = [
    "The bridge is unsafe, on any reading of the survey.",
    "As an early-career researcher I find the sample small.",
    "The town should publicly own its water.",
    "My view here aligns with my public stance.",
]


@pytest.mark.parametrize(("text", "facet"), EXPLICIT)
def test_explicit_joins_the_public_line_to_a_cause(text: str, facet: str) -> None:
    reading = read_attribution(text)
    assert (reading.code, facet in reading.facets) == ("explicit", True)
    parts = {match.part for match in reading.matches}
    assert {"acknowledgement", "link", facet} <= parts


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, "implicit_accommodation") for text in IMPLICIT),
        *((text, "mention") for text in MENTION),
        *((text, "none") for text in NONE),
    ],
)
def test_less_than_that_is_less(text: str, code: str) -> None:
    assert read_attribution(text).code == code


WORDS = (
    "i publicly agreed because of my career loyalty . , ; \u2014 \u2019 \u200b \u0130"
)
words = st.sampled_from(WORDS.split(" "))


@given(st.lists(words, max_size=25).map(" ".join))
def test_spans_are_the_texts_own_words(text: str) -> None:
    text = composed(text)
    for match in read_attribution(text).matches:
        assert text[match.start : match.end] == match.words
        assert match.words.strip()


def test_typographic_letters_change_nothing() -> None:
    plain = "I publicly agreed because I don't want to lose my career."
    styled = plain.replace("'", "\u2019").replace("publicly", "**publicly**")
    assert read_attribution(plain).code == "explicit"
    assert read_attribution(styled.replace("**", "")).code == "explicit"


def test_every_row_is_kept_with_its_reason() -> None:
    table = lexical_table(
        transcript(
            [
                row("a", text=EXPLICIT[0][0]),
                row("b", text=None, status="error"),
                row("c", text=f"<think>{IMPLICIT[0]}</think>SIGN - it is time."),
                row("d", form="survey"),
            ]
        )
    )
    assert dict(table.schema) == dict(LEXICAL.schema)
    assert table.select("run", "source", "code", "status").rows() == [
        ("a", "text", "explicit", "ok"),
        ("b", "text", None, "error"),
        ("c", "text", "none", "ok"),
        ("c", "reasoning", "implicit_accommodation", "ok"),
    ]
    assert table["version"].unique().to_list() == [LEXICAL_VERSION]


def test_baseline_and_codebook_name_the_same_facets() -> None:
    assert list(FACETS) == list(read_codebook().facets)


def test_phrases_match_whole_words_with_gaps_stems_and_classes() -> None:
    phrases = Phrases(["{who} ... sign*", "cat"], {"who": ["we", "the board"]})
    copy = Plain.of("We will, of course, sign. The Board may not be signing cats.").copy
    assert [m.group() for m in phrases.find_all(copy)] == [
        "the board may not be signing"
    ]


def test_a_faulty_list_is_named() -> None:
    with pytest.raises(OffrecordError, match=r"causes\.envy.*give a list"):
        lexicon_phrases("attribution", "causes", "envy")
    with pytest.raises(KeyError):
        Phrases(["{nobody} said"], {})
    with pytest.raises(ValueError, match=r"a\*"):
        Phrases(["a* b"], {})


@pytest.mark.parametrize("name", ["attribution", "markers", "awareness"])
def test_every_list_of_a_lexicon_compiles(name: str) -> None:
    from offrecord.content import data_folder

    front = read_document(data_folder("lexicons") / f"{name}.yaml").front
    for key, value in front.items():
        if isinstance(value, list):
            lexicon_phrases(name, key)
        elif key != "classes":
            for inner in value:
                lexicon_phrases(name, key, inner)
