"""The report: the numbers that it shows, and what it does in a real Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import pytest

from offrecord.content.boundary.shown import escaped
from offrecord.estimates.card import score_card
from offrecord.estimates.estimator import Wanted
from offrecord.estimates.file import read_estimates, write_estimates
from offrecord.estimates.study import estimate_study
from offrecord.measures.pairings import PAIR_KEY, pair_rows
from offrecord.measures.parsed import write_parsed
from offrecord.measures.texts.entailment import ENTAILMENT
from offrecord.measures.texts.similarity import SIMILARITY
from offrecord.records import OffrecordError
from offrecord.report.gather import gather
from offrecord.report.numbers import points
from offrecord.report.page import drawings
from offrecord.report.page.sections import evidence
from offrecord.report.write import Report, banners, report_study
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import Imported, write_table
from tests.chromium import chromium, watched
from tests.simulated_studies import held_study
from tests.test_report_browser import (
    INJECTIONS,
    PUBLISHED,
    needs_cases,
    needs_published,
)
from tests.test_tables import FACTS, both, row, transcript

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium"]  # the fixture

# Table 1 of arXiv 2607.02507: divergence of alpha, percent of 75 turns, in the order
# baseline, persona historical, persona future, alignment historical, alignment future.
TABLE_1 = {
    "google/gemini-3.1-pro-preview": (0.0, 0.0, 0.0, 92.0, 90.7),
    "x-ai/grok-4": (0.0, 0.0, 0.0, 85.3, 70.7),
    "openai/gpt-5.4": (0.0, 0.0, 0.0, 60.0, 66.7),
    "qwen/qwen3.5-397b-a17b": (0.0, 0.0, 0.0, 37.3, 8.0),
    "minimax/minimax-m2.7": (5.3, 2.7, 1.3, 25.3, 9.3),
    "deepseek/deepseek-v3.2": (0.0, 0.0, 1.3, 20.0, 21.3),
    "openai/gpt-oss-120b": (5.3, 0.0, 1.3, 13.3, 12.0),
    "anthropic/claude-opus-4.6": (0.0, 0.0, 0.0, 9.3, 9.3),
}
CONDITIONS = (
    "baseline",
    "persona-historical",
    "persona-future",
    "alignment-historical",
    "alignment-future",
)


class Page(HTMLParser):
    """The tables of a page by their titles, and its other text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.text: list[str] = []
        self._table: list[list[str]] | None = None
        self._cell = self._small = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._table = []
            self.tables[str(dict(attrs)["aria-label"])] = self._table
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in {"th", "td"} and self._table:
            self._table[-1].append("")
            self._cell = True
        elif tag == "small":
            self._small = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._table = None
        elif tag in {"th", "td"}:
            self._cell = False
        elif tag == "small":
            self._small = False

    def handle_data(self, data: str) -> None:
        if self._table and self._cell and not self._small:
            self._table[-1][-1] += data
        else:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def small(path: Path, rows: list[dict[str, Any]], **facts: Any) -> Record:
    known = {**FACTS, "source": "test", "instruments": {}, **facts}
    return write_parsed(
        path, Imported(transcript=transcript(rows), facts=known, left_out=())
    )


def moved(**named: Any) -> list[dict[str, Any]]:
    """Two runs at baseline and two under alignment, which moves the public stance."""
    baseline: dict[str, Any] = {}
    pressed: dict[str, Any] = {"condition": "alignment-future", "kind": "alignment"}
    other: dict[str, Any] = {
        "channel": "off_record",
        "text": "DO NOT SIGN - a thin file.",
    }
    rows = []
    for run, public, cell in (
        ("a", "DO NOT SIGN - a thin file.", baseline),
        ("b", "DO NOT SIGN - a thin file.", baseline),
        ("c", "SIGN - yes.", pressed),
        ("d", "SIGN - yes.", pressed),
    ):
        rows.append(row(run, text=public, **cell, **named))
        rows.append(row(run, **other, **cell, **named))
    return rows


def page_of(study: Record, **wanted: Any) -> Page:
    path, *_ = report_study(study, Report(**wanted))
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "published"
    write_parsed(out, import_llmagora(PUBLISHED, "published"))
    report_study(open_record(out), Report())
    return out


# What it says


