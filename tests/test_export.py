"""Exports: logs that read like live ones and import unchanged, and tidy tables."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai.event import SpanBeginEvent
from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log

from offrecord.cli import main
from offrecord.export.columns import NOT_MEASURED, columns
from offrecord.export.files import export_tables, write_csv
from offrecord.export.logs import export_inspect
from offrecord.export.tables import TABLES, pairs, surveys, turns
from offrecord.measures.measure import measure_study
from offrecord.measures.options import Options
from offrecord.measures.pairs import channel_view
from offrecord.measures.parsed import pairs_of
from offrecord.measures.registry import known_tables
from offrecord.protocol.solver import TURN_SPAN
from offrecord.records import CELL, Cell, OffrecordError
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.planned import INTERRUPTED
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA
from offrecord.transcript.store import write_study_json, write_transcript

ROOT = Path(__file__).parents[1]
CASES = ROOT.parent / "shared" / "cases" / "replies.jsonl"
ARMED = ("=", "+", "-", "@", "\t", "\r")
UNKNOWN = (
    *("transport_retries", "stop_reason", "prompt_hash", "history_hash", "provider"),
    *("model_answered", "settings", "input_tokens", "cached_tokens", "output_tokens"),
    *("started", "seconds", "structured"),
)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A study with damaged, refused, empty and failed replies, and its live logs."""
    out = tmp_path_factory.mktemp("studies") / "live"
    subprocess.run(
        [
            *(sys.executable, "-m", "offrecord", "run", "--model", "simulated/messy"),
            *("--scenario", "promotion", "--condition", "alignment-future"),
            *("--rounds", "2", "--runs", "3", "--factor"),
            *(
                "label_order=stated,reversed",
                "--out",
                str(out),
                "--",
                "--display",
                "none",
            ),
        ],
        check=True,
        capture_output=True,
    )
    study = open_record(out)
    measure_study(study, ["survey", "attribution", "markers"], Options())
    return study


