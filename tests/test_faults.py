"""Faulty providers: what each fault costs, and that nothing else is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import get_model

from offrecord.measures.parsed import pairs_of, surveys_of
from offrecord.records import Ended, Form, Status
from offrecord.task import debate
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.schema import ROW_KEY
from tests.fake_server import FakeServer, Wire
from tests.faulty import EVERY, KEPT, Faulty, Reply

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

CELL = ("--scenario", "promotion", "--condition", "alignment-future")
QUIET = ("--display", "none", "-M", "client_timeout=4")


SCHEMAS: Final[dict[str | None, tuple[Status, Callable[[int], int]]]] = {
    None: (Status.OK, lambda items: 0),  # noqa: ARG005
    "prose": (Status.UNCLEAR, lambda items: items),
    "missing item": (Status.OK, lambda items: 1),  # noqa: ARG005
    "extra key": (Status.OK, lambda items: 0),  # noqa: ARG005
    "a list": (Status.UNCLEAR, lambda items: items),
    "words for figures": (Status.UNCLEAR, lambda items: items),
}
"""The parse's status of a survey, and how many of its items are missing."""


class Held(NamedTuple):
    """A study held against a faulty server, and what the server knows of it."""

    study: Record
    faulty: Faulty
    printed: str


def held(out: Path, faulty: Faulty, *words: str) -> Held:
    with FakeServer(respond=faulty) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "offrecord", "run", *CELL, *words),
                *("--model", "openai-api/faulty/model", "--out", str(out)),
                *("--", *QUIET),
            ],
            env={**os.environ, **server.environment("faulty")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert not server.faults
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return Held(open_record(out), faulty, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def at_30_percent(tmp_path_factory: pytest.TempPathFactory) -> Held:
    out = tmp_path_factory.mktemp("faults") / "study"
    words = ("--condition", "baseline", "--runs", "5", "--rounds", "2")
    return held(out, Faulty(0.3), *words)


def test_the_study_meets_every_kind_of_fault(at_30_percent: Held) -> None:
    sent = at_30_percent.faulty.sent
    share = sum(reply.fault is not None for reply in sent) / len(sent)
    assert 0.25 < share < 0.35
    assert {reply.fault for reply in sent} == {None, *EVERY}


def test_every_good_reply_is_kept_word_for_word(at_30_percent: Held) -> None:
    rows = at_30_percent.study.transcript
    good = [reply for reply in at_30_percent.faulty.sent if reply.fault is None]
    kept = Counter(rows.select("prompt_hash", "text", "reasoning", "status").rows())
    for reply in good:
        row = (reply.prompt, reply.text, f"thought {reply.mark}", str(Status.OK))
        assert kept[row] == 1, reply


def test_odd_letters_and_encodings_cost_no_word(at_30_percent: Held) -> None:
    # Half a surrogate pair, which no file can hold, is gone; all else is as sent.
    ends = {"utf-16": " \u00e0", "nul": " \x00", "lone surrogate": " "}
    kept = set(at_30_percent.study.transcript.select("prompt_hash", "text").rows())
    odd = [reply for reply in at_30_percent.faulty.sent if reply.fault in KEPT]
    assert {reply.fault for reply in odd} == set(ends)
    for reply in odd:
        assert (reply.prompt, reply.text + ends[str(reply.fault)]) in kept


def test_every_fault_has_its_status_and_costs_one_elicitation(
    at_30_percent: Held,
) -> None:
    rows = at_30_percent.study.transcript
    final = [r for r in at_30_percent.faulty.sent if r.status is not None]
    assert rows.height == len(final)
    found = Counter(rows.select("prompt_hash", "status").rows())
    assert found == Counter((reply.prompt, str(reply.status)) for reply in final)


def test_what_is_sent_again_is_counted_for_the_request_it_concerns(
    at_30_percent: Held,
) -> None:
    again = Counter(r.prompt for r in at_30_percent.faulty.sent if r.status is None)
    rows = at_30_percent.study.transcript
    counted = rows.group_by("prompt_hash").agg(pl.col("transport_retries").sum())
    assert {p: n for p, n in counted.iter_rows() if n} == dict(again)


def test_a_turn_without_public_text_ends_its_run_and_no_other_reply_does(
    at_30_percent: Held,
) -> None:
    rows = at_30_percent.study.transcript
    spoken = pl.col("channel") == "public", pl.col("form") == Form.UTTERANCE
    silent = rows.filter(*spoken, pl.col("draw") == 0).filter(
        ~pl.col("status").is_in([Status.OK, Status.TRUNCATED])
    )
    runs = rows.group_by("run").agg(pl.col("ended").unique(), pl.col("turn").max())
    assert runs.height == 10
    ends = dict(silent.select("run", "turn").rows())
    assert ends
    for run, ended, turn in runs.iter_rows():
        assert ended == [Ended.NO_PUBLIC_TEXT if run in ends else Ended.COMPLETED]
        assert turn == ends.get(run, 4)
    # Whatever else failed, each turn begun has all of its outputs.
    assert set(rows.group_by("run", "turn").len()["len"]) == {6}
    # And what was not reached is missing, not left out.
    assert pairs_of(at_30_percent.study).height == 10 * 4


def test_nothing_off_the_record_enters_a_later_prompt_under_faults_and_retries(
    at_30_percent: Held,
) -> None:
    rows = at_30_percent.study.transcript
    public = rows.filter(channel="public", form=Form.UTTERANCE, draw=0)
    last = pl.col("turn").max().over("run")
    answered = public.filter(pl.col("turn") < last)
    prompts = [text for _, text in at_30_percent.faulty.prompts]
    heard = {
        r.mark for r in at_30_percent.faulty.sent if any(r.mark in p for p in prompts)
    }
    assert heard == set(answered["text"].str.extract(r"(mark-\w+)").drop_nulls())
    assert heard
    assert not any("thought" in prompt for prompt in prompts)


def test_a_survey_of_another_schema_keeps_what_it_answers(at_30_percent: Held) -> None:
    sent = {
        (reply.prompt, f"thought {reply.mark}"): reply.schema
        for reply in at_30_percent.faulty.sent
        if reply.fault is None
    }
    surveys = at_30_percent.study.transcript.join(
        surveys_of(at_30_percent.study), on=ROW_KEY, suffix="_parsed"
    )
    met = set()
    for row in surveys.rows(named=True):
        key = row["prompt_hash"], row["reasoning"]
        if key in sent:
            schema = sent[key]
            met.add(schema)
            missing = row["answers"].count(None)
            assert row["status_parsed"] == SCHEMAS[schema][0], row["text"]
            assert missing == SCHEMAS[schema][1](len(row["answers"])), row["text"]
    assert met == set(SCHEMAS)


def test_retries_are_finite_and_counted_and_the_other_outputs_are_kept(
    tmp_path: Path,
) -> None:
    # Every survey finds the service overloaded, for good. Inspect tries twice, and in
    # each of its tries the provider's client sends two requests.
    faulty = Faulty(0.0)

    def respond(body: dict[str, Any]) -> Wire:
        sent = faulty(body)
        survey = "statement codes" in body["messages"][-1]["content"]
        return EVERY["overloaded"].send(Reply(body, "", "")) if survey else sent

    with FakeServer(respond=respond) as server:
        model = get_model(
            "openai-api/fake/model",
            base_url=server.url,
            api_key="k",
            memoize=False,
            max_retries=1,
        )
        inspect_eval(
            debate(rounds=1),
            model=model,
            max_retries=1,
            log_dir=str(tmp_path),
            display="none",
        )
    rows = import_inspect(tmp_path, "study").transcript
    assert rows.height == 2 * 6
    surveys = rows.filter(form=Form.SURVEY)
    assert set(surveys["status"]) == {Status.ERROR}
    assert set(surveys["transport_retries"]) == {3}
    others = rows.filter(form=Form.UTTERANCE)
    assert set(others["status"]) == {Status.OK}
    assert set(others["transport_retries"]) == {0}
    assert len(faulty.sent) == surveys.height * 4 + others.height
    assert set(rows["ended"]) == {Ended.COMPLETED}


def test_the_user_sees_what_came_back_in_one_line(at_30_percent: Held) -> None:
    rows = at_30_percent.study.transcript
    statuses = Counter(rows["status"])
    [line] = [x for x in at_30_percent.printed.splitlines() if " replies: " in x]
    assert line.startswith(f"offrecord: {rows.height} replies: {statuses['ok']} ok, ")
    for status, count in statuses.items():
        assert f"{count} {status}" in line
    assert f"{rows['transport_retries'].sum()} requests sent again" in line
