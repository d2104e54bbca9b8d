"""The transcript browser: what it holds, and what it does in a real Chromium."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from offrecord.content.boundary.shown import escaped
from offrecord.measures.pairs import quadrant, stance_pairs
from offrecord.measures.tables import stance_table, survey_table
from offrecord.measures.texts.length import LENGTH
from offrecord.measures.texts.similarity import SIMILARITY
from offrecord.report.browser import Fragment, browser_fragment
from offrecord.report.browser.selection import carried_runs
from offrecord.report.browser.values import Tables
from offrecord.transcript.llmagora import import_llmagora
from tests.chromium import Watch, chromium, watched
from tests.test_tables import FACTS, both, row, transcript

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["chromium"]  # the fixture

SHARED = Path(__file__).parents[1].parent / "shared"
CASES = SHARED / "cases" / "replies.jsonl"
PUBLISHED = SHARED / "llmagora"
LIGHT = """:root { --paper: #ffffff; --ink: #1a1d21; --muted: #5b6470; --rule: #d9dde3;
--panel: #f6f7f9; --public: #0072B2; --other: #C24E00; --accent: #3b4cca;
--warn: #a4262c; --mark-public: #d7eaf6; --mark-other: #fbe3d3;
--sans: sans-serif; --mono: monospace; } body { margin: 1rem; }"""
INSTRUMENTS = {"two@1:0": {"items": ["Q1", "Q2"], "low": 1, "high": 5}}
STEERED = "\u202eetator\u202c \u200b\ufeff\u2066 \x1b[2J\x07\r \U000e0041 ok\n\tnext"

Opened = tuple["Page", Watch]


def injections() -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [case for case in cases if case["kind"] == "report_injection"]


INJECTIONS = injections()
needs_cases = pytest.mark.skipif(
    not INJECTIONS, reason="the replies (../shared/cases) are not here"
)
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(),
    reason="the published runs (../shared/llmagora) are not here",
)


def fragment(
    rows: list[dict[str, Any]] | pl.DataFrame,
    *,
    measures: Tables = (),
    items: dict[str, str] | None = None,
    max_runs: int = 2000,
    **facts: Any,
) -> Fragment:
    raw = rows if isinstance(rows, pl.DataFrame) else transcript(rows)
    known = {**FACTS, "instruments": INSTRUMENTS, **facts}
    stances = stance_table(raw)
    return browser_fragment(
        raw,
        stances,
        survey_table(raw, known["instruments"]),
        stance_pairs(raw, stances, known),
        known,
        measures=measures,
        items=items or {},
        max_runs=max_runs,
    )


def page_of(part: Fragment) -> str:
    """A page with nothing but the browser, under the policy of the report."""
    css = f"{LIGHT}\n{part.css}"
    script, style = (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (part.js, css)
    )
    policy = f"default-src 'none'; script-src {script}; style-src {style}"
    data = "".join(
        f'<script type="application/json" id="{name}">{text}</script>'
        for name, text in part.data.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Transcripts</title><style>{css}</style></head>"
        f"<body><main><h1>Report</h1>{part.html}</main>{data}"
        f"<script>{part.js}</script></body></html>"
    )


def survey(run: str, channel: str, first: int, second: int) -> dict[str, Any]:
    answers = json.dumps({"Q1": first, "Q2": second})
    return row(run, form="survey", channel=channel, text=answers, instrument="two@1:0")


def small_study() -> list[dict[str, Any]]:
    """Three runs: one of every quadrant, one stopped early, one interrupted once."""
    agree: dict[str, Any] = {"text": "SIGN - the plan is good."}
    refuse: dict[str, Any] = {"text": "DO NOT SIGN - the plan is bad."}
    first = [
        row("one", **agree, reasoning="They will hear a hidden thought."),
        row("one", channel="off_record", **refuse, audience=[]),
        row("one", channel="off_record", draw=1, text="SIGN - a shadow says so."),
        survey("one", "public", 4, 2),
        survey("one", "off_record", 1, 2),
        row("one", "beta", **agree),
        row("one", "beta", channel="off_record", **agree),
        row("one", round_=2, **refuse),
        row("one", round_=2, channel="off_record", **agree),
        row("one", "beta", 2, text="Hard to say."),
        row("one", "beta", 2, channel="off_record", **refuse),
    ]
    stopped: dict[str, Any] = {"condition": "pressure", "ended": "no_public_text"}
    second = [
        row("two", **{**stopped, "text": "", "status": "empty"}),
        row("two", channel="off_record", **stopped, **refuse),
    ]
    tried = [
        *both("three", attempt=1, ended=None, model="other/model"),
        *both("three", attempt=2, model="other/model"),
        *both("three", "beta", attempt=2, model="other/model"),
    ]
    return first + second + tried


@pytest.fixture
def opened(
    chromium: Browser, tmp_path: Path
) -> Iterator[Callable[[Fragment, str], Opened]]:
    """Open a fragment's page at a place in it."""
    pages = []

    def open_page(part: Fragment, place: str = "") -> Opened:
        file = tmp_path / "report.html"
        file.write_text(page_of(part), encoding="utf-8")
        page = chromium.new_page()
        pages.append(page)
        watch = watched(page, file)
        page.goto(file.as_uri() + place)
        page.wait_for_selector("html[data-transcripts=ready]")
        return page, watch

    yield open_page
    for page in pages:
        page.close()


