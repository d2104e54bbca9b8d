"""Secrets: refused before the first call, and in nothing that is written or shown."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from offrecord.content.secrets import REDACTED, redacted, without_planted
from offrecord.records import OffrecordError
from offrecord.runner.options import refuse_secrets
from tests.fake_server import FakeServer, Wire, completion, http, well_formed

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

KEY = "of9-Planted+Key/4711=Zx"  # no known shape: told by its value alone
SHAPED = "sk-proj-abcdEFGH12345678"  # not in the environment: told by its shape
RUN = ("run", "--model", "openai-api/echo/model", "--scenario", "promotion")
RUN += ("--condition", "baseline", "--runs", "1", "--rounds", "1")


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
            yield from members(path)


def members(path: Path) -> Iterator[tuple[str, bytes]]:
    # Inspect's own reader opens every compression that its writer uses.
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(path), resolve_attachments=True)
    yield f"{path} as a log", log.model_dump_json().encode()


def holding(folder: Path, *done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """Where a planted key or one of a known shape stands, in any of its forms."""
    forms = {f.encode() for one in (KEY, SHAPED) for f in (one, json.dumps(one)[1:-1])}
    shown = [
        ("what was shown", call.stdout + call.stderr) for call in done
    ]
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
    "respond", [echoing(401), echoing(400), echoing(500), some_echoing]
)
def test_a_key_that_a_server_sends_back_is_in_nothing(
    respond: Callable[[dict[str, Any]], Wire], tmp_path: Path
) -> None:
    out = tmp_path / "study"
    options = ("--", "--display", "plain", "--max-retries", "1", "--log-model-api")
    with FakeServer(respond=respond) as server:
        done = [call(server.url, *RUN, "--out", str(out), *options, cwd=tmp_path)]
        assert server.bodies, done[0].stderr
    if (out / "transcripts.parquet").exists():
        for words in (("report",), ("estimate",), ("export", "csv"), ("audit",)):
            more = () if words[0] != "export" else ("--out", str(tmp_path / "csv"))
            done.append(call(server.url, *words[:1], str(out), *more, cwd=tmp_path))
    print(*(one.stderr.decode()[-600:] for one in done))
    assert list(out.rglob("*.eval"))
    assert holding(tmp_path, *done) == []