@pytest.fixture(scope="module")
def published(live: Record, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """The same runs as others publish them: no times, no settings, an interview.

    The first run was interrupted at first (attempt 2 of 3; attempt 1 left no trace).
    """
    rows = live.transcript.with_columns(
        *(pl.lit(None, TRANSCRIPT_SCHEMA[name]).alias(name) for name in UNKNOWN),
        model=pl.lit("lab/model: a=b"),
        partner=pl.lit("lab/model: a=b"),
        agent_model=pl.lit("lab/model: a=b"),
    )
    rows = _named_anew(rows)
    first = rows["run"][0]
    again = pl.col("run") == first
    cut = rows.filter(again, pl.col("turn") == 1).with_columns(
        ended=pl.lit(None, pl.String),
        uuid=pl.lit("zzz"),
        attempt=pl.lit(2, pl.Int32),
    )
    asked = cut.head(1).with_columns(
        form=pl.lit("interview"),
        channel=pl.lit("interview"),
        audience=pl.lit([], pl.List(pl.String)),
        round=pl.lit(0, pl.Int32),
        turn=pl.lit(0, pl.Int32),
        instrument=pl.lit(None, pl.String),
    )
    whole = rows.with_columns(
        attempt=pl.when(again).then(pl.lit(3, pl.Int32)).otherwise("attempt")
    )
    out = tmp_path_factory.mktemp("studies") / "published"
    out.mkdir()
    write_transcript(out, pl.concat([cut, asked, whole]))
    attempts = dict.fromkeys(whole["run"].unique(), 1) | {first: 3}
    names = ("rounds", "channels", "instruments", "leaning")
    facts = {name: live.facts[name] for name in names}
    write_study_json(out, {**facts, "study": "published", "attempts": attempts})
    return open_record(out)


def _named_anew(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the run ids of their cells, now that the model is another one."""
    named = [
        Cell.from_row(row).run(row["repeat"]) for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(run=pl.Series(named))


def exported(study: Record, out: Path) -> list[EvalLog]:
    export_inspect(study, out)
    names = sorted(info.name for info in list_eval_logs(str(out)))
    return [read_eval_log(name, resolve_attachments=True) for name in names]


def samples(logs: list[EvalLog]) -> dict[tuple[str, int], EvalSample]:
    return {(str(s.id), s.epoch): s for log in logs for s in log.samples or ()}


@pytest.mark.parametrize("name", ["live", "published"])
def test_an_exported_study_imports_again_unchanged(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    study: Record = request.getfixturevalue(name)
    export_inspect(study, tmp_path / "logs")
    imported = import_inspect(tmp_path / "logs", "back")
    assert imported.left_out == ()
    before = study.transcript.sort(ROW_KEY).drop("study", "log")
    after = imported.transcript.sort(ROW_KEY).drop("study", "log")
    for column in before.columns:
        assert after[column].equals(before[column]), column
    for fact in ("rounds", "channels", "instruments", "leaning", "attempts"):
        assert imported.facts[fact] == study.facts[fact], fact


def test_times_that_nobody_knows_are_not_made_up(
    published: Record, tmp_path: Path
) -> None:
    for sample in samples(exported(published, tmp_path / "logs")).values():
        assert sample.started_at is None
        assert sample.completed_at is None
    back = import_inspect(tmp_path / "logs", "back").transcript
    assert back["started"].null_count() == back.height


def test_exported_samples_read_and_score_like_live_ones(
    live: Record, tmp_path: Path
) -> None:
    logs = [read_eval_log(i.name) for i in list_eval_logs(str(live.path / "logs"))]
    mine = exported(live, tmp_path / "logs")
    assert [log.eval.viewer for log in mine] == [logs[0].eval.viewer]
    assert [log.eval.model for log in mine] == ["simulated/messy"]
    ours, theirs = samples(mine), samples(logs)
    assert ours.keys() == theirs.keys()
    for key, one in theirs.items():
        assert _values(ours[key]) == _values(one)
        assert _spans(ours[key]) == _spans(one)
        roles = [message.role for message in one.messages]
        assert [message.role for message in ours[key].messages] == roles
    assert mine[0].results
    assert logs[0].results
    assert _metrics(mine[0]) == _metrics(logs[0])


def _values(sample: EvalSample) -> dict[str, Any]:
    """Score to value, NaN as text, since it equals nothing."""
    flat: dict[str, Any] = {}
    for name, score in (sample.scores or {}).items():
        parts = score.value if isinstance(score.value, dict) else {name: score.value}
        flat |= {key: str(value) for key, value in parts.items()}
    return flat


def _spans(sample: EvalSample) -> list[tuple[str, str | None]]:
    spans = {e.id: e for e in sample.events if isinstance(e, SpanBeginEvent)}
    return sorted(
        (span.name, spans[span.parent_id].name if span.parent_id else None)
        for span in spans.values()
        if span.type in {TURN_SPAN, "elicitation"}
    )


def _metrics(log: EvalLog) -> dict[str, str]:
    assert log.results
    return {
        f"{score.name} {metric.name}": f"{metric.value:.9f}"
        for score in log.results.scores
        for metric in score.metrics.values()
    }


def test_every_attempt_is_a_sample_and_an_interrupted_one_has_no_score(
    published: Record, tmp_path: Path
) -> None:
    logs = exported(published, tmp_path / "logs")
    assert [log.eval.model for log in logs] == ["lab/model: a=b"] * 2
    tries = [sample for log in logs for sample in log.samples or ()]
    assert len(tries) == published.transcript["run"].n_unique() + 1
    cut = next(sample for sample in tries if sample.uuid == "zzz")
    assert cut.error is not None
    assert cut.metadata["attempt"] == 2
    assert cut.metadata["attempts"] == 3
    assert cut.scores
    assert math.isnan(cut.scores["stance_divergence"].as_float())
    summary = cut.scores["debate_summary"].as_dict()
    assert summary["ended"] == INTERRUPTED
    assert summary["missing"] == 2  # one of each round
    assert math.isnan(float(str(summary["public"])))


def test_only_an_empty_folder_or_an_earlier_export_is_written_to(
    live: Record, tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    with pytest.raises(OffrecordError, match="not empty and not an export"):
        export_inspect(live, taken)
    assert [path.name for path in taken.iterdir()] == ["mine.txt"]
    with pytest.raises(OffrecordError, match="not empty and not an export"):
        export_inspect(live, live.path)

    out = tmp_path / "tables"
    assert len(list(export_tables(live, out, "csv"))) == 4
    with pytest.raises(OffrecordError, match="another kind of export"):
        export_inspect(live, out)
    (out / "notes.txt").write_text("mine")
    list(export_tables(live, out, "csv", ["pairs"]))
    # What this export did not write is gone, what no export wrote stays.
    visible = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert visible == {"pairs.csv", "columns.csv", "notes.txt"}
    told = pl.read_csv(out / "columns.csv")
    head = pl.read_csv(out / "pairs.csv", n_rows=1).columns
    assert told["column"].to_list() == head
    assert told["meaning"].null_count() == 0


def test_pairs_are_those_planned_and_every_missing_value_has_its_reason(
    live: Record, published: Record
) -> None:
    firsts = {
        f"{table.prefix}_reason": f"{table.prefix}_distance"
        if table.row == "item"
        else next(iter(table.exported), "")
        for table in known_tables({})
    }
    for study in (live, published):
        table = pairs(study)
        planned = 6 * 2 * 2  # runs, rounds, agents
        assert table.height == pairs_of(study).height == planned
        missing = table["quadrant"].null_count()
        assert missing > 0
        assert table["quadrant"].count() + missing == table.height
        assert table.select("public", "other", "public_status").equals(
            channel_view(pairs_of(study)).select("public", "other", "public_status")
        )
        for frame in (table, turns(study), surveys(study)):
            reasons = [c for c in frame.columns if c.endswith("_reason")]
            for name in reasons:
                if name == "stop_reason":
                    continue
                side = re.match("public_|other_|", name)
                assert side is not None
                value = side[0] + firsts[name.removeprefix(side[0])]
                wrong = frame.filter(
                    pl.col(value).is_null() != pl.col(name).is_not_null()
                )
                assert wrong.is_empty(), name
    assert set(pairs(live)["similarity_reason"]) == {NOT_MEASURED}
    assert set(pairs(live)["factor_label_order"]) == {"stated", "reversed"}


def test_a_quadrant_says_which_stances_are_on_the_pressed_side(live: Record) -> None:
    table = pairs(live)
    sides = {"both": (True, True), "public_only": (True, False)} | {
        "other_only": (False, True),
        "neither": (False, False),
    }
    for quadrant, public, other in table.select("quadrant", "public", "other").rows():
        if quadrant is not None:
            assert sides[quadrant] == (public, other)
        else:
            assert None in (public, other)


def test_surveys_have_one_row_an_item(live: Record) -> None:
    table = surveys(live)
    asked = live.transcript.filter(form="survey").height
    assert table.height == asked * 15
    assert table["answer"].null_count() > 0
    wrong = table.filter(pl.col("answer").is_null() != pl.col("reason").is_not_null())
    assert wrong.is_empty()
    assert table.filter(item="Q2")["reverse"].unique().to_list() == [True]
    assert table.select("low", "high").unique().rows() == [(1, 5)]


def test_files_hold_the_tables(live: Record, tmp_path: Path) -> None:
    for kind in ("parquet", "jsonl", "csv"):
        files = list(export_tables(live, tmp_path / kind, kind))
        assert [file.path.name for file in files] == [
            *(f"{name}.{kind}" for name in ("turns", "pairs", "surveys")),
            "columns.csv",
        ]
    for name, table in (("turns", turns), ("pairs", pairs), ("surveys", surveys)):
        frame = table(live)
        path = tmp_path / "parquet" / f"{name}.parquet"
        assert pl.read_parquet(path).equals(frame)
        lines = (tmp_path / "jsonl" / f"{name}.jsonl").read_text("utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        plain = frame.drop("started", strict=False)
        for row in rows:
            row.pop("started", None)
        assert rows == plain.to_dicts()
        with (tmp_path / "csv" / f"{name}.csv").open(encoding="utf-8", newline="") as f:
            cells = list(csv.DictReader(f))
        assert len(cells) == frame.height
        assert list(cells[0]) == frame.columns
    repairs = [
        json.loads(row["survey_repairs"])
        for row in cells
        if row["reply_status"] == "ok"
    ]
    assert all(isinstance(entry, list) for entry in repairs)
    unanswered = [row for row in cells if not row["answer"]]
    assert unanswered
    assert all(row["reason"] for row in unanswered)


def test_no_text_becomes_a_formula_and_no_number_becomes_text(tmp_path: Path) -> None:
    if not CASES.is_file():
        pytest.skip("no ../shared/cases here")
    lines = CASES.read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    texts = [c["input"] for c in cases if c["kind"] == "report_injection"]
    texts += ["=1+1", "+1", "-1", "@x", "\t=1", "plain", "", "'quoted"]
    table = pl.DataFrame(
        {
            "text": texts,
            "list": [[text] for text in texts],
            "number": [-1.5] * len(texts),
            "=HYPERLINK(1)": texts,
        }
    )
    path = tmp_path / "table.csv"
    write_csv(table, path)
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file))
    assert head == ["text", "list", "number", "'=HYPERLINK(1)"]
    assert len(rows) == len(texts)
    for row, text in zip(rows, texts, strict=True):
        for cell in (row[0], row[1], row[3]):
            assert not cell.startswith(ARMED)
            assert not cell.lstrip("\u200b\ufeff ").startswith(ARMED)
        assert row[0] in {text, f"'{text}"}
        assert row[2] == "-1.5"
    for case in cases:
        banned = (
            (case.get("expected") or {}) if case["kind"] == "report_injection" else {}
        )
        for start in banned.get("csv_cell_must_not_start_with", ()):
            assert not rows[texts.index(case["input"])][0].startswith(start)
    pl.DataFrame(table).write_parquet(tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet")["text"].to_list() == texts


def test_the_data_dictionary_has_every_column_with_its_type() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for name in TABLES:
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| `")]
        rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
        stated = [(column.strip("`"), kind) for column, kind, _, _ in rows]
        declared = columns(name, known_tables({}))
        assert stated == [(one.name, _kind(one.type)) for one in declared]
        assert all(meaning for *_, meaning in rows)
        numeric = [r for r in rows if r[1] in {"integer", "number", "time"}]
        assert all(unit for _, _, unit, _ in numeric)


def test_every_table_has_the_whole_cell() -> None:
    for name in TABLES:
        exported = [one.name for one in columns(name, []) if one.name in CELL]
        assert exported == list(CELL)


def _kind(kind: pl.DataType | type[pl.DataType]) -> str:
    if isinstance(kind, pl.List):
        return "list of texts"
    if isinstance(kind, pl.Datetime):
        return "time"
    if kind == pl.String:
        return "text"
    if kind == pl.Boolean:
        return "true/false"
    return "number" if kind == pl.Float64 else "integer"


def test_the_command_says_what_it_wrote_and_what_is_wrong(
    live: Record, tmp_path: Path
) -> None:
    def export(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "offrecord", "export", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = export("inspect", str(live.path), "--out", str(tmp_path / "logs"))
    assert done.returncode == 0, done.stderr
    assert "1 logs, 6 runs, 6 attempts" in done.stdout
    refused = export(
        *("inspect", str(live.path), "--table", "pairs", "--out", str(tmp_path / "x"))
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "logs are not tables" in refused.stderr
    assert not (tmp_path / "x").exists()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


def _unsound(path: Path) -> None:
    pl.read_parquet(path).with_columns(kind=pl.lit("huge")).write_parquet(path)


def _led_away(path: Path) -> None:
    path.rename(path.parents[1] / "other.parquet")
    path.symlink_to(path.parents[1] / "other.parquet")


@pytest.mark.parametrize("damage", [_cut, _unsound, _led_away, Path.unlink])
@pytest.mark.parametrize("kind", ["inspect", "csv"])
def test_a_damaged_record_is_one_line_and_nothing_is_written(
    live: Record,
    tmp_path: Path,
    kind: str,
    damage: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, out = tmp_path / "study", tmp_path / "out"
    shutil.copytree(live.path, study)
    damage(study / "transcripts.parquet")
    words = ["offrecord", "export", kind, str(study), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("offrecord: ")
    assert "transcripts.parquet: " in said
    assert said.count("\n") == 1
    assert not out.exists()
