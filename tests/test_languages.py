"""German and Chinese: replies, word lists, and the examples from run to report."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import offrecord as public
from offrecord.content.library import find
from offrecord.measures.english import NOT_ENGLISH
from offrecord.measures.replies.stance import parse_stance
from offrecord.measures.replies.survey import parse_survey
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.measures.wordlists import language_lists
from offrecord.providers.population import load_population
from offrecord.records import Form, OffrecordError, Status
from offrecord.transcript.record import open_record
from tests.debates import make_script
from tests.docs_examples import ROOT
from tests.test_inspect import QUIET, offrecord
from tests.test_twin import all_prompts, twin_faults

EXAMPLES = {"de": "german/befoerderung", "zh": "chinese/jinsheng"}
LABELS = {"de": ("BEFÖRDERN", "NICHT BEFÖRDERN"), "zh": ("晋升", "不晋升")}


def replies() -> list[Any]:
    found = []
    for language in EXAMPLES:
        path = Path(__file__).parent / f"replies_{language}.yaml"
        file = yaml.safe_load(path.read_text(encoding="utf-8"))
        for number, reply in enumerate(file["replies"]):
            given = {"language": language, "labels": file["labels"], **reply}
            found.append(pytest.param(given, id=f"{language}-{number}"))
    return found


@pytest.mark.parametrize("reply", replies())
def test_a_reply_states_what_a_reader_says_it_does(reply: dict[str, Any]) -> None:
    expected = None if reply["label"] == "none" else reply["label"]
    for labels in (reply["labels"], reply["labels"][::-1]):
        stance = parse_stance(reply["text"], labels, reply["language"])
        assert stance.label == expected, stance


def test_the_language_decides_whose_words_count() -> None:
    text = "Ich bleibe bei NICHT BEFÖRDERN, denn die Belege fehlen."
    assert parse_stance(text, LABELS["de"]).label is None
    for language in ("de", "de-AT"):
        assert parse_stance(text, LABELS["de"], language).label == "NICHT BEFÖRDERN"
    # English counts everywhere; a language without lists has those of English.
    for language in ("de", "zh", "sv"):
        stance = parse_stance("Stance: 晋升", LABELS["zh"], language)
        assert stance.label == "晋升"
    assert language_lists("stance", "sv") == language_lists("stance", "en")
    assert public.parse_stance(text, LABELS["de"], "de").label == "NICHT BEFÖRDERN"


def test_a_label_is_taken_off_with_what_leads_to_it() -> None:
    for language, text, left in (
        ("de", "Meine Entscheidung lautet: BEFÖRDERN. Sie kann es.", "Sie kann es."),
        ("de", "Unter uns: NICHT BEFÖRDERN – zu früh.", "zu früh."),
        ("zh", "我的决定是：不晋升。材料不够。", "材料不够。"),
        ("zh", "晋升——部门需要负责人。", "部门需要负责人。"),
    ):
        clean = prepare(text, LABELS[language], Variant.CLEAN, language)
        assert clean.text == left


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Ich möchte dazu keine Stellung nehmen.", Status.REFUSAL),
        ("Ich kann an dieser Diskussion nicht teilnehmen.", Status.REFUSAL),
        ("抱歉，我不能参与这场讨论。", Status.REFUSAL),
        ("Das Team kann daran nicht teilnehmen.", Status.UNCLEAR),
    ],
)
def test_a_refusal_is_told_from_an_unclear_reply(text: str, status: Status) -> None:
    assert parse_stance(text, LABELS["de"], "de").status is status


@pytest.mark.parametrize(
    ("answer", "point"),
    [
        ('"4 - stimme eher zu"', 4),
        ('"3 (weder noch)"', 3),
        ('"4 von 5"', 4),
        ('"vier"', 4),
        ('"4（比较同意）"', 4),
        ('"3分"', 3),
        ('"2 oder 3"', None),
        ('"一点不同意"', None),
        ('"9分"', None),
    ],
)
def test_a_survey_answer_may_have_its_wording_beside_it(
    answer: str, point: int | None
) -> None:
    assert parse_survey(f'{{"Q1": {answer}}}', ["Q1"], 1, 5).answers == {"Q1": point}


@pytest.mark.parametrize("language", EXAMPLES)
def test_channels_of_an_example_are_twins_and_no_english_is_in_its_prompts(
    language: str,
) -> None:
    folder = ROOT / "examples" / EXAMPLES[language]
    for condition in ("baseline", "alignment-future", "evidence"):
        script = make_script(
            str(folder),
            condition,
            protocol=str(folder.parent / "protocol"),
            rounds=2,
        )
        assert script.cell.language == language
        requests = all_prompts(script)
        for one, two in itertools.combinations(script.channels, 2):
            assert not list(twin_faults(requests, one, two))
        asked = " ".join(text for one in requests for _, text in one.messages)
        assert not {"the", "means", "says", "discussion"} & set(asked.lower().split())


@pytest.mark.parametrize("language", EXAMPLES)
@pytest.mark.parametrize("population", ["paper", "messy"])
def test_simulated_agents_speak_the_language_and_no_label_is_taken_for_the_other(
    language: str, population: str
) -> None:
    folder = ROOT / "examples" / EXAMPLES[language]
    agents, read = load_population(population), 0
    for repeat in range(1, 25):
        script = make_script(
            str(folder),
            "alignment-future",
            protocol=str(folder.parent / "protocol"),
            repeat=repeat,
            rounds=2,
        )
        for request in all_prompts(script):
            if request.stamp.form is not Form.UTTERANCE:
                continue
            answer = agents.answer(request.stamp, request.frame)
            first, second = request.frame.labels
            other = second if request.frame.side == first else first
            planted = other if answer.yields else request.frame.side
            found = parse_stance(answer.text, script.scenario.labels, language)
            assert found.label in {planted, None}, answer.text
            read += found.label == planted
    assert read > 0.8 * 24 * 9


@pytest.mark.parametrize("language", EXAMPLES)
def test_an_example_goes_from_run_to_report(language: str, tmp_path: Path) -> None:
    folder = ROOT / "examples" / EXAMPLES[language]
    study = tmp_path / "study"
    offrecord(
        *("run", "--model", "simulated/paper", "--scenario", str(folder)),
        *("--protocol", str(folder.parent / "protocol"), "--rounds", "2"),
        *("--condition", "baseline", "--condition", "alignment-future"),
        *("--runs", "2", "--out", str(study), *QUIET),
    )
    measured = "survey,attribution,markers,awareness,length"
    said = offrecord("measure", str(study), "--measures", measured).stdout
    # 2 conditions, 2 runs, 2 rounds of 2 agents, 2 channels, a shadow of the utterance
    assert said.count("64 of 64 missing: not English") == 2  # attribution, markers
    assert "96 of 96 missing: not English" in said  # awareness: 32 surveys more
    record = open_record(study)
    assert record.transcript["language"].unique().to_list() == [language]
    for name, status in (("stances", 64), ("surveys", 32)):
        table = pl.read_parquet(study / "measures" / f"{name}.parquet")
        assert table["status"].is_in(["ok", "repaired"]).sum() == status
    markers = pl.read_parquet(study / "measures" / "markers.parquet")
    assert markers["hedges"].null_count() == markers.height == 64
    assert set(markers["status"]) == {NOT_ENGLISH}
    lengths = pl.read_parquet(study / "measures" / "length.parquet")
    assert lengths["words"].min() > 5  # type: ignore[operator]
    refused = offrecord("estimate", str(study), "--without-aware", code=2).stderr
    assert "--without-aware: 96 of 96 missing: not English" in refused
    offrecord("estimate", str(study))
    estimates = json.loads((study / "estimates.json").read_text(encoding="utf-8"))
    rows = [row for row in estimates["measures"] if row["measure"] == "markers"]
    assert {row["reason"] for row in rows} == {NOT_ENGLISH}
    assert {row["value"] for row in rows} == {None}
    assert {row["turns"] for row in rows} == {0}
    offrecord("report", str(study))
    page = (study / "report.html").read_text(encoding="utf-8")
    assert page.count("64 of 64 missing: not English.") == 2
    assert "no turn has a value" not in page
    assert record.transcript["labels"].to_list()[0] == list(LABELS[language])


def test_content_in_two_languages_is_refused(tmp_path: Path) -> None:
    german, chinese = (ROOT / "examples" / EXAMPLES[name] for name in EXAMPLES)
    own = str(german.parent / "protocol")
    offrecord("content", "check", str(german), own, f"{own}/channels/public.md")
    said = offrecord("content", "check", str(chinese), own, code=2).stderr
    assert said.startswith(f"in different languages: 'zh': {chinese}; 'de': {own} (")
    for more, named in (
        ((), "protocol 'twin' in 'en', channel 'public' in 'en', "),
        (("--protocol", own, "--channels", "public,record_only"), "'record_only'"),
    ):
        plan = ("plan", "--model", "simulated/paper", "--scenario", str(german))
        said = offrecord(*plan, *more, code=2).stderr
        assert "scenario 'befoerderung' is in 'de', but " in said
        assert named in said
    broken = tmp_path / "public.md"
    text = find("channel", "public").read_text(encoding="utf-8")
    broken.write_text(text.replace("version: 1", "version: 1\nlanguage: German"))
    said = offrecord("content", "check", str(broken), code=2).stderr
    assert "field 'language'" in said


def test_a_list_that_nobody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stance.yaml").write_text("cues: [stance]\n")
    (tmp_path / "stance-xx.yaml").write_text("cue: [haltung]\n")
    monkeypatch.setattr("offrecord.measures.wordlists._FOLDER", tmp_path)
    with pytest.raises(OffrecordError, match=r"field 'cue': stance\.yaml has no such"):
        language_lists("stance", "xx")
