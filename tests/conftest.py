"""How hypothesis runs, and which files `make quick` leaves out."""

from __future__ import annotations

import os
from typing import Final

import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

SLOW: Final = frozenset(
    f"test_{name}"
    for name in (
        *(
            "attacks",
            "audit",
            "batches",
            "card",
            "cli",
            "contrasts",
            "costs",
            "coverage",
        ),
        *(
            "docs",
            "entailment",
            "estimating",
            "export",
            "faults",
            "fuzz",
            "hierarchical",
        ),
        *("hostile", "inspect", "interruption", "llamacpp", "llmagora", "measuring"),
        *(
            "population",
            "providers_openai",
            "ray",
            "recovery",
            "replay",
            "report",
            "report_browser",
        ),
        *("secrets", "shards", "similarity", "status", "viewer"),
    )
)
"""Files that take more than some 15 seconds of one core, by debates, models, browsers
or thousands of simulated studies."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow; a file that is not named above belongs to the quick ones."""
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
