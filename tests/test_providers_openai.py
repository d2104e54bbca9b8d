"""Debates through Inspect's OpenAI-compatible provider: what is sent, what counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import polars as pl
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model

from offrecord.protocol.debate import Debate, Reply, Request, hold_debate
from offrecord.protocol.solver import ask_model
from offrecord.records import Form, Status
from offrecord.task import debate
from offrecord.transcript.inspect_logs import import_inspect
from tests.debates import make_script
from tests.fake_server import FakeServer

pytest.importorskip("openai", reason="the extra 'openai' is not installed")

CALLS = 2 * 2 * 6  # rounds x agents x outputs of a turn


def held(server: FakeServer, *, structured: bool = False) -> Debate:
    """A debate of two rounds, asked through the provider."""

    async def main() -> Debate:
        model = get_model(
            "openai-api/fake/model", base_url=server.url, api_key="k", memoize=False
        )

        async def ask(request: Request) -> Reply:
            return await ask_model(model, request)

        script = replace(make_script(rounds=2), structured=structured)
        return await hold_debate(script, ask)

    return anyio.run(main)


def evaluated(server: FakeServer, logs: Path) -> EvalLog:
    model = get_model(
        "openai-api/fake/model", base_url=server.url, api_key="k", memoize=False
    )
    [log] = inspect_eval(
        debate(rounds=2), model=model, log_dir=str(logs), display="none"
    )
    return log


def rows(logs: Path) -> pl.DataFrame:
    return import_inspect(logs, "study").transcript


def test_the_conversation_is_sent_and_nothing_else() -> None:
    # No temperature, seed or token limit, as in the paper, and no stamp: a model that
    # could read channel, draw or condition off a request would know what is measured.
    with FakeServer() as server:
        finished = held(server)
    assert not server.faults
    assert len(server.bodies) == CALLS
    assert {frozenset(body) for body in server.bodies} == {
        frozenset({"model", "messages"})
    }
    sent = [[(m["role"], m["content"]) for m in b["messages"]] for b in server.bodies]
    asked = [list(output.request.messages) for output in finished.outputs]
    assert sorted(sent) == sorted(asked)
    assert {tuple(m) for b in server.bodies for m in b["messages"]} == {
        ("role", "content")
    }


def test_a_survey_under_a_schema_is_asked_alike_in_all_channels() -> None:
    with FakeServer() as server:
        finished = held(server, structured=True)
    schemas = [b["response_format"] for b in server.bodies if "response_format" in b]
    surveys = [o for o in finished.outputs if o.request.stamp.form is Form.SURVEY]
    assert len(schemas) == len(surveys) == 2 * 2 * 2
    assert all(schema == schemas[0] for schema in schemas)
    frame = surveys[0].request.frame
    items = schemas[0]["json_schema"]["schema"]["properties"]
    assert list(items) == list(frame.items)
    points = list(range(frame.low, frame.high + 1))
    assert all(item["enum"] == points for item in items.values())


def test_a_lost_request_is_sent_again_and_counted(tmp_path: Path) -> None:
    with FakeServer(statuses=(200, 429, 200, 429)) as server:
        log = evaluated(server, tmp_path)
    assert log.status == "success"
    assert len(server.bodies) == CALLS + 2
    found = rows(tmp_path)
    assert found.height == CALLS
    assert found["transport_retries"].sum() == 2
    assert (found["status"] == Status.OK).all()


def test_a_wrong_key_stops_the_study_and_is_no_reply(tmp_path: Path) -> None:
    with FakeServer(statuses=(200,) + (401,) * CALLS) as server:
        log = evaluated(server, tmp_path)
    assert log.status == "error"
    found = rows(tmp_path)
    assert found["ended"].is_null().all()  # an attempt, not a run that ended
    assert set(found["status"]) <= {Status.OK, Status.ERROR}


def test_a_study_in_which_nothing_comes_back_stops_and_can_be_resumed(
    tmp_path: Path,
) -> None:
    # A refused option (400) would otherwise use up every run of a design. A debate of
    # nothing but errors has not ended by itself; after three the rest is not begun.
    with FakeServer(statuses=(400,) * 1000) as server:
        model = get_model(
            "openai-api/fake/model", base_url=server.url, api_key="k", memoize=False
        )
        [log] = inspect_eval(
            debate(rounds=1),
            model=model,
            log_dir=str(tmp_path),
            display="none",
            epochs=10,
            max_samples=1,
            continue_on_fail=True,
        )
    assert log.status == "error"
    assert len(server.bodies) == 3 * 6  # the first turn of three debates
    found = rows(tmp_path)
    assert found["run"].n_unique() == 3
    assert found["ended"].is_null().all()
    assert set(found["status"]) == {Status.ERROR}


def test_one_refused_request_costs_one_output(tmp_path: Path) -> None:
    # The last of the requests is one of turn 4's six, which start together.
    with FakeServer(statuses=(200,) * (CALLS - 1) + (400,)) as server:
        log = evaluated(server, tmp_path)
    assert log.status == "success"
    found = rows(tmp_path)
    assert found.height == CALLS
    assert (found["status"] == Status.ERROR).sum() == 1
    assert found["ended"].null_count() == 0
