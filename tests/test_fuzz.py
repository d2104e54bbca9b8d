"""Any text and any bytes: parsers answer within their bounds, loaders say one line.

What a stranger can send is thrown at every reader. `benchmarks/fuzz.py` goes on with
the same properties for as long as it is let, guided by the code that it reaches.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console

from offrecord import parse_stance, parse_survey
from offrecord.audit.gate import read_gate
from offrecord.content import read_document
from offrecord.content.boundary.secrets import redacted
from offrecord.content.boundary.shown import escaped
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.parsed import pairs_of, parse
from offrecord.protocol.design import read_design
from offrecord.records import OffrecordError, Status
from offrecord.report.terminal import print_summary
from offrecord.report.write import Report, report_study
from offrecord.runner.prices import read_prices
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.front import ScenarioFront
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import open_record
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.store import read_study_json
from tests.test_estimates import pair, pairs
from tests.test_llmagora import sweep
from tests.test_report import moved, small

FUZZED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LABELS = ("SIGN", "DO NOT SIGN")
ITEMS = ("a1", "a2", "b1")
ANY = st.text(st.characters(codec=None), max_size=300)
WORDS = st.sampled_from(
    [
        *("SIGN", "DO NOT SIGN", "sign", "NOT", "stance:", "final", "<think>", "\n"),
        *("</think>", "```", "{", "}", "[", "]", '"', ":", ",", "a1", "a2", "b1"),
        *("1", "7", "-3", "1e9", "1e999", "NaN", "null", "true", "3.0", "５", "\0"),
        *("\u202e", "\ud800", "~~", ">", "|", "I said", "they say", "- ", "'", "**"),
        *("analysis", "assistantfinal", "```thinking", "<|channel|>final<|message|>"),
    ]
)
REPLY = st.lists(WORDS | ANY, max_size=25).map(" ".join) | st.lists(
    WORDS, max_size=40
).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(ANY | st.sampled_from(["rounds", "cases"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@FUZZED
@given(REPLY)
def test_a_stance_is_one_of_the_labels_or_none(text: str) -> None:
    found = parse_stance(text, LABELS)
    assert found.label in {*LABELS, None}
    assert (found.label is not None) == (found.status in {Status.OK, Status.REPAIRED})
    assert bool(found.repairs) == (found.status is Status.REPAIRED)
    if found.label is not None:  # what was repaired is read the same without repair
        again = parse_stance(f"{found.label} - so.", LABELS)
        assert (again.label, again.status) == (found.label, Status.OK)


@FUZZED
@given(REPLY | JSON.map(json.dumps))
def test_survey_answers_are_points_of_the_scale_or_none(text: str) -> None:
    found = parse_survey(text, ITEMS, 1, 7)
    assert set(found.answers) == set(ITEMS)
    given_ = {item: a for item, a in found.answers.items() if a is not None}
    assert all(type(a) is int and 1 <= a <= 7 for a in given_.values())
    if found.status in {Status.OK, Status.REPAIRED}:
        again = parse_survey(json.dumps(given_), ITEMS, 1, 7)
        assert dict(again.answers) == dict(found.answers)


LABEL = st.lists(
    st.text(min_size=1, max_size=10)
    | st.sampled_from(
        [
            *("STANCE", "NOT", "DO", "I", "A", "FINAL", "Alpha", "User", "NO"),
            *("DON'T", "N/A", "1", "MAYBE"),
        ]
    ),
    min_size=1,
    max_size=4,
).map(" ".join)


@settings(FUZZED, max_examples=400)
@given(LABEL, LABEL)
def test_what_the_check_accepts_the_parser_reads_back(one: str, other: str) -> None:
    try:
        front = ScenarioFront(title="x", labels=(one, other), leaning="card")
    except ValidationError:
        return
    for label in front.labels:
        for said in (label, f"{label} - because it fits.", f"Stance: {label}"):
            assert parse_stance(said, front.labels).label == label


YAML_LINES = st.lists(
    st.sampled_from(
        [
            *("runs: 3", "models: [a/b]", "roles: {partner: x}", "- x", "a: &a [1]"),
            *("b: *a", "<<: {runs: 1}", "? [1]: 2", "!!python/object:x {}", "'", '"'),
            *("max_divergence: .nan", "max_divergence: 5", "a/b: {input: -1}", "---"),
            *("labels: [A, B]", "id: ../x", "version: 0", "## x", "=: 1", "1: 2", "{"),
        ]
    )
    | ANY,
    max_size=8,
).map("\n".join)
READERS: dict[str, Callable[[Path], object]] = {
    "study.yaml": read_design,
    "gate.yaml": lambda path: read_gate(path, {}),
    "prices.yaml": read_prices,
    "content.yaml": read_document,
    "content.md": read_document,
}


@pytest.mark.parametrize("name", READERS)
@FUZZED
@given(text=YAML_LINES, raw=st.binary(max_size=60), front=st.booleans())
def test_a_file_of_any_bytes_is_read_or_refused_in_one_line(
    name: str, text: str, raw: bytes, front: bool
) -> None:
    with TemporaryDirectory() as made:
        path = Path(made) / name
        data = text.encode(errors="surrogatepass")
        if front:
            data = b"---\n" + data + b"\n---\n## text\n" + raw
        path.write_bytes(data or raw)
        refused_in_one_line(lambda: READERS[name](path))


def refused_in_one_line(read: Callable[[], object]) -> None:
    """Whatever else is raised is a fault of ours."""
    said = ""
    try:
        read()
    except OffrecordError as error:
        said = str(error)
    assert "\n" not in said


@FUZZED
@given(st.data())
def test_a_scenario_folder_of_any_content_is_checked_to_its_end(data: Any) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made) / "mine"
        for name in ("scenario.md", "survey.yaml", "agents/a.md", "conditions/b.md"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = f"---\n{data.draw(YAML_LINES)}\n---\n## card\n{data.draw(ANY)}"
            path.write_bytes(text.encode(errors="surrogatepass"))
        for line in check_folder(folder).faults:
            assert line == escaped(line)


@FUZZED
@given(
    field=st.sampled_from(
        ["rounds", "channels", "attempts", "instruments", "content", "left_out"]
    ),
    value=JSON,
)
def test_study_json_of_any_shape_is_read_or_named(field: str, value: object) -> None:
    with TemporaryDirectory() as made:
        facts = {"rounds": 2, "channels": ["public", "off_record"], field: value}
        (Path(made) / "study.json").write_text(json.dumps(facts))
        refused_in_one_line(lambda: read_study_json(Path(made)))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose files are damaged, one after another."""
    return small(tmp_path_factory.mktemp("fuzz") / "s", moved()).path


