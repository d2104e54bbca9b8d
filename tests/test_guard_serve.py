"""`offrecord guard serve` as a process: its start, its privacy, its end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import Offrecord
from tests.fake_server import Ending, FakeServer, Wire
from tests.guarded_calls import CANARY, KEY, KINDS, REASONS, run_calls, serving

HELD = (
    "decision: {question: '?', labels: [A, B], pressed_side: A}\n"
    "rule: {action: block}\n"
)
GOOD = "decision: {question: '?', labels: [A, B]}\n"
UPSTREAM = "http://127.0.0.1:9/v1"
CALLS = 240


def test_many_guarded_calls_leave_no_canary_and_lose_none(tmp_path: Path) -> None:
    found = run_calls(CALLS, tmp_path)
    assert found.right == CALLS
    each = CALLS // len(KINDS)
    assert found.reasons == {
        reason: each * list(REASONS.values()).count(reason)
        for reason in set(REASONS.values())
    }
    assert CALLS - each <= found.queries <= CALLS, "a draft may be there first"
    assert sorted(found.left_behind) == [
        *("answers", "guard.yaml", "spans", "stderr", "stdout")
    ]
    for name, text in found.left_behind.items():
        assert CANARY not in text, name
        assert KEY not in text, name
    spans = [json.loads(line) for line in found.left_behind["spans"].splitlines()]
    assert len(spans) == CALLS
    assert {one["name"] for one in spans} == {"offrecord.guard.check"}
    assert (
        sum("offrecord.guard.score" in one["attributes"] for one in spans) == 2 * each
    )
    log = found.left_behind["stderr"]
    assert log.count("INFO conflict: disclose at 1.00") == each
    assert log.count("WARNING pass: check failed (error") == 2 * each
    assert f"INFO messages: {2 * each} error, " in log
    assert found.peak < 200


def serve(offrecord: Offrecord, folder: Path, text: str, *words: str) -> str:
    """What it says where it refuses to start."""
    path = folder / "guard.yaml"
    path.write_text(text, encoding="utf-8")
    done = offrecord("guard", "serve", "--config", str(path), *words)
    assert (done.code, done.out) == (2, "")
    [line] = done.err.splitlines()
    return line


@pytest.mark.parametrize(
    ("text", "upstream", "said"),
    [
        ("rule: {}\n", UPSTREAM, "decision"),
        (GOOD + "rule: {draws: 0}\n", UPSTREAM, "draws"),
        (GOOD + "rule: {action: human}\n", UPSTREAM, "human"),
        (GOOD + "surprise: 1\n", UPSTREAM, "surprise"),
        (GOOD, "127.0.0.1:9", "--upstream"),
        (GOOD, "ftp://127.0.0.1", "--upstream"),
        (GOOD, "http://127.0.0.1:99999", "--upstream"),
        (GOOD, "https://:secret@127.0.0.1", "--upstream"),
        (GOOD, "https://127.0.0.1/v1?key=secret", "--upstream"),
    ],
)
def test_what_is_wrong_at_the_start_is_one_line(
    text: str, upstream: str, said: str, tmp_path: Path, offrecord: Offrecord
) -> None:
    line = serve(offrecord, tmp_path, text, "--upstream", upstream)
    assert said in line
    assert "secret" not in line


def test_a_port_that_is_taken_is_one_line(tmp_path: Path, offrecord: Offrecord) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = serve(offrecord, tmp_path, GOOD, "--upstream", UPSTREAM, "--port", port)
    assert f"127.0.0.1:{port}: " in line


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{}", "log only: messages pass as they come, streams too"),
        ("{action: block}", "streams too, wait for their verdict"),
        ("{on_fault: closed}", "streams too, wait for their verdict"),
    ],
)
def test_the_start_says_where_and_what_it_does_with_streams(
    rule: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "guard.yaml"
    path.write_text(f"{GOOD}rule: {rule}\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "offrecord",
        "guard",
        "serve",
        "--config",
        str(path),
    ]
    process = subprocess.Popen(
        [*command, "--upstream", UPSTREAM, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    where, what = process.stdout.readline(), process.stdout.readline()
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert where.startswith("http://127.0.0.1:")
    assert where.endswith(f" guards {UPSTREAM}/chat/completions\n")
    assert said in what
    assert "Traceback" not in err


def test_a_client_that_leaves_costs_no_more(tmp_path: Path) -> None:
    with (
        FakeServer(respond=lambda _: Wire(b"", Ending.STALL)) as server,
        serving(server.url, tmp_path, HELD) as (url, _),
    ):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/chat/completions", json={"messages": []}, timeout=0.5)
        until = time.monotonic() + 20
        while server.given_up < 2 and time.monotonic() < until:
            time.sleep(0.01)
    assert server.given_up == 2, "the draft's call and the query's"
