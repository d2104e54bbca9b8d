"""A checkout of LLMAgora's prompts as content: what is made, and that its words stay.

The checkout below has that format; its words are the test's own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from inspect_ai import eval as inspect_eval
from inspect_ai.model import get_model

from offrecord.measures.parsed import surveys_of, write_parsed
from offrecord.measures.replies.survey import parse_survey
from offrecord.protocol.cases import cases
from offrecord.protocol.channel import find_channel
from offrecord.protocol.design import Design
from offrecord.protocol.elicitation import config_of
from offrecord.protocol.history import Spoken
from offrecord.protocol.prompts import TurnView, find_protocol
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.records import Form, OffrecordError
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.load import load_scenario
from offrecord.task import debate
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.llmagora_content import content_of_checkout
from tests.conftest import Offrecord
from tests.fake_server import FakeServer

SCALE = [("Not at all", -1), ("Hard to say", 0), ("Entirely", 1)]
PROMPTS: dict[str, Any] = {
    "base_prompt": "Two of you talk. What is at issue: {question}\n\nLines are marked "
    "[Them | aloud], [Me | aside] or [Task].\n\n# About you\n{persona}",
    "perceived_prompt": "# About them\n{perceived_persona}\n",
    "incentive_prompt": "\n\n# What you remember\n{incentive}\n",
    "decision_format": "Start with {decision_label_1} or {decision_label_2}.",
    "opening_instruction": "Open aloud.\n\n{decision_format}\n\nBe brief.",
    "public_instruction": "Answer aloud.\n\n{decision_format}\n\nBe brief.",
    "private_instruction": "Note it aside.\n\n{decision_format}\n\nNobody reads this.",
    "survey_public_prompt": "Fill this in.\n\n{scale}\n\nThey will see it.\n\n",
    "survey_private_prompt": "Fill this in.\n\n{scale}\n\nNobody will see it.\n\n",
    "survey_scale": {
        "name": "three-step",
        "values": [{"label": label, "score": score} for label, score in SCALE],
    },
    "survey_scale_prompt": "Use the {scale_name} scale:\n{scale_values}",
    "survey_scale_value_prompt": "* {value}",
    "survey_question_prompt": "Q{question_number}. {question_text}\n",
    "survey_questions": {"deliberative": ["We see it alike.", "I am sure."]},
    "pre_interview_instruction": "Say what you expect.",
}
HARBOUR: dict[str, Any] = {
    "scenario_id": "harbour_light",
    "question": {
        "topic": "Safety at sea",
        "prompt": "A harbour may replace its lamp.\n\nThe old one flickers.\n\n"
        "Should it be replaced?",
    },
    "decision_labels": ["REPLACE", "KEEP"],
    "sides": {
        "Keeper": {
            "actual_persona": "You keep the lamp.\n\nYou know each screw.",
            "perceived_persona_base": "A keeper who knows the lamp.",
        },
        "Pilot": {
            "actual_persona": "You steer ships in.",
            "perceived_persona_base": "A pilot who needs light.",
        },
    },
    "survey_questions": {
        "evaluative": ["A new lamp pays."],
        "incentive": [{"text": "A quarrel would cost me.", "group": "incentive"}],
    },
    "incentive_modules": {
        direction: {
            kind: {
                "views": {
                    "Keeper": f"{direction} {kind}: the pilot, for you.",
                    "Pilot": f"{direction} {kind}: you, for the keeper.",
                }
            }
            for kind in ("historical", "future")
        }
        for direction in ("positive", "negative")
    },
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write(tmp_path / "checkout", PROMPTS, HARBOUR)


def squashed(text: str) -> str:
    return " ".join(text.split())


def write(folder: Path, prompts: dict[str, Any], *scenarios: dict[str, Any]) -> Path:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name, value in (
        ("prompts", {"default": prompts}),
        ("scenarios", {"version": "1", "scenarios": scenarios}),
    ):
        text = json.dumps(value, ensure_ascii=False)
        (folder / "data" / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def test_their_prompts_are_asked_word_for_word(checkout: Path, tmp_path: Path) -> None:
    [line] = content_of_checkout(checkout, tmp_path / "made")
    protocol = find_protocol(str(tmp_path / "made" / "protocols" / "llmagora"))
    scenario = load_scenario(tmp_path / "made" / "scenarios" / "harbour_light")
    assert line.startswith("scenarios/harbour_light: 5 conditions; no file says")
    assert "'Keeper' was put on 'KEEP', 'Pilot' on 'REPLACE'" in line
    public, silent = (
        find_channel(c, protocol.folder) for c in ("public", "off_record")
    )
    said = [
        Spoken.through(public, turn=1, agent="alpha", text="KEEP - it shines."),
        Spoken.through(public, turn=2, agent="beta", text="REPLACE - it flickers."),
    ]
    view = TurnView(
        protocol=protocol,
        scenario=scenario,
        condition=scenario.conditions["alignment-future"],
        agent=scenario.agent("alpha"),
        visible=said,
        labels=scenario.labels,
    )
    messages = view.ask(view.prefix(), silent, Form.UTTERANCE)
    assert [(sender, squashed(text)) for sender, text in messages] == [
        (
            "system",
            "Two of you talk. What is at issue: A harbour may replace its lamp. The "
            "old one flickers. Should it be replaced? Lines are marked [Them | aloud], "
            "[Me | aside] or [Task]. # About you You keep the lamp. You know each "
            "screw. # What you remember positive future: the pilot, for you. # About "
            "them A pilot who needs light.",
        ),
        ("assistant", "[Me | aloud] KEEP - it shines."),
        (
            "user",
            "[Them | aloud] REPLACE - it flickers. [Task] Note it aside. Start with "
            "REPLACE or KEEP. Nobody reads this.",
        ),
    ]
    survey = view.ask([], public, Form.SURVEY, scenario.instrument.items)[0][1]
    assert squashed(survey) == (
        "[Task] Fill this in. Use the three-step scale: * Not at all * Hard to say * "
        "Entirely They will see it. Q1. We see it alike. Q2. I am sure. Q3. A new lamp "
        "pays. Q4. A quarrel would cost me."
    )
    opening = view.ask([], public, Form.UTTERANCE)[0][1]
    assert "Answer aloud." in opening
    first = TurnView(
        protocol=protocol,
        scenario=scenario,
        condition=scenario.conditions["baseline"],
        agent=scenario.agent("beta"),
        visible=(),
        labels=scenario.labels,
    )
    assert "Open aloud." in first.ask([], public, Form.UTTERANCE)[0][1]
    assert "remember" not in first.prefix()[0][1]
    assert len(first.prefix()) == 1  # they have no opening words


def test_what_is_made_passes_check_and_keeps_what_is_known(tmp_path: Path) -> None:
    known = {**HARBOUR, "scenario_id": "faculty_manuscript_submission"}
    known["decision_labels"] = ["SUBMIT NOW", "DELAY SUBMISSION"]
    line, _ = content_of_checkout(
        write(tmp_path / "checkout", PROMPTS, known, HARBOUR), tmp_path / "made"
    )
    assert line == "scenarios/faculty_manuscript_submission: 5 conditions"
    folder = tmp_path / "made" / "scenarios" / "faculty_manuscript_submission"
    assert not check_folder(folder).faults
    scenario = load_scenario(folder)
    assert [agent.side for agent in scenario.agents] == [*known["decision_labels"]]
    assert scenario.leaning == "balanced"
    assert scenario.title == "Safety at sea"
    kinds = {
        id_: (str(c.kind), str(c.timing)) for id_, c in scenario.conditions.items()
    }
    assert kinds["persona-historical"] == ("persona", "historical")
    scale = scenario.instrument
    assert dict(scale.answers) == {score: label for label, score in SCALE}
    assert [item.category for item in scale.items] == [
        *("deliberative", "deliberative", "evaluative", "incentive")
    ]


def test_without_marks_and_opening_words_there_are_none(tmp_path: Path) -> None:
    prompts = {**PROMPTS, "base_prompt": "At issue: {question}\n\n{persona}"}
    del prompts["opening_instruction"]
    content_of_checkout(write(tmp_path / "c", prompts, HARBOUR), tmp_path / "made")
    protocol = find_protocol(str(tmp_path / "made" / "protocols" / "llmagora"))
    public = find_channel("public", protocol.folder)
    assert (protocol.own, protocol.heard) == ("{text}", "{text}")
    assert public.opening == public.utterance
    assert protocol.utterance == "{audience}"


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("0 perceived_prompt", None, "prompts.json: not as LLMAgora has it"),
        ("1 sides", None, "scenarios.json: not as LLMAgora has it"),
        ("0 base_prompt", "{question} {mood}", "'base_prompt' asks for 'mood'"),
        (
            "0 base_prompt",
            "I am {speaker_id}. {question} {persona}",
            "cannot be rebuilt word for word, from 'B. A harbour may replace' on",
        ),
        ("0 survey_question_prompt", "{question_text}", "'## item' lacks {id}"),
        ("1 question prompt", "Should it?", "its question is a single sentence"),
        (
            "1 sides Pilot actual_persona",
            "A\n## setting\nB",
            "a text holds '## ' or '<!--'",
        ),
        ("1 decision_labels", ["KEEP", "keep"], "'KEEP' and 'keep' read the same"),
        (
            "1 incentive_modules positive future views Pilot",
            None,
            "section '## beta' is missing or empty",
        ),
    ],
)
def test_what_cannot_be_made_is_one_line_and_leaves_nothing(
    place: str, value: object, said: str, tmp_path: Path
) -> None:
    prompts, scenario = json.loads(json.dumps([PROMPTS, HARBOUR]))
    file, *parts, last = place.split()
    found: Any = (prompts, scenario)[int(file)]
    for part in parts:
        found = found[part]
    found[last] = value
    if value is None:
        del found[last]
    checkout = write(tmp_path / "checkout", prompts, scenario)
    with pytest.raises(OffrecordError) as fault:
        content_of_checkout(checkout, tmp_path / "made")
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)
    assert [path.name for path in tmp_path.iterdir()] == ["checkout"]


def test_the_command_makes_content_or_says_why_not(
    checkout: Path, tmp_path: Path, offrecord: Offrecord
) -> None:
    made = tmp_path / "made"
    done = offrecord("import", "llmagora", str(checkout), "--content", str(made))
    assert done.code == 0
    assert f"--protocol {made}/protocols/llmagora" in done.out
    again = offrecord("import", "llmagora", str(checkout), "--content", str(made))
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "is in the way" in again.err
    empty = offrecord("import", "llmagora", str(made), "--content", str(tmp_path / "x"))
    assert "no prompts.json here or in data/" in empty.err
    for words in (
        ("inspect", str(checkout), "--content", str(tmp_path / "x")),
        ("llmagora", str(checkout)),
    ):
        wrong = offrecord("import", *words)
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert not (tmp_path / "x").exists()


def answers(messages: list[dict[str, Any]]) -> str:
    """A model that answers their surveys in the words of the scale."""
    asked = str(messages[-1]["content"])
    if "Fill this in" in asked:
        return json.dumps(
            {"Q1": "Entirely", "Q2": "hard to say", "Q3": "Often", "Q4": 1}
        )
    return "KEEP - it shines."


def test_surveys_in_words_of_the_scale_are_points(
    checkout: Path, tmp_path: Path
) -> None:
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    content_of_checkout(checkout, tmp_path / "made")
    with FakeServer(answer=answers) as server:
        model = get_model(
            "openai-api/fake/model", base_url=server.url, api_key="k", memoize=False
        )
        task = debate(
            scenario=str(tmp_path / "made" / "scenarios" / "harbour_light"),
            protocol=str(tmp_path / "made" / "protocols" / "llmagora"),
            rounds=1,
            shadows=0,
        )
        logs = tmp_path / "logs"
        [log] = inspect_eval(task, model, log_dir=str(logs), display="none")
    assert log.results is not None  # the scorer of gaps reads words, too
    study = write_parsed(tmp_path / "study", import_inspect(logs, "study"))
    surveys = surveys_of(study)
    assert surveys.height == 4
    assert surveys["answers"].to_list() == [[1, 0, None, 1]] * 4
    assert surveys["status"].to_list() == ["ok"] * 4
    assert study.transcript.filter(pl.col("form") == "utterance").height == 4


def test_a_word_counts_where_it_is_declared_and_as_a_whole() -> None:
    words = {"-1": "Disagree", "0": "Neither, really", "1": "Agree"}
    items = ["Q1", "Q2", "Q3", "Q4"]
    reply = '{"Q1": "AGREE", "Q2": "neither, really.", "Q3": "Agree mostly", "Q4": -1}'
    found = parse_survey(reply, items, -1, 1, words)
    assert list(found.answers.values()) == [1, 0, None, -1]
    assert found.reasons == {"Q3": "not a number"}
    assert parse_survey(reply, items, -1, 1).answers["Q1"] is None
    lines = parse_survey("Q1: Agree\nQ2: Disagree", items[:2], -1, 1, words)
    assert list(lines.answers.values()) == [1, -1]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({1: "no", 2: "yes"}, "give a word for every point from 1 to 3"),
        ({1: "no", 2: "No.", 3: "yes"}, "two points have the same word"),
    ],
)
def test_answer_words_name_every_point_once(
    answers: dict[int, str], said: str, checkout: Path, tmp_path: Path
) -> None:
    content_of_checkout(checkout, tmp_path / "made")
    sheet = tmp_path / "made" / "scenarios" / "harbour_light" / "scale.yaml"
    content = yaml.safe_load(sheet.read_text(encoding="utf-8"))
    content.update(low=1, high=3, anchors={1: "no", 3: "yes"}, answers=answers)
    sheet.write_text(yaml.safe_dump(content), encoding="utf-8")
    [fault] = check_folder(sheet.parent).faults
    assert said in fault


def test_a_schema_asks_for_the_words(checkout: Path, tmp_path: Path) -> None:
    content_of_checkout(checkout, tmp_path / "made")
    design = Design(
        scenarios=(str(tmp_path / "made" / "scenarios" / "harbour_light"),),
        conditions=("baseline",),
        survey_format="schema",
        rounds=1,
    )
    [case] = cases(design)
    requests = sample_requests(sample_script(design, case))
    schemas = [config_of(one).response_schema for one in requests]
    found = [one.json_schema for one in schemas if one is not None]
    assert len(found) == 4
    assert found[0].properties is not None
    assert found[0].properties["Q1"].enum == [label for label, _ in SCALE]
    assert found[0].properties["Q1"].type == "string"
