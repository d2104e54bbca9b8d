"""What follows from the declaration of a measure, ours and other packages'."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai.log import read_eval_log

from offrecord.export.tables import dictionary, turns
from offrecord.measures import registry
from offrecord.measures.codes.lexical import LEXICAL
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.measure import measure_study
from offrecord.measures.options import Options
from offrecord.measures.parsed import pairs_of
from offrecord.measures.stored import measured_facts, stored_measures
from offrecord.measures.texts.length import LENGTH
from offrecord.records import OffrecordError
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import write_transcript
from tests.simulated_studies import held_study
from tests.test_inspect import run_small

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with logs, and both kinds of condition."""
    out = tmp_path_factory.mktemp("declared") / "study"
    run_small(
        out,
        *("--model", "simulated/paper", "--runs", "3"),
        *("--condition", "alignment-future"),
    )
    return out


@pytest.fixture
def study(held: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(held, tmp_path / "study"))


def call(*words: object, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line, with a folder of other packages before our own."""
    paths = [str(site)] if site else []
    paths += [path for path in sys.path if path]
    return subprocess.run(
        [sys.executable, "-m", "offrecord", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def shown_everywhere(
    study: Path, measure: str, quantity: str, title: str, site: Path | None = None
) -> None:
    """Take a measure, and look for it in all that follows from its declaration."""
    done = call("measure", study, "--measures", measure, site=site)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(measure)
    # Estimates, with the numbers of the table.
    done = call("estimate", study, "--by", "kind", "--json", site=site)
    assert done.returncode == 0, done.stderr
    estimates = json.loads((study / "estimates.json").read_text(encoding="utf-8"))
    rows = [row for row in estimates["measures"] if row["measure"] == measure]
    assert {row["quantity"] for row in rows} == {quantity}
    assert {row["estimate"] for row in rows} == {
        *("public", "off_record", "gap"),
        *("public_shift", "conversion", "audience_effect"),
    }
    table = pl.read_parquet(study / f"measures/{measure}.parquet").filter(draw=0)
    kinds = open_record(study).transcript.select("run", "kind").unique("run")
    own = table.join(kinds, on="run").filter(kind="baseline", agent="alpha")
    levels = [
        own.filter(channel=name).select(pl.col(quantity).cast(pl.Float64).mean()).item()
        for name in ("public", "off_record")
    ]
    where = {"kind": "baseline", "agent": "alpha"}
    found = {r["estimate"]: r["value"] for r in rows if where.items() <= r.items()}
    assert found["public"] == pytest.approx(levels[0])
    assert found["gap"] == pytest.approx(levels[0] - levels[1])
    # The report: a section, and the values of each text.
    done = call("report", study, site=site)
    assert done.returncode == 0, done.stderr
    page = (study / "report.html").read_text(encoding="utf-8")
    assert f'id="{measure}"' in page
    assert f">{title}<" in page
    # Exports, with their dictionary.
    out = study.parent / "out"
    done = call("export", "csv", study, "--out", out, site=site)
    assert done.returncode == 0, done.stderr
    with (out / "turns.csv").open(encoding="utf-8", newline="") as file:
        exported = list(csv.DictReader(file))
    column = f"{measure}_{quantity}"
    assert [row[column] for row in exported] == [
        "" if value is None else str(value)
        for value in pl.read_parquet(study / f"measures/{measure}.parquet")[quantity]
    ]
    told = (out / "columns.csv").read_text(encoding="utf-8")
    assert f"turns,{column},integer,count,{title}" in told


def test_length_is_one_file_and_one_line_and_stands_everywhere(study: Path) -> None:
    shown_everywhere(study, "length", "words", "words said")


def test_the_browser_shows_what_is_declared(held: Path) -> None:
    from offrecord.report.browser.values import shown_values

    record = open_record(held)
    measure_study(record, ["length"], Options())
    table = stored_measures(record, LENGTH)
    assert table is not None
    runs = table["run"].unique().to_list()
    values = shown_values([(LENGTH, table)], runs)
    first = table.row(0, named=True)
    key = tuple(first[name] for name in table.columns[:7])
    assert values[key] == [["words said", str(first["words"])]]
    hidden = replace(LENGTH, quantities=(replace(LENGTH.quantities[0], shown=False),))
    assert shown_values([(hidden, table)], runs)[key] == []


def test_length_is_a_scorer_too(held: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.eval"
    log.write_bytes(next((held / "logs").glob("*.eval")).read_bytes())
    command = [sys.executable, "-m", "inspect_ai", "score", str(log), "--overwrite"]
    subprocess.run(
        [*command, "--scorer", "offrecord/length", "--action", "append"],
        check=True,
        capture_output=True,
    )
    scored = read_eval_log(str(log))
    [sample, *_] = scored.samples or []
    scores = (sample.scores or {})["length"].as_dict()
    record = open_record(held)
    measure_study(record, ["length"], Options())
    table = pl.read_parquet(held / "measures/length.parquet")
    summary = (sample.scores or {})["debate_summary"].metadata or {}
    own = table.filter(run=summary["run"], draw=0, agent="alpha")
    public, other = (
        own.filter(channel=name)["words"].mean() for name in ("public", "off_record")
    )
    assert scores["words_public"] == pytest.approx(public)
    assert scores["words_off_record"] == pytest.approx(other)
    assert scores["words_gap"] == pytest.approx(scores["words_public"] - other)  # type: ignore[operator]


def test_the_list_brings_no_model_and_no_inspect() -> None:
    code = (
        "import sys; from offrecord.measures.registry import our_measures\n"
        "assert len(our_measures()) == 8\n"
        "heavy = ('torch', 'transformers', 'sentence_transformers', 'inspect_ai')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_what_inspect_loads_brings_no_model_and_no_other_package() -> None:
    code = (
        "import sys, importlib.metadata as m; real = m.entry_points\n"
        "import offrecord.measures.registry as r\n"
        "r.entry_points = lambda **_: exit('looked at other packages')\n"
        "import offrecord._registry as registry\n"
        "print([m for m in ('torch', 'transformers') if m in sys.modules],\n"
        "      [n for n in r.our_measures() if not hasattr(registry, n)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    # Of a survey item or a parse there is no scorer that follows.
    assert done.stdout.strip() == "[] ['stance', 'survey']"


def test_parsers_of_replies_need_no_tables() -> None:
    names = sorted((ROOT / "src/offrecord/measures/replies").glob("*.py"))
    modules = [f"offrecord.measures.replies.{path.stem}" for path in names]
    code = (
        "import sys, importlib\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        "print('polars' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# Storage and staleness.


class Counting:
    """A measure that says how often it was taken."""

    def __init__(self, version: str = "1") -> None:
        self.taken = 0
        table = replace(LENGTH, name="counting")
        self.measure = Measure(
            name="counting",
            about="counts",
            version=version,
            tables=(table,),
            options=("seed",),
            take=self._take,
        )
        self._table = table

    def _take(self, rows: Rows, options: Options) -> Iterator[Made]:
        del options
        self.taken += 1
        key = [name for name in self._table.schema if name in rows.texts.columns]
        own = rows.texts.filter(form="utterance").select(
            *(name for name in key if name not in {"words", "version"}),
            words=pl.lit(1, pl.Int32),
            version=pl.lit("1"),
        )
        yield self._table, own.select(*self._table.schema)
        yield "counted"


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    one = Counting()
    known = {**registry.our_measures(), "counting": one.measure}
    _known_as(monkeypatch, known)
    return one


def _known_as(monkeypatch: pytest.MonkeyPatch, known: Mapping[str, Measure]) -> None:
    monkeypatch.setattr(registry, "our_measures", lambda: known)
    monkeypatch.setattr("offrecord.measures.measure.our_measures", lambda: known)


def small(path: Path) -> Record:
    return held_study(path, "paper", runs=2, rounds=2)


def test_a_measure_is_taken_again_only_if_something_changed(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    small(path)

    def take(**options: Any) -> list[str]:
        done = measure_study(open_record(path), ["counting"], Options(**options))
        return [entry.line for entry in done]

    assert take() == take() == ["counted"]
    assert counting.taken == 1
    take(seed=1)
    assert counting.taken == 2
    take(seed=1)
    assert counting.taken == 2
    file = path / "measures/counting.parquet"
    file.write_bytes(file.read_bytes() + b"x")  # somebody wrote in it
    take(seed=1)
    assert counting.taken == 3
    file.unlink()
    take(seed=1)
    assert counting.taken == 4
    newer = Counting("2")
    _known_as(monkeypatch, {**registry.our_measures(), "counting": newer.measure})
    take(seed=1)
    assert (counting.taken, newer.taken) == (4, 1)


def test_tables_of_other_texts_do_not_count_and_are_taken_again(
    counting: Counting, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    record = small(path)
    measure_study(record, ["counting", "length"], Options())
    record = open_record(path)
    assert stored_measures(record, LENGTH) is not None
    rows = record.transcript.with_columns(
        text=pl.when(pl.col("turn") == 1)
        .then(pl.col("text") + " More.")
        .otherwise("text")
    )
    write_transcript(path, rows)
    changed = open_record(path)
    assert stored_measures(changed, LENGTH) is None
    stated = measured_facts(changed)["length"]
    assert stated["measured"] is False
    assert "the texts have changed" in stated["lines"][0]
    measure_study(changed, ["counting", "length"], Options())
    assert counting.taken == 2
    again = open_record(path)
    assert stored_measures(again, LENGTH) is not None
    assert measured_facts(again)["length"]["measured"] is True


def test_rows_that_are_not_as_declared_are_refused(tmp_path: Path) -> None:
    record = small(tmp_path / "s")
    texts = record.transcript.filter(form="utterance")
    table = Table(
        "odd", "text", {"x": pl.Float64}, quantities=(Quantity("x", "x", low=0),)
    )
    own = texts.select(*table.key)

    def stored(rows: pl.DataFrame, known: tuple[Table, ...] = (table,)) -> None:
        from offrecord.measures.stored import store

        one = Measure(
            name="odd",
            about="",
            version="1",
            tables=known,
            take=lambda _r, _o: iter(()),
        )
        store(record, one, table, rows)

    with pytest.raises(OffrecordError, match=r"odd: table 'odd': .* declared: x$"):
        stored(own)
    with pytest.raises(OffrecordError, match="'x' leaves 0 to inf"):
        stored(own.with_columns(x=pl.lit(-1.0)))
    with pytest.raises(OffrecordError, match="it is not declared"):
        stored(own.with_columns(x=pl.lit(1.0)), ())
    stored(own.with_columns(x=pl.lit(None, pl.Float64)))


def test_lexical_codes_survive_a_judge_that_fails(tmp_path: Path) -> None:
    record = small(tmp_path / "s")
    options = Options(judges=("no-such-provider/judge",))
    done = measure_study(record, ["attribution"], options)
    assert done[0].measured
    assert not done[-1].measured
    table = stored_measures(open_record(record.path), LEXICAL)
    assert table is not None
    assert table.height == record.transcript.filter(form="utterance").height
    # It was not taken whole, so the next call takes it again.
    assert len(measure_study(open_record(record.path), ["attribution"], options)) > 1


def test_without_a_silent_channel_there_are_levels_and_no_effects(
    tmp_path: Path,
) -> None:
    from offrecord.estimates.frames.weighing import How
    from offrecord.estimates.measured import measured_rows

    record = held_study(
        tmp_path / "s",
        "paper",
        runs=2,
        rounds=2,
        keep=pl.col("channel") == "public",
    )
    record.facts["channels"] = ["public"]
    measure_study(record, ["length"], Options())
    rows = measured_rows(record, pairs_of(record), ["kind"], How())
    own = [row for row in rows if row["measure"] == "length"]
    assert {row["estimate"] for row in own} == {"level", "change"}
    assert {row["right_channel"] for row in own} == {"public"}
    words = pl.read_parquet(record.path / LENGTH.file)
    kinds = record.transcript.select("run", "kind").unique("run")
    for row in own:
        if row["estimate"] == "level":
            of = words.join(kinds, on="run").filter(
                kind=row["kind"], agent=row["agent"]
            )
            assert row["value"] == pytest.approx(of["words"].mean())


# Other packages.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed into a folder of its own without a network."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "plugin", folder / "source")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index"),
            *("--no-build-isolation", "--disable-pip-version-check", "--quiet"),
            *("--target", str(folder / "site"), str(folder / "source")),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "site"


def test_a_measure_of_another_package_is_taken_like_ours(
    study: Path, site: Path
) -> None:
    shown_everywhere(study, "questions", "questions", "questions asked", site)
    # Without its package the study is read as before, and a line says what is left out.
    done = call("estimate", study, "--by", "kind")
    assert done.returncode == 0
    assert "measure 'questions' is left out: no measure 'questions'" in done.stderr
    estimates = json.loads((study / "estimates.json").read_text(encoding="utf-8"))
    assert not [r for r in estimates["measures"] if r["measure"] == "questions"]


def test_other_packages_are_loaded_when_they_are_named(site: Path) -> None:
    code = (
        "import sys; from offrecord.measures.registry import find_measure, "
        "our_measures, other_measures\n"
        "our_measures(); print(list(other_measures()), 'offrecord_questions' in "
        "sys.modules); find_measure('questions'); "
        "print('offrecord_questions' in sys.modules)"
    )
    paths = os.pathsep.join([str(site), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.stdout.split("\n")[:2] == ["['questions'] False", "True"]


def test_the_package_names_its_scenario(site: Path) -> None:
    names = (site / "offrecord_questions-0.1.0.dist-info/entry_points.txt").read_text()
    assert re.search(
        r"\[offrecord.content\]\nquestions = offrecord_questions.content", names
    )
    done = call("content", "list", site=site)
    assert "scenario/library" in done.stdout, done.stdout + done.stderr


BROKEN = {
    "raises": "raise RuntimeError('out of order\\nmore')",
    "absent": "x = 1",
    "other": "MEASURE = 3",
    "falls": (
        "from offrecord.measures.declare import Measure\n"
        "def take(rows, options):\n    yield 'begun'\n    1 / 0\n"
        "MEASURE = Measure(name='falls', about='', version='1', tables=(), take=take)"
    ),
}


def test_a_faulty_package_is_one_line_and_takes_nothing_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, source in BROKEN.items():
        (tmp_path / f"plugin_{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [
        EntryPoint(name, f"plugin_{name}:MEASURE", registry.GROUP) for name in BROKEN
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: entries)
    record = small(tmp_path / "s")
    done = measure_study(record, [], Options(embedder="none", nli="none"))
    lines = {entry.name: entry for entry in done}
    assert "plugin_raises:MEASURE: RuntimeError: out of order" in lines["raises"].line
    assert "AttributeError" in lines["absent"].line
    assert "is no Measure of the name 'other'" in lines["other"].line
    assert "a fault of its package: ZeroDivisionError" in lines["falls"].line
    assert not any(lines[name].measured for name in BROKEN)
    assert all("\n" not in entry.line for entry in done)
    taken = {entry.name for entry in done if entry.measured}
    assert {"stance", "survey", "attribution", "markers", "length"} <= taken
    # Later stages say it once more and go on.
    assert [one.name for one in registry.known_measures(record.facts)] == [
        *registry.our_measures(),
        "falls",
    ]
    assert turns(record).height
    assert dictionary(record, ["turns"]).height


def test_a_package_may_have_an_estimator_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from offrecord.estimates.frames.weighing import How
    from offrecord.estimates.measured import measured_rows

    source = (
        "def rows(record, pairs, by):\n    yield {'quantity': 'x', 'value': 7.0}\n"
        "def broken(record, pairs, by):\n    1 / 0"
    )
    (tmp_path / "plugin_own.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    record = small(tmp_path / "s")
    length = registry.our_measures()["length"]
    own = replace(length, name="own", estimate="plugin_own:rows")
    faulty = replace(length, name="faulty", estimate="plugin_own:broken")
    monkeypatch.setattr(
        "offrecord.estimates.measured.known_measures", lambda _: [own, faulty]
    )
    rows = measured_rows(record, pairs_of(record), ["kind"], How())
    assert rows == [{"measure": "own", "quantity": "x", "value": 7.0}]
    assert "'faulty' is not estimated: ZeroDivisionError" in caplog.text


def test_a_package_cannot_take_the_place_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = (
        "from dataclasses import replace\n"
        "from offrecord.measures.texts.length import MEASURE as OURS\n"
        "MEASURE = replace(OURS, name='mine')"
    )
    (tmp_path / "plugin_mine.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [
        EntryPoint("mine", "plugin_mine:MEASURE", registry.GROUP),
        EntryPoint("length", "plugin_mine:MEASURE", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: entries)
    with pytest.raises(OffrecordError, match="the table 'length' is offrecord's"):
        registry.find_measure("mine")
    assert registry.find_measure("length") is registry.our_measures()["length"]


def test_the_pages_say_what_measures_declare() -> None:
    path = ROOT / "scripts" / "measure_reference.py"
    spec = importlib.util.spec_from_file_location("measure_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page, text in module.pages().items():
        fresh = page.read_text(encoding="utf-8") == text
        assert fresh, f"renew it with '{module.RENEW}'"
    measures = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    for name in registry.our_measures():
        assert f"\n| `{name}` |" in measures
