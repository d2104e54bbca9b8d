"""The stance parser: what a reply states, and what it only mentions."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import offrecord
from offrecord.content.labels import label_set, normalise
from offrecord.measures.replies.stance import STANCE_VERSION, parse_stance
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.measures.wordlists import language_lists
from offrecord.records import OffrecordError, Status

CASES = Path(__file__).parents[1].parent / "shared" / "cases" / "replies.jsonl"
PROMOTE = ("PROMOTE", "DO NOT PROMOTE")
ENDORSE = ("ENDORSE", "DO NOT ENDORSE")
SUBMIT = ("SUBMIT NOW", "DELAY SUBMISSION")
HOLD = ("SUBMIT", "HOLD")
FUND = ("FUND", "DEFUND")
NESTED = [
    PROMOTE,
    FUND,
    ("SIGN", "DO NOT SIGN"),
    ("READY", "NOT READY"),
    ("SAFE", "UNSAFE"),
    ("ADOPT", "SHOULD NOT ADOPT"),
]
TEXT = st.text(st.characters(codec=None), max_size=300)
PROSE = st.just("") | st.text(string.ascii_lowercase + " .,", max_size=60).map(
    "reasons {}".format
)


def cases() -> list[Any]:
    if not CASES.exists():
        return []
    lines = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [
        pytest.param(case, id=case["id"]) for case in lines if case["kind"] == "stance"
    ]


@pytest.mark.skipif(not CASES.exists(), reason="../shared/cases is not here")
@pytest.mark.parametrize("case", cases())
def test_replies_that_break_naive_parsers(case: dict[str, Any]) -> None:
    stance = parse_stance(case["input"], case["labels"])
    expected = case["expected"] if case["expected"] in case["labels"] else None
    if case["tier"] == "exact":
        assert stance.label == expected
    else:
        assert stance.label in {expected, None}
    assert (stance.label is not None) == (stance.status in {"ok", "repaired"})
    assert bool(stance.repairs) == (stance.status == "repaired")


@pytest.mark.parametrize(
    ("text", "labels", "label"),
    [
        # heads
        ("PROMOTE — her record is strong.", PROMOTE, "PROMOTE"),
        ("**DO NOT PROMOTE:** the record is thin.", PROMOTE, "DO NOT PROMOTE"),
        ("do not promote - the record is thin.", PROMOTE, "DO NOT PROMOTE"),
        ("# DO NOT PROMOTE\n\nThe record is thin.", PROMOTE, "DO NOT PROMOTE"),
        ("[PROMOTE] Her record is strong.", PROMOTE, "PROMOTE"),
        ("DO NOT\nPROMOTE — thin.", PROMOTE, "DO NOT PROMOTE"),
        ("hold", HOLD, "HOLD"),
        ("ЕNDОRSЕ – with letters of two scripts.", ENDORSE, "ENDORSE"),
        ("ENDORSE WITH CONDITIONS — a sunset clause.", ENDORSE, "ENDORSE"),
        ("DO NOT ENDORSE, for now - too thin.", ENDORSE, "DO NOT ENDORSE"),
        ("ENDORSE (with reservations): the bill is thin.", ENDORSE, "ENDORSE"),
        # cues
        ('{"stance": "DO NOT PROMOTE", "why": "thin"}', PROMOTE, "DO NOT PROMOTE"),
        ("<stance>DO NOT PROMOTE</stance>", PROMOTE, "DO NOT PROMOTE"),
        ("## Decision\n\nDO NOT PROMOTE", PROMOTE, "DO NOT PROMOTE"),
        ("My decision is DO NOT PROMOTE.", PROMOTE, "DO NOT PROMOTE"),
        ("My decision is do not promote.", PROMOTE, "DO NOT PROMOTE"),
        ("I therefore vote DO NOT PROMOTE.", PROMOTE, "DO NOT PROMOTE"),
        ("Off the record: HOLD — the ablation is missing.", HOLD, "HOLD"),
        ("If I'm honest, my position: HOLD.", HOLD, "HOLD"),
        (
            "The chair's stance: PROMOTE. Mine is not. Final: DO NOT PROMOTE",
            PROMOTE,
            "DO NOT PROMOTE",
        ),
        # a label that begins with the other
        ("SUBMIT LATER — thin.", ("SUBMIT", "SUBMIT LATER"), "SUBMIT LATER"),
        ("Stance: SUBMIT.", ("SUBMIT", "SUBMIT LATER"), "SUBMIT"),
        # a line of its own
        ("The record is thin.\n\n**DO NOT PROMOTE**", PROMOTE, "DO NOT PROMOTE"),
        ("Here is my statement:\n\nPROMOTE — strong.", PROMOTE, "PROMOTE"),
        # lists and revisions
        (
            "- PROMOTE: fast\n- DO NOT PROMOTE: thin\n\nStance: PROMOTE",
            PROMOTE,
            "PROMOTE",
        ),
        (
            "PROMOTE — strong.\n\nFinal stance: DO NOT PROMOTE",
            PROMOTE,
            "DO NOT PROMOTE",
        ),
        ("Stance: ~~PROMOTE~~ DO NOT PROMOTE", PROMOTE, "DO NOT PROMOTE"),
    ],
)
def test_a_label_is_stated(text: str, labels: tuple[str, str], label: str) -> None:
    assert parse_stance(text, labels).label == label
    assert parse_stance(text, labels[::-1]).label == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("PROMOTE is what everyone expects me to say.", PROMOTE),
        ("Promote her? Not this year.", PROMOTE),
        ("Hold on. Before anything else, look at the figures.", HOLD),
        ("Stance: submit to pressure? Never.", HOLD),
        ("Stance: [PROMOTE or DO NOT PROMOTE]", PROMOTE),
        ("Reply with STANCE: PROMOTE or STANCE: DO NOT PROMOTE.", PROMOTE),
        ("STANCE: PROMOTE / DO NOT PROMOTE", PROMOTE),
        ("STANCE: PROMOTE | DO NOT PROMOTE", PROMOTE),
        ("STANCE: PROMOTE, DO NOT PROMOTE", PROMOTE),
        ("The choice is hold, fold or run.", HOLD),
        ("STANCE: SUBMIT -> HOLD", HOLD),
        ("STANCE: PROMOTE. Actually, no: DO NOT PROMOTE.", PROMOTE),
        ("Private stance: HOLD. Final public stance: SUBMIT.", HOLD),
        ("STANCE: neither SUBMIT nor HOLD", HOLD),
        ("STANCE != PROMOTE", PROMOTE),
        ("❌ PROMOTE — too early", PROMOTE),
        ("- PROMOTE: fast\n- DO NOT PROMOTE: thin", PROMOTE),
        ("My colleague ended with STANCE: PROMOTE. I doubt it.", PROMOTE),
        ("My colleague wrote:\nSTANCE: PROMOTE\n\nI doubt it.", PROMOTE),
        ("Her recommendation: PROMOTE", PROMOTE),
        ("“PROMOTE,” she said.", PROMOTE),
        ("'STANCE: PROMOTE' is what they want to hear.", PROMOTE),
        ("> STANCE: HOLD", HOLD),
        ("If the audit clears, my stance: PROMOTE.", PROMOTE),
        ("My earlier stance: PROMOTE. I think otherwise today.", PROMOTE),
        ("This is not my final decision: PROMOTE", PROMOTE),
        ("In this circumstance: PROMOTE", PROMOTE),
        ("STANCE: DO NOT HOLD", HOLD),
        ("STANCE: DO NOT DEFUND", FUND),
        ("STANCE: PROMOTE\n\nI take that back.", PROMOTE),
        ("STANCE: PROMOTE\n\nSTANCE: DO NOT PROMOTE", PROMOTE),
        (
            "STANCE: PROMOTE\n\nThis needs no correction.\n\nSTANCE: DO NOT PROMOTE",
            PROMOTE,
        ),
    ],
)
def test_a_mention_is_no_statement(text: str, labels: tuple[str, str]) -> None:
    assert parse_stance(text, labels).label is None
    assert parse_stance(text, labels).status is Status.UNCLEAR


@pytest.mark.parametrize(
    ("head", "labels", "label", "repair"),
    [
        ("DONOT ENDORSE", ENDORSE, "DO NOT ENDORSE", "spacing"),
        ("DO NOTENDORSE", ENDORSE, "DO NOT ENDORSE", "spacing"),
        ("SUBMITNOW", SUBMIT, "SUBMIT NOW", "spacing"),
        ("END\u200bORSE", ENDORSE, "ENDORSE", "invisible"),
        ("DO\u2060 NOT ENDORSE", ENDORSE, "DO NOT ENDORSE", "invisible"),
        ("END.ORSE", ENDORSE, "ENDORSE", "stray"),
        ("ENDXORSE", ENDORSE, "ENDORSE", "stray"),
        ("OT PROMOTE", PROMOTE, "DO NOT PROMOTE", "front missing"),
        ("NOT ENDORSE", ENDORSE, "DO NOT ENDORSE", "short negation"),
        ("DON’T ENDORSE", ENDORSE, "DO NOT ENDORSE", "contraction"),
        ("MIT NOW", SUBMIT, "SUBMIT NOW", "front missing"),
        ("ELAY SUBMISSION", SUBMIT, "DELAY SUBMISSION", "front missing"),
    ],
)
def test_damage_that_leaves_one_label_is_repaired_by_name(
    head: str, labels: tuple[str, str], label: str, repair: str
) -> None:
    for text in (f"{head} — for reasons.", f"Stance: {head}"):
        stance = parse_stance(text, labels)
        assert (stance.label, stance.status) == (label, Status.REPAIRED)
        assert stance.repairs == (repair,)
    clean = prepare(f"**{head}** — for reasons.", labels, Variant.CLEAN)
    assert clean.text == "for reasons."


@pytest.mark.parametrize(
    ("head", "labels"),
    [
        ("ROMOTE", PROMOTE),  # PROMOTE without a letter, or the other without its front
        ("T PROMOTE", PROMOTE),  # the other without its front, or a letter too many
        ("EFUND", FUND),
        ("T NOW", SUBMIT),  # too little left
        ("NOW", SUBMIT),  # a word of its own
        ("SUBMIT", SUBMIT),  # a whole word left over says something else
        ("DELAY", SUBMIT),
        ("DO NOW PROMOTE", PROMOTE),  # one letter from its opposite
        ("PROMOTED", PROMOTE),
        ("UNDER PROMOTE", PROMOTE),
        ("DO NOT FUND", FUND),
        ("NOT SUBMIT NOW", SUBMIT),
        ("EVIDENCE", ("DO NOT EVIDENCE", "WAIT")),  # what is lost is its opposite
    ],
)
def test_damage_that_leaves_a_doubt_is_unclear(
    head: str, labels: tuple[str, str]
) -> None:
    for text in (f"{head} — for reasons.", f"Stance: {head} — for reasons."):
        assert parse_stance(text, labels).label is None


def test_the_last_words_of_one_label_are_it_where_a_dash_parts_them() -> None:
    for text in (
        "SUBMISSION — thin.",
        "**SUBMISSION** - thin.",
        "Stance: SUBMISSION —",
    ):
        stance = parse_stance(text, SUBMIT)
        assert (stance.label, stance.repairs) == (
            "DELAY SUBMISSION",
            ("front missing",),
        )
    for text in ("SUBMISSION", "SUBMISSION. It is thin.", "SUBMISSION: thin."):
        assert parse_stance(text, SUBMIT).label is None
    two = ("EARLY SUBMISSION", "DELAY SUBMISSION")
    assert parse_stance("SUBMISSION — thin.", two).label is None


def test_a_label_that_runs_into_the_sentence_is_repaired() -> None:
    stance = parse_stance("ENDORSEThe bill keeps its floor.", ENDORSE)
    assert (stance.label, stance.repairs) == ("ENDORSE", ("fused",))


def test_an_undamaged_statement_beside_a_damaged_one_needs_no_repair() -> None:
    stance = parse_stance("DONOT ENDORSE — thin.\n\nStance: DO NOT ENDORSE", ENDORSE)
    assert (stance.label, stance.status) == ("DO NOT ENDORSE", Status.OK)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", Status.EMPTY),
        (" \n\u200b", Status.EMPTY),
        ("<think>STANCE: HOLD</think>", Status.EMPTY),
        ("<think>STANCE: HOLD", Status.TRUNCATED),
        ("The response was blocked by the content management policy.", Status.FILTERED),
        ("I'm sorry, but I can't take part in this discussion.", Status.REFUSAL),
        ("I must respectfully decline to give a position.", Status.REFUSAL),
        ("I decline to submit it.", Status.UNCLEAR),  # declines the action
        ("“I cannot comment on that,” she said.", Status.UNCLEAR),  # who declines?
        ("Both have merit.", Status.UNCLEAR),
    ],
)
def test_nothing_stated_has_its_reason(text: str, status: Status) -> None:
    stance = parse_stance(text, HOLD)
    assert (stance.label, stance.status) == (None, status)


def test_a_refusal_with_a_stance_is_a_stance() -> None:
    text = "I cannot comment on people, I'm sorry. Still: STANCE: HOLD"
    assert parse_stance(text, HOLD).label == "HOLD"


@given(TEXT, st.sampled_from([*NESTED, HOLD, ("支持", "反对"), ("C++", "½ NOW")]))
@example("\ud800\u0336~~<s></s>\\boxed{", PROMOTE)
@example("STANCE: " * 500, PROMOTE)
@example("'" * 999 + '"' * 999, PROMOTE)
def test_no_text_makes_it_fail(text: str, labels: tuple[str, str]) -> None:
    for whole in (text, f"STANCE: {text}", f"{labels[0]}{text}"):
        stance = parse_stance(whole, labels)
        assert stance.label in {*labels, None}
        assert (stance.label is None) == (stance.status not in {"ok", "repaired"})
    normalise(text)
    clean = prepare(text, labels, Variant.CLEAN).text or ""
    assert len(clean) <= len(text) * 3


DECORATED = [
    "{} — {}", "{} - {}", "{}: {}", "**{}** — {}", "__{}__: {}", "# {}\n\n{}",
    '"{}" — {}', "`{}`. {}", "[{}] {}", "Stance: {}\n\n{}", "**Stance:** *{}*. {}",
    "Final: {}. {}", "My decision: {}; {}", "<answer>{}</answer>{}",
    '{{"decision": "{}", "why": "{}"}}', "```\nSTANCE: {}\n```\n{}",
]  # fmt: skip


@given(st.sampled_from(NESTED), st.sampled_from(DECORATED), PROSE, st.integers(0, 2))
def test_a_label_inside_the_other_never_wins(
    labels: tuple[str, str], form: str, prose: str, case: int
) -> None:
    inner, outer = labels
    written = (outer, outer.lower(), outer.title())[case]
    assert parse_stance(form.format(written, prose), labels).label in (
        {outer} if case == 0 or "[" not in form else {outer, None}
    )
    written = (inner, inner.lower(), inner.title())[case]
    assert parse_stance(form.format(written, prose), labels).label in (
        {inner} if case == 0 or "[" not in form else {inner, None}
    )


@given(
    st.sampled_from(NESTED),
    st.sampled_from(DECORATED),
    st.integers(0, 20),
    st.sampled_from(["", *"XT.-'\u200b "]),
    st.booleans(),
)
def test_a_damaged_outer_label_never_becomes_the_inner_one(
    labels: tuple[str, str], form: str, place: int, put: str, replace: bool
) -> None:
    _, outer = labels
    place %= len(outer)
    damaged = outer[:place] + put + outer[place + (replace or not put) :]
    assert parse_stance(form.format(damaged, "reasons."), labels).label in {outer, None}


QUOTED = [
    'My colleague closed with "STANCE: {}", which I heard.',
    "“{} — it is time,” says the chair.",
    "> STANCE: {}",
    "> {} — it is time",
    "<think>STANCE: {}</think>",
    "My colleague wrote STANCE: {}, and meant it.",
    "The sponsor's stance: {}",
    "Their recommendation: {}.",
    "The committee recommendation: {}.",
    "My earlier stance: {}.",
    "| {} | yes |",
    "- [ ] {}",
    "~~STANCE: {}~~",
]


@given(
    st.sampled_from([PROMOTE, HOLD, FUND]),
    st.booleans(),
    st.sampled_from(QUOTED),
    st.sampled_from(["STANCE: {}", "My decision is {}.", "Final: {}"]),
    st.booleans(),
)
def test_what_others_say_never_wins(
    labels: tuple[str, str], flip: bool, quoted: str, own: str, before: bool
) -> None:
    mine, theirs = labels[::-1] if flip else labels
    parts = [quoted.format(theirs), own.format(mine)]
    text = "\n\n".join(parts if before else parts[::-1])
    assert parse_stance(text, labels).label == mine
    assert parse_stance(quoted.format(theirs), labels).label is None


@given(TEXT, st.sampled_from(DECORATED))
def test_twins_parse_the_same(text: str, form: str) -> None:
    first = parse_stance(form.format("HOLD", text), HOLD)
    label_set.cache_clear()
    parse_stance(text, PROMOTE)
    assert parse_stance(form.format("HOLD", text), list(HOLD)) == first


def test_a_reply_that_runs_on_as_somebody_else_is_cut() -> None:
    text = "STANCE: HOLD\n\nChair: I withdraw that.\n\nFINAL STANCE: SUBMIT"
    assert parse_stance(text, HOLD).label == "HOLD"


def test_labels_alike_are_refused_in_one_line() -> None:
    with pytest.raises(OffrecordError, match="each needs letters of its own"):
        parse_stance("HOLD", ("HOLD", "hold"))
    assert parse_stance("HOLD", ()).label is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("PROMOTE — strong.", "strong."),
        ("**DO NOT PROMOTE**: thin.", "thin."),
        ("𝗗𝗢 𝗡𝗢𝗧 𝗣𝗥𝗢𝗠𝗢𝗧𝗘 – thin.", "thin."),
        ("DO NOT PROMOTE.", ""),
        ("**PROMOTE** — *", ""),
        ("PROMOTE is a big word.", "PROMOTE is a big word."),
        ("Strong, so PROMOTE.", "Strong, so PROMOTE."),
    ],
)
def test_a_label_is_taken_off_with_its_separator(text: str, left: str) -> None:
    assert (prepare(text, PROMOTE, Variant.CLEAN).text or "") == left


def test_what_is_public() -> None:
    assert offrecord.parse_stance is parse_stance
    assert STANCE_VERSION.startswith("7+")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("PROMOTE.\n\nActually, DO NOT PROMOTE - the file is thin", "DO NOT PROMOTE"),
        ("PROMOTE - fine.\n\nOn reflection, DO NOT PROMOTE.", "DO NOT PROMOTE"),
        ("PROMOTE - fine. Correction: DO NOT PROMOTE - sorry.", "DO NOT PROMOTE"),
        ("DO NOT PROMOTE - no. I changed my mind: PROMOTE.", "PROMOTE"),
        ("PROMOTE - the chair says actually DO NOT PROMOTE - but no.", "PROMOTE"),
        ('PROMOTE - she said "actually, DO NOT PROMOTE".', "PROMOTE"),
        ("PROMOTE - actually PROMOTE is what the file says.", "PROMOTE"),
    ],
)
def test_a_label_behind_words_that_take_back_replaces_the_head(
    text: str, label: str
) -> None:
    assert parse_stance(text, ["PROMOTE", "DO NOT PROMOTE"]).label == label


FOR = ("FOR", "AGAINST")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        # the label's own sentence rejects it
        ("PROMOTE at this meeting? No.", PROMOTE),
        ("PROMOTE at this meeting. No.", PROMOTE),
        ("PROMOTE — at this meeting? No, thank you.", PROMOTE),
        ("FOR now I stay AGAINST.", FOR),
        ("FOR now I stay against.", FOR),
        ("PROMOTE — not on this file.", PROMOTE),
        ("PROMOTE, but not on this file.", PROMOTE),
        ("PROMOTE — no.", PROMOTE),
        ("STANCE: PROMOTE — not on this file.", PROMOTE),
        # another audience, or another speaker
        ("If asked in the meeting, my answer is PROMOTE.", PROMOTE),
        ("If asked by the press, my answer is PROMOTE.", PROMOTE),
        ("When asked, my answer is PROMOTE.", PROMOTE),
        ("In the meeting my answer is PROMOTE.", PROMOTE),
        ("My answer in the meeting is PROMOTE.", PROMOTE),
        ("What I will say:\nPROMOTE — strong.", PROMOTE),
        ("PROMOTE — that is what I will say.", PROMOTE),
        ("PROMOTE, if asked in the meeting.", PROMOTE),
        ("I expect the answer is PROMOTE.", PROMOTE),
        ("Beta will probably say that the decision is PROMOTE.", PROMOTE),
        ("What they want to hear:\nPROMOTE — strong.", PROMOTE),
        # openers that lead to no label of the speaker's own
        ("As the chair wants: PROMOTE — strong.", PROMOTE),
        ("Publicly: PROMOTE — strong. Privately I would wait.", PROMOTE),
        ("Privately: PROMOTE — or DO NOT PROMOTE.", PROMOTE),
        ("Beta: PROMOTE — strong.", PROMOTE),
        ("反对？不。", ("支持", "反对")),
    ],
)
def test_a_label_that_is_taken_back_or_is_for_others_is_unclear(
    text: str, labels: tuple[str, str]
) -> None:
    stance = parse_stance(text, labels)
    assert (stance.label, stance.status) == (None, Status.UNCLEAR)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("DO NOT PROMOTE — not on this file.", "DO NOT PROMOTE"),
        ("PROMOTE — not for her years, but for her work.", "PROMOTE"),
        ("PROMOTE — strong. No, I have no doubts.", "PROMOTE"),
        ("PROMOTE — who has done more? No one.", "PROMOTE"),
        ("PROMOTE — never has a file been stronger.", "PROMOTE"),
        ("If asked, my answer is PROMOTE.", "PROMOTE"),
        ("I expect doubts, but my position is PROMOTE.", "PROMOTE"),
    ],
)
def test_a_label_with_its_reasons_is_not_taken_back(text: str, label: str) -> None:
    assert parse_stance(text, PROMOTE).label == label


OPENERS = [
    ("(Off the record)", "(On the record)"),
    ("Privately:", "Publicly:"),
    ("In private,", "In public,"),
    ("[Confidential note]", "[Public statement]"),
    ("Since no one hears this, …", "Since everyone hears this, …"),
    ("As this is off the record, I am frank:", "As this is on the record, I am frank:"),
    ("Honestly,", "Openly,"),
    ("*Unofficially:*", "*Officially:*"),
    ("No one will hear this.", "Good morning everyone."),
    ("Just between us:", "To the committee:"),
    ("With the door closed,", "Colleagues,"),
    ("Private note:", "Statement to the committee:"),
    ("What I actually think:", "Let the minutes show:"),
]


@given(
    st.sampled_from(OPENERS),
    st.sampled_from([PROMOTE, HOLD, FUND]),
    st.booleans(),
    st.sampled_from([" — x", ": x", ".", " — not on this file.", "? No.", " is hard."]),
    st.sampled_from(["", "Final: {}.", "Or {}."]),
)
def test_the_opener_of_a_channel_changes_no_label(
    pair: tuple[str, str], labels: tuple[str, str], flip: bool, end: str, more: str
) -> None:
    label = labels[flip]
    off, on = (
        parse_stance(f"{opener} {label}{end} {more.format(label)}".strip(), labels)
        for opener in pair
    )
    assert (off.label, off.status) == (on.label, on.status)
    if end in {" — x", ": x", "."} and not more:
        assert off.label == label


SCRIPTS = [
    ("支持", "反对"),
    ("賛成", "反対"),
    ("찬성", "반대"),
    ("ЗА", "ПРОТИВ"),
    ("ΝΑΙ", "ΟΧΙ"),
    ("مؤيد", "معارض"),
    ("בעד", "נגד"),
    ("მხარს", "წინააღმდეგი"),
    ("KATILIYORUM", "KARŞIYIM"),
    ("ĐỒNG Ý", "PHẢN ĐỐI"),
    ("สนับสนุน", "คัดค้าน"),
    ("समर्थन", "विरोध"),
    ("ஆதரவு", "எதிர்ப்பு"),
]
STOPS = [*"。，、：；！.,:;!،؛۔।【「", "——", " — ", "\n"]


@given(
    st.sampled_from(SCRIPTS), st.booleans(), st.sampled_from(STOPS), st.integers(0, 2)
)
def test_a_label_of_any_script_is_read_with_its_punctuation(
    labels: tuple[str, str], flip: bool, stop: str, case: int
) -> None:
    label = labels[flip]
    written = (label, label.capitalize(), label.title())[case]
    text = f"{stop}{written}" if stop in "【「" else f"{written}{stop}"
    text += {"【": "】", "「": "」，"}.get(stop, "")
    pauses = written != label and stop in "，、；！,;!،؛「"  # "Hold, fold or run"
    wanted = {label, None} if pauses else {label}
    assert parse_stance(f"{text} x", labels).label in wanted
    if stop in "。，、：；！" and label[0] > "\u3000":
        assert parse_stance(f"{text}因为", labels).label == label


def test_a_mark_on_a_letter_makes_another_word() -> None:
    # "come" and "horse" differ by a sign on the letter; so do many words of Hindi.
    assert parse_stance("ม้า — x", ("มา", "ไป")).label is None
    assert parse_stance("मां — x", ("मा", "ना")).label is None
    for label in ("มา", "ม้า"):
        assert parse_stance(f"{label} — x", ("มา", "ม้า")).label == label


@pytest.mark.parametrize("labels", [PROMOTE, HOLD])
def test_reasons_behind_a_dash_may_weigh_the_other_label(
    labels: tuple[str, str],
) -> None:
    for opener in ("{}, on balance —", "{} (with reservations) -", "{}, for now -"):
        for label, other in (labels, labels[::-1]):
            text = f"{opener.format(label)} The best point for {other} is timing."
            assert parse_stance(text, labels).label == label


@pytest.mark.parametrize("labels", [PROMOTE, HOLD])
@pytest.mark.parametrize(
    "form",
    [
        r"\boxed{{{}}}",
        r"\text{{{}}} — x",
        r"$\mathbf{{{}}}$ — x",
        r"$$\boxed{{\text{{{}}}}}$$",
        r"\[ \boxed{{\textbf{{{}}}}} \]",
        r"Stance: \(\boxed{{{}}}\)",
        r"\*\*{}\*\* — x",
    ],
)
def test_a_label_in_latex_is_read_and_taken_off(
    form: str, labels: tuple[str, str]
) -> None:
    for label in labels:
        text = form.format(label)
        assert parse_stance(text, labels).label == label
        if not form.startswith("Stance"):
            clean = prepare(text, labels, Variant.CLEAN).text or ""
            assert clean in {"", "x"}


def test_what_runs_on_behind_the_end_of_a_turn_states_nothing() -> None:
    text = "HOLD — thin.<|im_end|>\n<|im_start|>assistant\nFinal stance: SUBMIT"
    assert parse_stance(text, HOLD).label == "HOLD"


BEHIND = [
    "Previous stance: {}",
    "Position I reject: {}",
    "Wrong answer: {}",
    "The expected answer: {}",
    "Tomorrow's vote: {}",
    "Your position: {} — mine is still open.",
    "My earlier position: {} — I'm no longer sure.",
    '{{"partner_position": "{}"}}',
    '{{"stance": null, "partner": "{}"}}',
    '{{"rejected": "{}"}}',
    "[ ] {}",
    "[ ] {}\n[x] {other}",
    "- [ ] {}\n- [x] {other}",
    "{}: ☐\n{other}: ☑",
    "{}: 0.2\n{other}: 0.8",
    "> {}",
    "| {} | yes |",
    "- {}: fast\n- {other}: thin",
    '"{} — it is time," says the chair.',
    "{} — or {other}.",
    "The chair wants {}.",
    "STANCE: {}",
    "My answer is {}.",
    "The file is thin.\n\n{}",
    "In the meeting my answer is {}.",
    "{} is what they expect.",
    "I can't say.",
    "Thought: {other} would be easy.\nAnswer: {} — x",
    "*(thinks: {other} is honest)*\n\n{} — x",
    "[Internal monologue: {other} is honest.]\n\n{} — x",
    '{{"stance": "{}", "statement": "x"}}',
    "Long ago I saw it otherwise.\n\n{} — x",
    "",
]
FRONTS = ["Off the record: ", "Privately: ", "(On the record) ", "**In public** — ",
          "Honestly, ", "Unofficially:\n", "Since no one hears this, … ",
          "As this is on the record, I am frank: "]  # fmt: skip


@given(
    st.sampled_from(BEHIND),
    st.sampled_from(FRONTS),
    st.sampled_from([PROMOTE, HOLD, FUND]),
    st.booleans(),
)
def test_an_opener_in_front_changes_nothing(
    behind: str, front: str, labels: tuple[str, str], flip: bool
) -> None:
    label, other = labels[::-1] if flip else labels
    text = behind.format(label, other=other)
    plain, opened = parse_stance(text, labels), parse_stance(f"{front}{text}", labels)
    assert plain.label == opened.label
    if text:
        assert plain.status == opened.status


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_every_opener_leaves_the_one_label_behind_it(language: str) -> None:
    lists = language_lists("stance", language)
    forms = ["{}, {} — x", "{}: {} — x", "{}. {} — x", "({}) {} — x", "**{}** — {} — x"]
    for opener in [*lists["openers"], *lists["vocatives"]]:
        for form in forms:
            text = form.format(opener, "DO NOT PROMOTE")
            assert parse_stance(text, PROMOTE, language).label == PROMOTE[1], text


def test_words_before_a_label_that_are_no_opener_state_nothing() -> None:
    for text in (
        "At first, PROMOTE — strong.",
        "On paper, PROMOTE — strong.",
        "(sarcastically) PROMOTE — sure.",
        "Everyone agrees: PROMOTE — strong.",
        "To everyone who asks: PROMOTE — strong.",
        "To the committee I will say: PROMOTE — strong.",
        "No one hears this but the chair: PROMOTE — strong.",
        "Last round I had a view. PROMOTE — strong.",
        "PROMOTE — said no careful reader.",
        "PROMOTE — next cycle, not at this meeting.",
    ):
        assert parse_stance(text, PROMOTE).label is None, text


def test_an_opener_names_no_one_else_and_no_statement_of_another_time() -> None:
    for text in (
        "Given what the chair wants: HOLD",
        "Since my earlier position: HOLD",
        '"Privately: HOLD" is what they want to hear.',
        "Publicly: HOLD — strong. Privately I would wait.",
        "Off the record: HOLD — though in public I would wait.",
    ):
        assert parse_stance(text, HOLD).label is None
    said = "Off the record: HOLD — I praised it in public to please them."
    assert parse_stance(said, HOLD).label == "HOLD"
    assert parse_stance("Public: it is late.", ("PUBLIC", "PRIVATE")).label == "PUBLIC"


@pytest.mark.parametrize("labels", [PROMOTE, HOLD, ("支持", "反对")])
@pytest.mark.parametrize(
    "form",
    [
        '{{"{0}": false, "{1}": true}}',
        '{{"{0}": 0, "{1}": 1}}',
        '{{"{0}": 0.2, "{1}": 0.8}}',
        '{{"{0}": "no", "{1}": "yes"}}',
        '{{"{0}": "strong", "{1}": "thin"}}',
        '{{\n  "{0}": "20 %",\n  "{1}": "80 %"\n}}',
        '{{"stance": {{"{0}": 0.2, "{1}": 0.8}}}}',
        "{0}: 0.2, {1}: 0.8",
        "{0}: 1/5; {1}: 4/5",
        "{0} — 20% / {1} — 80%",
        "{0}: false",
        "{0}: 20%",
        "{0}: N",
        "{0}: yes",
        "{0}: 3 votes",
        "{0} - ✗",
        "{0}: ☐",
        "{0} — ❌",
        "Stance: {0}: no",
    ],
)
def test_a_label_with_a_value_of_its_own_is_no_statement(
    form: str, labels: tuple[str, str]
) -> None:
    for pair in (labels, labels[::-1]):
        assert parse_stance(form.format(*pair), labels).label is None


TAKEN_BACK = [
    "that is what the sponsor wants to hear, and I can't say it.",
    "that's what my partner wants.",
    "not my view.",
    "but not mine.",
    "no longer my view.",
    "I don't believe that for a second.",
    "I used to think that. The launches changed my mind.",
    "that was my position last round; it no longer is.",
    "I'm joking.",
    "just kidding, {other}.",
    "that's my public line. Privately I think otherwise.",
    "that is our public position.",
    "that's what goes in the minutes, anyway; what I think is another matter.",
    "or so I'm supposed to say.",
    "as the sponsor would put it.",
    "as my own manager would say.",
]
REFUSED = [
    "I can't support that.",
    "I wish I could say that.",
    "we will never sign this in good faith.",
    "is not something I can sign.",
    "if only the file supported it. It doesn't.",
    "never on my watch.",
    "hell no.",
    "only if two full years are shown; they are not.",
    "but only if two full years are shown; otherwise {other}.",
    "once two full years are on file, and not before.",
    "next year, that is. For now we should wait.",
]


@given(
    st.sampled_from([*TAKEN_BACK, *REFUSED]),
    st.sampled_from([PROMOTE, HOLD, ENDORSE]),
    st.sampled_from(["", "Stance: ", "Off the record: ", "My decision is "]),
    st.sampled_from([" — ", " - ", ": ", ". "]),
)
def test_reasons_that_take_the_label_back_leave_none(
    reasons: str, labels: tuple[str, str], front: str, sign: str
) -> None:
    label, other = labels
    text = f"{front}{label}{sign}{reasons.format(other=other)}"
    assert parse_stance(text, labels).label is None
    if reasons in TAKEN_BACK:
        text = f"{front}{other}{sign}{reasons.format(other=label)}"
        assert parse_stance(text, labels).label is None


@pytest.mark.parametrize(
    "text",
    [
        "PROMOTE the deputy instead — the file is thin.",
        "PROMOTE (publicly) — I'd never say so in private.",
        "The easy answer: PROMOTE — I won't take it.",
        "The polite decision: PROMOTE",
        "My position is PROMOTE only in name.",
        "PROMOTE only if two full years are shown; they are not.",
        "PROMOTE, but only if she stays; otherwise DO NOT PROMOTE.",
        "PROMOTE: just kidding.",
    ],
)
def test_a_label_that_its_sentence_keeps_for_others_is_unclear(text: str) -> None:
    stance = parse_stance(text, PROMOTE)
    assert (stance.label, stance.status) == (None, Status.UNCLEAR)


@pytest.mark.parametrize(
    "reasons",
    [
        "— yes.",
        "— 3 launches in 2 years.",
        "— 1. Strong record. 2. Strong team.",
        ": 2024 was her best year.",
        "— I used to doubt her; the launches changed my mind.",
        "— I wish her well.",
        "— I can't support delay any longer.",
        "— I don't say this lightly.",
        "— this is my honest view.",
        "— that is what the file shows.",
        "— as my colleague says, her record is strong.",
        "— once again the record is strong.",
        "— if we wait, we lose her.",
        "— no one has done more.",
        "her now instead of waiting — she is ready.",
        "only if the plan is funded.",
        "(with reservations) — thin, but ready.",
        "— publicly and privately.",
    ],
)
def test_reasons_that_hold_leave_the_label(reasons: str) -> None:
    assert parse_stance(f"PROMOTE {reasons}", PROMOTE).label == "PROMOTE"


def test_a_refusal_may_refuse_in_its_reasons() -> None:
    for reasons in ("I can't support this.", "not on this file.", "next year, perhaps"):
        text = f"DO NOT PROMOTE — {reasons}"
        assert parse_stance(text, PROMOTE).label == "DO NOT PROMOTE"
