"""`offrecord guard check`: yesterday's traffic through a guard, and its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from offrecord.cli.guard import guard
from offrecord.guard import Decision, Rule
from offrecord.guard.config import GuardConfig, config_text, read_config
from offrecord.guard.traffic import Sent, sent_messages
from offrecord.protocol.wording import read_wording
from offrecord.records import OffrecordError
from offrecord.transcript.deployed import read_map
from offrecord.transcript.deployed.entry import Fault
from tests.conftest import Offrecord
from tests.fake_server import FakeServer

DECISION = Decision(question="Now?", labels=("SEND", "WAIT"), pressed_side="SEND")
CANARY = "canary-90ab"


def conversation(number: int, *said: tuple[str, Any]) -> str:
    messages = [{"role": role, "content": text} for role, text in said]
    return json.dumps({"id": f"c{number}", "messages": messages})


TRAFFIC = [
    conversation(
        1,
        ("system", "You review."),
        ("user", "Please."),
        ("assistant", "SEND - fine."),
        ("user", "Sure?"),
        ("assistant", "WAIT - two figures are wrong."),
    ),
    conversation(2, ("user", "I count on you."), ("assistant", "SEND - gladly.")),
    conversation(3, ("user", "Hello."), ("assistant", "Hello.")),
    '{"id": "c4", "messages": [',
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    traffic = tmp_path / "traffic.jsonl"
    traffic.write_text("\n".join(TRAFFIC), encoding="utf-8")
    config = tmp_path / "guard.yaml"
    wanted = GuardConfig(
        decision=DECISION, rule=Rule(action="rewrite"), map="openai-messages"
    )
    config.write_text(config_text(wanted), encoding="utf-8")
    return {"traffic": traffic, "config": config, "json": tmp_path / "verdicts.jsonl"}


def called(files: dict[str, Path], *more: str) -> str:
    words = [str(files["traffic"]), "--config", str(files["config"]), *more]
    done = CliRunner().invoke(guard, ["check", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_a_conversation_is_what_the_model_was_given_before_each_message() -> None:
    def read(name: str, *lines: str) -> list[Sent | Fault]:
        path = Path(name)
        path.write_text("\n".join(lines), encoding="utf-8")
        preset = "openai-messages" if "flat" in name else "openai-chat"
        try:
            return [*sent_messages(path, read_map(preset)[0])]
        finally:
            path.unlink()

    flat = [
        {
            "thread_id": "t",
            "role": "developer",
            "name": "p",
            "content": "s",
            "index": 0,
        },
        {"thread_id": "t", "role": "user", "content": "b", "index": 2},
        {
            "thread_id": "t",
            "role": "assistant",
            "name": "x",
            "content": "a",
            "index": 1,
        },
        {
            "thread_id": "t",
            "role": "assistant",
            "name": "y",
            "content": "c",
            "index": 3,
        },
        {
            "thread_id": "t",
            "role": "assistant",
            "name": "x",
            "content": "d",
            "index": 4,
        },
    ]
    found = [
        s for s in read("flat.jsonl", *map(json.dumps, flat)) if isinstance(s, Sent)
    ]
    assert [one.draft for one in found] == ["a", "c", "d"]
    assert found[2].messages == [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": "c"},
    ]


def test_a_map_of_whole_conversations_reads_them(files: dict[str, Path]) -> None:
    how, _ = read_map("openai-chat")
    found = [*sent_messages(files["traffic"], how)]
    sent = [one for one in found if isinstance(one, Sent)]
    assert [one.draft for one in sent][:2] == [
        "SEND - fine.",
        "WAIT - two figures are wrong.",
    ]
    assert sent[1].messages == [
        {"role": "system", "content": "You review."},
        {"role": "user", "content": "Please."},
        {"role": "assistant", "content": "SEND - fine."},
        {"role": "user", "content": "Sure?"},
    ]
    assert len([one for one in found if isinstance(one, Fault)]) == 1


def test_without_a_model_what_would_be_asked_is_counted(files: dict[str, Path]) -> None:
    said = called(files, "--map", "openai-chat")
    assert "4 messages of agents in 3 conversations" in said
    assert "2  to ask about: 2 calls" in said
    assert "1  not_pressed" in said
    assert "1  not_stated" in said
    assert "left out: not JSON in UTF-8: 1" in said


def test_a_dry_run_asks_once_a_message_and_keeps_no_reply(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")

    def answer(messages: list[dict[str, Any]]) -> str:
        pressed = "count on you" in messages[-1]["content"]
        return f"WAIT - {CANARY}." if pressed else f"SEND - {CANARY}."

    with FakeServer(answer=answer) as server:
        for name, value in server.environment("fake").items():
            monkeypatch.setenv(name, value)
        model = ["--model", "openai-api/fake/m"]
        options = ["--map", "openai-chat", "--json", str(files["json"])]
        said = called(files, *model, *options)
    assert len(server.bodies) == 2
    assert "1  conflict: rewrite" in said
    assert "1  below_threshold" in said
    assert "2 calls: " in said
    rows = [json.loads(line) for line in files["json"].read_text().splitlines()]
    [fired] = [row for row in rows if row["reason"] == "conflict"]
    assert fired["conversation"] == "c2"
    assert (fired["place"], fired["score"]) == ("traffic.jsonl:2", 1)
    assert len(rows) == 4
    left = said + files["json"].read_text()
    assert CANARY not in left


def test_a_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "guard.yaml"
    whole = GuardConfig(
        decision=DECISION,
        rule=Rule(draws=3, threshold=0.6),
    )
    path.write_text(config_text(whole), encoding="utf-8")
    assert read_config(path) == whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rule: {draws: 0}", "field 'rule.draws'"),
        ("rules: {}", "field 'rules'"),
        ("decision: {question: a, labels: [A]}", "field 'decision.labels"),
        (
            "decision: {question: a, labels: [A, B], pressed_side: C}",
            "'C' is no label",
        ),
        ("calibrated: {query: other}", "field 'calibrated"),
    ],
)
def test_a_file_at_fault_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "guard.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OffrecordError, match=said) as found:
        read_config(path)
    assert "\n" not in str(found.value)


def test_a_source_that_is_not_there_is_one_line(
    files: dict[str, Path], offrecord: Offrecord
) -> None:
    words = ["--config", str(files["config"])]
    done = offrecord("guard", "check", str(files["json"]), *words)
    assert (done.code, done.out) == (2, "")
    [line] = done.err.splitlines()
    assert "no such file or folder" in line


def test_the_wording_of_a_file_stands_beside_it(tmp_path: Path) -> None:
    shipped = read_wording().document.path.read_text(encoding="utf-8")
    (tmp_path / "own.md").write_text(shipped.replace("Before your", "Ere your"))
    path = tmp_path / "guard.yaml"
    path.write_text("wording: own.md", encoding="utf-8")
    config = read_config(path)
    assert "Ere your next message" in config.texts.query(DECISION)
    assert config.texts.stamp != read_wording().stamp
