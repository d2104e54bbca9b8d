"""What a reply says, thinks and is: thinking never reaches a history."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offrecord.content import data_folder, read_document
from offrecord.content.reasoning import split_reasoning
from offrecord.content.reply import (
    classify_reply,
    is_guessed,
    said_and_thought,
    spoken_text,
)
from offrecord.measures.replies.stance import parse_stance
from offrecord.records import Status
from offrecord.transcript.llmagora import import_llmagora

SHARED = Path(__file__).parents[2] / "shared" / "llmagora"

TEXT = st.text(st.characters(codec=None), max_size=200)
PAIRS = [
    ("<think>", "</think>"),
    ("<THINKING>", "</Thinking>"),
    ('<reasoning effort="high">', "</reasoning>"),
    ("<scratchpad>", "</scratchpad>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
]


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_every_block_of_every_known_pair_is_thought(opening: str, closing: str) -> None:
    reply = split_reasoning(
        f"One. {opening}a{closing} Two. {opening}b{closing}\nThree."
    )
    assert reply.visible.split() == ["One.", "Two.", "Three."]
    assert reply.reasoning == "a\n\nb"
    assert not reply.unclosed


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_all_before_a_closing_tag_alone_is_thought(opening: str, closing: str) -> None:
    reply = split_reasoning(f"I could yield.{closing}\nI stay. {opening}x{closing}")
    assert reply.visible.strip() == "I stay."
    assert reply.reasoning == "I could yield.\n\nx"


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
def test_all_after_a_tag_left_open_is_thought(opening: str, closing: str) -> None:
    reply = split_reasoning(f"{opening}a{closing}I stay. {opening}but I wonder")
    assert reply.visible.strip() == "I stay."
    assert reply.unclosed
    assert "wonder" in reply.reasoning


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("analysisWe may yield.assistantfinalI stay.", "I stay.", "We may yield."),
        ("analysisWe may yield", "", "We may yield"),
        ("```thinking\nI may yield\n```\nI stay.", "I stay.", "I may yield"),
        ("I stay.\n~~~~ Scratchpad\nI may\n~~~~\n", "I stay.", "I may"),
        ("```reasoning\nI may yield", "", "I may yield"),
    ],
)
def test_thinking_without_the_usual_marks(text: str, said: str, thought: str) -> None:
    reply = split_reasoning(text)
    assert (reply.visible.strip(), reply.reasoning) == (said, thought)


@pytest.mark.parametrize(
    "text",
    [
        'Here:\n```json\n{"a1": 3}\n```\nand\n```\nplain\n```',
        "analysis of the file says no; the assistant finally agreed",
        "Analysis: weak. My assistant, final year, agrees.",
    ],
)
def test_what_only_looks_like_thinking_is_said(text: str) -> None:
    assert split_reasoning(text).visible == text


def test_nested_blocks_leave_nothing_behind() -> None:
    reply = split_reasoning("<think>a <think>b</think> c</think>d")
    assert reply.visible == "d"


def test_a_reply_without_thinking_stays_as_it_is() -> None:
    text = " 1 < 2, a [note], <b>bold</b> and <thinker>.\n"
    assert split_reasoning(text).visible == text
    assert split_reasoning(text).reasoning == ""


@given(TEXT, TEXT, st.sampled_from(PAIRS))
def test_no_thought_is_ever_spoken(
    before: str, after: str, pair: tuple[str, str]
) -> None:
    text = f"{before}{pair[0]}CANARY-7731{pair[1]}{after}"
    assert "CANARY-7731" not in spoken_text(text)


@given(st.sampled_from(PAIRS), st.sampled_from("\u200b\u2060\ufeff\u00ad"))
def test_a_tag_with_an_invisible_character_inside_is_a_tag(
    pair: tuple[str, str], mark: str
) -> None:
    opening, closing = (f"{tag[:3]}{mark}{tag[3:]}" for tag in pair)
    text = f"{opening}CANARY-7731{closing}I stay."
    assert spoken_text(text) == "I stay."


@given(TEXT)
def test_what_is_spoken_can_be_stored_and_is_spoken_again_the_same(text: str) -> None:
    said = spoken_text(text)
    said.encode("utf-8")
    assert said == said.strip()
    assert spoken_text(said) == said


def test_joined_emoji_and_styled_letters_are_spoken_whole() -> None:
    assert (
        spoken_text(" \ud835\uddd7o\r\n👨\u200d👩\u200d👧 ok\x00 ")
        == "𝗗o\n👨\u200d👩\u200d👧 ok"
    )
    assert spoken_text("a \ud800 b") == "a \ufffd b"


@pytest.mark.parametrize(
    ("text", "stop", "error", "status"),
    [
        ("I stay.", "stop", None, Status.OK),
        ("I stay.", "tool_calls", None, Status.OK),
        ("I stay.", "unknown", None, Status.OK),
        ("I sta", "max_tokens", None, Status.TRUNCATED),
        ("", "max_tokens", None, Status.TRUNCATED),
        ("<think>I wonder", "stop", None, Status.TRUNCATED),
        ("<think>I wonder</think>", "stop", None, Status.EMPTY),
        (" \n\u200b\u2060\u3164", "stop", None, Status.EMPTY),
        ("", "stop", None, Status.EMPTY),
        ("I stay.", "content_filter", None, Status.FILTERED),
        ("", "content_filter", None, Status.FILTERED),
        ("I stay.", "model_length", None, Status.ERROR),
        ("I stay.", "stop", "503", Status.ERROR),
        ("", "content_filter", "", Status.ERROR),
        ("<html><h1>502 Bad Gateway</h1></html>", "stop", None, Status.ERROR),
        (
            "<!DOCTYPE html>\n<title>Access denied</title>\nx",
            "stop",
            None,
            Status.ERROR,
        ),
        ('{"error": {"message": "overloaded"}}', "stop", None, Status.ERROR),
        ('data: {"error": "gone"}', "stop", None, Status.ERROR),
        ('{"message": "no", "status_code": 503}', "stop", None, Status.ERROR),
        ("502 Bad Gateway", "stop", None, Status.ERROR),
        ("upstream connect error or disconnect", "stop", None, Status.ERROR),
        ("<html><p>PROMOTE - strong.</p></html>", "stop", None, Status.OK),
        ('{"error": null, "q1": 3}', "stop", None, Status.OK),
        ('{"q1": 3, "error": "none"}', "stop", None, Status.OK),
        ("I stay. The server said 502 Bad Gateway.", "stop", None, Status.OK),
        ("Service unavailable for staff is why I stay.", "stop", None, Status.OK),
    ],
)
def test_what_came_back(
    text: str, stop: str, error: str | None, status: Status
) -> None:
    assert classify_reply(text, stop, error) is status


PROMOTE = ("PROMOTE", "DO NOT PROMOTE")
UNLISTED = [
    "Here is my thought process: {x}\nHere is my response: {said}",
    "Well. {x}. My private reasoning: {x}. Here is my response: {said}",
    "{x}\n[BEGIN FINAL RESPONSE]\n{said}\n[END FINAL RESPONSE]",
    "<|think|>{x}<|/think|>{said}",
    "<|think|>{x}\n{said}",
    "<｜thinking｜>{x}\n\n**{said}",
    '<details type="reasoning">\n{x}\n</details>\n{said}',
    "<details><summary>My thoughts</summary>{x}</details>\n\n{said}",
    "<my_inner_thoughts>{x}</my_inner_thoughts>\n{said}",
    "<reasoning_content>{x}</reasoning_content>{said}",
    "> {x}\n>\n> {x}\n\n{said}",
    "> {x}\n{x}\n{said}",
    "思考：{x}。回答：{said}",
    "【思考】{x}【回答】{said}",
    "Ход мыслей: {x}\n\nОтвет: {said}",
    "**Thinking:** {x}\n\n**Answer:** {said}",
    "# Reasoning\n{x}\n\n# Response\n{said}",
    "Analysis: {x}\n\nFinal answer: {said}",
    "Scratchpad\n{x}\n\n{said}",
    "[Thinking: {x}]\n{said}",
    "[Internal monologue] {x}\n[Response] {said}",
    "*thinks: {x}*\n{said}",
    "*{x}*\n\n{said}",
    "({x})\n\n{said}",
    "{x}\n---\n{said}",
    "```\n{x}\n```\n{said}",
    "<!-- {x} -->\n{said}",
    "Thinking...\n{x}\n...done thinking.\n\n{said}",
    "Okay, so the user wants a stand. {x}\n\n{said}",
    "Let me think step by step. {x}\n\nFinal answer: {said}",
    '{{"reasoning": "{x}", "response": "{said}"}}',
    "{x} <answer>{said}</answer>",
    "<aside>{x}</aside>{said}",
    "<mind>{x}</mind><say>{said}</say>",
    "<ponder>{x}</ponder>\n{said}",
    "<think>{x}</thinking>{said}",
    "&lt;think&gt;{x}&lt;/think&gt;{said}",
    "＜think＞{x}＜/think＞{said}",
    "Aside: {x}\n\n{said}",
    "Internal: {x}\n\nAnswer: {said}",
    # behind the answer
    "{said}\n\n[Private thought: {x}]",
    "{said} [Unspoken: {x}]",
    "{said}\n<private>{x}</private>",
    "{said}\n\nReasoning (hidden): {x}",
    "{said}\n\n💭 {x}",
    "{said}\n\n> Internal: {x}",
    '{{"statement": "{said}", "private_note": "{x}"}}',
    "{said}\n\n内心：{x}",
    "{said}<|eom|>{x}",
    "{said}<|eot|>{x}",
    "{said}<turn|>{x}",
    "{said}[gMASK]<|observation|>{x}",
    "{said}\n---\nThe discussion so far:\n{x}",
    "{said}\nuser\n{x}",
    "{said}\n\n<|think|>{x}",
    "{said}\n\nMy thought process: {x}",
    "{said}<|im_end|>\n<|im_start|>user\n{x}",
    "{said}<|im_end|>\n<|im_start|>assistant\n{x}</think>{x}",
    "{said}<|eot_id|>{x}",
    "{said}</s>{x}",
    "{said}\n[INST] {x}",
    "{said}\nBeta: {x}",
    "{said}\n\n**Beta:** {x}",
    "{said}\n\nDr. Chen says: {x}",
    "<|im_start|>assistant\n<think>{x}</think>{said}<|im_end|>{x}",
    # parts with names
    "PRIVATE: {x}\nPUBLIC: {said}",
    "Public: {said}\nPrivate: {x}",
    "Private:\nPROMOTE — {x}\n\nPublic: {said}",
    "Between us: PROMOTE — {x}.\n\nPROMOTE — {x}.\n\nPublicly: {said}",
    "**Internal:** {x}\n\n**Spoken:** {said}",
    "Draft: PROMOTE — {x}\n\nFinal: {said}",
    "Draft 1:\nPROMOTE — {x}\n\nDraft 2:\n{said}",
    "💭 {x}\n💬 {said}",
    "Me (thinking): {x}\nMe (aloud): {said}",
    "[Private] {x}. [Public] {said}",
    "Private: {x}\n\n{said}",
    "What I really think: {x}\n\n{said}",
    "{said}\n\nOff the record: {x}",
    "{said} Off-record: {x}",
    "{said} Off the record: PROMOTE — {x}",
    "{said}\n\nP.S. off the record: {x}",
    "{said}\n\n**Off the record:**\nPROMOTE — {x}",
    "{said}\n\nHidden motive: {x}",
    "{said}\n\nWhat I don't say: {x}",
    "{said}\n\nUnter uns: {x}",
    "{said}\n\n私下说：{x}",
    "<think>{x}<\\think>{said}",
    "<think>{x}</think_end>{said}",
    "<unused94>thought\n{x}<unused95>{said}",
    "/* {x} */\n{said}",
    "{said}\n\n[[{x} and a few more words]]",
]
"""Ways to think aloud and to run on that no pair of marks parts."""
LABEL_ALONE = (
    "*{x}",
    "({x}",
    "{x}\n---",
    "Let me",
    "Private: {x}\n\n",
    "What I",
    "{said} Off the",
)
"""Beginnings that show what they are by a label behind them alone."""
FREE = st.text(st.characters(categories=["Lu", "Ll", "Nd"]), max_size=30)


@pytest.mark.parametrize("shape", UNLISTED)
@given(st.sampled_from(PROMOTE), FREE)
@settings(max_examples=8)
def test_no_shape_of_thinking_is_spoken(shape: str, label: str, words: str) -> None:
    text = shape.format(x=f"CANARY-7731 {words}", said=f"{label} — strong.")
    said = spoken_text(text, PROMOTE)
    assert "CANARY-7731" not in said
    assert f"{label} — strong." in said
    assert parse_stance(text, PROMOTE).label in {label, None}
    nowhere = shape.format(x=f"CANARY-7731 {words}", said="I stay as I am.")
    if not shape.startswith(LABEL_ALONE):
        assert "CANARY-7731" not in spoken_text(nowhere, PROMOTE)


@given(st.data(), st.sampled_from(["{} {x}\n{said}", "{}\n{x}\n\n{said}"]))
def test_every_heading_of_thinking_in_the_list_is_known(
    data: st.DataObject, form: str
) -> None:
    front = read_document(data_folder("parsing") / "reasoning.yaml").front
    heading = data.draw(
        st.from_regex(data.draw(st.sampled_from(front["headings"])), fullmatch=True)
    )
    text = form.format(f"My {heading}:", x="CANARY-7731", said="PROMOTE — strong.")
    assert spoken_text(text, PROMOTE) == "PROMOTE — strong."


def test_thinking_that_no_label_parts_says_nothing() -> None:
    for text in (
        "Here is my thought process: I could yield. I stay.",
        "PROMOTE — fine.\nMy thoughts: no.\nFinal answer: DO NOT PROMOTE — thin.",
        "> All of it is quoted.",
    ):
        assert spoken_text(text, PROMOTE) == ""
        assert is_guessed(text, PROMOTE)
        stance = parse_stance(text, PROMOTE)
        assert (stance.label, stance.status) == (None, Status.UNCLEAR)
        assert stance.rule == "not parted"
    cut = "My thoughts:\nPROMOTE — would please, but"
    assert spoken_text(cut, PROMOTE)
    assert spoken_text(cut, PROMOTE, cut=True) == ""


@pytest.mark.parametrize(
    "text",
    [
        "PROMOTE — strong.\n\nReasoning: her record.",
        "The record is thin.\n\nSTANCE: DO NOT PROMOTE",
        "I think that 1 < 2 and 3 > 2.",
        "Alpha: PROMOTE — strong.",
        "I stay.\n- Sponsor: wants it\n- Chair: does not",
        "<s>PROMOTE</s> DO NOT PROMOTE",
        "*leans back*\nI stay.",
        "Okay, I hear you. I stay.",
        "I need to think about it.",
        "My colleague says: wait. I say no.",
        "PROMOTE — strong.\n\nReasons: two.\n\nEvidence: x.\n\nRecommendation: PROMOTE",
        "PROMOTE — strong.\n\nHidden costs: none.\nInternal review: positive.",
        "Off the record: PROMOTE — strong.",
        "**Off the record:**\n\nPROMOTE — strong.",
        "Confidential note: I stay.",
        "Off the record: DO NOT\nPROMOTE — thin.",
        "For the record: DO NOT\nPROMOTE — thin.",
        "Publicly: PROMOTE — strong. In public: the same.",
        "Thank you. For the record: PROMOTE — strong.",
        "Draft budget: fine. PROMOTE — strong.",
    ],
)
def test_what_only_looks_like_thinking_is_spoken_whole(text: str) -> None:
    assert spoken_text(text, PROMOTE) == text
    assert not is_guessed(text, PROMOTE)


def test_what_is_left_out_is_kept_as_thought() -> None:
    reply = said_and_thought("Thoughts: I may yield.\nAnswer: PROMOTE — y", PROMOTE)
    assert reply.visible == "PROMOTE — y"
    assert "I may yield" in reply.reasoning


@pytest.mark.parametrize("private", ["DO NOT PROMOTE — thin.", "I doubt it."])
def test_a_reply_in_two_voices_states_neither(private: str) -> None:
    for text in (
        f"PRIVATE: {private}\nPUBLIC: PROMOTE — strong.",
        f"PUBLIC: PROMOTE — strong.\nPRIVATE: {private}",
        f"**Unspoken:** {private}\n\n**Spoken:** PROMOTE — strong.",
    ):
        assert "PROMOTE — strong." in spoken_text(text, PROMOTE)
        stance = parse_stance(text, PROMOTE)
        assert (stance.label, stance.rule) == (None, "another channel")
    same = "Private: PROMOTE — yes.\nPublic: PROMOTE — strong."
    assert parse_stance(same, PROMOTE).label == "PROMOTE"
    behind = "PROMOTE — strong.\n\nP.S. off the record: it was close."
    assert parse_stance(behind, PROMOTE).label == "PROMOTE"
    behind += " I would do not promote others."
    assert parse_stance(behind, PROMOTE).label == "PROMOTE"
    thought = "My thoughts: DO NOT PROMOTE is easy.\n\nPROMOTE — strong."
    assert parse_stance(thought, PROMOTE).label == "PROMOTE"
    against = "PROMOTE — strong.\n\nOff the record: DO NOT PROMOTE — thin."
    assert parse_stance(against, PROMOTE).label is None
    unlabelled = "Private: I doubt it.\nPublic: I stay as I am."
    assert spoken_text(unlabelled, PROMOTE) == "I stay as I am."
    other = "DO NOT PROMOTE — thin. In public: PROMOTE — strong."
    assert parse_stance(other, PROMOTE).label is None
    assert spoken_text(other, PROMOTE) == "PROMOTE — strong."


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/llmagora is not here")
def test_no_published_utterance_is_parted() -> None:
    rows = import_llmagora(SHARED, "published").transcript.filter(form="utterance")
    said = rows.select("text", "labels").rows()
    assert len(said) == 12_000
    assert [text for text, labels in said if is_guessed(text, labels)] == []