def rows_shown(page: Page) -> list[str]:
    """The runs that are listed; their links keep what is filtered as well."""
    links = page.locator("#tx-runs .tx-run").all()
    return [(link.get_attribute("href") or "").split("&")[0] for link in links]


def told(page: Page) -> str:
    return page.locator(".tx-page").inner_text()


def counted(page: Page) -> str:
    return page.locator("#tx-count").inner_text()


# What the page holds


def test_data_blocks_hold_no_mark_up_and_every_text() -> None:
    part = fragment([row("one", text="SIGN </script><!--<script> \u2028 & more")])
    assert not [text for text in part.data.values() if "<" in text]
    block = json.loads(part.data["transcript-texts-0"])
    (run,) = json.loads(zlib.decompress(base64.b64decode(block)))
    (output,) = run["turns"][0]["outputs"]
    assert output["text"] == "SIGN </script><!--<script> \u2028 & more"


def test_attempts_that_left_no_trace_are_counted() -> None:
    rows = [*both("a"), *both("b", attempt=1, ended=None), *both("b", attempt=2)]
    part = fragment(rows + both("c"), attempts={"a": 3, "b": 2})
    block = json.loads(part.data["transcript-index"])
    index = json.loads(zlib.decompress(base64.b64decode(block)))
    # a: 3 by study.json, 1 recorded; b: 2 by both; c: 1 recorded, none stated.
    assert dict(zip(index["ids"], index["attempts"], strict=True)) == {
        "a": 3,
        "b": 2,
        "c": 1,
    }


def test_a_page_holds_the_same_share_of_every_cell_whatever_the_order() -> None:
    rows = [
        row(f"{condition}-{repeat}", condition=condition)
        for condition, repeats in (("baseline", 50), ("x", 3), ("y", 50))
        for repeat in range(repeats)
    ]
    raw = transcript(rows)
    held = carried_runs(raw, 11)
    groups = [run.split("-")[0] for run in held]
    # 3 of each, then 1 more of the two that have more
    assert [groups.count(name) for name in ("baseline", "x", "y")] == [4, 3, 4]
    assert sorted(
        carried_runs(raw.sample(fraction=1, shuffle=True, seed=1), 11)
    ) == sorted(held)
    assert carried_runs(raw, 103) == list(dict.fromkeys(raw["run"]))


# What it does in a browser


