"""Secrets: refused before the first call, and in nothing that is written or shown."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import polars as pl
import pytest
import yaml
from inspect_ai.log import read_eval_log
from inspect_ai.model import GenerateConfig, ModelOutput, get_model

from offrecord.content.boundary.secrets import REDACTED, planted, redacted
from offrecord.protocol.shield import shielded
from offrecord.records import OffrecordError
from offrecord.runner.addresses import local_root
from offrecord.runner.options import refuse_secrets, split_options
from offrecord.runner.resolve import resolve_design
from offrecord.transcript.store import (
    read_json,
    read_transcript,
    write_json,
    write_transcript,
)
from tests.fake_server import FakeServer, Wire, completion, http, well_formed
from tests.test_tables import row, transcript

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

KEY = "of9-Planted+Key/4711=Zx"  # no known shape: told by its value alone
SHAPED = "sk-proj-abcdEFGH12345678"  # not in the environment: told by its shape
RUN = (
    *("run", "--model", "openai-api/echo/model", "--scenario", "promotion"),
    *("--condition", "baseline", "--runs", "1", "--rounds", "1"),
)


def call(url: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "ECHO_API_KEY": KEY, "ECHO_BASE_URL": url}
    return subprocess.run(
        [sys.executable, "-m", "offrecord", *words],
        env=environment,
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=120,
    )


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, and every member of every archive, as plain bytes."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield str(path), data
        if path.suffix == ".parquet":
            yield f"{path} as rows", pl.read_parquet(data).write_json().encode()
        if zipfile.is_zipfile(io.BytesIO(data)):
            # Inspect's own reader opens every compression that its writer uses.
            log = read_eval_log(str(path), resolve_attachments=True)
            yield f"{path} as a log", log.model_dump_json().encode()


def holding(folder: Path, *done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """Where a planted key or one of a known shape stands, in any of its forms."""
    forms = {f.encode() for one in (KEY, SHAPED) for f in (one, json.dumps(one)[1:-1])}
    shown = [("what was shown", one.stdout + one.stderr) for one in done]
    return [
        name
        for name, data in (*contents(folder), *shown)
        if any(form in data for form in forms)
    ]


def echoing(status: int) -> Callable[[dict[str, Any]], Wire]:
    """A server that repeats in its error what it was sent."""
    told = f"Incorrect API key provided: {KEY}. You sent Authorization: Bearer {KEY}"
    error = {"message": f"{told}, once {SHAPED}", "type": KEY, "code": "bad_key"}

    def respond(_: dict[str, Any]) -> Wire:
        return Wire(http(json.dumps({"error": error, "note": [KEY]}).encode(), status))

    return respond


def some_echoing(body: dict[str, Any]) -> Wire:
    """Errors for surveys, and utterances that say the key."""
    text = well_formed(body["messages"])
    if text.startswith("{"):
        return echoing(400)(body)
    said = completion(body, f"{text} My key is {KEY}.", reasoning_content=f"{KEY}?")
    return Wire(http(json.dumps({**said, "system_fingerprint": KEY}).encode()))


@pytest.mark.parametrize(
    "respond",
    [echoing(401), echoing(200), some_echoing],
    ids=["401", "under 200", "some"],
)
def test_a_key_that_a_server_sends_back_is_in_nothing(
    respond: Callable[[dict[str, Any]], Wire], tmp_path: Path
) -> None:
    out = tmp_path / "study"
    options = ("--", "--display", "plain", "--max-retries", "0", "--log-model-api")
    with FakeServer(respond=respond) as server:
        done = [call(server.url, *RUN, "--out", str(out), *options, cwd=tmp_path)]
    assert server.bodies, done[0].stderr
    if respond is some_echoing:
        csv = ("export", "csv", str(out), "--out", str(tmp_path / "csv"))
        for words in (("report", str(out)), csv, ("estimate", str(out), "--json")):
            done.append(call("http://unused.invalid", *words, cwd=tmp_path))
        assert [one.returncode for one in done] == [0, 0, 0, 0]
        assert REDACTED in " ".join(
            pl.read_parquet(out / "transcripts.parquet")["text"]
        )
    assert list(out.rglob("*.eval"))
    assert holding(tmp_path, *done) == []


def test_a_server_that_is_not_there_costs_no_key(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:9/{KEY}/v1"  # nobody listens there
    done = call(url, *RUN, "--out", str(tmp_path / "s"), "--", cwd=tmp_path)
    assert done.returncode == 2
    assert b"ECHO_BASE_URL holds what looks like a secret" in done.stderr
    assert holding(tmp_path, done) == []


class Refusal(Exception):
    """As clients of providers raise them."""

    def __init__(self) -> None:
        super().__init__(f"refused: Bearer {KEY}")
        self.message = f"key {KEY}"
        self.body = {"error": {"sent": [KEY, f"https://u:{KEY}@host/"]}}
        self.status_code = 403


def test_an_error_keeps_its_kind_and_loses_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ECHO_API_KEY", KEY)
    model = get_model("mockllm/model", memoize=False)

    async def generate(*_: Any, **__: Any) -> ModelOutput:
        try:
            raise ValueError(f"sent {KEY}")
        except ValueError as cause:
            raise Refusal from cause

    model.api.generate = generate  # type: ignore[method-assign]
    assert shielded(shielded(model)) is model

    async def ask() -> None:
        await model.api.generate([], [], "none", GenerateConfig())

    with pytest.raises(Refusal) as caught:
        anyio.run(ask)
    error = caught.value
    shown = "".join(traceback.format_exception(error))
    assert KEY not in f"{error!r} {error.message} {error.body} {shown}"
    assert error.status_code == 403
    assert REDACTED in error.message


@pytest.mark.parametrize(
    "words",
    [
        ["-M", f"x={KEY}"],
        ["-M", 'default_headers={"X-Auth": "abcdefgh"}'],
        ["-M", "default_headers={'Cookie': 'a=b'}"],
        ["-M", "token=abcdef"],
        ["-M", "accessToken=abcdef"],
        ["-M", "aws_secret_access_key=abcdef"],
        ["-M", 'extra={"a": [{"b": {"api\\u005fkey": "abc"}}]}'],
        ["-M", "client={'auth': ['user', 'pw']}"],
        ["--model-base-url=https://user:pw@host/v1"],
        ["--model-base-url", "https://host/v1?key=abc"],
        ["--model-base-url", "https://host/v1?sig=abc"],
        ["--model-base-url", "https://host/v1?x=1&api%5Fkey=abc"],
        ["--metadata", "note=ghp_abcdefghijklmnop1234"],
        ["--metadata", "password=x"],
        ["--tags", "hf_abcdefghijklmnop1234"],
        ["--extra-headers", "Authorization=Basic dXNlcjpwYXNz"],
        ["--extra-body", '{"jwt": "eyJhbGciOiJIUzI1NiJ9.e30.abc"}'],
        ["--notification", "https://user:pw@hooks.example/x"],
    ],
)
def test_options_with_a_secret_are_refused_and_not_repeated(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHO_API_KEY", KEY)
    with pytest.raises(OffrecordError, match="looks like a secret") as caught:
        refuse_secrets(words)
    name, _, value = " ".join(words).replace("=", " ", 1).partition(" ")
    assert name in str(caught.value)
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        ["--max-tokens", "400", "--reasoning-tokens", "2000"],
        ["-M", "tokenizer=org/name", "-M", "prompt_cache_key=study"],
        ["--model-base-url", "http://127.0.0.1:8000/v1"],
        ["--metadata", "author=keynes", "--tags", "hf-internal-testing,monkey"],
        ["-M", "slots=4", "--extra-headers", '{"x-title": "debate study"}'],
        [
            "-M",
            "location=europe-west1",
            "-M",
            "revision=0123456789abcdef0123456789abcdef",
        ],
    ],
)
def test_settings_that_only_sound_alike_are_no_secrets(words: list[str]) -> None:
    refuse_secrets(words)


@pytest.mark.parametrize("option", ["--generate-config", "--model-config"])
def test_a_secret_in_a_file_that_an_option_names_is_refused(
    option: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("model_args:\n  api_key: abcdefgh\n")
    with pytest.raises(OffrecordError, match=f"the file of {option} holds"):
        refuse_secrets([option, str(path)])
    with pytest.raises(OffrecordError, match="no such file"):
        refuse_secrets([option, str(tmp_path / "none.yaml")])


def test_inspects_own_variables_are_options_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL_ARGS", "api_key=abcdefgh")
    with pytest.raises(OffrecordError, match="environment's INSPECT_EVAL_MODEL_ARGS"):
        refuse_secrets([])


@pytest.mark.parametrize(
    "fields",
    [
        {"models": ["openai/gpt?api_key=abcdefgh"]},
        {"models": [f"openai/{SHAPED}"]},
        {"models": ["a/b"], "options": ["-M", "api_key=abcdefgh"]},
    ],
)
def test_a_design_with_a_secret_is_refused_before_the_first_call(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(fields))
    with pytest.raises(OffrecordError, match="looks like a secret"):
        resolve_design(path, {}, [], None)


def test_a_key_in_the_address_of_the_logs_is_refused() -> None:
    with pytest.raises(OffrecordError, match="address of the logs holds"):
        local_root("s3://id:secret@bucket/logs")


def test_local_values_stay_out_of_tracebacks() -> None:
    with pytest.raises(OffrecordError, match="keys into logs"):
        split_options(["--traceback-locals"])


def test_what_looks_like_a_key_is_taken_out_of_a_record_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHO_API_KEY", KEY)
    settings = json.dumps({"extra_headers": {"Authorization": f"Bearer {SHAPED}"}})
    odd: dict[str, Any] = {
        "settings": settings,
        "stop_reason": f"401: {SHAPED}",
        "reasoning": KEY,
    }
    said = f"SIGN - as in {SHAPED}, and {KEY}."
    raw = transcript([row("a", text=said, **odd)])
    write_transcript(tmp_path, raw)
    [read] = read_transcript(tmp_path).to_dicts()
    assert read["stop_reason"] == f"401: {REDACTED}"
    assert SHAPED not in read["settings"]
    assert json.loads(read["settings"])
    assert read["reasoning"] == REDACTED
    # What a model makes up in its reply is evidence; the reader's own key is none.
    assert read["text"] == f"SIGN - as in {SHAPED}, and {REDACTED}."
    raw.write_parquet(tmp_path / "transcripts.parquet")
    assert read_transcript(tmp_path).equals(raw)  # reading changes nothing


@pytest.mark.parametrize(
    "phrase", ["DO NOT PROMOTE", "endorsement", "DO_NOT_ENDORSE", "Delay-Submission"]
)
def test_a_plain_phrase_in_a_variable_is_no_key(
    phrase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [phrase, "PROMOTE"]
    said = [row("a", text=f"{phrase} - as it stands.", labels=labels)]
    monkeypatch.setenv("SVC_TOKEN", phrase)
    assert planted(1) == ()
    assert redacted(f"a reply: {phrase}.") == f"a reply: {phrase}."
    write_transcript(tmp_path, transcript(said))
    write_json(tmp_path / "study.json", {"label": phrase})
    assert read_transcript(tmp_path).equals(transcript(said))
    assert read_json(tmp_path / "study.json") == {"label": phrase}


def test_a_key_like_value_is_taken_out_in_the_forms_that_addresses_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for key in (KEY, "abcdefghijklmnopqrstuvwxyzabcdefgh", "aaaaBBBBccccDDDD"):
        monkeypatch.setenv("ECHO_API_KEY", key)
        for form in (key, quote(key), quote(key, "")):
            assert redacted(f"see {form} there") == f"see {REDACTED} there"
    monkeypatch.setenv("ECHO_API_KEY", "a+b/c=0123456789")
    assert redacted("x?y=a%2bb%2fc%3d0123456789") == f"x?y={REDACTED}"


def test_values_that_are_no_secrets_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "short")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(Path(__file__)))
    text = f"short {Path(__file__)} max_tokens: 400, a token of thanks, the key point"
    assert redacted(text) == text
