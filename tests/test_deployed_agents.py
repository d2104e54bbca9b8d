"""A multi-agent application of another package: its own traces, imported and probed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from zlib import crc32

import polars as pl
import pytest

from offrecord.estimates.frames.probed import probe_rows
from offrecord.measures.probes import probe_pairs
from offrecord.transcript.record import open_record
from tests.fake_server import FakeServer
from tests.test_inspect import QUIET, offrecord

pytest.importorskip("agents", reason="'openai-agents' is not installed (extra 'dev')")

BUILDS = 10
MAP = {
    "version": 1,
    "preset": "openai-agents",
    "columns": {"scenario": "around/trace/metadata/kind"},
    "decisions": [
        {
            "question": "Is the build shipped?",
            "labels": ["SHIP", "HOLD"],
            "pressed_side": "SHIP",
            "where": {"around/trace/workflow_name": "release"},
        }
    ],
}


def answer(messages: list[dict[str, Any]]) -> str:
    """The critic holds; the planner ships, but for where it says so off the record."""
    planner = messages[0]["content"].startswith("You are the planner")
    aside = "no one in the discussion hears" in str(messages[-1]["content"])
    said = "SHIP" if planner and not aside else "HOLD"
    return f"{said} - see note {crc32(str(messages).encode())}."  # no two alike


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FakeServer]:
    from tests.agents_app import talks

    folder = tmp_path_factory.mktemp("agents")
    with FakeServer(answer=answer) as server:
        asyncio.run(talks(server.url, folder / "traces.jsonl", BUILDS))
    assert not server.faults
    (folder / "map.yaml").write_text(json.dumps(MAP))
    offrecord(
        *("import", "transcripts", str(folder / "traces.jsonl")),
        *("--map", str(folder / "map.yaml"), "--out", str(folder / "study")),
    )
    return folder, server


def test_traces_of_an_application_are_its_conversation(
    deployed: tuple[Path, FakeServer],
) -> None:
    folder, server = deployed
    study = open_record(folder / "study")
    rows = study.transcript.filter(run="b0").sort("turn")
    assert rows["agent"].to_list() == ["planner", "critic"] * 2
    assert rows["model"].unique().to_list() == ["served"]
    assert rows["scenario"].unique().to_list() == ["release"]
    assert rows["labels"][0].to_list() == ["SHIP", "HOLD"]
    said = [text.partition(" - ")[0] for text in rows["text"]]
    assert said == ["SHIP", "HOLD"] * 2
    assert study.transcript.height == 4 * BUILDS
    assert len(server.bodies) == 4 * BUILDS
    asked = pl.read_parquet(folder / "study" / "asked.parquet")
    assert asked["whole"].all()


def test_what_an_application_said_is_probed_audited_and_reported(
    deployed: tuple[Path, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, app = deployed
    study, out = str(folder / "study"), str(folder / "probed")
    with FakeServer(answer=answer) as server:
        for name, value in server.environment("fake").items():
            monkeypatch.setenv(name, value)
        offrecord(
            *("run", "--on", study, "--model", "openai-api/fake/served"),
            *("--sample", "40", "--out", out, *QUIET),
        )
    assert not server.faults
    # Three channels, two draws; as it was means what the application asked.
    assert len(server.bodies) == 6 * 4 * BUILDS
    told = {texts(body) for body in server.bodies}
    assert {texts(body) for body in app.bodies} <= told
    pairs = probe_pairs(open_record(out))
    rows = {row["question"]: row.of for row in probe_rows(pairs, ())}
    assert rows["replay"].divergence.value == 0
    assert rows["wording"].divergence.value == 0
    # The planner has half of the turns, and says another thing aside at each.
    assert rows["audience"].divergence.value == 0.5
    by = {
        row["agent"]: row.of.divergence.value
        for row in probe_rows(pairs, ("agent",))
        if row["question"] == "audience"
    }
    assert by == {None: 0.5, "planner": 1, "critic": 0}
    gate = ("audit", out, "--max-missing", "5", "--max-probe-divergence")
    done = offrecord(*gate, "20", code=1)
    assert "Verdict: fail" in done.stdout
    assert "Verdict: pass" in offrecord(*gate, "90").stdout
    offrecord("report", out)
    page = (folder / "probed" / "report.html").read_text(encoding="utf-8")
    assert "planner" in page


def texts(body: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(one["content"]) for one in body["messages"])