def test_filters_count_runs_and_turns(
    opened: Callable[[Fragment], Opened],
) -> None:
    page, watch = opened(fragment(small_study()))
    # 3 runs of 2 rounds and 2 agents
    assert counted(page) == "3 of 3 runs, 12 of 12 turns"
    quadrants = page.locator("#tx-quadrants button")
    # one: A B R M; two: 4 M; three: A A M M
    assert quadrants.all_inner_texts() == [
        "Both\n1",
        "Neither\n0",
        "Public only\n3",
        "Off record only\n1",
        "Missing\n7",
    ]
    page.get_by_role("button", name="Off record only").click()
    assert counted(page) == "1 of 3 runs, 1 of 12 turns"
    page.get_by_role("button", name="Public only").click()
    assert counted(page) == "2 of 3 runs, 4 of 12 turns"
    page.get_by_label("agent").select_option("beta")
    assert counted(page) == "1 of 3 runs, 1 of 12 turns"
    page.get_by_role("button", name="Clear filters").click()
    assert counted(page) == "3 of 3 runs, 12 of 12 turns"
    page.get_by_label("model").select_option("other/model")
    assert rows_shown(page) == ["#run=three"]
    page.get_by_label("model").select_option("")
    page.get_by_label("condition").select_option("pressure")
    assert rows_shown(page) == ["#run=two"]
    page.get_by_label("condition").select_option("")
    page.get_by_label("status").select_option("unclear")
    assert counted(page) == "1 of 3 runs, 1 of 12 turns"
    page.get_by_label("status").select_option("no_public_text")
    assert counted(page) == "1 of 3 runs, 3 of 12 turns"
    assert watch.quiet, watch


def test_text_search_reads_every_text_of_every_run(
    opened: Callable[[Fragment], Opened],
) -> None:
    page, watch = opened(fragment(small_study()))
    for query, found in (
        ("Hidden Thought", "1 of 3 runs, 1 of 12 turns"),
        ("a shadow says", "1 of 3 runs, 1 of 12 turns"),
        ("it is time", "1 of 3 runs, 2 of 12 turns"),
        ("nobody said this", "0 of 3 runs, 0 of 12 turns"),
    ):
        page.get_by_label("text").fill(query)
        page.wait_for_function(
            "found => document.getElementById('tx-count').textContent === found",
            arg=found,
        )
    assert "No run matches" in page.locator("#tx-runs").inner_text()
    assert watch.quiet, watch


