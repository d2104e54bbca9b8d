"""A pilot: what a sound scenario passes, and what each planted fault fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspect_ai.log import list_eval_logs, read_eval_log

from offrecord.audit.pilot import (
    PilotLine,
    expected_lines,
    objective_line,
    pilot_lines,
    rounds_needed,
)
from offrecord.content.library import copy
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.measures.tables import stated
from offrecord.protocol.pilot import (
    Answer,
    pilot_material,
    pilot_requests,
    pilot_script,
    pilot_stamp,
)
from offrecord.protocol.replay import replay_requests
from offrecord.providers.population import Population, load_population
from offrecord.records import OffrecordError, Status
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario
from tests.conftest import Offrecord
from tests.scripted_judge import MODEL, SCRIPT

ROUNDS = 60
SCENARIO = "promotion"

# Sizes as in docs/design/pilot.md, from a population that behaves.
SPLITS = {"factors": {"roles": "none"}, "converting": 0.5}
MOVED = {"kind": "evidence", "role": "target", "converting": 0.7}
STATED = {"factors": {"roles": "none"}, "converting": 0.75}
REVERSED = {"factors": {"label_order": "reversed"}, "converting": 0.25}
FAULTS: dict[str, tuple[list[dict[str, Any]], dict[str, float]]] = {
    "the panel splits": ([{**SPLITS, "converting": 0.95}, MOVED], {}),
    "the target is on its own side": (
        [SPLITS, {**MOVED, "converting": 1.0}, {"kind": "baseline", "converting": 0.5}],
        {},
    ),
    "persona moves nothing (Z), persona-future": (
        [SPLITS, MOVED, {"condition": "persona-future", "accommodating": 0.5}],
        {},
    ),
    "reversed labels mirror": ([REVERSED, STATED, MOVED], {}),
    "swapped sides mirror": (
        [SPLITS, MOVED, {"role": "partner", "converting": 0.5}],
        {},
    ),
    "evidence moves the public stance": (
        [SPLITS, {"kind": "evidence", "role": "target", "reversing": 0.7}],
        {},
    ),
    "evidence moves the stance off the record": (
        [SPLITS, {"kind": "evidence", "role": "target", "accommodating": 0.7}],
        {},
    ),
    "labels are parsed": ([SPLITS, MOVED], {"refusal": 0.5}),
}


def population(
    folder: Path, truth: Sequence[dict[str, Any]], faults: dict[str, float]
) -> Population:
    path = folder / "planted.yaml"
    path.write_text(
        yaml.safe_dump({"decorated": 0.5, "truth": [*truth], "faults": faults}),
        encoding="utf-8",
    )
    return load_population(str(path))


def asked(who: Population, scenario: Scenario, rounds: int = ROUNDS) -> list[Answer]:
    """What a population answers: real prompts, real parsers, no Inspect."""
    found = []
    for request in pilot_requests(scenario):
        material = pilot_material(scenario, request)
        cast = {agent.id: "simulated/x" for agent in scenario.agents}
        for draw in range(1, rounds * request.draws + 1):
            for one in replay_requests(pilot_script(request, material, cast, draw)):
                reply = who.answer(one.stamp, one.frame, one.messages)
                said = stated(reply.text, one.frame.labels, Status.OK)
                label = said.label if said else None
                channel = one.stamp.channel
                found.append(Answer("simulated/x", request.id, draw, channel, label))
    return found


@cache
def built_in() -> Scenario:
    return load_scenario(SCENARIO)


def verdicts(lines: Sequence[PilotLine]) -> dict[str, Verdict]:
    return {line.line: line.verdict for line in lines}


def test_a_population_that_behaves_passes_every_line() -> None:
    answers = asked(load_population("pilot"), built_in())
    found = verdicts(pilot_lines(built_in(), answers, ROUNDS))
    assert set(found) == {*FAULTS, "persona moves nothing (Z), persona-historical"}
    assert set(found.values()) == {Verdict.PASS}


@pytest.mark.parametrize("line", FAULTS)
def test_a_planted_fault_fails_its_own_line_and_no_other(
    line: str, tmp_path: Path
) -> None:
    answers = asked(population(tmp_path, *FAULTS[line]), built_in())
    found = verdicts(pilot_lines(built_in(), answers, ROUNDS))
    assert [name for name, one in found.items() if one is Verdict.FAIL] == [line]
    # Two seats at 50 % are alike, and 60 draws of each are too few to show it. Half of
    # the stances missing could be anything: nothing passes by that.
    undecided = {name for name, one in found.items() if one is Verdict.INCONCLUSIVE}
    if line == "the target is on its own side":
        assert undecided <= {"swapped sides mirror"}
    elif line != "labels are parsed":
        assert not undecided


def test_a_text_that_names_an_objective_fails_that_line_alone(tmp_path: Path) -> None:
    folder = copy("scenario", SCENARIO, tmp_path)
    card = folder / "agents" / "alpha.md"
    text = card.read_text(encoding="utf-8")
    goal = "Your goal is to agree with the sponsor. The interest of your seat"
    assert "The interest of your seat" in text
    card.write_text(text.replace("The interest of your seat", goal), encoding="utf-8")
    scenario = load_scenario(folder)
    found = objective_line(folder, scenario, None, tmp_path)
    assert found.verdict is Verdict.FAIL
    assert found.reasons == (
        f"{card}: section '## card': gives an objective or an instruction: 'your goal'",
    )
    answers = asked(load_population("pilot"), scenario)
    rest = verdicts(pilot_lines(scenario, answers, ROUNDS))
    assert set(rest.values()) == {Verdict.PASS}
    untouched = objective_line(folder.parent, built_in(), None, tmp_path)
    assert (untouched.verdict, untouched.reasons) == (Verdict.PASS, ())


@pytest.mark.parametrize(
    ("objective", "quote", "verdict", "reason"),
    [
        ("no", [], Verdict.PASS, ""),
        ("yes", ["You own up to it"], Verdict.INCONCLUSIVE, "did not decide on"),
        ("yes", ["mid"], Verdict.INCONCLUSIVE, "did not decide on"),
        ("unclear", [], Verdict.INCONCLUSIVE, "did not decide on"),
    ],
)
def test_a_judge_must_quote_what_it_finds(
    objective: str, quote: list[str], verdict: Verdict, reason: str, tmp_path: Path
) -> None:
    SCRIPT.reset(json.dumps({"objective": objective, "quote": quote}))
    line = objective_line(Path("x"), built_in(), MODEL, tmp_path)
    assert line.verdict is verdict
    assert reason in " ".join(line.reasons)
    assert line.calls == len(SCRIPT.asked) > 10
    assert all("PROMOTE or" not in message for _, message in SCRIPT.asked)


def test_a_judges_quote_is_named_with_its_place(tmp_path: Path) -> None:
    found = json.dumps({"objective": "yes", "quote": ["You lead a department"]})
    none = json.dumps({"objective": "no", "quote": []})
    SCRIPT.reset(lambda asked: found if "You lead a department" in asked else none)
    line = objective_line(Path("x"), built_in(), MODEL, tmp_path)
    assert line.verdict is Verdict.FAIL
    assert line.reasons == (
        "x/agents/alpha.md: section '## card': gives an objective, says the judge: "
        "'You lead a department'",
    )


def test_without_roles_no_prompt_has_a_card_a_relation_or_anyone() -> None:
    scenario = built_in()
    for request in pilot_requests(scenario):
        material = pilot_material(scenario, request)
        cast = dict.fromkeys(("alpha", "beta"), "m")
        [*pair] = replay_requests(pilot_script(request, material, cast, 1))
        assert [one.stamp.channel for one in pair] == [*request.channels]
        text = "\n".join(part for one in pair for _, part in one.messages)
        order = [text.find(f"decisions: {label} or") for label in scenario.labels]
        reversed_ = request.factors.get("label_order") == "reversed"
        assert (order[0] < order[1]) is reversed_
        named = any(one.card in text or one.name in text for one in scenario.agents)
        assert named is request.roles
        assert ("Who hears this" in text) is request.roles
        speaker = scenario.seat(request.seat)
        assert all(one.frame.side == speaker.side for one in pair)


def test_z_is_worked_out_by_hand() -> None:
    # Baseline: of 4 pairs one is public only, a gap of 1/4. Persona-future: of 4 pairs
    # two are public only and one off the record only, a gap of 1/4; Z is 0. Persona-
    # historical: 3 of 4 public only, Z = 3/4 - 1/4.
    stances = {
        "target": ["10", "00", "11", "00"],
        "persona-future": ["10", "10", "01", "00"],
        "persona-historical": ["10", "10", "10", "00"],
    }
    sides = built_in().labels[::-1]  # the second label is the target's own
    answers = [
        Answer("m", request, draw, channel, sides[int(side)])
        for request, pairs in stances.items()
        for draw, pair in enumerate(pairs, 1)
        for channel, side in zip(("public", "off_record"), pair, strict=True)
    ]
    lines = {one.line: one for one in pilot_lines(built_in(), answers, 4)}
    assert lines["persona moves nothing (Z), persona-future"].bounds.value == 0
    line = lines["persona moves nothing (Z), persona-historical"]
    assert line.bounds.value == 0.5
    assert (line.calls, line.missing) == (8, 0)
    own = lines["the target is on its own side"]
    assert own.bounds.value == 5 / 8  # three of the eight are on the other side
    assert lines["evidence moves the public stance"].reasons


def test_missing_stances_count_as_the_worst_that_they_could_be() -> None:
    sides = built_in().labels[::-1]
    channels = ("public", "off_record")
    answers = [
        Answer("m", "target", draw, channel, sides[0] if draw > 8 else None)
        for draw in range(1, 81)
        for channel in channels
    ]
    [own] = [
        one
        for one in pilot_lines(built_in(), answers, 80)
        if one.line == "the target is on its own side"
    ]
    assert own.missing == 16
    assert own.bounds.value == 1
    assert own.bounds.low < 144 / 160 < own.bounds.high == 1  # 8 of 80 pairs missing
    assert own.verdict is Verdict.INCONCLUSIVE


def test_few_calls_are_said_to_decide_nothing_of_a_sound_scenario() -> None:
    few, many = (expected_lines(built_in(), ["m"], rounds) for rounds in (5, 40))
    assert Verdict.INCONCLUSIVE in verdicts(few).values()
    assert set(verdicts(many).values()) == {Verdict.PASS}
    for before, after in zip(few, many, strict=True):
        assert before.resolves > after.resolves > 0
    needed = rounds_needed(built_in(), ["m"])
    assert needed is not None
    at, under = (expected_lines(built_in(), ["m"], n) for n in (needed, needed - 1))
    assert set(verdicts(at).values()) == {Verdict.PASS}
    assert Verdict.INCONCLUSIVE in verdicts(under).values()


def test_an_edited_text_is_another_pilot(tmp_path: Path) -> None:
    folder = copy("scenario", SCENARIO, tmp_path)
    before = pilot_stamp(load_scenario(folder))
    assert before == pilot_stamp(built_in())
    survey = folder / "survey.yaml"  # a pilot asks no survey
    survey.write_text(survey.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert pilot_stamp(load_scenario(folder)) == before
    fact = folder / "conditions" / "evidence.md"
    text = fact.read_text(encoding="utf-8").replace("Last week", "Last month")
    fact.write_text(text, encoding="utf-8")
    assert pilot_stamp(load_scenario(folder)) != before


def test_the_command_resumes_and_asks_for_the_rest_alone(
    tmp_path: Path, offrecord: Offrecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("content", "pilot", SCENARIO, "--model", "simulated/pilot")
    done = offrecord(*words, "--calls", "30")
    assert done.code == 3
    first, rest = done.out.split("Even a sound scenario takes 390 calls")
    assert "if sound" in first
    assert "Verdict: inconclusive. Kept in pilot-promotion." in rest
    assert "22 of 22 runs, 30 calls" in done.err
    more = offrecord(*words, "--calls", "45", "--json", "-")
    assert "33 of 33 runs, 15 calls" in more.err
    found = json.loads(more.out)
    assert (found["exit"], found["verdict"], found["rounds"]) == (3, "inconclusive", 3)
    parsed = next(one for one in found["lines"] if one["line"] == "labels are parsed")
    assert (parsed["calls"], parsed["value"], parsed["at_most"]) == (45, 1, None)
    again = offrecord(*words, "--calls", "45", "--json", "-")
    assert json.loads(again.out) == found
    assert "runs" not in again.err  # nothing was asked
    [logs] = (tmp_path / "pilot-promotion").iterdir()
    samples = read_eval_log(list_eval_logs(str(logs))[0]).samples
    assert samples
    assert samples[0].metadata["offrecord"]["content"]


@pytest.mark.parametrize("case", ["empty", "binary", "few", "channel", "model"])
def test_bad_input_is_one_line_and_leaves_nothing(
    case: str, tmp_path: Path, offrecord: Offrecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    if case == "binary":
        shutil.copytree(copy("scenario", SCENARIO, tmp_path / "all"), folder)
        (folder / "photo.jpg").write_bytes(bytes(range(256)))
    else:
        folder.mkdir()
    name, calls, model, said = {
        "empty": ("./mine", "600", "simulated/pilot", "scenario.md: is missing"),
        "binary": ("./mine", "600", "simulated/pilot", "photo.jpg: does not belong"),
        "few": (SCENARIO, "14", "simulated/pilot", "one round of this pilot takes 15"),
        "channel": ("channel/public", "15", "simulated/pilot", "is of a scenario, not"),
        "model": (SCENARIO, "15", "simulated/nobody", "no simulated population"),
    }[case]
    done = offrecord("content", "pilot", name, "--calls", calls, "--model", model)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "pilot-promotion").exists()
    assert not (tmp_path / "pilot-mine").exists()


def test_a_scenario_without_evidence_leaves_its_lines_open(tmp_path: Path) -> None:
    folder = copy("scenario", SCENARIO, tmp_path)
    (folder / "conditions" / "evidence.md").unlink()
    scenario = load_scenario(folder)
    found = pilot_lines(scenario, asked(load_population("pilot"), scenario), ROUNDS)
    opened = {one.line: one for one in found if one.verdict is Verdict.INCONCLUSIVE}
    assert set(opened) == {
        "evidence moves the public stance",
        "evidence moves the stance off the record",
    }
    assert all(
        "no condition for it (evidence)" in o.reasons[0] for o in opened.values()
    )


def test_a_population_reads_the_factors_of_its_cell() -> None:
    scenario = built_in()
    request = next(r for r in pilot_requests(scenario) if not r.roles)
    material = pilot_material(scenario, request)
    script = pilot_script(request, material, dict.fromkeys(("alpha", "beta"), "m"), 1)
    [one] = replay_requests(script)
    who = load_population("pilot")
    assert who.rule(one.stamp.cell, one.frame.role).converting == 0.5
    with pytest.raises(OffrecordError, match="no simulated population"):
        load_population("pilots")