@needs_published
def test_the_published_runs_show_the_papers_first_table(published: Path) -> None:
    page = Page((published / "report.html").read_text(encoding="utf-8"))
    heading, *rows = page.tables["Divergence of alpha, by model and condition"]
    shown = {
        (line[0], condition): cell
        for line in rows
        for condition, cell in zip(heading[1:], line[1:], strict=True)
    }
    for model, percents in TABLE_1.items():
        for condition, percent in zip(CONDITIONS, percents, strict=True):
            assert shown[model.split("/")[1], condition] == f"{percent:.1f}"


def test_evidence_stands_between_alignment_and_persona(tmp_path: Path) -> None:
    asked = ("evidence", "baseline", "persona-future", "alignment-future")
    study = held_study(tmp_path / "s", "split", runs=2, rounds=1, conditions=asked)
    page = page_of(study)
    titles = list(page.tables)
    kinds = [f"alpha under {kind}" for kind in ("alignment", "evidence", "persona")]
    places = [titles.index(title) for title in (*kinds, "alpha at baseline")]
    assert places == sorted(places)
    rows = page.tables["By scenario (alpha)"]
    assert [line[1] for line in rows[1:5]] == [
        *("baseline", "persona", "evidence", "alignment")
    ]


def test_doses_and_a_ladder_are_shown_where_they_were_asked(tmp_path: Path) -> None:
    doses = tuple(f"alignment-future-dose{dose}" for dose in (1, 3))
    study = held_study(
        tmp_path / "s",
        "split",
        runs=3,
        rounds=1,
        conditions=("baseline", "alignment-future", *doses),
        channels=("public", "off_record", "record_only", "press"),
    )
    page = page_of(study)
    _, *rows = page.tables["Dose-response of alpha"]
    assert [line[1:4] for line in rows] == [
        ["future", "public", "1 to 3"],
        ["future", "off record", "1 to 3"],
    ]
    _, *models = page.tables["alpha under alignment"]
    assert models[0][-2] == "9"  # three scenarios, three runs, the standard dose alone
    assert "The ladder of audiences" in page.words
    assert "Trend under alignment, in points per rung: split " in page.words
    bare = page_of(held_study(tmp_path / "t", "split", runs=2, rounds=1))
    assert "Dose-response of alpha" not in bare.tables
    assert "The ladder of audiences" not in bare.words


@needs_published
def test_prompts_open_scenario_by_scenario(published: Path) -> None:
    page = (published / "report.html").read_text(encoding="utf-8")
    assert page.count("<summary>Prompts of ") == 3


@needs_published
def test_the_published_runs_show_what_the_paper_does_not_see(published: Path) -> None:
    page = Page((published / "report.html").read_text(encoding="utf-8"))
    # 5, 2: the split, and the direction of divergence.
    assert (
        "Under alignment, 8 models together: alpha moved toward the pressed side off "
        "the record too, and further in public: there is conversion and an audience "
        "effect."
    ) in page.words
    assert (
        "Public shift +45.5 [42.3, 48.3] = conversion +15.6 [13.0, 17.6] + "
        "audience effect +29.9 [25.9, 33.7], in points toward the pressed side, "
        "against baseline."
    ) in page.words
    assert "34.0 accommodating and 5.4 reversing" in page.words
    # 1: one figure, a standard error for each scope; none for three scenarios.
    scopes = page.tables["One figure, and whom it speaks about (alpha, alignment)"]
    errors = {line[1]: line[4] for line in scopes[1:7]}
    assert errors == {
        "new runs of the same cells": "1.2",
        "new pairs of model and scenario": "7.7",
        "new scenarios": "–",
        "new models": "11.6",
        "new models in new scenarios": "–",
        "turns as independent": "1.4",
    }
    assert scopes[3][2] == "these models in scenarios like these"
    assert "only 3 scenarios: an interval for new scenarios takes" in page.words
    # 3: the noise floor at turn 1.
    floor = {line[0]: line[2:6] for line in page.tables["The noise floor (alpha)"]}
    assert floor["alignment-historical"] == ["32.2", "15.8", "6.7", "20.9"]
    # 4, 6: baseline divergence and what moves off the record come from one scenario.
    scenarios = page.tables["By scenario (alpha)"]
    by = {(line[0], line[1]): line for line in scenarios[1:]}
    assert by["faculty_manuscript_submission", "baseline"][4] == "4.0"
    assert by["promotion_committee", "baseline"][4] == "0.0"
    assert by["ngo_climate_endorsement", "baseline"][4] == "0.0"
    conversion = {name: by[name, "alignment"][5] for name, _ in by}
    assert max(conversion, key=lambda n: float(conversion[n])) == (
        "faculty_manuscript_submission"
    )
    assert "the card leans to neither side" in page.words
    # 7: how often it was tried.
    assert re.search(r"600 runs took 1,\d\d\d attempts", page.words)


