"""How hypothesis runs, and which files `make quick` leaves out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final, NamedTuple

import pytest
from hypothesis import settings

from offrecord.cli import main

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

SLOW: Final = frozenset(
    f"test_{name}"
    for name in (
        *("ask", "attacks", "audit", "batches", "blocks", "cache", "card", "cli"),
        "deployed_agents",
        *("comparable", "contrasts", "costs", "coverage", "declared", "docs"),
        *("entailment", "estimating", "generate", "llmagora_content"),
        *("export", "faults", "fuzz", "guard_examples", "guard_proxy"),
        *("guard_serve", "hierarchical", "hostile", "inspect"),
        *(
            "interruption",
            "languages",
            "llamacpp",
            "llmagora",
            "measuring",
            "population",
        ),
        *("package", "pilot", "providers_openai", "python", "quirks", "ray"),
        *(
            "recovery",
            "replay",
            "report",
            "report_browser",
            "scripts",
            "s3",
            "side_by_side",
            "secrets",
            "shards",
        ),
        *("similarity", "status", "viewer"),
    )
)
"""Files that take more than some 15 seconds of one core, by debates, models, browsers
or thousands of simulated studies."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow; a file that is not named above belongs to the quick ones."""
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)


class Printed(NamedTuple):
    """What a call of the command line leaves."""

    code: int
    out: str
    err: str


Offrecord = Callable[..., Printed]


@pytest.fixture
def offrecord(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Offrecord:
    """The command line in this process: a new one spends five seconds on imports."""

    def call(*words: str) -> Printed:
        monkeypatch.setattr(sys, "argv", ["offrecord", *words])
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return Printed(code, *capfd.readouterr())

    return call
