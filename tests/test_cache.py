"""Prefix caches: the prompts' order and stability let them serve most of the input."""

from __future__ import annotations

from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.model import get_model

from offrecord.protocol.cases import cases
from offrecord.protocol.debate import Request
from offrecord.protocol.design import Design
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.records import Form
from offrecord.runner.prefixes import CacheRule, Tokens, rule_of, served
from offrecord.runner.volumes import volumes
from offrecord.task import debate
from offrecord.transcript.inspect_logs import import_inspect
from offrecord.transcript.usage import usage_of
from tests.prefix_server import PrefixServer

ROUNDS, CALLS = 5, 5 * 2 * 6
CONDITION = "alignment-future"


def requests(rounds: int = ROUNDS) -> list[Request]:
    design = Design(
        models=("m/m",),
        scenarios=("promotion",),
        conditions=(CONDITION,),
        rounds=rounds,
    )
    [case] = cases(design)
    return sample_requests(sample_script(design, case))


def held(server: PrefixServer, logs: Path, *, runs: int) -> dict[str, object]:
    """Hold runs of one cell, one after another, and read what the record says."""
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    with server:
        model = get_model(
            "openai-api/fake/m", base_url=server.url, api_key="k", memoize=False
        )
        [log] = inspect_eval(
            debate(scenario="promotion", condition=CONDITION, rounds=ROUNDS),
            model=model,
            log_dir=str(logs),
            display="none",
            epochs=runs,
            max_samples=1,
        )
    assert log.status == "success"
    assert not server.faults
    return usage_of(import_inspect(logs, "study").transcript)["openai-api/fake/m"]


def test_a_cache_serves_seventy_percent_of_a_standard_study(tmp_path: Path) -> None:
    server = PrefixServer(latency=0.05)
    used = held(server, tmp_path, runs=2)
    assert len(server.read) == 2 * CALLS
    assert server.share >= 0.70
    # The record says what the provider said, to the token.
    assert used["cache_metered"] == used["calls"] == 2 * CALLS
    assert used["cached_tokens"] == sum(hit for _, hit in server.read)
    assert used["cache_input_tokens"] == sum(whole for whole, _ in server.read)
    # The second run of the cell begins with the system prompt of the first.
    system = len(requests()[0].messages[0][1]) // 4
    assert server.read[0][1] == 0
    assert server.read[CALLS][1] >= system - server.step
    # An agent's every request but its first finds at least its system prompt.
    misses = [hit for _, hit in server.read if hit < system - server.step]
    assert len(misses) == 2


def test_the_plan_says_what_a_provider_with_a_minimum_can_serve(tmp_path: Path) -> None:
    # At 1,024 tokens and up, prompts of early turns are too short to be cached.
    rule = rule_of("openai/gpt-x")
    assert rule
    assert (rule.minimum, rule.step) == (1024, 128)
    server = PrefixServer(latency=0.05, step=128, minimum=1024)
    held(server, tmp_path, runs=1)
    planned = served(requests(), rule)
    expected = sum(t.cached for t in planned) / sum(t.input for t in planned)
    assert 0.3 < expected < 0.5
    # Requests that start together seldom arrive together, and then share a little more.
    assert expected - 0.03 <= server.share <= expected + 0.15
    assert all(hit == 0 or hit >= 1024 for _, hit in server.read)
    whole = sum(tokens for tokens, _ in server.read)
    assert sum(t.input for t in planned) == pytest.approx(whole, rel=0.03)


@pytest.mark.parametrize(
    ("step", "minimum", "cached"),
    [
        # Turn 1: alpha's spoken request finds nothing. Its survey starts when that is
        # answered, and shares all but its own last words.
        (1, 0, "all that is shared"),
        (10_000, 0, "nothing"),
        (1, 10_000, "nothing"),
    ],
)
def test_steps_and_minimum_by_hand(step: int, minimum: int, cached: str) -> None:
    rule = CacheRule(providers=(), minimum=minimum, step=step)
    spoken, *others = [r for r in requests() if r.stamp.turn == 1]
    survey = next(r for r in others if r.stamp.form is Form.SURVEY)
    texts = ["".join(text for _, text in r.messages) for r in (spoken, survey)]
    same = next(i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)
    [first, second] = served([spoken, survey, *requests()[6:]], rule)[:2]
    assert first.cached == 0
    assert second.cached == (same // 4 if cached == "all that is shared" else 0)


def test_what_starts_together_cannot_read_from_each_other() -> None:
    # A debate of one round of one agent each: at the last turn all six start at once.
    rule = CacheRule(providers=(), minimum=0, step=1)
    tokens = served(requests(rounds=1), rule)
    assert tokens[0].cached == 0
    assert all(t.cached > 0 for t in tokens[1:6])
    assert all(t.cached == 0 for t in tokens[6:])  # beta's first and last turn


def test_caches_with_marks_read_whole_messages_and_price_what_they_write() -> None:
    rule = rule_of("anthropic/claude-x")
    assert rule
    assert rule.step == "message"
    tokens, asked = served(requests(), rule), requests()
    # The last request of turn 8 starts when turn 8 is spoken: all but its own last
    # message is there. Those of the last turn start with it, and find what turn 8 read.
    ahead = [len(text) for _, text in asked[8 * 6 - 1].messages[:-1]]
    assert tokens[8 * 6 - 1].cached == sum(ahead) // 4
    assert tokens[-1].cached == sum(ahead) // 4
    assert tokens[-1].written == tokens[-1].input - tokens[-1].cached
    early = served(requests(), rule)[0]
    assert (early.cached, early.written) == (0, 0)  # below the minimum


def test_of_a_server_that_nobody_measured_no_cache_is_assumed() -> None:
    assert rule_of("openai-api/gateway/m") is None
    asked = requests()
    whole = [sum(len(text) for _, text in one.messages) // 4 for one in asked]
    assert served(asked, None) == [Tokens(input=n, cached=0, written=0) for n in whole]


def test_a_plan_counts_each_agents_requests_with_its_own_model() -> None:
    design = Design(
        models=("openai/a", "openai/b"),
        roles={"partner": "openai/p"},
        scenarios=("promotion",),
        conditions=(CONDITION,),
        runs=3,
    )
    taken = volumes(design, cases(design))
    # Half of the 60 requests of a run go to each agent.
    assert {m: v.calls for m, v in taken.items()} == {
        "openai/a": 3 * 30,
        "openai/b": 3 * 30,
        "openai/p": 2 * 3 * 30,
    }
