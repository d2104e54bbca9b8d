"""The command line: bad input gets one clear line and exit code 2, nothing is left."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from offrecord.cli import main
from offrecord.measures.parsed import pairs_of
from offrecord.transcript.record import open_record
from tests.conftest import Offrecord


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("frobnicate", "No such command 'frobnicate'"),
        ("run --model simulated/null", "Missing option '--out'"),
        ("run --out new", "no study at new: to begin one, give --model"),
        ("run --runs 2 --out new", "no model: give --model"),
        ("run --model a/b --out new --runs 0", "field 'runs'"),
        ("run --model a/b --out new --runs two", "'two' is not a valid integer"),
        ("run --model a/b --out new --scenario nowhere", "no scenario 'nowhere'"),
        ("run --model a/b --out new --scenario ./nowhere", "no such scenario folder"),
        ("run --model a/b --out new --condition x", "has no condition 'x'"),
        (
            "run --model a/b --out new --channels off_record,public",
            "is the spoken channel",
        ),
        ("run --model a/b --out new --role judge=c/d", "no role 'judge'"),
        ("run --model a/b --out new --role partner", "write NAME=VALUE"),
        ("run --model a/b --out new --factor label_order=x", "no level 'x'"),
        ("run --model simulated/nobody --out new", "no simulated population 'nobody'"),
        ("run --model nowhere/x --out new", "model nowhere/x: Model API nowhere"),
        (
            "run --model simulated/null --out new -- -M bogus=1",
            "model simulated/null: SimulatedAPI.__init__() got an unexpected keyword "
            "argument 'bogus'",
        ),
        ("run --model simulated/null --out new -- -M latency=[1", "-M latency: the"),
        ("run --model plain --out new", "model plain: Model name 'plain'"),
        ("run --model llamacpp/./x.gguf --out new", "x.gguf"),
        ("run --model openai/gpt-x --out new", "model openai/gpt-x: "),
        ("run --model a/b --out new --temperature 0", "... -- --temperature VALUE"),
        ("run --modl a/b --out new", "--model"),
        ("run missing.yaml --out new", "missing.yaml: no such file"),
        ("run --model a/b --out new -- --epochs 3", "give --runs before the --"),
        ("run --model a/b --out new -- -M api_key=abcd1234", "looks like a secret"),
        ("run --model a/b --out taken", "not empty and not a study"),
        ("plan --model a/b --protocol triplet", "no protocol 'triplet'"),
        ("import llmagora nowhere --out new", "nowhere"),
        ("import inspect nowhere --out new", "no such file or folder"),
        ("import llmagora taken --out new", "taken"),
        ("import elsewhere taken --out new", "'elsewhere' is not one of"),
        ("estimate nowhere", "no study here"),
        ("estimate taken", "no study here"),
        ("measure nowhere", "no study here"),
        ("content show nowhere", "no KIND/ID such as scenario/promotion"),
        ("content show scenario/nowhere", "no scenario 'nowhere': use accounts, "),
        (
            "content check channel/nowhere",
            "no channel 'nowhere': use holdout, off_record",
        ),
        ("content copy public new", "write KIND/ID, such as channel/public"),
        ("content copy channel/public taken/notes.txt", "cannot be written"),
        ("content new channel new", "name the new channel, a .md file"),
        ("content new scenario taken", "is not empty"),
        ("content list taken", "holds none of the folders scenarios, channels"),
        ("models fetch nowhere", "offrecord models list"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    words: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(sys, "argv", ["offrecord", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    done = capsys.readouterr()
    assert ended.value.code == 2, done.err
    assert message in done.err
    assert done.err.startswith("offrecord: ")
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert not (tmp_path / "new").exists()
    assert sorted(p.name for p in (tmp_path / "taken").iterdir()) == ["notes.txt"]


def test_a_bare_call_shows_the_help(offrecord: Offrecord) -> None:
    done = offrecord()
    assert done.code == 0
    assert "Commands:" in done.out
    assert done.err == ""


def test_the_users_design_file_is_only_read(
    offrecord: Offrecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "study.yaml"
    text = "# mine\nmodels: [simulated/null]\nscenarios: [promotion]\nrounds: 1\n"
    text += "conditions: [baseline]\nruns: 1\nshadows: 0\n"
    file.write_text(text)
    done = offrecord(
        *(
            "run",
            "study.yaml",
            "--runs",
            "2",
            "--out",
            "out",
            "--",
            "--display",
            "none",
        )
    )
    assert done.code == 0, done.err
    assert file.read_text() == text
    merged = (tmp_path / "out" / "study.yaml").read_text()
    assert "runs: 2" in merged
    assert "rounds: 1" in merged


def test_estimate_says_what_it_can_group_by(
    offrecord: Offrecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = "run --model simulated/null --scenario promotion --condition baseline "
    words += "--rounds 1 --runs 1 --shadows 0 --factor label_order=stated,reversed "
    # `state` is a column of the tables: a factor of that name is kept beside it.
    words += "--factor state=x "
    done = offrecord(*words.split(), "--out", "s", "--", "--display", "none")
    assert done.code == 0, done.err
    done = offrecord("estimate", "s", "--by", "colour")
    assert done.code == 2
    assert "label_order" in done.err
    done = offrecord("estimate", "s", "--by", "label_order")
    assert (done.code, "reversed" in done.out) == (0, True), done.err
    done = offrecord("estimate", "s", "--by", "state", "--json")
    assert {row["factor_state"] for row in json.loads(done.out)} == {"x"}
    assert set(pairs_of(open_record(tmp_path / "s"))["factor_state"]) == {"x"}


def test_every_hint_to_install_an_extra_is_the_same_and_true() -> None:
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    hint = re.compile(r"pip install\s+[\"'\s]*([^'\"\s]*\[(\w+)\])")
    texts = [*root.glob("src/**/*.py"), *root.glob("docs/*.md"), root / "README.md"]
    found = [match for path in texts for match in hint.findall(path.read_text())]
    assert {whole for whole, _ in found} <= {
        f"offrecord[{extra}]" for extra in project["optional-dependencies"]
    }
    assert {"local", "semantic", "ray", "openai"} <= {extra for _, extra in found}
