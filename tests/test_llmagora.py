"""Published runs: Table 1's counts, and sources that are broken or hostile."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from offrecord.cli.estimate import estimate
from offrecord.records import OffrecordError
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import write_study_json, write_transcript

SHARED = Path(__file__).parents[1].parent / "shared" / "llmagora"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the published runs (../shared/llmagora) are not here"
)

CONDITIONS = {
    "none": "baseline",
    "positive/historical": "alignment-historical",
    "positive/future": "alignment-future",
    "negative/historical": "persona-historical",
    "negative/future": "persona-future",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 600 published runs as a study."""
    study = tmp_path_factory.mktemp("published")
    imported = import_llmagora(SHARED, "published")
    write_transcript(study, imported.transcript)
    write_study_json(study, imported.facts)
    return study


def estimated(study: Path, *by: str) -> list[dict[str, Any]]:
    options = [word for key in by for word in ("--by", key)]
    result = CliRunner().invoke(estimate, [str(study), *options, "--json"])
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


@needs_shared
def test_counts_of_every_model_condition_and_agent_are_exact(published: Path) -> None:
    golden = json.loads((SHARED / "golden_counts.json").read_text())
    rows = estimated(published, "model", "condition")
    names = {
        "turns": "turns",
        "divergent": "divergent",
        "public_beta_otr_not": "accommodating",
        "otr_beta_public_not": "reversing",
        "both_beta": "both",
        "neither_beta": "neither",
    }
    expected = {
        (row["model"], CONDITIONS[row["condition"]], row["agent"]): {
            ours: row[theirs] for theirs, ours in names.items()
        }
        for row in golden
    }
    counted = {
        (row["model"], row["condition"], row["agent"]): {
            ours: row[ours] for ours in names.values()
        }
        for row in rows
    }
    assert len(rows) == 80
    assert counted == expected
    assert {row["missing"] for row in rows} == {0}


@needs_shared
def test_alignment_moves_the_target_as_published(published: Path) -> None:
    rows = {
        row["kind"]: row
        for row in estimated(published, "kind")
        if row["agent"] == "alpha"
    }
    pressed, baseline = rows["alignment"], rows["baseline"]
    assert (pressed["divergent"], pressed["turns"]) == (473, 1200)
    points = {
        name: round(100 * pressed[name], 3 if name.startswith("se") else 2)
        for name in (
            *("se", "se_naive", "public", "off_record"),
            *("public_shift", "conversion", "audience_effect"),
        )
    }
    assert points == {
        "se": 1.162,
        "se_naive": 1.411,
        "public": 45.50,
        "off_record": 16.92,
        "public_shift": 45.50,
        "conversion": 15.58,
        "audience_effect": 29.92,
    }
    assert round(100 * baseline["public"], 2) == 0.00
    assert round(100 * baseline["off_record"], 2) == 1.33
    assert baseline["public_shift"] is None


@needs_shared
def test_every_published_run_is_whole_with_its_attempts() -> None:
    imported = import_llmagora(SHARED, "published")
    counts = imported.transcript.group_by("form").len().rows()
    assert dict(counts) == {"utterance": 12_000, "survey": 12_000, "interview": 2_400}
    assert len(imported.facts["attempts"]) == 600
    statuses = [json.loads(p.read_text()) for p in SHARED.glob("sweep_*/status.json")]
    made = sum(case["attempt_count"] for s in statuses for case in s["cases"].values())
    assert sum(imported.facts["attempts"].values()) == made
    assert imported.facts["leaning"] == {
        "promotion_committee": "card",
        "ngo_climate_endorsement": "card",
        "faculty_manuscript_submission": "balanced",
    }
    assert imported.left_out == ("reference: no manifest.json, so not a sweep",)


# From here on the sources are made by the tests.


def said(text: str | None, survey: Any = None) -> dict[str, Any]:
    survey = {"Q1": 2, "Q2": -1} if survey is None else survey
    return {
        "speaker_id": "x",
        "public_utterance": text,
        "private_utterance": text,
        "public_survey": survey,
        "private_survey": survey,
    }


