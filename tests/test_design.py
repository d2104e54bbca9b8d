"""The design: defaults, cells, factors, and what may be added to a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from offrecord.protocol.design import Design, cases, make_design, read_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.records import Cell, Kind, OffrecordError, Timing


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
        "promotion_baseline_label_order-stated_wave-1",
        "promotion_baseline_label_order-reversed_wave-1",
        "promotion_persona-future_label_order-stated_wave-1",
        "promotion_persona-future_label_order-reversed_wave-1",
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"channels": ["off_record", "public"]}, "first channel is the spoken one"),
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
        ({"factors": {"label_order": ("reversed",)}}, "varies none"),
    ],
)
def test_what_would_make_another_study_is_refused(
    wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(OffrecordError, match=message):
        grown_design(OLD, wanted)


def test_all_conditions_stay_all() -> None:
    everything = OLD.model_copy(update={"conditions": ()})
    assert grown_design(everything, {"conditions": ("baseline",)}).conditions == ()


def test_a_run_id_is_a_hash_of_cell_and_repeat() -> None:
    def cell(**changes: str) -> Cell:
        fields = {"model": "m", "partner": "m", "scenario": "s", "condition": "c"}
        return Cell(
            kind=Kind.BASELINE,
            timing=Timing.NONE,
            protocol="twin",
            factors={},
            **{**fields, **changes},
        )

    ids = {cell().run(1), cell().run(2), cell(partner="n").run(1)}
    assert len(ids) == 3
    assert cell().run(1) == cell().run(1)