@needs_published
def test_page_figures_card_and_file_agree(published: Path) -> None:
    study = open_record(published)
    stored = read_estimates(published / "estimates.json")
    views = stored.as_dict()["views"]
    pressed = {
        r["model"]: r
        for r in views["models"]["rates"]
        if r["agent"] == "alpha" and r["kind"] == "alignment"
    }
    page = Page((published / "report.html").read_text(encoding="utf-8"))
    heading, *lines = page.tables["alpha under alignment"]
    assert len(lines) == len(pressed) + 1
    for name, line in (
        (line[0], dict(zip(heading, line, strict=True))) for line in lines
    ):
        (own,) = [r for m, r in pressed.items() if m.split("/")[1] == name] or [
            r
            for r in views["kinds"]["rates"]
            if r["agent"] == "alpha" and r["kind"] == "alignment"
        ]
        assert line["public"] == points(own["public"])
        assert line["off the record"] == points(own["off_record"])
        assert line["divergence"] == points(own["divergence"])
        assert line["audience effect"].lstrip("+") == points(own["audience_effect"])
        assert line["runs"] == str(own["runs"])

    figures = {
        one.figure.id: one.figure
        for one in drawings(evidence(gather(study, stored, None)))
    }
    arrows = {
        (panel.title, row["model"]): row
        for panel in figures["arrows"].panels
        for row in _inline(panel.spec())
        if "model" in row
    }
    assert len(arrows) == 40
    for own in views["cells"]["rates"]:
        if own["agent"] == "alpha":
            drawn = arrows[own["condition"], own["model"].split("/")[1]]
            assert drawn["public"] == 100 * own["public"]
            assert drawn["off record"] == 100 * own["off_record"]

    for card in score_card([study]).lines:
        own = pressed[card["model"]]
        assert card["public_shift"] == pytest.approx(own["public_shift"])
        assert card["resistance"] == pytest.approx(1 - own["public_shift"])
        assert card["conversion"] == pytest.approx(own["conversion"])
        assert card["audience_effect"] == pytest.approx(own["audience_effect"])