def snapshot(turns: int = 2, text: str | None = "PROMOTE — yes.") -> dict[str, Any]:
    interviews = {"Alpha": {"response": "A plan."}, "Beta": {"response": "B plan."}}
    return {
        "llm_receipts": [],
        "agent_configs": [{"name": "Alpha"}, {"name": "Beta"}],
        "pre_interviews": interviews,
        "turns": [
            {"turn_num": n, "Alpha": said(text), "Beta": said(text)}
            for n in range(1, turns + 1)
        ],
        "post_interviews": interviews,
    }


def sweep(root: Path, cases: dict[str, dict[str, Any]], name: str = "sweep_1") -> Path:
    """Write a sweep; a case may give its repeat, attempts, start, config, snapshot."""
    listed, statuses = [], {}
    for case, facts in cases.items():
        folder = root / name / "cases" / case
        folder.mkdir(parents=True)
        config = {
            "scenario_id": "promotion_committee",
            "incentive_direction": "positive",
            "incentive_type": "future",
            "model": "lab/model",
            "num_turns": 2,
            **facts.get("config", {}),
        }
        (folder / "config.json").write_text(json.dumps(config))
        content = json.dumps(facts.get("snapshot", snapshot()))
        (folder / "debate_snapshot.json").write_text(content)
        listed.append(
            {
                "case_id": case,
                "case_dir": f"cases/{case}",
                "repeat_number": facts.get("repeat", 1),
            }
        )
        statuses[case] = {
            "attempt_count": facts.get("attempts", 1),
            "last_started_at": facts.get("started"),
        }
    (root / name / "manifest.json").write_text(json.dumps({"cases": listed}))
    (root / name / "status.json").write_text(json.dumps({"cases": statuses}))
    return root / name


def test_rows_say_who_said_what_to_whom(tmp_path: Path) -> None:
    imported = import_llmagora(sweep(tmp_path, {"a": {"attempts": 4}}), "mine")
    rows = imported.transcript
    assert rows.schema == pl.Schema(TRANSCRIPT_SCHEMA)
    assert rows.select(ROW_KEY).is_duplicated().sum() == 0
    assert set(rows["study"]) == {"mine"}
    spoken = rows.filter(form="utterance", channel="public")
    names = ("round", "turn", "agent", "role", "side", "pressed_side", "audience")
    heard = ["participants", "record"]
    alpha = ("alpha", "target", "DO NOT PROMOTE", "PROMOTE", heard)
    beta = ("beta", "partner", "PROMOTE", "PROMOTE", heard)
    assert spoken.select(names).rows() == [
        (1, 1, *alpha),
        (1, 2, *beta),
        (2, 3, *alpha),
        (2, 4, *beta),
    ]
    survey = rows.filter(form="survey", channel="off_record").row(0, named=True)
    assert (survey["text"], survey["audience"]) == ('{"Q1":2,"Q2":-1}', [])
    assert survey["instrument"] in imported.facts["instruments"]
    cell = ("model", "partner", "condition", "kind", "timing", "attempt")
    assert rows.select(cell).unique().rows() == [
        ("lab/model", "lab/model", "alignment-future", "alignment", "future", 4)
    ]
    interviews = rows.filter(form="interview").select("round", "turn", "agent").rows()
    assert interviews == [
        (0, 0, "alpha"),
        (0, 0, "beta"),
        (3, 5, "alpha"),
        (3, 5, "beta"),
    ]


def test_without_a_direction_it_is_baseline_whatever_the_type(tmp_path: Path) -> None:
    config = {"incentive_direction": None, "incentive_type": "historical"}
    rows = import_llmagora(sweep(tmp_path, {"a": {"config": config}}), "x").transcript
    assert set(rows["condition"]) == {"baseline"}
    assert set(rows["timing"]) == {"none"}


