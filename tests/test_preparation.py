"""Preparation: what of a reply is compared, and what has no value."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.content.labels import normalise
from offrecord.measures.texts.preparation import EMPTY, NO_LABEL, Variant, prepare

LABELS = ("PROMOTE", "DO NOT PROMOTE")
WORDS = st.text(string.ascii_lowercase + " ", min_size=3, max_size=60).filter(
    lambda text: any(map(str.isalpha, text))
)


def clean(text: str, labels: tuple[str, ...] = LABELS) -> str | None:
    return prepare(text, labels, Variant.CLEAN).text


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "head",
    [
        "{} — {}",
        "{} – {}",
        "{} - {}",
        "{}: {}",
        "{}. {}",
        "**{}** — {}",
        "**{}:** {}",
        "# {}\n\n{}",
        '"{}": {}',
        "[{}] {}",
        "Stance: {}\n\n{}",
        "**Stance:** **{}.** {}",
        "Final decision: {} — {}",
        "My position is {}. {}",
        "Decision:\n{}\n{}",
        "<think>Well, DO NOT PROMOTE?</think>{} - {}",
    ],
)
def test_a_label_at_the_head_goes_with_its_cue_and_separator(
    head: str, label: str
) -> None:
    assert clean(head.format(label, "She has earned it.")) == "She has earned it."


@pytest.mark.parametrize(
    "tail",
    [
        "She has earned it. Final: {}",
        "She has earned it. My final stance: **{}**.",
        "She has earned it.\n\n**Final decision: {}**",
        "She has earned it.\n{}",
        "She has earned it.\n\nDecision:\n{}",
        "{0} — She has earned it. Stance: {0}",
    ],
)
def test_a_label_at_the_end_goes_too(tail: str) -> None:
    assert clean(tail.format("PROMOTE")) == "She has earned it."


@pytest.mark.parametrize(
    "text",
    [
        "I would promote her if the file were complete.",
        "Their position is that we PROMOTE her at once.",
        "We should not rush. Whoever wants to may PROMOTE.",
        "The position: nobody knows it.",
    ],
)
def test_what_is_only_mentioned_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "PROMOTE",
        "**PROMOTE**.",
        "Stance: PROMOTE",
        "— ...",
        "<think>x</think>",
    ],
)
def test_where_nothing_is_left_there_is_no_value(text: str) -> None:
    assert prepare(text, LABELS, Variant.CLEAN) == (None, EMPTY)


def test_the_default_and_the_authors_strip_differ_in_the_em_dash() -> None:
    for mark, left in (("—", "— yes."), ("-", "yes."), (":", "yes."), (".,", "yes.")):
        text = f"DO NOT PROMOTE {mark} yes."
        assert prepare(text, LABELS, Variant.AUTHORS).text == left
        assert clean(text) == "yes."


def test_unstripped_keeps_all_but_the_reasoning() -> None:
    text = "<think>hm</think>\nPROMOTE — yes."
    assert prepare(text, LABELS, Variant.UNSTRIPPED).text == "PROMOTE — yes."


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("PROMOTE — yes.", "DO NOT PROMOTE — yes."),
        ("**DO NOT PROMOTE**: no.", "**PROMOTE**: no."),
        (
            "PROMOTE - yes. Final: PROMOTE",
            "DO NOT PROMOTE - yes. Final: DO NOT PROMOTE",
        ),
        ("Stance: PROMOTE\nYes.", "Stance: DO NOT PROMOTE\nYes."),
    ],
)
def test_swapped_states_the_other_label_and_nothing_else(
    text: str, swapped: str
) -> None:
    assert prepare(text, LABELS, Variant.SWAPPED).text == swapped


def test_what_cannot_be_swapped_says_why() -> None:
    assert prepare("We wait.", LABELS, Variant.SWAPPED) == (None, NO_LABEL)
    assert prepare("PROMOTE: a", ("PROMOTE",), Variant.SWAPPED) == (None, NO_LABEL)
    assert prepare(" ", LABELS, Variant.SWAPPED) == (None, EMPTY)


def test_without_labels_there_is_none_to_take_off() -> None:
    assert clean("PROMOTE — yes.", ()) == "PROMOTE — yes."


@given(WORDS, st.sampled_from(LABELS), st.sampled_from(["—", "-", ":", "."]))
def test_what_is_said_beside_the_label_is_kept_whole(
    words: str, label: str, mark: str
) -> None:
    said = words.strip()
    assert clean(f"{label} {mark} {said}") == said
    twice = prepare(f"{label} {mark} {said}", LABELS, Variant.SWAPPED).text
    assert twice is not None
    assert prepare(twice, LABELS, Variant.SWAPPED).text == f"{label} {mark} {said}"


@given(st.text(max_size=200), st.sampled_from(Variant))
def test_any_text_has_letters_or_a_reason(text: str, variant: Variant) -> None:
    prepared = prepare(text, LABELS, variant)
    assert (prepared.text is None) == (prepared.reason is not None)
    assert prepared.text is None or normalise(prepared.text)


def test_an_opener_goes_with_its_label_in_every_channel() -> None:
    labels = ("PROMOTE", "DO NOT PROMOTE")
    for opener in ("(Off the record)", "(On the record)", "Privately:", "Publicly:"):
        text = f"{opener} PROMOTE — strong."
        assert prepare(text, labels, Variant.CLEAN).text == "strong."
    longer = "Since no one hears this, I can be frank. PROMOTE — strong."
    left = prepare(longer, labels, Variant.CLEAN).text
    assert left == "Since no one hears this, I can be frank. strong."
