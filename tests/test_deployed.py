"""Transcripts of deployed agents: published runs in other formats, and broken ones."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai.log import EvalLog, EvalSample, write_eval_log
from inspect_ai.model import ChatMessageAssistant

from offrecord.estimates.frames.table import estimate_table
from offrecord.measures.parsed import pairs_of, stances_of, write_parsed
from offrecord.records import Form
from offrecord.transcript.deployed import import_transcripts, read_map
from offrecord.transcript.deployed.mapping import Map, Remove
from offrecord.transcript.deployed.personal import without_fields
from offrecord.transcript.imported import Imported
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import Record, open_record
from tests.conftest import Offrecord

SHARED = Path(__file__).parents[2] / "shared" / "llmagora"
COLUMNS = (
    *("model", "partner", "cast", "scenario", "condition", "kind", "timing"),
    *("protocol", "repeat", "round", "turn", "role", "side", "pressed_side"),
    *("labels", "channel", "status"),
)


@pytest.fixture(scope="module")
def imported() -> Imported:
    """The published runs, as they are imported from their own format."""
    if not SHARED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    return import_llmagora(SHARED, "study")


def said(record: Record) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The utterances of each run, those without a text too."""
    rows = record.transcript.filter(form=Form.UTTERANCE)
    for (run,), own in rows.group_by("run", maintain_order=True):
        yield str(run), own.to_dicts()


def facts_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS}