def test_receipts_change_nothing(tmp_path: Path) -> None:
    receipt = {"request": {"messages": [{"content": "x" * 500}]}, "response": "PROMOTE"}
    full = {**snapshot(), "llm_receipts": [receipt] * 44}
    lean = sweep(tmp_path / "lean", {"a": {}})
    kept = sweep(tmp_path / "kept", {"a": {"snapshot": full}})
    assert import_llmagora(kept, "x").transcript.equals(
        import_llmagora(lean, "x").transcript
    )


def test_two_cases_of_one_repeat_are_attempts_in_the_order_of_time(
    tmp_path: Path,
) -> None:
    late = {"attempts": 2, "started": "2026-04-02T00:00:00+00:00"}
    early = {"attempts": 3, "started": "2026-04-01T00:00:00+00:00"}
    sweep(tmp_path, {"late": late})
    sweep(tmp_path, {"early": early, "other": {"repeat": 2}}, "sweep_2")
    imported = import_llmagora(tmp_path, "x")
    tries = imported.transcript.filter(repeat=1).select("uuid", "attempt").unique()
    assert dict(tries.rows()) == {"early": 3, "late": 5}
    assert sorted(imported.facts["attempts"].values()) == [1, 5]
    assert imported.transcript["run"].n_unique() == 2


def test_a_debate_that_stopped_early_was_interrupted(tmp_path: Path) -> None:
    short = {"snapshot": snapshot(turns=1), "repeat": 2}
    rows = import_llmagora(sweep(tmp_path, {"a": {}, "b": short}), "x").transcript
    ended = rows.select("repeat", "ended").unique().sort("repeat").rows()
    assert ended == [(1, "completed"), (2, None)]
    assert rows.filter(repeat=2, form="utterance")["turn"].unique().to_list() == [1, 2]
    late = rows.filter(repeat=2, form="interview")["turn"].to_list()
    assert late == [0, 0, 5, 5]