COLUMN = st.sampled_from(sorted(TRANSCRIPT_SCHEMA))
VALUE = st.sampled_from(
    [None, -1, 0, 10**12, float("nan"), 1e308, "", "x", "{}", True, [], ["a"], b"\xff"]
)


@settings(FUZZED, max_examples=100)
@given(column=COLUMN, value=VALUE | ANY, rows=st.sets(st.integers(0, 7)))
def test_a_table_with_any_value_is_analysed_or_refused(
    known: Path, column: str, value: object, rows: set[int]
) -> None:
    raw = pl.read_parquet(known / "transcripts.parquet")
    kept = raw[column].to_list()
    changed = [value if at in rows or not rows else one for at, one in enumerate(kept)]
    with TemporaryDirectory() as made:
        (Path(made) / "study.json").write_bytes((known / "study.json").read_bytes())
        try:
            odd = raw.with_columns(pl.Series(column, changed, strict=False))
            odd.write_parquet(Path(made) / "transcripts.parquet")
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
            return  # no such table can be

        def analysed() -> None:
            study = open_record(made)
            parse(study)
            assert pairs_of(study).height <= 8 * 2 * 2

        refused_in_one_line(analysed)


@FUZZED
@given(st.data())
def test_bytes_changed_in_a_stored_table_are_no_traceback(
    known: Path, data: Any
) -> None:
    held = bytearray((known / "transcripts.parquet").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(held) - 1))
        held[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(held)) | st.just(len(held)))
    with TemporaryDirectory() as made:
        (Path(made) / "study.json").write_bytes((known / "study.json").read_bytes())
        (Path(made) / "transcripts.parquet").write_bytes(bytes(held[:cut]))
        refused_in_one_line(lambda: open_record(made).transcript)


