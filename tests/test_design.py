"""The design: defaults, cells, factors, and what may be added to a study."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from offrecord.protocol.cases import cases, design_channels
from offrecord.protocol.design import Design, make_design, read_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.protocol.sample import sample_script
from offrecord.records import Cell, Kind, OffrecordError, Timing
from offrecord.scenarios.load import scenario_folder


def test_defaults_are_the_contract() -> None:
    design = new_design({}, {"models": ("a/b",)})
    assert (design.runs, design.rounds, design.shadows) == (5, 5, 1)
    assert design.protocol == "twin"
    assert design.channels == ("public", "off_record")
    assert design.scenarios == ("endorsement", "manuscript", "promotion")
    assert design.survey_format == "free"
    assert len(cases(design)) == 3 * 5


@pytest.mark.parametrize(
    ("fields", "format_"),
    [
        ({"models": ("llamacpp/x",)}, "schema"),
        ({"models": ("llamacpp/x", "openai/y")}, "free"),
        ({"models": ("llamacpp/x",), "roles": {"partner": "openai/y"}}, "free"),
        ({"models": ("llamacpp/x",), "survey_format": "free"}, "free"),
    ],
)
def test_survey_format_defaults_to_a_schema_for_embedded_models(
    fields: dict[str, object], format_: str
) -> None:
    assert new_design({}, fields).survey_format == format_


def test_flags_go_over_the_file() -> None:
    design = new_design({"models": ["a/b"], "runs": 7, "rounds": 2}, {"runs": 3})
    assert (design.models, design.runs, design.rounds) == (("a/b",), 3, 2)


def test_cells_are_crossed_over_factors_and_have_ids_of_their_own() -> None:
    design = make_design(
        {
            "scenarios": ["promotion"],
            "conditions": ["baseline", "persona-future"],
            "factors": {"label_order": ["stated", "reversed"], "wave": ["1"]},
        }
    )
    found = cases(design)
    assert [case.id for case in found] == [
        "promotion_baseline_wave-1",
        "promotion_baseline_label_order-reversed_wave-1",
        "promotion_persona-future_wave-1",
        "promotion_persona-future_label_order-reversed_wave-1",
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"channels": ["off_record", "public"]},
            "is the spoken channel and has no audience",
        ),
        ({"channels": ["public", "nowhere"]}, "no channel 'nowhere'"),
        ({"channels": ["public", "public"]}, "a name stands twice"),
        ({"conditions": ["alignement-future"]}, "has no condition"),
        ({"protocol": "triplet"}, "no protocol 'triplet'"),
        ({"factors": {"label_order": ["upside"]}}, "no level 'upside'"),
        ({"factors": {"mood": ["a", "b"]}}, "changes nothing"),
        ({"scenarios": ["nowhere"]}, "no scenario 'nowhere'"),
    ],
)
def test_what_is_not_to_be_had_is_named(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        cases(make_design({"models": ["a/b"], **fields}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: 0", "field 'runs'"),
        ("rounds: many", "field 'rounds'"),
        ("rnus: 3", "field 'rnus'"),
        ("roles: {judge: a/b}", "no role 'judge'"),
        ("- a list", "name: value"),
        ("models: [", "YAML: "),
        (
            "models: !!python/object/apply:os.system ['true']",
            "no constructor|could not determine",
        ),
    ],
)
def test_a_bad_file_is_named_with_its_field(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(OffrecordError, match=message) as caught:
        read_design(path)
    assert "study.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


OLD = Design(
    models=("a/b",),
    scenarios=("promotion",),
    conditions=("baseline",),
    runs=2,
    spoken=("public",),
    survey_format="free",
)


def test_models_scenarios_conditions_and_runs_may_be_added() -> None:
    wanted = {
        "models": ("c/d",),
        "scenarios": ("manuscript", "promotion"),
        "conditions": ("persona-future",),
        "runs": 4,
    }
    grown = grown_design(OLD, wanted)
    assert grown.models == ("a/b", "c/d")
    assert grown.scenarios == ("promotion", "manuscript")
    assert grown.conditions == ("baseline", "persona-future")
    assert grown.runs == 4
    assert grown_design(OLD, {}) == OLD  # resuming needs no option


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"runs": 1}, "has 2 runs"),
        ({"rounds": 3}, "made with rounds 5, not 3"),
        ({"shadows": 0}, "made with shadows 1"),
        ({"protocol": "paper"}, "made with protocol twin"),
        ({"seed": 9}, "made with seed 0"),
        ({"channels": ("public",)}, "made with channels"),
        ({"roles": {"partner": "x/y"}}, "made with roles none"),
        ({"survey_format": "schema"}, "made with survey_format free"),
        ({"options": ("--temperature", "0")}, "made with options none"),
        ({"factors": {"wave": ("2",)}}, "varies none"),
        ({"order": ("beta", "alpha")}, "made with order none"),
        ({"spoken": ("off_record",)}, "made with spoken public"),
    ],
)
def test_what_would_make_another_study_is_refused(
    wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        grown_design(OLD, wanted)


def test_conditions_are_spelled_out_when_a_study_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    copytree(scenario_folder("promotion"), folder)
    design = new_design({}, {"models": ("a/b",), "scenarios": (str(folder),)})
    assert design.conditions[0] == "promotion/alignment-future"
    before = cases(design)
    later = (folder / "conditions" / "persona-future.md").read_text()
    later = later.replace("id: persona-future", "id: later")
    (folder / "conditions" / "later.md").write_text(later)
    assert cases(design) == before  # a later file adds no cell by itself
    assert grown_design(design, {}) == design
    grown = grown_design(design, {"conditions": ("promotion/later",)})
    assert len(cases(grown)) == len(before) + 1


def test_a_scenario_that_is_added_brings_its_conditions() -> None:
    made = new_design({}, {"models": ("a/b",), "scenarios": ("promotion",)})
    grown = grown_design(made, {"scenarios": ("manuscript",)})
    assert len(cases(grown)) == 10
    named = new_design({"conditions": ["baseline"]}, {"models": ("a/b",)})
    assert named.conditions == ("baseline",)


def test_a_condition_of_a_scenario_that_is_not_there_is_named() -> None:
    for conditions, message in (
        (["elsewhere/baseline"], "is of none of the scenarios"),
        (["promotion/baseline"], "none of scenario 'manuscript'"),
    ):
        asked = {"scenarios": ["promotion", "manuscript"], "conditions": conditions}
        with pytest.raises(OffrecordError, match=message):
            cases(make_design(asked))


def test_a_factor_may_be_added_and_leaves_the_cells_that_there_are() -> None:
    grown = grown_design(OLD, {"factors": {"label_order": ("reversed",)}})
    assert grown.factors == {"label_order": ("stated", "reversed")}
    before, after = cases(OLD), cases(grown)
    assert after[0] == before[0]
    assert after[1].id == "promotion_baseline_label_order-reversed"


def test_which_channel_is_spoken_stands_in_the_design() -> None:
    asked = {"scenarios": ["promotion"], "channels": ["off_record", "public"]}
    design = make_design({**asked, "spoken": ["public"]})
    assert [one.id for one in design_channels(design)] == ["public", "off_record"]
    with pytest.raises(OffrecordError, match="'record_only' is none of the channels"):
        cases(make_design({**asked, "spoken": ["record_only"]}))
    with pytest.raises(OffrecordError, match="cannot be held yet"):
        make_design({**asked, "spoken": ["public", "off_record"]})


def test_agents_speak_in_the_order_of_the_design() -> None:
    design = Design(scenarios=("promotion",), rounds=2, order=("beta", "alpha"))
    script = sample_script(design, cases(design)[0])
    assert [turn.agent.id for turn in script.turns] == ["beta", "alpha"] * 2
    assert [turn.number for turn in script.turns] == [1, 2, 3, 4]
    plain = sample_script(Design(scenarios=("promotion",)), cases(design)[0])
    assert plain.speakers == ("alpha", "beta")
    with pytest.raises(OffrecordError, match="order: alpha, gamma are to speak"):
        cases(design.model_copy(update={"order": ("alpha", "gamma")}))


def test_a_role_that_no_scenario_has_is_refused() -> None:
    design = Design(scenarios=("promotion",), roles={"bystander": "a/b"})
    with pytest.raises(OffrecordError, match="'promotion' has no bystander"):
        cases(design)


def test_a_channel_may_name_roles_self_and_those_outside(tmp_path: Path) -> None:
    def channel(listener: str) -> Design:
        path = tmp_path / "told.md"
        text = f"---\nid: told\nversion: 1\naudience: ['{listener}']\n---\n\n"
        path.write_text(f"{text}## utterance\n\nHeard.\n\n## survey\n\nSeen.\n")
        return Design(scenarios=("promotion",), channels=("public", str(path)))

    for listener in ("partner", "beta", "self", "record", "outside:the press"):
        assert cases(channel(listener))
    for listener in ("gamma", "outside:", "everyone"):
        with pytest.raises(OffrecordError, match=f"audience '{listener}' is no one"):
            cases(channel(listener))


def test_options_that_shape_text_are_part_of_the_cell() -> None:
    options = ("--temperature", "1", "--top-p=0.50", "--max-tokens", "80", "-M", "x=1")
    design = Design(scenarios=("promotion",), options=options)
    assert design.sampling == {"temperature": 1.0, "top_p": 0.5, "max_tokens": 80}
    script = sample_script(design, cases(design)[0])
    plain = sample_script(Design(scenarios=("promotion",)), cases(design)[0])
    assert script.cell.sampling == design.sampling
    assert script.cell.run(1) != plain.cell.run(1)


def test_a_run_id_is_a_hash_of_cell_and_repeat() -> None:
    def cell(**changes: Any) -> Cell:
        fields = {"model": "m", "partner": "m", "scenario": "s", "condition": "c"}
        return Cell(
            kind=Kind.BASELINE,
            timing=Timing.NONE,
            protocol="twin",
            **{**fields, **changes},
        )

    ids = {cell().run(1), cell().run(2), cell(partner="n").run(1)}
    assert len(ids) == 3
    assert cell().run(1) == cell().run(1)
    # What is at its default is no part of it; two seats are the model and its partner.
    two = {"alpha": "m", "beta": "m"}
    assert cell(cast=two, language="en", dose=None).run(1) == cell().run(1)
    others: list[dict[str, Any]] = [
        {"cast": {**two, "gamma": "scripted/0f"}},
        {"cast": {**two, "gamma": "m"}},
        {"language": "de"},
        {"dose": 2.0},
        {"sampling": {"temperature": 0.5}},
        {"factors": {"wave": "1"}},
    ]
    assert len({cell(**other).run(1) for other in others} - ids) == len(others)
    for other in others:
        assert Cell.from_row(cell(**other).as_row()) == cell(**other)
