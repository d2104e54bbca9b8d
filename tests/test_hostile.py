"""Files from strangers: every one is read in bounds, or refused in one clear line."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from offrecord.audit.gate import read_gate
from offrecord.content import read_document
from offrecord.content.boundary.yaml import read_yaml
from offrecord.content.library import new
from offrecord.protocol.cases import Case, cases
from offrecord.protocol.channel import find_channel
from offrecord.protocol.design import make_design, read_design
from offrecord.protocol.prompts import find_protocol
from offrecord.records import OffrecordError
from offrecord.runner.logs import refuse_lost_logs
from offrecord.runner.prices import read_prices
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.load import load_scenario
from offrecord.transcript.facts import FORMAT
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.store import (
    read_json,
    read_study_json,
    read_table,
    read_transcript,
    write_study_json,
    write_table,
    write_transcript,
)
from tests.test_llmagora import snapshot, sweep
from tests.test_tables import FACTS, both, transcript

YAML_READERS: dict[str, Callable[[Path], object]] = {
    "content": read_document,
    "study.yaml": read_design,
    "gate.yaml": lambda path: read_gate(path, {}),
    "prices": read_prices,
    "protocol": lambda path: find_protocol(str(path)),
    "channel": lambda path: find_channel(str(path), path.parent),
}
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def yaml_file(folder: Path, reader: str, text: str) -> Path:
    """A file of the kind that a reader takes."""
    if reader in {"protocol", "channel"}:
        path = folder / "file.md"
        path.write_text(f"---\n{text}\n---\n## public\nx\n")
    else:
        path = folder / "file.yaml"
        path.write_text(text)
    return path


@pytest.mark.parametrize("reader", YAML_READERS)
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("runs: 3\nruns: 4", "'runs' stands twice"),
        ('{runs: 3, "runs": 4}', "'runs' stands twice"),
        ("deep: {1: a, +1: b}", "'1' stands twice"),
        (LAUGHS, "alias"),
        ("a: &a [*a]", "alias"),
        ("a: !!python/object/apply:os.system ['touch ran']", "constructor"),
        ("a: !!python/name:os.system", "constructor"),
        ("a: " + "[" * 2000, "more than 50 levels"),
        ("a: " + "9" * 9000, "YAML"),
        ("a: [", "YAML"),
    ],
)
def test_yaml_executes_nothing_and_says_each_thing_once(
    reader: str, text: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OffrecordError) as caught:
        YAML_READERS[reader](yaml_file(tmp_path, reader, text))
    assert named in str(caught.value)
    assert "file." in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "read", [read_design, read_document, read_yaml, read_json, read_table]
)
def test_a_pipe_or_a_device_hangs_no_reader(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    pipe = tmp_path / "study.yaml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(OffrecordError, match=r"not a plain file|s a directory"):
            read(path)


def study(folder: Path, **facts: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_study_json(folder, {**FACTS, **facts})
    write_transcript(folder, transcript(both("a")))
    return folder


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"rounds": 10**9}, "rounds"),
        ({"rounds": "5"}, "rounds"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"channels": []}, "channels"),
        ({"channels": "public"}, "channels"),
        ({"channels": [1]}, "channels.0"),
        ({"channels": ["c"] * 5000}, "channels"),
        ({"attempts": {"a": 1.5}}, "attempts.a"),
        ({"attempts": [1]}, "attempts"),
        ({"attempts": {"a": 10**12}}, "attempts.a"),
        ({"instruments": {"i": {"items": ["x"]}}}, "instruments.i.low"),
        ({"instruments": {"i": {"items": 3, "low": 1, "high": 2}}}, "items"),
        ({"instruments": {"i": {"items": [], "low": 0, "high": 10**9}}}, "high"),
        ({"content": [["a", "b"]]}, "content"),
        ({"versions": {"offrecord": None}}, "versions.offrecord"),
        ({"leaning": 3}, "leaning"),
        ({"left_out": {"a": 1}}, "left_out"),
        ({"measured": "yes"}, "measured"),
        ({"shadows": 10**6}, "shadows"),
    ],
)
def test_damaged_facts_are_named_by_their_field(
    facts: dict[str, Any], field: str, tmp_path: Path
) -> None:
    folder = study(tmp_path / "s")
    (folder / "study.json").write_text(json.dumps({"format": FORMAT, **FACTS, **facts}))
    with pytest.raises(OffrecordError, match=rf"study\.json: field '[^']*{field}"):
        _ = open_record(folder).facts


@pytest.mark.parametrize(
    "text", ['{"rounds": NaN}', '{"a": Infinity}', "[]", "[" * 10**5, "", "\xff", "{"]
)
def test_what_is_no_json_object_is_one_line(text: str, tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    (folder / "study.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(OffrecordError, match=r"study\.json: not (a )?JSON"):
        read_study_json(folder)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"status": pl.lit("fine")}, "status"),
        ({"form": pl.lit("essay")}, "form"),
        ({"ended": pl.lit("soon")}, "ended"),
        ({"round": pl.lit(10**6)}, "round"),
        ({"turn": pl.lit(-3)}, "turn"),
        ({"draw": pl.lit(None)}, "draw"),
        ({"run": pl.lit(None)}, "run"),
        ({"seconds": pl.lit(float("nan"))}, "seconds"),
        ({"output_tokens": pl.lit(-1)}, "output_tokens"),
        ({"factors": pl.lit("[1]")}, "factors"),
        ({"factors": pl.lit('{"a b": "x"}')}, "factors"),
        ({"model": pl.lit("m" * 301)}, "model"),
        ({"round": pl.lit("one")}, "conversion"),
        ({"labels": pl.lit(3)}, ""),
        ({"text": pl.lit("x" * 30_000_000)}, "text"),
    ],
)
def test_a_table_that_no_study_has_is_one_line(
    changed: dict[str, pl.Expr], named: str, tmp_path: Path
) -> None:
    folder = study(tmp_path / "s")
    raw = transcript(both("a")).with_columns(**changed)
    raw.write_parquet(folder / "transcripts.parquet")
    with pytest.raises(OffrecordError) as caught:
        read_transcript(folder)
    assert "transcripts.parquet: " in str(caught.value)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_of_more_rows_than_bytes_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "transcripts.parquet"
    columns: dict[str, pl.Expr] = {
        name: pl.lit(None, dtype=kind) for name, kind in TRANSCRIPT_SCHEMA.items()
    }
    columns["run"] = pl.when(pl.col("x") == 0).then(pl.lit("a"))
    many = pl.DataFrame({"x": pl.repeat(0, 20_000_000, dtype=pl.UInt8, eager=True)})
    many.select(**columns).write_parquet(
        path, compression="zstd", row_group_size=20_000_000
    )
    assert path.stat().st_size < 20_000_000 / 16
    with pytest.raises(OffrecordError, match=r"20,000,000 rows in [\d,]+ bytes"):
        read_transcript(tmp_path)


def test_columns_of_strangers_are_not_looked_at(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    raw = transcript(both("a"))
    odd = raw.with_columns(evil=pl.lit("=1+1"), **{"__proto__": pl.lit(1)})
    odd.write_parquet(folder / "transcripts.parquet")
    assert read_transcript(folder).equals(raw)


@pytest.mark.parametrize("name", ["transcripts.parquet", "study.json", "measures"])
def test_a_link_that_leaves_a_study_is_followed_neither_way(
    name: str, tmp_path: Path
) -> None:
    folder, elsewhere = study(tmp_path / "s"), study(tmp_path / "elsewhere")
    (elsewhere / "measures").mkdir()
    write_table(elsewhere / "measures" / "x.parquet", pl.DataFrame({"x": [1]}))
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(elsewhere / name)
    held = (elsewhere / "transcripts.parquet").read_bytes()
    table = folder / "measures" / "x.parquet"
    readers: dict[str, Callable[[], object]] = {
        "transcripts.parquet": lambda: read_transcript(folder),
        "study.json": lambda: read_study_json(folder),
        "measures": lambda: read_table(table),
    }
    writers: dict[str, Callable[[], object]] = {
        "transcripts.parquet": lambda: write_transcript(folder, transcript([])),
        "study.json": lambda: write_study_json(folder, {}),
        "measures": lambda: write_table(table.with_name("y.parquet"), pl.DataFrame()),
    }
    for call in (readers[name], writers[name]):
        with pytest.raises(OffrecordError, match="a link that leaves the study"):
            call()
    assert (elsewhere / "transcripts.parquet").read_bytes() == held
    assert not (elsewhere / "measures" / "y.parquet").exists()


def test_logs_that_are_a_link_out_of_the_study_are_refused(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    (tmp_path / "elsewhere").mkdir()
    (folder / "logs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OffrecordError, match="logs: a link that leaves the study"):
        refuse_lost_logs(folder)


def log_of(members: dict[str, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def zipped(data: bytes) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("word/document.xml", data)
    return kept.getvalue()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (
            lambda path: log_of(
                {"header.json": b"{}", "samples/a.json": b" " * 150_000_000}, path
            ),
            "would unpack to 150,000,000 bytes",
        ),
        (
            lambda path: log_of({"header.json": b"{}", "../../out.json": b"x"}, path),
            "which no Inspect log does",
        ),
        (
            lambda path: log_of({"header.json": b"{}", "/etc/passwd": b"x"}, path),
            "which no Inspect log does",
        ),
        (lambda path: path.write_bytes(zipped(b"<x/>")), "which no Inspect log does"),
        (lambda path: log_of({}, path), "no Inspect log"),
        (lambda path: path.write_bytes(b"PK\x03\x04 cut off"), "not a whole archive"),
        (lambda path: path.write_bytes(b""), "not a whole archive"),
        (lambda path: log_of({"header.json": b"{}"}, path), "cannot be read"),
        (lambda path: log_of({"header.json": b"["}, path), "cannot be read"),
    ],
)
def test_archives_other_than_logs_are_not_unpacked(
    make: Callable[[Path], object], named: str, tmp_path: Path
) -> None:
    make(tmp_path / "2026-01-01T00-00-00_debate_x.eval")
    with pytest.raises(OffrecordError) as caught:
        import_inspect(tmp_path, "s")
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_link_or_a_pipe_among_logs_is_named_and_not_read(tmp_path: Path) -> None:
    logs, outside = tmp_path / "logs", tmp_path / "outside.eval"
    logs.mkdir()
    log_of({"header.json": b"{}"}, outside)
    log = logs / "2026-01-01T00-00-00_debate_x.eval"
    log.symlink_to(outside)
    with pytest.raises(OffrecordError, match="a link, not followed"):
        import_inspect(logs, "s")
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(OffrecordError, match="not a plain file"):
        import_inspect(logs, "s")


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"model": ""}, "length >= 1"),
        ({"model": "m" * 301}, "length <= 300"),
        ({"model": None}, "Expected `str`"),
        ({"num_turns": 10**5}, "<= 1000"),
        ({"num_turns": 2.5}, "Expected `int`"),
        ({"scenario_id": "../../etc"}, "unknown scenario"),
    ],
)
def test_a_published_case_that_no_run_has_is_left_out(
    config: dict[str, Any], named: str, tmp_path: Path
) -> None:
    sweep(tmp_path, {"good": {}, "bad": {"config": config, "repeat": 2}})
    imported = import_llmagora(tmp_path, "s")
    [line] = imported.left_out
    assert "bad" in line
    assert named in line
    assert imported.transcript["uuid"].unique().to_list() == ["good"]


@pytest.mark.parametrize(
    ("folder", "named"),
    [
        ("../../outside", "leads out of the source folder"),
        ("cases/a\0b", "no name of a file|null byte"),
        ("cases/" + "x" * 290, "No such file|File name too long|no such"),
        ("", "length >= 1"),
    ],
)
def test_a_case_folder_leads_nowhere_else(
    folder: str, named: str, tmp_path: Path
) -> None:
    root = sweep(tmp_path, {"good": {}})
    outside = tmp_path.parent / "outside"
    outside.mkdir(exist_ok=True)
    manifest = json.loads((root / "manifest.json").read_text())
    manifest["cases"].append({**manifest["cases"][0], "case_dir": folder})
    (root / "manifest.json").write_text(json.dumps(manifest))
    if folder:
        left_out = import_llmagora(tmp_path, "s").left_out
        assert len(left_out) == 1
        text = left_out[0]
    else:
        with pytest.raises(OffrecordError) as caught:
            import_llmagora(tmp_path, "s")
        text = str(caught.value)
    assert any(one in text for one in named.split("|")), text


def test_links_and_pipes_in_a_sweep_are_not_read(tmp_path: Path) -> None:
    root = sweep(tmp_path, {"good": {}, "bad": {"repeat": 2}, "odd": {"repeat": 3}})
    outside = tmp_path.parent / f"{tmp_path.name}.json"
    outside.write_text(json.dumps(snapshot()))
    for case in ("bad", "odd"):
        (root / "cases" / case / "debate_snapshot.json").unlink()
    (root / "cases/bad/debate_snapshot.json").symlink_to(outside)
    os.mkfifo(root / "cases/odd/debate_snapshot.json")
    left_out = " ".join(import_llmagora(tmp_path, "s").left_out)
    assert "leads out of the source folder" in left_out
    assert "not a plain file" in left_out


def test_a_survey_of_any_depth_is_kept_as_it_stands(tmp_path: Path) -> None:
    root = sweep(tmp_path, {"good": {}})
    path = root / "cases" / "good" / "debate_snapshot.json"
    deep = "[" * 900 + "]" * 900
    text = path.read_text().replace(
        '"public_survey": ', f'"public_survey": {deep}, "_": ', 1
    )
    path.write_text(text)
    imported = import_llmagora(tmp_path, "s")
    assert imported.left_out or deep in imported.transcript["text"].to_list()


@pytest.mark.parametrize(
    "name", ["a\0b", "a\nb", "\x1b]0;x\x07", "m" * 301, "\u202egpt", "\x85", " "]
)
@pytest.mark.parametrize("field", ["models", "scenarios", "conditions", "channels"])
def test_a_name_that_hides_or_steers_is_refused_before_the_first_call(
    field: str, name: str
) -> None:
    with pytest.raises(OffrecordError, match=f"field '{field}"):
        make_design({field: (name,)})


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "CON", "a/../b", "ｐromotion"]
)
def test_a_scenario_is_a_known_name_or_a_folder_of_one(name: str) -> None:
    with pytest.raises(OffrecordError, match="scenario"):
        cases(make_design({"scenarios": (name,)}))


@pytest.mark.parametrize(
    "fields",
    [
        {"roles": {"partner": "a\x1b]0;x\x07"}},
        {"factors": {"site": ["a\nb"]}},
        {"factors": {"si\u202ete": ["a"]}},
        {"factors": {"site": ["m" * 301]}},
        {"protocol": "twin\0"},
        {"contrasts": ["a:\x9bb"]},
    ],
)
def test_no_field_of_a_design_hides_or_steers(fields: dict[str, Any]) -> None:
    with pytest.raises(OffrecordError, match="control character"):
        make_design(fields)


def test_a_case_is_named_by_no_path() -> None:
    named = Case(
        scenario="/somewhere/../else/mine",
        condition="baseline",
        factors={"arm": "/a/b/../note.md"},
    )
    assert named.id == "mine_baseline_arm-note"


def scenario(folder: Path, labels: str) -> Path:
    """The skeleton of a scenario with other labels."""
    new("scenario", folder)
    head = folder / "scenario.md"
    lines = head.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("labels:"))
    end = at + 1
    while lines[end].startswith((" ", "-")):
        end += 1
    head.write_text("\n".join([*lines[:at], f"labels: {labels}", *lines[end:]]))
    return folder


@pytest.mark.parametrize(
    "label", ["(A)", "A) GO", "<GO>", '"GO"', "GO!", "GO: NOW", "`GO`", "GO - NOW", "*"]
)
def test_the_check_refuses_labels_that_no_parser_reads_back(
    label: str, tmp_path: Path
) -> None:
    folder = scenario(tmp_path / "mine", f"[{json.dumps(label)}, STAY]")
    assert any("field 'labels'" in line for line in check_folder(folder).faults)
    with pytest.raises(OffrecordError):
        load_scenario(str(folder))


def test_every_test_that_the_security_page_names_exists() -> None:
    root = Path(__file__).parents[1]
    page = (root / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    defined = {
        name
        for path in sorted((root / "tests").glob("test_*.py"))
        for name in re.findall(
            r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE
        )
    }
    assert len(named) > 40
    assert named <= defined, sorted(named - defined)
    tables = [line for line in page.splitlines() if line.startswith("| ")]
    promises = [line for line in tables if line.count("|") == 3]
    unheld = [line for line in promises if "`test_" not in line]
    assert set(unheld) == {"| promise | test |"}