@FUZZED
@given(st.data())
def test_a_sweep_of_any_json_is_imported_or_left_out(data: Any) -> None:
    with TemporaryDirectory() as made:
        root = sweep(Path(made), {"good": {}, "odd": {"repeat": 2}})
        name = data.draw(
            st.sampled_from(
                [
                    *("manifest.json", "status.json", "cases/odd/config.json"),
                    "cases/odd/debate_snapshot.json",
                ]
            )
        )
        content = data.draw(JSON.map(json.dumps) | ANY)
        if data.draw(st.booleans()):  # one value of the real file
            value = json.loads((root / name).read_text())
            replaced(value, data)
            content = json.dumps(value)
        (root / name).write_bytes(content.encode(errors="surrogatepass"))
        refused_in_one_line(lambda: import_llmagora(Path(made), "s"))


def replaced(value: Any, data: Any) -> None:
    """Put anything in the place of one value somewhere inside."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = value[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            value = inner
            continue
        value[key] = data.draw(JSON)
        return


MEMBER = st.sampled_from(
    [
        *("header.json", "_journal/start.json", "summaries.json", "reductions.json"),
        *("samples/a_epoch_1.json", "../x", "/x", "C:\\x", "a/../../b", "x\0y"),
    ]
)


@FUZZED
@given(
    members=st.dictionaries(MEMBER, JSON.map(json.dumps) | ANY, max_size=4),
    cut=st.integers(0, 400),
    whole=st.booleans(),
)
def test_an_archive_of_any_content_is_imported_or_left_out(
    members: dict[str, str], cut: int, whole: bool
) -> None:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text.encode(errors="surrogatepass"))
    with TemporaryDirectory() as made:
        data = kept.getvalue() if whole else kept.getvalue()[:cut]
        (Path(made) / "2026-01-01T00-00-00_debate_x.eval").write_bytes(data)
        refused_in_one_line(lambda: import_inspect(Path(made), "s"))


class Shape(HTMLParser):
    """Every element of a page with the names of its attributes, and no text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[tuple[str, frozenset[str]]] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, frozenset(name for name, _ in attrs)))


HOSTILE = (
    *('"><b evil=1>', "'><i evil>", "<script evil>x()</script>", "<!--", "-->"),
    *("</script><b evil>", "]]>", "&lt;b&gt;", "</td></table>", "{{ 7*7 }}"),
    *("<svg/onload=evil()>", "javascript:evil()", "</style><b evil>", "`${evil}`"),
    *("</title><b evil>", "\u202e", "\x1b[31m", "\0", "\u2028", "<b\nevil>"),
)


def page_of(folder: Path, text: str, said: str) -> str:
    """The report of a study with a text wherever one can stand."""
    named = {"model": text, "agent_model": text, "partner": text, "scenario": text}
    named |= {"stop_reason": said, "log": said, "reasoning": said, "provider": said}
    rows = [{**one, "text": f"{one['text']} {said}"} for one in moved(**named)]
    facts = {"left_out": [said], "content": {said: said}, "source": said}
    study = small(folder, rows, **facts, leaning={text: said}, names=said)
    path, *_ = report_study(study, Report())
    return path.read_text(encoding="utf-8")


def test_a_page_of_any_text_has_the_elements_of_the_template_alone(
    tmp_path: Path,
) -> None:
    plain = Shape(page_of(tmp_path / "plain", "m", "It is so.")).found
    every = "".join(HOSTILE)
    hostile = page_of(tmp_path / "hostile", every[:280], f"{every[::-1]} {every}")
    assert Shape(hostile).found <= plain
    assert "evil" in hostile


@FUZZED
@given(REPLY)
def test_nothing_that_is_printed_steers_a_terminal(text: str) -> None:
    shown = io.StringIO()
    [found] = estimate_table(pairs(pair("a")))
    rows = [
        Row({"model": text, "scenario": f"{text}]"}, found.of),
        Row({"model": "m", "scenario": f"{text}]"}, found.of),
    ]
    print_summary(rows, Console(file=shown, width=80))
    for one in shown.getvalue():
        assert one == "\n" or escaped(one) == one


@FUZZED
@given(ANY, st.sampled_from(["sk-abcdEFGH12345678", "hf_abcdefghijklmnop1234"]), ANY)
def test_what_is_redacted_stays_so(before: str, key: str, after: str) -> None:
    clean = redacted(f"{before} {key} {after}")
    assert key not in clean
    assert redacted(clean) == clean
