"""`offrecord measure`: nothing is lost, and what is not measured is said."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from inspect_ai.log import read_eval_log

from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.estimator import Wanted
from offrecord.estimates.estimators import FLOOR, MEASURES, RATES
from offrecord.estimates.study import estimate_study
from offrecord.measures.measure import measure_study
from offrecord.measures.options import Options
from offrecord.measures.pairings import PAIR_KEY, pair_rows
from offrecord.measures.parsed import pairs_of, stances_of, surveys_of
from offrecord.measures.registry import our_measures
from offrecord.records import OffrecordError
from offrecord.report.gather import gather
from offrecord.report.write import banners
from offrecord.transcript.record import open_record
from tests.test_inspect import offrecord, run_small


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with damaged, missing and empty texts."""
    out = tmp_path_factory.mktemp("measuring") / "messy"
    run_small(
        *(out, "--model", "simulated/messy", "--condition", "alignment-future"),
        *("--runs", "6"),
    )
    return out


def test_a_judge_that_cannot_be_opened_ends_with_2(messy: Path) -> None:
    done = offrecord("measure", str(messy), "--judge", "nowhere/x", code=2)
    assert "not measured: judge nowhere/x: " in done.stderr
    assert "hedges" in done.stdout or "markers" in done.stdout  # the others are taken


def test_damaged_and_missing_texts_are_counted_and_none_is_lost(messy: Path) -> None:
    study = open_record(messy)
    before = study.transcript
    done = measure_study(
        study, ["stance", "survey", "attribution", "markers"], Options()
    )
    assert all(entry.measured for entry in done)
    utterances = before.filter(form="utterance")
    assert (utterances["status"] != "ok").any()  # the study is messy indeed
    lexical = pl.read_parquet(messy / "measures/attribution-lexical.parquet")
    said = lexical.filter(source="text")
    assert said.height == utterances.height
    assert (said["code"].is_null() == ~said["status"].is_in(["ok", "truncated"])).all()
    markers = pl.read_parquet(messy / "measures/markers.parquet")
    assert markers.height == utterances.height
    gaps = pl.read_parquet(messy / "measures/survey-items.parquet")
    planned = 12 * 4 * 15  # runs, turns, items
    assert gaps.height == planned
    assert 0 < gaps["gap"].null_count() < planned
    silent = gaps.filter(pl.col("gap").is_null())
    why = silent.select(pl.coalesce("public_reason", "other_reason")).to_series()
    assert why.null_count() == 0
    assert open_record(messy).transcript.equals(before)


def test_a_measure_named_twice_is_taken_once_and_none_is_no_measure(
    messy: Path,
) -> None:
    done = offrecord("measure", str(messy), "--measures", "markers,markers")
    assert done.stdout.count("markers of") == 1
    blank = offrecord("measure", str(messy), "--measures", "", code=2)
    assert "name at least one" in blank.stderr


def test_what_cannot_be_measured_is_said_and_the_rest_is(messy: Path) -> None:
    done = offrecord(
        *("measure", str(messy), "--measures", "entailment,markers"),
        *("--nli", str(messy / "no-such-model")),
    )
    assert "markers of" in done.stdout
    assert done.stderr.startswith("entailment   not measured: ")
    assert done.stderr.count("\n") == 1
    stated = open_record(messy).facts["measured"]
    assert stated["entailment"]["measured"] is False
    assert stated["markers"]["measured"] is True
    table = pl.read_parquet(messy / "measures/entailment.parquet")
    assert table.height == 12 * 4
    assert table["reason"].str.starts_with("not measured").all()


