"""Servers with quirks: nothing that they send looks like an answer and is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import Model, get_model

from offrecord.records import Ended, Form, Status
from offrecord.task import debate
from offrecord.transcript.answered import mixed_answers
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.record import open_record
from tests.fake_server import FakeServer, Wire, completion, http, well_formed

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

Body = dict[str, Any]
Answer = Callable[[Body], Wire]
CALLS = 2 * 6  # agents x outputs of a turn


def sent(value: object) -> Wire:
    return Wire(http(json.dumps(value).encode()))


def good(body: Body) -> dict[str, Any]:
    return completion(body, well_formed(body["messages"]))


def asked(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def is_survey(body: Body) -> bool:
    return "statement codes" in asked(body)


def is_silent(body: Body) -> bool:
    return "no one in the discussion hears" in asked(body)


def each_in_turn(*wires: Answer) -> Answer:
    """One way to answer for each of the first requests, and a good reply after."""
    left = list(wires)
    return lambda body: left.pop(0)(body) if left else sent(good(body))


def ended(body: Body, reason: str, text: str | None = None, **choice: object) -> Wire:
    """A reply with its finish reason."""
    reply = good(body) if text is None else completion(body, text)
    reply["choices"][0] |= {"finish_reason": reason, **choice}
    return sent(reply)


def model_at(server: FakeServer) -> Model:
    model = get_model(
        "openai-api/quirky/model", base_url=server.url, api_key="k", memoize=False
    )
    api: Any = model.api
    api.retry_wait = lambda: lambda _: 0.0  # there is no server to spare
    return model


class Held(NamedTuple):
    """One debate."""

    log: EvalLog
    rows: pl.DataFrame
    server: FakeServer

    @property
    def heard(self) -> str:
        """All that the server was sent."""
        return json.dumps([body["messages"] for body in self.server.bodies])


def held(respond: Answer, logs: Path, rounds: int = 1) -> Held:
    with FakeServer(respond=respond) as server:
        [log] = inspect_eval(
            debate(rounds=rounds),
            model=model_at(server),
            log_dir=str(logs),
            display="none",
        )
    assert not server.faults
    return Held(log, import_inspect(logs, "study").transcript, server)


def test_an_error_under_the_status_of_success_is_sent_again(tmp_path: Path) -> None:
    errors: list[object] = [
        {"code": 429, "message": "slow down"},
        {"code": "502", "message": "gone"},
        {"type": "overloaded_error", "message": "slow down"},
        {"message": "try again"},
        "out of luck",
    ]
    wires: list[Answer] = [
        partial(lambda error, _: sent({"error": error}), error) for error in errors
    ]
    wires.insert(3, lambda body: sent(good(body)))
    found = held(each_in_turn(*wires), tmp_path)
    assert found.log.status == "success"
    assert len(found.server.bodies) == CALLS + len(errors)
    assert set(found.rows["status"]) == {Status.OK}
    assert found.rows["transport_retries"].sum() == len(errors)


def test_tries_are_finite_and_the_last_error_is_kept_in_its_words(
    tmp_path: Path,
) -> None:
    # Nobody knows whether "out of luck" passes; a refused option never does.
    def respond(body: Body) -> Wire:
        if is_survey(body):
            return sent({"error": "out of luck"})
        refused = {"code": 400, "message": "no such option"}
        return sent({"error": refused} if is_silent(body) else good(body))

    found = held(respond, tmp_path)
    assert found.log.status == "success"
    surveys = found.rows.filter(form=Form.SURVEY)
    assert set(surveys["transport_retries"]) == {4}
    assert all("out of luck" in why for why in surveys["stop_reason"])
    silent = found.rows.filter(channel="off_record", form=Form.UTTERANCE)
    assert set(silent["transport_retries"]) == {0}
    assert all("400: no such option" in why for why in silent["stop_reason"])
    assert {*surveys["status"], *silent["status"]} == {Status.ERROR}
    assert set(found.rows.filter(form=Form.UTTERANCE, channel="public")["status"]) == {
        Status.OK
    }


def test_a_response_without_choices_is_asked_again_if_it_says_why(
    tmp_path: Path,
) -> None:
    bodies: list[dict[str, Any]] = [
        {"errors": [{"message": "out of luck"}]},
        {"detail": "out of luck"},
    ]

    def respond(body: Body) -> Wire:
        if is_survey(body):
            return sent({"status": "error", "message": "out of luck"})
        if is_silent(body):
            return sent({"choices": None})
        return sent(bodies.pop(0) if bodies else good(body))

    found = held(respond, tmp_path)
    spoken = found.rows.filter(form=Form.UTTERANCE, channel="public")
    assert spoken["transport_retries"].sum() == 2
    surveys = found.rows.filter(form=Form.SURVEY)
    assert all("out of luck" in why for why in surveys["stop_reason"])
    silent = found.rows.filter(form=Form.UTTERANCE, channel="off_record")
    assert set(silent["transport_retries"]) == {0}
    assert all("no choices" in why for why in silent["stop_reason"])


def test_a_reply_of_an_unnamed_model_is_read(tmp_path: Path) -> None:
    found = held(lambda body: sent({**good(body), "model": None}), tmp_path)
    assert set(found.rows["status"]) == {Status.OK}


def test_a_wrong_key_under_the_status_of_success_stops_the_study(
    tmp_path: Path,
) -> None:
    wrong = {"error": {"code": 401, "message": "no such user"}}
    found = held(each_in_turn(lambda _: sent(wrong)), tmp_path)
    assert found.log.status == "error"
    assert found.rows["ended"].is_null().all()


def test_a_reply_that_broke_off_is_never_spoken_and_its_text_is_kept(
    tmp_path: Path,
) -> None:
    def respond(body: Body) -> Wire:
        if is_survey(body) or is_silent(body):
            return sent(good(body))
        return ended(body, "error", "DO NOT PROMOTE - half a tex")

    found = held(respond, tmp_path)
    spoken = found.rows.filter(channel="public", form=Form.UTTERANCE)
    assert set(spoken["status"]) == {Status.ERROR}
    assert set(spoken["text"]) == {"DO NOT PROMOTE - half a tex"}
    assert all("finish_reason: error" in why for why in spoken["stop_reason"])
    assert set(found.rows["ended"]) == {Ended.NO_PUBLIC_TEXT}
    assert "half a tex" not in found.heard
    assert len(found.server.bodies) == CALLS / 2  # nothing is asked again


def test_every_word_for_an_end_has_its_status(tmp_path: Path) -> None:
    words = {
        "eos_token": Status.OK,
        "STOP": Status.OK,
        "SAFETY": Status.FILTERED,
        "MAX_TOKENS": Status.TRUNCATED,
        "insufficient_system_resource": Status.ERROR,
        "abort": Status.ERROR,
    }
    failed = {"code": 502, "message": "the model went away"}
    wires: list[Answer] = [
        lambda body: sent(good(body)),
        *(partial(lambda word, body: ended(body, word), word) for word in words),
        lambda body: ended(body, "stop", error=failed),
    ]
    found = held(each_in_turn(*wires), tmp_path)
    statuses = Counter(found.rows["status"])
    expected = Counter([*words.values(), Status.ERROR])
    expected[Status.OK] += CALLS - len(words) - 1
    assert statuses == Counter({str(status): n for status, n in expected.items()})
    assert "the model went away" in " ".join(found.rows["stop_reason"])


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": [{"type": "text", "text": "secret plan"}]},
        {"type": "text", "text": "secret plan", "thought": True},
        {"thinking": "secret plan"},
    ],
)
def test_content_in_parts_is_read_and_its_thinking_is_not_said(
    thought: dict[str, Any], tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def respond(body: Body) -> Wire:
        reply = good(body)
        message = reply["choices"][0]["message"]
        text = message["content"]
        message["content"] = [
            thought,
            {"type": "text", "text": text[:3]},
            {"type": "text", "text": text[3:]},
        ]
        if is_survey(body):  # a field for thinking hides the list from some clients
            message["reasoning_content"] = "secret plan"
        return sent(reply)

    found = held(respond, tmp_path)
    assert set(found.rows["status"]) == {Status.OK}
    assert set(found.rows["reasoning"]) == {"secret plan"}
    texts = found.rows["text"].to_list()
    heads = ("{", "DO NOT PROMOTE - ", "PROMOTE - ")
    assert all(text.startswith(heads) for text in texts)
    assert not any("type" in text for text in texts)
    assert not [one for one in recwarn if "serializer" in str(one.message)]
    assert "secret plan" not in found.heard
    assert "what was said so far leaves it there" in found.heard


OVERFLOWS = [
    (400, "request (131168 tokens) exceeds the available context size (131072 tokens)"),
    (500, "Context size has been exceeded."),
    (400, "Requested tokens (2285) exceed context window of 2048"),
    (400, "This model's maximum context length is 2048 tokens."),
    (200, "the request exceeds the available context size. try increasing it"),
]


@pytest.mark.parametrize(("status", "words"), OVERFLOWS)
def test_a_prompt_that_no_longer_fits_ends_the_run_with_that_reason(
    status: int, words: str, tmp_path: Path
) -> None:
    # The second speaker's prompts have the first one's words in them.
    def respond(body: Body) -> Wire:
        if "leaves it there" not in json.dumps(body["messages"]):
            return sent(good(body))
        error = {"error": {"code": status if status != 200 else 400, "message": words}}
        return Wire(http(json.dumps(error).encode(), status))

    found = held(respond, tmp_path)
    assert found.log.status == "success"
    assert set(found.rows["ended"]) == {Ended.CONTEXT_OVERFLOW}
    second = found.rows.filter(turn=2)
    assert set(second["status"]) == {Status.ERROR}
    assert set(second["stop_reason"]) == {"model_length"}
    assert len(found.server.bodies) <= CALLS + 2 * CALLS  # a client tries 500 itself


class Called(NamedTuple):
    """What a call of the command line left."""

    code: int
    printed: str
    """Both streams."""

    @property
    def last(self) -> str:
        return self.printed.strip().splitlines()[-1]


def offrecord(*words: str, **environment: str) -> Called:
    done = subprocess.run(
        [sys.executable, "-m", "offrecord", *words],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    printed = (done.stdout + done.stderr).decode(encoding)
    assert "Traceback" not in printed, printed
    return Called(done.returncode, printed)


def ran(out: Path, respond: Answer, *words: str) -> Called:
    """A study of one round against a server."""
    with FakeServer(respond=respond) as server:
        called = offrecord(
            *("run", "--model", "openai-api/quirky/model", "--out", str(out)),
            *("--scenario", "promotion", "--rounds", "1", *words),
            *("--", "--display", "none", "--max-retries", "0"),
            **server.environment("quirky"),
        )
    assert not server.faults
    return called


def test_a_study_of_nothing_but_empty_replies_is_no_success(tmp_path: Path) -> None:
    respond = lambda body: sent(completion(body, ""))  # noqa: E731
    called = ran(tmp_path / "s", respond, "--condition", "baseline", "--runs", "2")
    assert called.code == 1
    assert "no reply says anything (empty)" in called.last
    assert set(open_record(tmp_path / "s").transcript["ended"]) == {
        Ended.NO_PUBLIC_TEXT
    }


def test_a_study_without_any_choices_is_no_success(tmp_path: Path) -> None:
    respond = lambda body: sent({**good(body), "choices": []})  # noqa: E731
    called = ran(tmp_path / "s", respond, "--condition", "baseline", "--runs", "5")
    assert called.code == 1
    assert "no reply says anything (error)" in called.last
    study = open_record(tmp_path / "s")
    assert set(study.transcript["stop_reason"]) == {"no reply"}
    assert study.ended_runs == 0


def test_a_router_is_named_and_no_gate_passes_on_its_answers(tmp_path: Path) -> None:
    def respond(body: Body) -> Wire:
        return sent({**good(body), "model": "b" if is_silent(body) else "a"})

    out = str(tmp_path / "s")
    conditions = ("--condition", "baseline", "--condition", "alignment-future")
    named = "several models answered for openai-api/quirky/model: off_record by a ("
    assert named in ran(tmp_path / "s", respond, *conditions, "--runs", "1").printed
    gate = ("audit", out, "--max-missing", "5")  # passes on any other study
    for verb, code in ((("estimate", out), 0), (gate, 3)):
        called = offrecord(*verb)
        assert called.code == code
        assert named in " ".join(called.printed.split())


def test_a_log_without_samples_is_named_at_import(tmp_path: Path) -> None:
    held(lambda body: sent(good(body)), tmp_path / "logs")
    [path] = (tmp_path / "logs").glob("*.eval")
    empty = read_eval_log(str(path), header_only=True)
    empty.samples, empty.status = [], "cancelled"
    write_eval_log(empty, str(tmp_path / "logs" / "empty.eval"))
    imported = import_inspect(tmp_path / "logs", "study")
    assert imported.left_out == ("empty.eval: no samples (log is cancelled)",)
    assert imported.transcript.height == CALLS


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_without_unicode_gets_no_traceback(
    encoding: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "s")
    study = ("--scenario", "promotion", "--rounds", "1", "--out", out)
    run = ("run", "--model", "simulated/paper", "--condition", "baseline", *study)
    for words in (run, ("estimate", out), ("content", "list")):
        called = offrecord(*words, PYTHONIOENCODING=encoding)
        assert called.code == 0
        assert "\\u2013" not in called.printed  # a dash has a hyphen for it


THOUGHT = [
    "Here is my thought process:\n{x}\n\nHere is my response:\n{said}",
    "{x}\n[BEGIN FINAL RESPONSE]\n{said}",
    "<|think|>\n{x}\n<|/think|>\n{said}",
    '<details type="reasoning">\n{x}\n</details>\n{said}',
    "> {x}\n\n{said}",
    "思考：{x}\n回答：{said}",
    "**My reasoning**\n{x}\n\n**Final answer**\n{said}",
    "<|channel|>analysis<|message|>{x}<|channel|>final<|message|>{said}",
]


def test_thinking_in_shapes_that_no_list_knows_enters_no_prompt(tmp_path: Path) -> None:
    def respond(body: Body) -> Wire:
        text = well_formed(body["messages"])
        heard = json.dumps(body["messages"]).count("leaves it there")
        if not is_survey(body):
            text = THOUGHT[heard].format(x="CANARY-7731 I could yield.", said=text)
        return sent(completion(body, text))

    found = held(respond, tmp_path, rounds=len(THOUGHT) // 2)
    assert set(found.rows["ended"]) == {Ended.COMPLETED}
    assert set(found.rows["status"]) == {Status.OK}
    assert "CANARY" not in found.heard


def test_a_page_of_a_gateway_in_place_of_a_reply_is_an_error(tmp_path: Path) -> None:
    page = "<html>\n<head><title>502 Bad Gateway</title></head></html>"
    found = held(
        lambda body: ended(body, "stop", page if is_silent(body) else None), tmp_path
    )
    broken = found.rows.filter(channel="off_record", form=Form.UTTERANCE)
    assert set(broken["status"]) == {Status.ERROR}
    assert all("502 Bad Gateway" in why for why in broken["stop_reason"])
    assert set(broken["text"]) == {page}


def test_replies_that_do_not_say_why_they_ended_are_counted(tmp_path: Path) -> None:
    def respond(body: Body) -> Wire:
        reply = good(body)
        if is_silent(body):
            reply["choices"][0]["finish_reason"] = None
        return sent(reply)

    found = held(respond, tmp_path / "logs")
    assert set(found.rows["status"]) == {Status.OK}
    out = str(tmp_path / "study")
    told = offrecord("import", "inspect", str(tmp_path / "logs"), "--out", out)
    silent = sum(map(is_silent, found.server.bodies))
    assert f"; {silent} did not say why they ended" in told.printed


def test_channels_that_different_servers_answer_are_told(tmp_path: Path) -> None:
    def hears_no_one(body: Body) -> bool:
        return "no one" in asked(body)

    def respond(body: Body) -> Wire:
        server = "north" if hears_no_one(body) else "south"
        return sent({**good(body), "provider": server, "system_fingerprint": "fp"})

    rows = held(respond, tmp_path, rounds=2).rows
    told = mixed_answers(rows)
    assert "off_record by openai-api/north/fp; public by openai-api/south/fp" in told
    public = pl.col("channel") == "public"
    both = pl.when(public & (pl.col("turn") == 1)).then(pl.lit("openai-api/north/fp"))
    shared = rows.with_columns(provider=both.otherwise("provider"))
    assert mixed_answers(shared) == ""
    few = rows.filter((pl.col("turn") == 1) | ~public)
    assert mixed_answers(few) == ""
    numbered = rows.with_columns(provider=pl.format("{}-{}", "channel", pl.row_index()))
    assert mixed_answers(numbered) == ""
