"""Scenarios drafted by a model: what is asked, taken, dropped and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from offrecord.content import data_folder
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.drafts import (
    check_files,
    example,
    files_of,
    ideas_of,
    laid_out,
    overlap,
)
from offrecord.scenarios.load import load_scenario
from tests.conftest import Offrecord
from tests.fake_server import FakeServer

ROOT = Path(__file__).parents[1]
PIER = ROOT / "examples" / "pier"
PROMOTION = data_folder("scenarios") / "promotion"


def files_in(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths
    }


def test_ideas_are_lines_with_a_short_name() -> None:
    reply = (
        "Here are some:\n1. harbour-light: The keeper and the pilot ...\n"
        "- **night-train**: Two drivers ...\n`roof`: Who pays.\nNote: that is all.\n"
        "a name with blanks: no.\n"
    )
    assert ideas_of(reply) == {
        "harbour-light": "harbour-light: The keeper and the pilot ...",
        "night-train": "night-train: Two drivers ...",
        "roof": "roof: Who pays.",
    }
    assert ideas_of("I like turtles.") == {}


def test_files_come_back_as_they_were_laid_out() -> None:
    files = files_in(PIER)
    found = files_of("Sure!\n\n" + laid_out(files), "pier")
    assert found.keys() == files.keys()
    finding, scenario = check_files(found, "pier")
    assert not finding.faults
    assert scenario is not None
    assert scenario.id == "pier"
    renamed = files_of(laid_out(files), "another-pier")
    assert check_files(renamed, "x")[1].id == "another-pier"  # type: ignore[union-attr]
    fenced = "=== survey.yaml ===\n```yaml\ninstrument: core\n```"
    assert files_of(fenced, "x") == {"survey.yaml": "instrument: core\n"}


@pytest.mark.parametrize(
    "name",
    ["../outside.md", "/etc/passwd", "agents/../../x.md", "a.py", "agents/.x.md"],
)
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    reply = f"=== {name} ===\nowned\n=== survey.yaml ===\ninstrument: core"
    assert files_of(reply, "x") == {"survey.yaml": "instrument: core\n"}


def test_the_skeleton_given_back_is_no_scenario_of_its_own() -> None:
    files = files_of(example(), "mine")
    files["scenario.md"] = files["scenario.md"].replace("town library", "city library")
    finding, scenario = check_files(files, "mine")
    assert scenario is None
    assert all("still the skeleton's" in fault for fault in finding.faults)
    assert not any(fault.startswith("/") for fault in finding.faults)


def test_overlap_is_the_share_of_the_smaller_ones_words() -> None:
    pier, promotion = load_scenario(PIER), load_scenario(PROMOTION)
    assert overlap(pier, pier) == 1
    assert overlap(pier, promotion) == overlap(promotion, pier) < 0.5


def answer(messages: list[dict[str, Any]]) -> str:
    """A model that drafts one good scenario after a correction, and three bad ones."""
    system, asked = (str(message["content"]) for message in messages)
    pier = files_in(PIER)
    if "Here is the brief" in asked:
        return "Small towns; councils; who owes whom."
    if "Propose 4 decisions" in asked:
        names = ("promotion", "board-seat", "silence", "old-pier")
        return "\n".join(f"- {name}: who decides what." for name in names)
    if "You correct the files" in system:
        if "side: OPEN IT" not in asked:
            return "No."
        assert "agents/beta.md: field 'side': 'OPEN IT' is no label" in asked
        return laid_out({"agents/beta.md": pier["agents/beta.md"]})
    if "board-seat:" in asked:
        return laid_out(files_in(PROMOTION))
    if "silence:" in asked:
        return "I cannot write that."
    wrong = pier["agents/beta.md"].replace("side: REOPEN", "side: OPEN IT")
    return laid_out({**pier, "agents/beta.md": wrong})


def generated(offrecord: Offrecord, server: FakeServer, *words: str) -> Any:
    return offrecord(
        *("content", "generate", *words, "--model", "openai-api/fake/model"),
        *("--", "--model-base-url", server.url),
    )


def test_what_passes_its_check_is_written_and_the_rest_named(
    tmp_path: Path, offrecord: Offrecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    monkeypatch.setenv("FAKE_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    brief = tmp_path / "brief.md"
    brief.write_text("Councils of small towns.", encoding="utf-8")
    with FakeServer(answer=answer) as server:
        done = generated(offrecord, server, "brief.md", "--count", "2")
        calls = len(server.bodies)
        again = generated(offrecord, server, "brief.md", "--count", "2")
        assert len(server.bodies) == calls  # the log had it
    assert done.code == again.code == 1
    [line] = done.out.splitlines()
    assert line.startswith("generated/old-pier: OK old-pier@1:")
    assert "left out: promotion: is the name of a built-in scenario" in done.err
    assert "left out: board-seat: shares most of its words with 'promotion'" in done.err
    assert "left out: silence: scenario.md: is missing" in done.err
    assert "1 of 2 scenarios" in done.err
    assert sorted(p.name for p in (tmp_path / "generated").iterdir()) == [
        *("logs", "old-pier")
    ]
    assert not check_folder(tmp_path / "generated" / "old-pier").faults
    assert "is there already" in again.out
    [log] = list_eval_logs(str(tmp_path / "generated" / "logs"))
    asked = json.dumps(read_eval_log(log).model_dump(mode="json"))
    assert "Councils of small towns." in asked
    assert "I cannot write that." in asked


def test_nonsense_is_one_line_and_no_folder(
    tmp_path: Path, offrecord: Offrecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    monkeypatch.setenv("FAKE_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brief.md").write_text("Towns.", encoding="utf-8")
    with FakeServer(answer=lambda _: "I like turtles.") as server:
        done = generated(offrecord, server, "brief.md")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "offrecord: openai-api/fake/model: no scenario passes its check: the model "
        "proposed no decision as 'name: sentence'"
    )
    assert [p.name for p in (tmp_path / "generated").iterdir()] == ["logs"]


@pytest.mark.parametrize(
    ("brief", "said"),
    [
        (b"x" * 1_048_576, "larger than 1,000,000 bytes"),
        (b"x" * 30_000, "30,000 characters; a brief has 20,000 at most"),
        (b" \n", "is empty"),
        (bytes(range(256)), "not UTF-8 text"),
        (None, "no such file"),
    ],
)
def test_a_brief_is_bounded_text(
    brief: bytes | None, said: str, tmp_path: Path, offrecord: Offrecord
) -> None:
    file = tmp_path / "brief.md"
    if brief is not None:
        file.write_bytes(brief)
    words = ("content", "generate", str(file), "--model", "simulated/null")
    done = offrecord(*words, "--out", str(tmp_path / "out"))
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert not (tmp_path / "out").exists()