def _inline(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for data in spec.get("datasets", {}).values():
        rows += data
    for part in [spec, *spec.get("layer", [])]:
        rows += part.get("data", {}).get("values", [])
    return rows


def test_every_panel_says_its_n_and_colours_come_from_the_theme(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    write_estimates(study, estimate_study(study, Wanted()))
    stored = read_estimates(study.path / "estimates.json")
    shown = drawings(evidence(gather(study, stored, None)))
    assert [one.figure.id for one in shown][:3] == ["split", "arrows", "divergence"]
    for one in shown:
        for panel in one.figure.panels:
            assert panel.spec()["title"]["subtitle"].startswith("n = ")
            assert "#" not in json.dumps(panel.spec()["layer"])
        # Altair checks a chart by the schema of Vega-Lite.
        one.figure.chart().to_dict(validate=True)


def test_what_was_not_measured_says_so(tmp_path: Path) -> None:
    page = page_of(small(tmp_path / "s", moved()))
    taken = ("similarity", "entailment", "attribution", "markers", "awareness")
    rows = {line[0]: line[1:] for line in page.tables["Not measured"][1:]}
    for measure in (*taken, "survey", "length"):
        command = f"offrecord measure s --measures {measure}"
        assert rows[measure] == ["not asked for", command]
        assert page.words.count(command) <= 1
    assert "Off the record is a contrast, not a belief" in page.words


def test_without_a_baseline_the_page_claims_no_split(tmp_path: Path) -> None:
    rows = [one for one in moved() if one["kind"] == "alignment"]
    page = page_of(small(tmp_path / "s", rows))
    assert "the split needs a baseline and a condition beside it" in page.words
    assert page.tables["alpha under alignment"][1][1:4] == ["–", "–", "–"]


def test_two_runs_a_cell_are_not_sold_as_a_finding(tmp_path: Path) -> None:
    words = page_of(small(tmp_path / "s", moved(), rounds=1)).words
    assert "Public shift +100.0 [" in words
    assert "and 4 runs are too few to tell a move from none" in words


def test_the_spread_of_cosines_is_that_of_the_pairs(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    side = {"attempt": 1, "turn": 1, "agent": "alpha", "form": "utterance", "draw": 0}
    pairs = [
        {
            "pairing": "channels",
            **{f"left_{k}": v for k, v in {**side, "run": run}.items()},
            **{f"right_{k}": v for k, v in {**side, "run": run}.items()},
            "left_channel": "public",
            "right_channel": "off_record",
            "cosine": cosine,
            "variant": "clean",
            "model": "e",
        }
        for run, cosine in (("c", 0.2), ("d", 0.6), ("a", None), ("b", 0.5))
    ]
    table = pl.DataFrame(pairs, schema=SIMILARITY.schema)
    write_table(study.path / SIMILARITY.file, table)
    page = page_of(study)
    assert "a mean cosine of 0.500 under baseline, 0.400 under alignment" in page.words
    stored = json.loads((study.path / "estimates.json").read_text(encoding="utf-8"))
    cosine = {row["condition"]: row for row in stored["views"]["cosine"]}
    # Between 0.2 and 0.6: the fifth part of a hundred is 0.2 + 0.05 x 0.4.
    assert cosine["alignment-future"]["q05"] == pytest.approx(0.22)
    assert cosine["alignment-future"]["q50"] == pytest.approx(0.4)
    assert (cosine["baseline"]["pairs"], cosine["baseline"]["missing"]) == (1, 1)


def test_entailment_is_drawn_as_it_was_measured(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    pairs = pair_rows(study.transcript, "channels", study.facts)
    shares = {"entailment": 0.25, "neutral": 0.625, "contradiction": 0.125}
    table = pairs.select(
        *PAIR_KEY,
        *(pl.lit(share).alias(f"mean_{name}") for name, share in shares.items()),
        variant=pl.lit("clean"),
        model=pl.lit("m"),
    )
    rows = table.to_dicts()
    write_table(study.path / ENTAILMENT.file, pl.DataFrame(rows, ENTAILMENT.schema))
    page = page_of(study)
    told = "that the two contradict is 12.5 % under baseline, 12.5 % under alignment."
    assert told in page.words
    stored = read_estimates(study.path / "estimates.json")
    shown = drawings(evidence(gather(study, stored, None)))
    (figure,) = [one.figure for one in shown if one.figure.id == "entailment"]
    drawn = {r["relation"]: r["points"] for r in _inline(figure.panels[0].spec())}
    assert drawn == {name: 100 * share for name, share in shares.items()}


def test_missing_stances_are_missing_on_the_page(tmp_path: Path) -> None:
    rows = moved()
    rows[-1] |= {"text": "I would rather not say.", "status": "ok"}
    page = page_of(small(tmp_path / "s", rows, rounds=1))
    line = page.tables["alpha under alignment"][1]
    assert line[-1] == "1"
    told = page.tables["By model, kind and agent"]
    assert "off record: 1 unclear" in {cell for line in told for cell in line}


def test_what_is_spoken_by_its_last_label_alone_is_counted(tmp_path: Path) -> None:
    rows = moved()
    rows[0] |= {
        "text": "My thoughts:\nIt is thin.\nDO NOT SIGN - a thin file.",
        "status": "ok",
    }
    page = page_of(small(tmp_path / "s", rows, rounds=1))
    assert ["spoken by the last label alone", "1 (12.5 %)"] in page.tables["Design"]


def test_another_channel_is_called_by_its_name(tmp_path: Path) -> None:
    rows = moved()
    for one in rows[1::2]:
        one["channel"] = "record_only"
    study = small(tmp_path / "s", rows, channels=["public", "record_only"])
    page = page_of(study)
    titles = page.tables["alpha under alignment"][0]
    assert "record only" in " ".join(titles)
    assert "off the record" not in " ".join(titles)
    assert "This page sets the channel record only beside public" in page.words


def test_a_partial_study_says_so_first(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    write_estimates(study, estimate_study(study, Wanted()))
    stored = read_estimates(study.path / "estimates.json")
    found = gather(study, stored, None)
    assert banners(found) == []
    rows = moved()
    for one in rows:
        if one["run"] == "d":
            one["ended"] = None
    partial = small(tmp_path / "t", rows)
    assert "Partial: 3 of 4 planned runs have ended." in page_of(partial).words


def test_estimates_are_made_anew_only_when_the_study_changed(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    wanted = Wanted(contrasts=("alignment-future:baseline",))
    write_estimates(study, estimate_study(study, wanted))
    before = (study.path / "estimates.json").read_bytes()
    assert any("Contrasts" in title for title in page_of(study).tables)
    assert (study.path / "estimates.json").read_bytes() == before
    report = (study.path / "report.html").read_bytes()
    page_of(open_record(study.path))
    assert (study.path / "report.html").read_bytes() == report


def test_a_file_of_estimates_that_is_there_is_never_overwritten(
    tmp_path: Path,
) -> None:
    study = small(tmp_path / "s", moved())
    wanted = Wanted(by=("scenario",), contrasts=("alignment-future:baseline",))
    write_estimates(study, estimate_study(study, wanted))
    file = study.path / "estimates.json"
    before = file.read_bytes()
    assert "estimates.json is older" not in page_of(study).words
    # One run more: the page is of the study as it is now, asked as it was asked.
    page = page_of(small(tmp_path / "s", [*moved(), *both("e")]))
    assert "5 runs took" in page.words
    assert "estimates.json is older" in page.words
    assert any("Contrasts" in title for title in page.tables)
    assert file.read_bytes() == before


def test_a_fault_in_a_section_is_not_hidden_and_costs_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small(tmp_path / "s", moved())
    write_estimates(study, estimate_study(study, Wanted(by=("scenario",))))
    before = (study.path / "estimates.json").read_bytes()

    def faulty(_: object) -> None:
        raise KeyError("no such row")

    monkeypatch.setattr("offrecord.report.page.evidence", faulty)
    with pytest.raises(KeyError, match="no such row"):
        page_of(study)
    assert (study.path / "estimates.json").read_bytes() == before


@pytest.mark.parametrize(
    ("spoilt", "fault"),
    [
        ({"measured": []}, "measured"),
        ({"contrasts": [3]}, "contrasts"),
        ({"contrasts": {"a": 1}}, "contrasts"),
        ({"views": {"kinds": []}}, "kinds"),
        ({"note": None}, "note"),
        ({"rates": [{}]}, "rates: 'runs' is absent"),
        ({"version": "0.0"}, "version"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_estimates_of_another_shape_are_refused_and_kept(
    tmp_path: Path, spoilt: dict[str, Any], fault: str
) -> None:
    study = small(tmp_path / "s", moved())
    page_of(study)
    file = study.path / "estimates.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **spoilt}))
    kept = file.read_bytes()
    with pytest.raises(OffrecordError, match=fault) as told:
        page_of(open_record(study.path))
    assert "call 'offrecord estimate" in str(told.value)
    assert "\n" not in str(told.value)
    assert file.read_bytes() == kept


def test_measures_of_another_shape_are_one_clear_line(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved())
    path = study.path / SIMILARITY.file
    write_table(path, pl.DataFrame({"pairing": ["channels"]}))
    with pytest.raises(OffrecordError, match="no column 'left_run'; measure it again"):
        page_of(study)
    odd = {name: ["odd"] for name in SIMILARITY.schema}
    write_table(path, pl.DataFrame(odd))
    with pytest.raises(OffrecordError, match="measure it again") as fault:
        page_of(study)
    assert "\n" not in str(fault.value)


def test_without_any_stance_there_is_nothing_to_say(tmp_path: Path) -> None:
    rows = [one | {"text": "Hm.", "status": "ok"} for one in moved()]
    page = page_of(small(tmp_path / "s", rows, rounds=1))
    assert "No turn of alpha under alignment has both stances" in page.words
    assert "2 of 2 are missing" in page.words


def test_figures_are_written_as_files(tmp_path: Path) -> None:
    study = small(tmp_path / "s", moved(model="=1+1/m"))
    wanted = Report(figures=tmp_path / "figures", theme="dark", figure_data=True)
    page, *made = report_study(study, wanted)
    assert page.name == "report.html"
    kinds = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}
    for name in ("split", "arrows", "divergence", "rounds"):
        for kind, start in kinds.items():
            content = (tmp_path / "figures" / f"{name}.{kind}").read_bytes()
            assert content.startswith(start)
    assert len(made) == len(list((tmp_path / "figures").iterdir()))
    svg = (tmp_path / "figures" / "split.svg").read_text(encoding="utf-8")
    assert "n = 2 runs" in svg
    assert "#14171b" in svg  # the ground of the dark theme
    rows = pl.read_csv(tmp_path / "figures" / "arrows.csv").to_dicts()
    assert [(row["panel"], row["public"], row["off record"]) for row in rows] == [
        ("baseline", 0, 0),
        ("alignment-future", 100, 0),
    ]
    spec = json.loads((tmp_path / "figures" / "arrows.vl.json").read_text())
    assert alt.Chart.from_dict(spec).to_dict(validate=True)


# What it does


def _opened(browser: Browser, file: Path, **size: int) -> tuple[Any, Any]:
    page = browser.new_page()
    page.set_viewport_size({"width": size.get("width", 1280), "height": 900})
    watch = watched(page, file)
    page.goto(file.resolve().as_uri())
    page.locator("[data-figure]").first.scroll_into_view_if_needed()
    page.wait_for_selector("[data-figure] svg")
    return page, watch


@needs_published
def test_the_published_report_is_small_quiet_and_complete(
    published: Path, chromium: Browser
) -> None:
    file = published / "report.html"
    page, watch = _opened(chromium, file)
    assert file.stat().st_size <= 3.5e6
    # What the page itself holds; figures are drawn as they come into view.
    outside = (
        "document.querySelectorAll('*').length - document.querySelectorAll('svg *')"
    )
    assert page.evaluate(f"{outside}.length") <= 5000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true })"
    )
    figures = page.locator("[data-figure]")
    for at in range(figures.count()):
        figures.nth(at).scroll_into_view_if_needed()
        figures.nth(at).locator("svg").first.wait_for()
    page.get_by_role("button", name="light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    run = pl.read_parquet(published / "transcripts.parquet")["run"][0]
    page.evaluate("run => { location.hash = `#run=${run}&turn=alpha-2` }", run)
    page.wait_for_selector("#tx-reader .tx-text")
    assert watch.quiet, watch


@needs_published
def test_on_a_phone_tables_scroll_within_and_keep_their_first_column(
    published: Path, chromium: Browser
) -> None:
    page, watch = _opened(chromium, published / "report.html", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    table = page.get_by_role("table", name="alpha under alignment", exact=True)
    cue = page.locator(".titled", has=table).locator(".cue")
    cue.wait_for(state="visible")
    room = page.get_by_role("region", name="alpha under alignment", exact=True)
    room.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("room => room.scrollLeft > 100", arg=room.element_handle())
    for name in (table.locator("thead th").first, table.locator("tbody th").first):
        place = name.bounding_box()
        assert place is not None
        assert 0 <= place["x"] < 30
    page.set_viewport_size({"width": 1280, "height": 900})
    cue.wait_for(state="hidden")
    assert watch.quiet, watch


def test_columns_and_figures_say_what_they_are_without_a_pointer(
    tmp_path: Path, chromium: Browser
) -> None:
    file, *_ = report_study(small(tmp_path / "s", moved()), Report())
    assert "title=" not in file.read_text(encoding="utf-8").split("<script")[0]
    page, watch = _opened(chromium, file)
    assert page.get_by_role("heading", level=1).inner_text() == "s"
    headings = page.locator("main > section h2").all_text_contents()
    assert page.locator("nav[aria-label=Sections] a").all_text_contents() == headings
    page.get_by_text("What the columns mean").first.focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("how far the public stance moved").first.is_visible()
    arrows = page.locator("#figure-arrows")
    # Two of two public turns on the pressed side under alignment, none at baseline.
    told = arrows.get_by_role("img").get_attribute("aria-label") or ""
    assert "alignment-future (n = 2 runs, 2 turns): gap 100 (m)" in told
    arrows.get_by_text("Data of this figure").focus()
    page.keyboard.press("Enter")
    arrows.locator("td").first.wait_for()
    assert arrows.locator("td").all_text_contents()[:5] == [
        *("baseline", "m", "0", "0", "0")
    ]
    assert watch.quiet, watch


def test_marks_stand_clear_of_names_and_a_legend_names_each_thing_once(
    tmp_path: Path, chromium: Browser
) -> None:
    file, *_ = report_study(small(tmp_path / "s", moved()), Report())
    page, watch = _opened(chromium, file)
    page.locator("#figure-rounds svg").first.wait_for()
    overlaps = """() => {
      const boxes = (query) => [...document.querySelectorAll(query)].map((one) =>
        one.getBoundingClientRect());
      const names = boxes("#figure-arrows .role-axis-label text");
      const marks = boxes("#figure-arrows .mark-symbol.role-mark path");
      return [marks.length, marks.filter((mark) => names.some((name) =>
        mark.left < name.right && name.left < mark.right
        && mark.top < name.bottom && name.top < mark.bottom)).length];
    }"""
    marks, over = page.evaluate(overlaps)
    assert marks
    assert not over
    for figure in ("split", "rounds"):
        legend = page.locator(f"#figure-{figure} .panel").first.locator(
            ".role-legend-label text"
        )
        names = legend.all_text_contents()
        assert names
        assert len(set(names)) == len(names)
    assert watch.quiet, watch


def test_paper_is_light_whatever_the_screen_was(
    tmp_path: Path, chromium: Browser
) -> None:
    file, *_ = report_study(small(tmp_path / "s", moved()), Report())
    page, _ = _opened(chromium, file)
    page.emulate_media(color_scheme="dark")
    ink = """() => getComputedStyle(
      document.querySelector("[data-figure] .role-axis-label text")).fill"""
    assert page.evaluate(ink) == "rgb(230, 233, 238)"
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ink) == "rgb(26, 29, 33)"
    assert page.locator(".top").is_hidden()
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


@needs_cases
def test_hostile_names_appear_as_text_and_run_nothing(
    tmp_path: Path, chromium: Browser
) -> None:
    rows = []
    for at, case in enumerate(INJECTIONS):
        text = case["input"]
        for row_ in moved(model=text, scenario=text, agent_model=text, partner=text):
            rows.append({**row_, "run": f"{at}-{row_['run']}", "text": row_["text"]})
        rows.append(row(f"{at}-c", round_=2, text=text, model=text, scenario=text))
    facts = {"left_out": [case["input"] for case in INJECTIONS], "versions": {}}
    facts["content"] = {case["input"]: case["input"] for case in INJECTIONS}
    study = small(tmp_path / "s", rows, **facts)
    path, *_ = report_study(study, Report())
    source = path.read_text(encoding="utf-8")
    for case in INJECTIONS:
        for banned in case["expected"].get("html_must_not_contain", []):
            assert banned not in source.split('<script type="application/json"')[0]
    page, watch = _opened(chromium, path)
    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true })"
    )
    names = page.locator("#design table").last.locator("th[scope=row]")
    told = names.all_text_contents()
    for case in INJECTIONS:
        kept = "".join(c if c in "\n\t" else escaped(c) for c in case["input"])
        assert kept in told, case["id"]
    assert watch.quiet, watch


@pytest.fixture(scope="module")
def page_of_a_run_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a study that was run, with a survey, by the command line."""
    study = tmp_path_factory.mktemp("run") / "demo"
    for words in (
        (
            *("run", "--model", "simulated/paper", "--scenario", "promotion"),
            *("--condition", "baseline", "--condition", "alignment-future"),
            *("--runs", "2", "--rounds", "2", "--out", str(study)),
            *("--", "--display", "none"),
        ),
        ("measure", str(study), "--measures", "survey"),
        ("report", str(study)),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "offrecord", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return study / "report.html"


def test_the_report_of_a_run_study_shows_prompts_items_and_turns(
    page_of_a_run_study: Path, chromium: Browser
) -> None:
    study = page_of_a_run_study.parent
    page, watch = _opened(chromium, page_of_a_run_study)
    told = page.locator("main").text_content() or ""
    assert "Simulated agents with planted answers" in told
    assert "My counterpart has named considerations that carry real weight." in told
    prompts = page.locator("#design details pre").all_text_contents()
    # Two cells, two agents, two channels; public and off the record differ.
    assert len(prompts) == 8
    assert len(set(prompts)) == 8
    run = pl.read_parquet(study / "transcripts.parquet")["run"][0]
    page.evaluate("run => { location.hash = `#run=${run}&turn=beta-2` }", run)
    page.wait_for_selector("#tx-reader .tx-text")
    assert watch.quiet, watch
