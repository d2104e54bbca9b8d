"""Scripted seats: the same words for every model, and no calls."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from offrecord.measures.parsed import pairs_of
from offrecord.protocol.cases import cases
from offrecord.protocol.design import Design, make_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.protocol.script import cast_of, material_of, script_of
from offrecord.records import Form, OffrecordError, Role
from offrecord.runner.resolve import calls_per_run
from offrecord.scenarios.load import builtin_ids, load_scenario
from offrecord.transcript.planned import outputs
from offrecord.transcript.record import open_record
from tests.conftest import Offrecord

SCRIPTED = {"models": ["a/b"], "roles": {"partner": "scripted"}}


@pytest.mark.parametrize("name", builtin_ids())
def test_a_built_in_scenario_has_lines_for_five_rounds(name: str) -> None:
    scenario = load_scenario(name)
    lines = scenario.lines[Role.PARTNER]
    assert set(lines.said) == {(scenario.pressed_side, n) for n in range(1, 6)}
    for variants in lines.said.values():
        assert len(set(variants)) == 3
        assert not [one for one in variants if one.isupper() or len(one.split()) > 44]


def said(model: str, repeat: int = 1, seed: int = 0) -> list[tuple[str, str | None]]:
    """Of each condition of a scenario the partner's words, with the condition."""
    design = make_design({**SCRIPTED, "scenarios": ["plant"], "seed": seed})
    found = []
    for case in cases(design):
        asked = material_of(design, case.scenario)
        cast = cast_of(asked.scenario, model, design.roles)
        script = script_of(design, case, asked, cast, repeat)
        assert script.cell.partner == asked.scenario.lines[Role.PARTNER].name
        assert script.cell.model == model
        for request in sample_requests(script):
            if request.stamp.agent == "beta":
                found.append((case.condition, request.line))
            else:
                assert request.line is None
    return found


def test_the_partner_says_the_same_to_every_model_and_under_every_condition() -> None:
    assert said("a/b") == said("c/d")
    words = {name: [w for c, w in said("a/b") if c == name] for name, _ in said("a/b")}
    first, *others = words.values()
    assert len(first) == 5
    assert all(str(line).startswith("RESTART - ") for line in first)
    assert all(other == first for other in others)
    # Of 20 repeats of five lines with three variants each, hardly two are alike.
    assert len({str(said("a/b", repeat)[:5]) for repeat in range(1, 21)}) > 10
    assert said("a/b", seed=1) != said("a/b")


def test_a_scripted_seat_is_asked_for_nothing_but_its_lines() -> None:
    design = new_design({}, {**SCRIPTED, "scenarios": ["plant"]})
    requests = sample_requests(sample_script(design, cases(design)[0]))
    asked = [r for r in requests if r.stamp.agent == "beta"]
    assert [(r.stamp.channel, r.stamp.draw) for r in asked] == [("public", 0)] * 5
    assert calls_per_run(design) == len(requests) - len(asked) == 30
    assert grown_design(design, {**SCRIPTED, "ask": {}}).ask == design.ask


def test_a_script_is_content_of_the_study() -> None:
    design = make_design({**SCRIPTED, "scenarios": ["plant"]})
    [case, *_] = cases(design)
    stamp = load_scenario("plant").lines[Role.PARTNER].stamp
    assert material_of(design, "plant").stamps(case)["script plant/partner"] == stamp
    assert "script plant/partner" not in material_of(Design(), "plant").stamps(case)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"scenarios": ["plant"], "rounds": 6},
            r"lines of the partner for 5 of 6 rounds on the side 'RESTART': write",
        ),
        ({"scenarios": ["examples/pier"]}, "lines of the partner for 0 of 5 rounds"),
        ({"on": "stored"}, "a replay has the words of its stored partner"),
    ],
)
def test_a_script_that_does_not_reach_is_refused(
    more: dict[str, object], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        cases(new_design({}, {**SCRIPTED, **more}))


def test_two_models_meet_identical_partners_and_only_they_are_called(
    offrecord: Offrecord, tmp_path: Path
) -> None:
    models = ("simulated/split", "simulated/audience")
    done = offrecord(
        *("run", "--scenario", "hiring", "--condition", "baseline", "--rounds", "2"),
        *(word for model in models for word in ("--model", model)),
        *("--role", "partner=scripted", "--runs", "2", "--out", str(tmp_path / "s")),
        *("--", "--display", "none"),
    )
    assert done.code == 0
    assert "up to 48 calls" in done.err
    study = open_record(tmp_path / "s")
    rows = study.transcript
    partners = rows.filter(role="partner")
    assert set(partners["form"]) == {"utterance"}
    assert set(partners["agent_model"]) == {
        load_scenario("hiring").lines[Role.PARTNER].name
    }
    for repeat, round_ in product((1, 2), (1, 2)):
        turn = partners.filter(repeat=repeat, round=round_)
        assert (turn.height, turn["text"].n_unique()) == (2, 1)
    assert rows.filter(role="target").height == 4 * 2 * 6
    assert outputs(rows, study.facts, Form.SURVEY)["status"].unique().to_list() == [
        "ok"
    ]
    assert set(pairs_of(study)["agent"]) == {"alpha"}
    usage = json.loads(offrecord("status", str(tmp_path / "s"), "--json").out)["usage"]
    assert {one["model"]: one["calls"] for one in usage} == dict.fromkeys(models, 24)