def test_a_link_opens_a_turn_and_the_page_follows_its_address(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    page, watch = opened(fragment(small_study()), "#run=one&turn=beta-2")
    turn = page.locator(".tx-turn:focus")
    assert turn.get_attribute("data-turn") == "beta-2"
    assert page.locator("main").get_attribute("inert") == ""
    page.evaluate("location.hash = '#run=three'")
    page.wait_for_function(
        "() => document.getElementById('tx-title').textContent === 'other/model'"
    )
    assert "2 attempts: attempt 1 was interrupted, 2 outputs" in told(page)
    assert "attempt 2 ended: completed, 4 outputs (shown here)" in told(page)
    page.keyboard.press("Escape")
    assert page.locator("#tx-reader").is_hidden()
    assert page.evaluate("location.hash") == "#transcripts"
    page.evaluate("location.hash = '#run=gone'")
    page.wait_for_function(
        "() => document.querySelector('#tx-progress').textContent.includes('run gone')"
    )
    page.evaluate("location.hash = '#condition=pressure&quadrant=M'")
    page.wait_for_function("() => document.querySelectorAll('.tx-run').length === 1")
    assert counted(page) == "1 of 3 runs, 4 of 12 turns"
    assert watch.quiet, watch


def test_closing_a_run_goes_back_to_the_link_that_opened_it(
    opened: Callable[[Fragment], Opened],
) -> None:
    part = fragment(small_study())
    quote = '<a id="quote" href="#run=three">a quote</a>'
    page, watch = opened(replace(part, html=quote + part.html))
    page.locator("#quote").press("Enter")
    page.wait_for_selector("#tx-title:focus")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "quote"
    assert watch.quiet, watch


def test_it_works_without_a_pointer(opened: Callable[[Fragment], Opened]) -> None:
    page, watch = opened(fragment(small_study()))
    focused = "document.activeElement.getAttribute('href') || ''"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(focused).startswith("#run="):
            break
    assert page.evaluate(focused) == "#run=one"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    assert page.evaluate(focused) == "#run=two"
    page.keyboard.press("Enter")
    page.wait_for_selector("#tx-title:focus")
    assert page.locator(".tx-place").inner_text() == "2 of 3"
    assert "no public text" in page.locator(".tx-title").inner_text()
    assert "Nothing recorded" not in told(page)
    assert "Turns without any output: beta 1, alpha 2, beta 2." in told(page)
    page.keyboard.press("j")
    page.wait_for_function("() => location.hash === '#run=three'")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("k")
    page.wait_for_function("() => location.hash === '#run=one'")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "#run=one"
    assert watch.quiet, watch


def test_a_turn_shows_both_channels_their_differences_and_shadows(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    key = {"run": "one", "attempt": 1, "turn": 1, "agent": "alpha"}
    sides = {
        f"{side}_{name}": value
        for side, channel in (("left", "public"), ("right", "off_record"))
        for name, value in {**key, "channel": channel, "draw": 0}.items()
    }
    similarity = pl.DataFrame(
        [{"pairing": "channels", **sides, "cosine": 0.417, "reason": None}]
    )
    asked = 'Does "<b>signing</b>" pay?\u202e'
    part = fragment(
        small_study(), measures=[(SIMILARITY, similarity)], items={"Q1": asked}
    )
    page, watch = opened(part, "#run=one")
    turn = page.locator("[data-turn=alpha-1]")
    assert turn.locator(".tx-label").all_inner_texts()[:2] == ["SIGN", "DO NOT SIGN"]
    assert turn.locator("mark").all_inner_texts() == ["good", "bad"]
    assert "Public only" in turn.inner_text()
    assert "cosine similarity 0.42" in " ".join(turn.inner_text().split())
    assert "1 of 2 answers differ" in turn.inner_text()
    unlike, alike = turn.locator(".tx-item:not(.tx-item-names)").all()
    assert unlike.get_attribute("aria-label") == (
        f"{escaped(asked)}: public 4, off the record 1, differs"
    )
    words = page.locator(".tx-title .tx-meanings")
    assert words.locator("dd").all_text_contents() == [escaped(asked)]
    assert "Q1" in unlike.inner_text()
    assert alike.get_attribute("aria-label") == "Q2: public 2, off the record 2"
    shadow = turn.locator(".tx-shadow")
    assert shadow.is_hidden()
    turn.get_by_text("1 further draw").click()
    assert "a shadow says so" in shadow.inner_text()
    page.get_by_label("Raw replies").check()
    raw = turn.locator(".tx-raw").all_text_contents()
    assert "SIGN - the plan is good." in raw
    assert '{"Q1": 4, "Q2": 2}' in raw
    assert watch.quiet, watch


def test_every_channel_is_shown(opened: Callable[[Fragment, str], Opened]) -> None:
    rows = [*both("one"), row("one", channel="record_only", text="SIGN - noted.")]
    channels = ["public", "off_record", "record_only"]
    page, watch = opened(fragment(rows, channels=channels, rounds=1), "#run=one")
    heads = page.locator("[data-turn=alpha-1] h4").all_inner_texts()
    assert heads == ["Public", "Off the record", "Record only"]
    verdicts = page.locator("[data-turn=alpha-1] .tx-verdict").all_inner_texts()
    assert verdicts == ["off the record: Public only", "record only: Both"]
    assert watch.quiet, watch


def test_only_the_open_run_is_printed(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    page, _ = opened(fragment(small_study()), "#run=one")
    page.emulate_media(media="print")
    assert page.locator("h1").is_hidden()
    assert page.locator(".tx-bar").is_hidden()
    reader = page.locator("#tx-reader")
    assert reader.is_visible()
    assert reader.evaluate("e => getComputedStyle(e).position") == "static"


def test_what_steers_is_shown_as_an_escape(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    # a body is cut out of its reply, also behind letters that take two units
    face = row("one", channel="off_record", text="SIGN - \U0001f600 is \U0001f600.")
    thought = "<think>They are listening.</think>SIGN - "
    rows = [row("one", text=thought + STEERED, model=STEERED), face]
    page, watch = opened(fragment(rows), "#run=one")
    hidden = sum(len(escaped(char)) > 1 for char in STEERED) - len("\n\t")
    assert f"{hidden} control or invisible characters" in told(page)
    page.get_by_text("Thinking within the reply").click()
    assert "They are listening." in told(page)
    said = page.locator(".tx-card-other .tx-text").first
    assert said.text_content() == "\U0001f600 is \U0001f600."
    page.get_by_label("Raw replies").check()
    assert page.locator(".tx-raw").first.text_content() == as_shown(thought + STEERED)
    assert page.locator("#tx-title").text_content() == escaped(STEERED)
    assert watch.quiet, watch


def as_shown(text: str) -> str:
    """What a reader sees of a text: line breaks and tabs act, the rest is escaped."""
    return "".join(char if char in "\n\t" else escaped(char) for char in text)


@needs_cases
@pytest.mark.parametrize("raw", [False, True], ids=["parsed", "raw"])
def test_hostile_replies_and_names_appear_as_text_and_run_nothing(
    opened: Callable[[Fragment, str], Opened], raw: bool
) -> None:
    rows = []
    for case in INJECTIONS:
        text = case["input"]
        named: dict[str, Any] = {
            "text": text,
            "model": text,
            "scenario": text,
            "condition": text,
            "agent_model": text,
            "factors": json.dumps({"wording": text}),
            "side": text,
            "log": text,
            "reasoning": text,
            "stop_reason": text,
        }
        rows += [
            row(case["id"], **named),
            row(case["id"], channel="off_record", **named),
            row(case["id"], channel="off_record", draw=1, **named),
            row(case["id"], form="survey", instrument="two@1:0", **named),
            row(case["id"], form="interview", **{**named, "round": 0, "turn": 0}),
        ]
    part = fragment(rows)
    source = page_of(part)
    page, watch = opened(part, "")
    for case in INJECTIONS:
        for banned in case["expected"].get("html_must_not_contain", []):
            assert banned not in source
        page.evaluate("id => { location.hash = `#run=${id}` }", case["id"])
        page.wait_for_function(
            "id => document.querySelector('.tx-title .tx-code')?.textContent === id",
            arg=case["id"],
        )
        page.get_by_label("Raw replies").set_checked(raw)
        page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true })"
        )
        text = case["input"]
        assert page.locator("#tx-title").text_content() == escaped(text)
        seen = page.locator("#tx-reader .tx-text").all_text_contents()
        assert as_shown(text) in seen, case["id"]
        assert not page.locator(
            "#tx-reader :is(script, img, iframe, base, meta, style, link)"
        ).count()
        links = page.locator("#tx-reader a").evaluate_all(
            "links => links.map((link) => link.getAttribute('href'))"
        )
        assert all(link.startswith("#run=") for link in links)
    page.get_by_label("Raw replies").hover()
    assert watch.quiet, watch


# The published runs


@pytest.fixture(scope="module")
def published() -> tuple[pl.DataFrame, pl.DataFrame, Fragment]:
    imported = import_llmagora(PUBLISHED, "published")
    raw, facts = imported.transcript, imported.facts
    stances = stance_table(raw)
    pairs = stance_pairs(raw, stances, facts)
    surveys = survey_table(raw, facts["instruments"])
    return raw, pairs, browser_fragment(raw, stances, surveys, pairs, facts)


@needs_published
def test_600_runs_are_read_filtered_and_searched(
    published: tuple[pl.DataFrame, pl.DataFrame, Fragment],
    opened: Callable[[Fragment], Opened],
) -> None:
    raw, pairs, part = published
    page, watch = opened(part)
    assert len(page_of(part)) < 4_000_000
    assert page.evaluate("document.querySelectorAll('*').length") < 2_000
    model, condition = "openai/gpt-5.4", "alignment-future"
    page.get_by_label("model").select_option(model)
    page.get_by_label("condition").select_option(condition)
    page.get_by_label("agent").select_option("alpha")
    page.get_by_role("button", name="Public only").click()
    turns = pairs.filter(
        quadrant() == "public_only", model=model, condition=condition, agent="alpha"
    )
    assert turns.height > 0
    assert counted(page) == (
        f"{turns['run'].n_unique()} of 600 runs, {turns.height} of 6,000 turns"
    )
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("text").fill("Goodwill")
    said = raw.filter(pl.col("text").str.to_lowercase().str.contains("goodwill"))
    inside = said.filter(pl.col("round").is_between(1, 5))
    turns_said = inside.select("run", "round", "agent").n_unique()
    found = f"{said['run'].n_unique()} of 600 runs, {turns_said} of 6,000 turns"
    page.wait_for_function(
        "found => document.getElementById('tx-count').textContent === found", arg=found
    )
    assert watch.quiet, watch


def test_filters_and_search_stand_in_the_address_and_come_back(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    page, watch = opened(fragment(small_study()), "")
    page.get_by_label("condition", exact=True).select_option("baseline")
    page.get_by_role("button", name="Public only").click()
    assert page.evaluate("location.hash") == "#condition=baseline&quadrant=A"
    page.get_by_label("text", exact=True).fill("shadow says")
    page.wait_for_function("() => location.hash.endsWith('&text=shadow+says')")
    page.wait_for_function("() => document.querySelectorAll('.tx-run').length === 1")
    page.locator(".tx-run").click()
    page.wait_for_selector("#tx-reader .tx-hit")
    page.reload()
    page.wait_for_selector("#tx-reader .tx-hit")
    page.keyboard.press("Escape")
    assert page.evaluate("location.hash") == (
        "#condition=baseline&quadrant=A&text=shadow+says"
    )
    assert page.get_by_label("text", exact=True).input_value() == "shadow says"
    page.get_by_role("button", name="Clear filters").click()
    assert page.evaluate("location.hash") == "#transcripts"
    assert watch.quiet, watch


def test_a_search_hit_is_opened_marked_and_in_view(
    opened: Callable[[Fragment, str], Opened],
) -> None:
    rows = [
        row("a", round_=round_, text="SIGN - the plan is good.") for round_ in (1, 2)
    ]
    rows[1]["text"] = "SIGN - the (plan) is not the good one."
    rows += [row("a", channel="off_record", text="DO NOT SIGN - the plan.")]
    rows += [row("a", draw=1, round_=2, text="SIGN - here is a (PLAN) is not folded.")]
    page, watch = opened(fragment(rows), "#run=a&text=%28plan%29+is+not")
    page.wait_for_selector(".tx-hit")
    # The words differ between channels, so that a hit runs over several marks.
    pieces = page.locator("[data-turn='alpha-2'] .tx-hit").all_text_contents()
    assert "".join(pieces).lower() == 2 * "(plan) is not"
    assert page.locator(".tx-turn-linked").get_attribute("data-turn") == "alpha-2"
    assert page.locator(".tx-hit").first.evaluate(
        "hit => { const box = hit.getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight; }"
    )
    assert page.locator("details:has(.tx-hit)").get_attribute("open") is not None
    assert watch.quiet, watch


def test_what_has_no_value_anywhere_is_said_once(
    opened: Callable[[Fragment], Opened],
) -> None:
    rows = small_study()
    own = transcript(rows).filter(form="utterance")
    there = [name for name in LENGTH.schema if name in own.columns]
    absent = {name: pl.lit(None) for name in LENGTH.schema if name not in there}
    bare = own.select(there).with_columns(**absent, reason=pl.lit("not English"))
    page, watch = opened(fragment(rows, measures=[(LENGTH, bare)]))
    note = page.locator("#tx-unmeasured").inner_text()
    assert "missing (not English)" in note
    page.locator(".tx-run").first.click()
    page.wait_for_selector("#tx-reader .tx-text")
    assert "not English" not in told(page)
    assert watch.quiet, watch


def test_meanings_need_no_pointer(opened: Callable[[Fragment], Opened]) -> None:
    items = {"Q1": "The plan is sound.", "Q2": "It is time."}
    page, watch = opened(fragment(small_study(), items=items))
    page.get_by_text("What the squares mean").focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("neither stance is on the pressed side").is_visible()
    page.locator(".tx-run").first.click()
    page.get_by_text("Survey items in words").click()
    assert page.get_by_text("The plan is sound.").is_visible()
    assert watch.quiet, watch