def as_chat(record: Record, path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for run, rows in said(record):
            messages = [
                {
                    "role": "assistant",
                    "name": row["agent"],
                    "content": row["text"],
                    "facts": facts_of(row),
                }
                for row in rows
            ]
            file.write(json.dumps({"id": run, "messages": messages}) + "\n")


def attribute(name: str, value: object) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return {"key": name, "value": {"stringValue": text}}


def as_spans(record: Record, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for run, rows in said(record):
            spans = []
            for place, row in enumerate(rows):
                parts = [{"type": "text", "content": row["text"]}]
                answer = [{"role": "assistant", "parts": parts}]
                attributes = [
                    attribute("gen_ai.operation.name", "chat"),
                    attribute("gen_ai.conversation.id", run),
                    attribute("gen_ai.agent.name", row["agent"]),
                    attribute("gen_ai.request.model", row["model"]),
                    attribute("gen_ai.output.messages", answer),
                    attribute("facts", facts_of(row)),
                ]
                time = str(1_700_000_000_000_000_000 + place * 1_000_000_000)
                spans.append({"startTimeUnixNano": time, "attributes": attributes})
            scopes = [{"spans": spans[::-1]}]  # the last to end comes first
            file.write(json.dumps({"resourceSpans": [{"scopeSpans": scopes}]}) + "\n")


def as_inspect(record: Record, path: Path) -> None:
    samples = []
    for run, rows in said(record):
        messages: list[Any] = [
            ChatMessageAssistant(
                content=row["text"] or "",
                model=row["model"],
                metadata={"agent": row["agent"], "facts": facts_of(row)},
            )
            for row in rows
        ]
        samples.append(
            EvalSample(id=run, epoch=1, input="", target="", messages=messages)
        )
    log = EvalLog.model_validate(
        {
            "eval": {
                "created": "2026-01-01T00:00:00+00:00",
                "task": "other/task",
                "model": "none/none",
                "dataset": {},
                "config": {},
            },
            "samples": samples,
        }
    )
    write_eval_log(log, str(path))


WRITERS = {
    "openai-chat": (as_chat, "chat.jsonl.gz", "facts/{}"),
    "otel-genai": (as_spans, "spans.json", "attributes/facts/{}"),
    "inspect": (as_inspect, "other.eval", "metadata/facts/{}"),
}


@pytest.mark.parametrize("preset", WRITERS)
def test_published_runs_in_another_format_give_the_same_figures(
    preset: str, imported: Imported, tmp_path: Path
) -> None:
    rows = imported.transcript
    if preset == "inspect":  # whose logs take a second for ten samples
        rows = rows.filter(model=rows["model"][0])
    published = write_parsed(tmp_path / "first", replace(imported, transcript=rows))
    write, name, place = WRITERS[preset]
    write(published, tmp_path / name)
    columns = {one: place.format(one) for one in COLUMNS}
    (tmp_path / "map.yaml").write_text(
        json.dumps({"preset": preset, "version": 1, "columns": columns})
    )
    how, stamp = read_map(tmp_path / "map.yaml")
    found = import_transcripts(tmp_path / name, how, stamp, "study")
    assert found.left_out == ()
    again = write_parsed(tmp_path / "study", found)
    first, second = compared(published), compared(again)
    assert first.equals(second)
    by = ["model", "kind"]
    assert repr([*estimate_table(first, by)]) == repr([*estimate_table(second, by)])
    labels = [stances_of(one)["label"].sort() for one in (published, again)]
    assert labels[0].equals(labels[1])
    assert again.transcript.height == sum(len(own) for _, own in said(published))


def compared(record: Record) -> pl.DataFrame:
    """Pairs under names of runs that no file gives, without counts of attempts."""
    run = pl.col("run").str.replace(r"^other.eval:(.*)/1$", "$1")
    pairs = pairs_of(record).with_columns(run=run, cluster=run, attempts=pl.lit(1))
    return pairs.sort("run", "turn", "agent")


CHAT = {
    "id": "c0",
    "messages": [
        {"role": "system", "content": "You plan."},
        {"role": "user", "content": "Ship it? Ask ann@example.org or +49 30 901820."},
        {"role": "assistant", "name": "planner", "content": "SHIP - it is ready."},
        {"role": "assistant", "name": "critic", "content": "HOLD - tests fail."},
        {"role": "assistant", "name": "planner", "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "3 failed"},
        {"role": "assistant", "name": "planner", "content": "HOLD - you are right."},
    ],
}
MAP = {
    "version": 1,
    "preset": "openai-chat",
    "decisions": [
        {"question": "Ship?", "labels": ["SHIP", "HOLD"], "pressed_side": "SHIP"}
    ],
    "remove": {"email": True, "phone": "DE"},
}


def study_of(
    tmp_path: Path, offrecord: Offrecord, lines: list[bytes], how: Any = MAP
) -> Any:
    (tmp_path / "chat.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (tmp_path / "map.yaml").write_text(json.dumps(how))
    return offrecord(
        *("import", "transcripts", str(tmp_path / "chat.jsonl")),
        *("--map", str(tmp_path / "map.yaml"), "--out", str(tmp_path / "s")),
    )


def chat(**changed: Any) -> bytes:
    return json.dumps({**CHAT, **changed}).encode()


def test_what_was_observed_is_no_audience_effect(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    done = study_of(tmp_path, offrecord, [chat(id=f"c{n}") for n in range(4)])
    assert done.code == 0, done.err
    study = open_record(tmp_path / "s")
    rows = study.transcript.filter(run="c0").sort("turn")
    assert rows["agent"].to_list() == ["planner", "critic", "planner"]
    assert rows["round"].to_list() == [1, 1, 2]
    assert rows["text"][2] == "HOLD - you are right."
    given = pl.read_parquet(tmp_path / "s" / "given.parquet").filter(run="c0")
    assert given.select("turn", "speaker").rows() == [
        (0, "system"),
        (0, "user"),
        (2, "tool"),
    ]
    assert "ann@example.org" not in " ".join(given["text"])
    assert given["text"][1] == "Ship it? Ask [email] or [phone]."
    printed = offrecord("estimate", str(tmp_path / "s")).out
    assert "no audience effect" in " ".join(printed.split())
    stored = json.loads((tmp_path / "s" / "estimates.json").read_text())
    values = {(one["agent"], one["quantity"]): one for one in stored["observed"]}
    assert values["planner", "on_side"]["value"] == 0.5
    assert values["planner", "changed"]["value"] == 1.0
    assert values["critic", "on_side"]["value"] == 0.0
    assert values["critic", "changed"]["value"] is None
    assert stored["split"] == []
    assert offrecord("report", str(tmp_path / "s")).code == 0


def test_what_cannot_be_read_is_counted_by_its_reason(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
    lines = [
        chat(),
        b'{"id": "cut", "messages": [',
        b"[1, 2]",
        b"\xff\xfe",
        chat(),
        chat(id="empty", messages=[]),
        chat(id="bare", messages=["words", 3]),
        chat(id="nobody", messages=[{"content": "who said that?"}]),
        chat(id="huge", messages=[{"role": "assistant", "content": "x" * 2_000_001}]),
        json.dumps({"messages": CHAT["messages"]}).encode(),
        chat(id="key", messages=[{"role": "assistant", "content": f"use {secret}"}]),
    ]
    done = study_of(tmp_path, offrecord, lines)
    assert done.code == 0, done.err
    for line in (
        "not JSON in UTF-8: 2, first at chat.jsonl:2",
        "no JSON object: 1, first at chat.jsonl:3",
        "a conversation whose id was there before: 1, first at chat.jsonl:5",
        "no messages where the map says: 1, first at chat.jsonl:6",
        "a message that is no object: 2, first at chat.jsonl:7",
        "a message without a speaker: 1, first at chat.jsonl:8",
        "a text of more than 2,000,000 characters: 1, first at chat.jsonl:9",
        "a message of no conversation: 6, first at chat.jsonl:10",
        "calls of tools without words: 2, first at chat.jsonl:1",
    ):
        assert line in done.err
    stored = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*.*"))
    assert secret.encode() not in stored
    texts = open_record(tmp_path / "s").transcript["text"]
    assert [text for text in texts if "use " in text] == ["use [redacted]"]


def call(**changed: Any) -> bytes:
    return json.dumps({"traceId": "t", "type": "GENERATION", **changed}).encode()


def test_calls_of_a_model_are_one_conversation_without_repeats(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    user = {"role": "user", "content": "Go."}
    first = {"role": "assistant", "content": "One."}
    lines = [
        call(
            startTime="2026-01-01T00:00:02Z",
            name="b",
            input=[user, first],
            output={"role": "assistant", "content": "Two."},
        ),
        call(startTime="2026-01-01T00:00:01Z", name="a", input=[user], output="One."),
        call(startTime="2026-01-01T00:00:01Z", type="SPAN", input="ignored"),
    ]
    how = {"version": 1, "preset": "langfuse"}
    assert study_of(tmp_path, offrecord, lines, how).code == 0
    rows = open_record(tmp_path / "s").transcript.sort("turn")
    assert rows.select("agent", "text").rows() == [("a", "One."), ("b", "Two.")]
    given = pl.read_parquet(tmp_path / "s" / "given.parquet")
    assert given["text"].to_list() == ["Go."]


def test_older_attributes_of_spans_are_read(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    attributes = [
        attribute("gen_ai.prompt.0.role", "user"),
        attribute("gen_ai.prompt.0.content", "Go."),
        attribute("gen_ai.completion.0.role", "assistant"),
        attribute("gen_ai.completion.0.content", "Gone."),
        attribute("gen_ai.response.model", "m"),
    ]
    span = {"traceId": "t", "attributes": attributes}
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    how = {"version": 1, "preset": "otel-genai"}
    assert study_of(tmp_path, offrecord, [line.encode()], how).code == 0
    rows = open_record(tmp_path / "s").transcript
    assert rows.select("run", "model", "text").rows() == [("t", "m", "Gone.")]


def test_a_call_is_of_the_nearest_agent_around_it(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    def span(own: str, parent: str | None, **data: Any) -> bytes:
        ids = {"object": "trace.span", "trace_id": "t", "id": own, "parent_id": parent}
        time = "2026-01-01T00:00:00.1+00:00"
        return json.dumps({**ids, "started_at": time, "span_data": data}).encode()

    def said(words: str) -> dict[str, Any]:
        heard = [{"role": "user", "content": "Go."}]
        output = [{"role": "assistant", "content": words}]
        return {"type": "generation", "input": heard, "output": output, "model": "m"}

    lines = [  # a span is written when it ends, so behind those in it
        json.dumps({"object": "trace", "id": "t", "group_id": "chat"}).encode(),
        span("g1", "turn", **said("One.")),
        span("g2", "a2", **said("Two.")),
        span("a2", "tool", type="agent", name="helper"),
        span("tool", "turn", type="function", name="ask_helper", output="Two."),
        span("turn", "a1", type="custom", name="turn", data={}),
        span("g3", "turn", type="response", response_id="r"),
        span("g4", "loop", **said("Three.")),
        span("loop", "loop", type="custom", name="its own parent"),
        span("a1", None, type="agent", name="lead"),
    ]
    done = study_of(
        tmp_path, offrecord, lines, {"version": 1, "preset": "openai-agents"}
    )
    assert "no messages where the map says: 1, first at chat.jsonl:7" in done.err
    rows = open_record(tmp_path / "s").transcript.sort("run", "turn")
    assert rows.select("run", "agent", "text").rows() == [
        ("chat", "lead", "One."),
        ("chat", "helper", "Two."),
        ("t", "assistant", "Three."),
    ]
    guess = offrecord("import", "transcripts", str(tmp_path / "chat.jsonl"), "--guess")
    assert "preset: openai-agents" in guess.out
    assert "lead (agent): One." in guess.out


def test_a_span_is_of_the_agent_that_was_invoked(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    chat = [
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.output.messages", [{"role": "assistant", "content": "Go."}]),
    ]
    invoked = [
        attribute("gen_ai.operation.name", "invoke_agent"),
        attribute("gen_ai.agent.name", "planner"),
    ]
    spans = [
        {"traceId": "t", "spanId": "2", "parentSpanId": "1", "attributes": chat},
        {"traceId": "t", "spanId": "1", "attributes": invoked},
    ]
    line = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    how = {"version": 1, "preset": "otel-genai"}
    assert study_of(tmp_path, offrecord, [line.encode()], how).code == 0
    rows = open_record(tmp_path / "s").transcript
    assert rows.select("agent", "text").rows() == [("planner", "Go.")]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"preset": "none"}, "no preset 'none' (known: inspect, "),
        ({"container": "tape"}, "no reader 'tape' (known: inspect, jsonl, otlp"),
        ({"speaker": 3}, "field 'speaker'"),
        ({"columns": {"colour": "x"}}, "no column 'colour'"),
        ({"agents": ["nobody"], "messages": "messages"}, "no message of an agent"),
        (
            {"decisions": [{"question": "", "labels": "AB", "pressed_side": "C"}]},
            "field 'decisions.0.labels'",
        ),
    ],
)
def test_a_map_that_is_wrong_is_one_line_and_makes_nothing(
    how: dict[str, Any], said: str, tmp_path: Path, offrecord: Offrecord
) -> None:
    done = study_of(tmp_path, offrecord, [chat()], {"version": 1, **how})
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert said in done.err
    assert not (tmp_path / "s").exists()


def test_a_guess_is_a_map(tmp_path: Path, offrecord: Offrecord) -> None:
    (tmp_path / "chat.jsonl").write_bytes(chat())
    words = ("import", "transcripts", str(tmp_path / "chat.jsonl"))
    done = offrecord(*words, "--guess")
    assert (done.code, "preset: openai-chat" in done.out) == (0, True)
    (tmp_path / "map.yaml").write_text(done.out)
    out = str(tmp_path / "s")
    done = offrecord(*words, "--map", str(tmp_path / "map.yaml"), "--out", out)
    assert done.code == 0, done.err


def test_named_fields_are_taken_out_wherever_they_stand(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    person = {"name": "Ann", "age": 3}
    said = {"role": "assistant", "content": json.dumps({"customer": person, "n": 1})}
    content = json.dumps([{"customer": "Cy"}])
    message = {"role": "user", "content": content, "customer": {"name": "Bea"}}
    lines = [
        call(
            name="a",
            startTime="2026-01-01T00:00:01Z",
            input=json.dumps(
                [{**message, "content": json.dumps([{"customer": "Cy"}])}]
            ),
            output={"messages": [said]},
            metadata=[{"customer": person}, {"customer": "Dan"}],
        )
    ]
    fields = ["customer", "content/customer", "metadata/customer", "input/0/role/x"]
    how = {
        "version": 1,
        "preset": "langfuse",
        "remove": {"fields": fields},
        "columns": {"factor_about": "metadata", "factor_who": "customer"},
    }
    assert study_of(tmp_path, offrecord, lines, how).code == 0
    study = tmp_path / "s"
    held = pl.read_parquet(study / "transcripts.parquet").row(0, named=True)
    given = pl.read_parquet(study / "given.parquet")
    every = json.dumps([held["text"], held["factors"], given["text"].to_list()])
    for name in ("Ann", "Bea", "Cy", "Dan"):
        assert name not in every
    assert json.loads(held["text"]) == {"customer": "[removed]", "n": 1}
    assert given["text"].to_list() == ['[{"customer": "[removed]"}]']


@pytest.mark.parametrize(
    ("value", "field", "left"),
    [
        ({"a": {"b": 1, "c": 2}}, "a/b", {"a": {"b": "[removed]", "c": 2}}),
        ({"a": [{"b": 1}, {"b": 2}]}, "a/b", {"a": [{"b": "[removed]"}] * 2}),
        ({"a": [{"b": 1}, {"b": 2}]}, "a/-1/b", {"a": [{"b": 1}, {"b": "[removed]"}]}),
        ({"a": '{"b": 1}'}, "a/b", {"a": '{"b": "[removed]"}'}),
        ({"a": "plain"}, "a/b", {"a": "plain"}),
        ({"a": '{ "c":1 }'}, "a/b", {"a": '{ "c":1 }'}),
    ],
)
def test_a_field_by_hand(value: Any, field: str, left: Any) -> None:
    assert without_fields(value, Map(remove=Remove(fields=(field,)))) == left


def test_what_may_be_an_agents_after_all_is_counted(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    named = [
        {"role": "assistant", "name": "ada", "content": "yes"},
        {"role": "assistant", "name": "bret", "content": "no"},
        {"role": "asistant", "content": "yes"},
    ]
    lines = [chat(id="a", messages=named), chat(id="b", messages="oops")]
    done = study_of(tmp_path, offrecord, lines)
    assert done.code == 0, done.err
    for line in (
        "messages that are no list: 1, first at chat.jsonl:2",
        "a message of no known role, taken for a user's: 1, first at chat.jsonl:1",
    ):
        assert line in done.err
    (tmp_path / "map.yaml").write_text(
        "version: 1\npreset: openai-chat\nagents: [ada, bert]\n"
    )
    how, stamp = read_map(tmp_path / "map.yaml")
    found = import_transcripts(tmp_path / "chat.jsonl", how, stamp, "s")
    assert found.transcript["agent"].to_list() == ["ada"]
    told = "\n".join(found.left_out)
    assert "a message of an agent's role, by none of 'agents': 1" in told
    assert "no speaker is 'bert', as 'agents' has it: 1" in told
    # Another file is another study.
    shutil.copy(tmp_path / "chat.jsonl", tmp_path / "other.jsonl")
    words = ("import", "transcripts", str(tmp_path / "other.jsonl"))
    done = offrecord(
        *words, "--map", str(tmp_path / "map.yaml"), "--out", str(tmp_path / "s")
    )
    assert done.code == 2
    assert "another import: name another --out" in done.err
