"""Connections: how many debates are open at once, and what that is for."""

from __future__ import annotations

import pytest

from benchmarks.open_debates import FIRST, ends, kept_open
from offrecord.protocol.design import Design, make_design
from offrecord.runner.connections import connections_of, samples_options
from tests.debates import make_script

HOSTED = Design(models=("openai/a",))


@pytest.mark.parametrize(
    ("words", "connections", "opened"),
    [
        ("", 100, "20"),  # Inspect's adaptive maximum
        ("--max-connections 101", 101, "21"),  # 101 / 5, rounded up
        ("--max-connections=5", 5, "2"),  # never fewer than two
        ("--adaptive-connections 200", 200, "40"),
        ("--adaptive-connections 4-80", 80, "16"),
        ("--adaptive-connections 4-20-60", 60, "12"),
        ("--adaptive-connections true", 100, "20"),
        ("--max-connections 40 --adaptive-connections 200", 40, "8"),
        ("--max-connections 40 --max-samples 7", 40, None),
        ("--batch", None, None),
        ("--batch 1000 --max-connections 40", None, None),
        ("--generate-config settings.yaml", None, None),
        ("--max-connections many", None, None),  # Inspect says what is wrong
    ],
)
def test_open_debates_follow_from_the_connections(
    words: str, connections: int | None, opened: str | None
) -> None:
    assert connections_of(HOSTED, words.split()) == connections
    added = ("--max-samples", opened) if opened else ()
    assert samples_options(HOSTED, words.split()) == added


def test_what_stands_in_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MAX_CONNECTIONS", "50")
    assert samples_options(HOSTED, ()) == ("--max-samples", "10")
    assert samples_options(HOSTED, ("--max-connections", "25"))[1] == "5"
    monkeypatch.setenv("INSPECT_EVAL_MAX_SAMPLES", "3")
    assert samples_options(HOSTED, ()) == ()


def test_a_fixed_number_of_the_provider_counts_without_adaptive_connections() -> None:
    words = ("--adaptive-connections", "false")
    assert connections_of(Design(models=("simulated/null",)), words) == 1000
    assert connections_of(Design(models=("nowhere/x",)), words) is None


def test_the_embedded_engine_keeps_its_own_number() -> None:
    assert samples_options(Design(models=("openai/a", "llamacpp/x")), ()) == ()
    roles = Design(models=("openai/a",), roles={"partner": "llamacpp/x"})
    assert samples_options(roles, ()) == ()


@pytest.mark.parametrize(
    ("ask", "opened"),
    # 6, 4 and 2.5 outputs a turn: 1.2 x 20 connections / outputs, rounded up.
    [
        ({}, 4),
        ({"forms": ["utterance"]}, 6),
        ({"forms": ["utterance"], "elicit": ["target"]}, 10),
    ],
)
def test_the_less_is_asked_at_a_turn_the_more_debates_are_open(
    ask: dict[str, list[str]], opened: int
) -> None:
    assert kept_open(make_design({"ask": ask}), 20) == opened


def test_runs_come_in_early_and_all_of_them_as_soon() -> None:
    script = make_script(rounds=5)
    free, held = (ends(script, 60, 20, at_once) for at_once in (60, 4))
    assert held.first <= FIRST < free.first
    # The connections run dry at the end alone, for less than one run's time.
    assert held.last <= free.last + FIRST