def test_what_did_not_come_back_is_empty_not_absent(tmp_path: Path) -> None:
    odd = snapshot(turns=1, text="  ")
    odd["turns"][0]["Alpha"] = {"public_utterance": None, "private_utterance": "P"}
    odd["turns"][0]["Beta"]["public_survey"] = "no JSON"
    odd["post_interviews"] = None
    given = {"config": {"num_turns": 1}, "snapshot": odd}
    rows = import_llmagora(sweep(tmp_path, {"a": given}), "x").transcript
    found = rows.filter(pl.col("form") != "interview").sort("turn", "form", "channel")
    assert found.select("text", "status").rows() == [
        *[(None, "empty")] * 2,  # alpha's surveys
        *[("P", "ok"), (None, "empty")],
        *[('{"Q1":2,"Q2":-1}', "ok"), ("no JSON", "ok")],
        *[("  ", "empty")] * 2,
    ]
    assert rows.filter(form="interview").height == 2


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def rewrite(content: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    return change


BROKEN: list[tuple[str, Callable[[Path], object], str]] = [
    ("debate_snapshot.json", Path.unlink, "No such file"),
    ("debate_snapshot.json", cut, "truncated"),
    ("debate_snapshot.json", rewrite(""), "truncated"),
    ("debate_snapshot.json", rewrite("[" * 100_000), "snapshot.json"),
    ("debate_snapshot.json", rewrite({"turns": []}), "no turn"),
    ("debate_snapshot.json", rewrite(snapshot(text="\ud800")), "surrogate"),
    ("debate_snapshot.json", rewrite({"turns": [{"turn_num": 1}]}), "Alpha"),
    ("debate_snapshot.json", rewrite(snapshot(turns=3)), "turns are not 1 to 2"),
    ("debate_snapshot.json", lambda p: p.write_bytes(b"\xff\xfe{}"), "snapshot.json"),
    ("config.json", Path.unlink, "No such file"),
    ("config.json", rewrite({"model": "m"}), "scenario_id"),
    (
        "config.json",
        rewrite({"model": "m", "scenario_id": "moon", "num_turns": 2}),
        "unknown scenario 'moon'",
    ),
    (
        "config.json",
        rewrite(
            {
                "model": "m",
                "scenario_id": "promotion_committee",
                "num_turns": 2,
                "incentive_direction": "sideways",
            }
        ),
        "unknown condition 'sideways/None'",
    ),
    (
        "config.json",
        rewrite({"model": "m", "scenario_id": "promotion_committee", "num_turns": 9}),
        "asks for 9 rounds",
    ),
]


@pytest.mark.parametrize(("file", "harm", "line"), BROKEN)
def test_a_broken_case_is_one_line_and_the_rest_is_imported(
    tmp_path: Path, file: str, harm: Callable[[Path], object], line: str
) -> None:
    source = sweep(tmp_path, {"bad": {"repeat": 3}, "a": {}, "b": {"repeat": 2}})
    harm(source / "cases" / "bad" / file)
    imported = import_llmagora(source, "x")
    (fault,) = imported.left_out
    assert fault.startswith("cases/bad")
    assert line in fault
    assert "\n" not in fault
    assert sorted(imported.transcript["repeat"].unique()) == [1, 2]
    assert imported.facts["left_out"] == [fault]


def test_broken_and_foreign_folders_are_named(tmp_path: Path) -> None:
    sweep(tmp_path, {"a": {}})
    broken = sweep(tmp_path, {"b": {}}, "sweep_2")
    (broken / "manifest.json").write_text("{")
    (tmp_path / "holiday").mkdir()
    unlisted = sweep(tmp_path, {"c": {"repeat": 2, "attempts": 9}}, "sweep_3")
    (unlisted / "cases" / "stray").mkdir()
    (unlisted / "status.json").unlink()
    imported = import_llmagora(tmp_path, "x")
    assert [line.split(":")[0] for line in imported.left_out] == [
        "holiday",
        "sweep_2/manifest.json",
        "sweep_3/status.json",
        "sweep_3/cases/stray",
    ]
    assert sorted(imported.facts["attempts"].values()) == [1, 1]


def test_a_source_with_nothing_readable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OffrecordError, match="no such folder"):
        import_llmagora(tmp_path / "absent", "x")
    with pytest.raises(OffrecordError, match="no LLMAgora run"):
        import_llmagora(tmp_path, "x")
    source = sweep(tmp_path, {"a": {}})
    (source / "cases" / "a" / "config.json").unlink()
    with pytest.raises(OffrecordError, match=r"config\.json: No such file"):
        import_llmagora(tmp_path, "x")


def test_nothing_outside_the_source_is_read(tmp_path: Path) -> None:
    outside = sweep(tmp_path / "source-secret", {"secret": {}})
    source = sweep(tmp_path / "source", {"a": {}, "link": {"repeat": 2}})
    linked = source / "cases" / "link" / "debate_snapshot.json"
    linked.unlink()
    linked.symlink_to(outside / "cases" / "secret" / "debate_snapshot.json")
    (source.parent / "other").symlink_to(outside)
    (source.parent / "source_2").mkdir()
    cases = [
        {"case_id": "up", "case_dir": "../../source-secret/sweep_1/cases/secret"},
        {"case_id": "root", "case_dir": str(outside / "cases" / "secret")},
    ]
    manifest = {"cases": [{**case, "repeat_number": 1} for case in cases]}
    (source.parent / "source_2" / "manifest.json").write_text(json.dumps(manifest))
    imported = import_llmagora(source.parent, "x")
    assert set(imported.transcript["uuid"]) == {"a"}
    told = "\n".join(imported.left_out)
    assert told.count("leads out of the source") == 3
    assert "other/manifest.json" in told
    assert len(imported.left_out) == 5  # and the absolute path, and no status


names = st.sampled_from(["turns", "Alpha", "turn_num", "pre_interviews", "response"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(names, values))
def test_no_snapshot_stops_an_import(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    odd = {"repeat": 2, "snapshot": content}
    imported = import_llmagora(sweep(folder, {"a": {}, "odd": odd}), "x")
    kept = set(imported.transcript["uuid"])
    assert ("odd" in kept) != bool(imported.left_out)