def test_a_parse_that_lost_or_doubled_rows_is_made_anew(
    messy: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    shutil.copytree(messy, study)
    whole = open_record(study)
    parsed = {"stances": stances_of(whole), "surveys": surveys_of(whole)}
    for name, table in parsed.items():
        for broken in (pl.concat([table, table]), table.head(20), table.reverse()):
            broken.write_parquet(study / f"measures/{name}.parquet")
            again = open_record(study)
            made = {"stances": stances_of(again), "surveys": surveys_of(again)}
            assert made[name].equals(table)


@pytest.mark.parametrize("file", ["attribution-lexical", "markers", "survey-items"])
def test_a_measure_that_stands_twice_is_refused(
    file: str, messy: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study"
    shutil.copytree(messy, study)
    measure_study(open_record(study), ["survey", "attribution", "markers"], Options())
    path = study / f"measures/{file}.parquet"
    table = pl.read_parquet(path)
    pl.concat([table, table.tail(1)]).write_parquet(path)
    for words in (("estimate", str(study)), ("export", "csv", str(study), "--out")):
        out = [str(tmp_path / "out")] if words[0] == "export" else []
        done = offrecord(*words, *out, code=2)
        assert "two rows for one value; measure it again" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not list(tmp_path.glob("out/*.csv"))


def test_turns_that_never_came_are_missing_answers_too(messy: Path) -> None:
    study = open_record(messy)
    measure_study(study, ["survey", "markers"], Options())
    gaps = pl.read_parquet(messy / "measures/survey-items.parquet")
    rows = estimate_study(study, Wanted(views=False)).of(MEASURES)
    found = [r for r in rows if r["quantity"] == "answer" and r["estimate"] == "gap"]
    missing = gaps.filter(pl.col("gap").is_null())
    # Some of these turns have no row in the record, as their run ended before them.
    kept = study.transcript.filter(form="survey").select("run", "agent", "turn")
    on = ["run", "agent", "turn"]
    assert missing.join(kept, on=on, how="anti").height > 0
    assert sum(row["missing"] for row in found) == missing.height
    assert sum(row["turns"] + row["missing"] for row in found) == gaps.height
    # Those that count: answers of both channels, by hand for one item and agent.
    key = {"item": "Q1", "agent": "alpha", "kind": "alignment"}
    [one] = [row for row in found if key.items() <= row.items()]
    kinds = pairs_of(study).select("run", "kind").unique()
    values = gaps.join(kinds, on="run").filter(**key)["gap"]
    assert one["turns"] == values.count()
    assert one["value"] == pytest.approx(values.mean())
    # And of one category, whose gap is over the items answered in both channels.
    [one] = [
        row
        for row in rows
        if row["quantity"] == "category"
        and row["estimate"] == "gap"
        and (row["category"], row["keying"]) == ("evaluative", "keyed")
        and {"agent": "alpha", "kind": "alignment"}.items() <= row.items()
    ]
    gaps = pl.read_parquet(messy / "measures/survey-categories.parquet")
    where = {"category": "evaluative", "agent": "alpha", "kind": "alignment"}
    values = gaps.join(kinds, on="run").filter(**where)["gap"]
    assert (one["turns"], one["missing"]) == (values.count(), values.null_count())
    assert one["value"] == pytest.approx(values.mean())


def test_what_shows_awareness_is_left_out_of_all_that_is_estimated(
    messy: Path,
) -> None:
    study = open_record(messy)
    measure_study(study, ["survey", "awareness", "attribution"], Options())
    without = Wanted(without_aware=True)
    whole, part = (estimate_study(study, w) for w in (Wanted(), without))
    left_out = part.head.pairs_left_out
    assert left_out > 0
    # 15 items were asked at each turn, and each gap row has its planned turns.
    planned = [
        sum(
            r["turns"] + r["missing"]
            for r in of.of(MEASURES)
            if r["quantity"] == "answer" and r["estimate"] == "gap"
        )
        for of in (whole, part)
    ]
    assert planned[0] - planned[1] == 15 * left_out
    assert plain(part.of(FLOOR)) != plain(whole.of(FLOOR))
    for rows in (part.of(RATES), part.view("kinds", RATES)):
        both = sum(row["turns"] + row["missing"] for row in rows)
        assert both == pairs_of(study).height - left_out
    found = gather(study, part, None)
    assert any(f"{left_out} pairs" in told for told in banners(found))


def test_similarities_become_means_with_the_run_as_cluster(messy: Path) -> None:
    study = open_record(messy)
    pairs = pair_rows(study.transcript, "channels", study.facts)
    table = pairs.select(
        *PAIR_KEY,
        cosine=pl.when(pl.col("left_turn") <= 2).then(0.25).otherwise(0.75),
        variant=pl.lit("clean"),
        model=pl.lit("by hand"),
    )
    path = messy / "measures" / "similarity.parquet"
    table.write_parquet(path)
    for by in ("model", "kind", "round"):
        offrecord("estimate", str(messy), "--by", by)
        rows = json.loads((messy / "estimates.json").read_text())["measures"]
        held = [
            r for r in rows if r["quantity"] == "cosine" and r["estimate"] == "level"
        ]
        # Turns 1 and 2 are round 1 of both agents, 3 and 4 round 2.
        assert held
        assert all(abs(row["value"] - 0.5) < 1e-12 for row in held)
        assert all(row["rater"] == "by hand" for row in held)
    path.unlink()


def test_a_log_is_scored_again_by_a_measure(messy: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.eval"
    log.write_bytes(next((messy / "logs").glob("*.eval")).read_bytes())
    subprocess.run(
        [
            *(sys.executable, "-m", "inspect_ai", "score", str(log), "--overwrite"),
            *("--scorer", "offrecord/markers", "--action", "append"),
        ],
        check=True,
        capture_output=True,
    )
    scored = read_eval_log(str(log))
    assert scored.results
    names = {score.name for score in scored.results.scores}
    assert {"stance_divergence", "survey_gap", "hedges_per_100_public"} <= names


def test_unknown_names_are_refused(messy: Path) -> None:
    study = open_record(messy)
    with pytest.raises(OffrecordError, match="no measure 'mood': use any of stance"):
        measure_study(study, ["mood"], Options())
    with pytest.raises(OffrecordError, match="no pairing 'x': use any of channels"):
        measure_study(study, ["stance"], Options(pairings=("x",)))
    assert list(our_measures()) == [
        *("stance", "survey", "similarity", "entailment", "attribution", "markers"),
        *("awareness", "length"),
    ]
