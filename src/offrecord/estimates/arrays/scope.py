"""The populations that an interval may generalize to."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """The scopes, in the words in which tables and figures print them."""

    RUNS = "new runs of the same cells"
    """Clusters are runs, strata their cells: the default."""
    SCENARIOS = "new scenarios"
    """Clusters are model x scenario."""
    MODELS = "new models"
    """Clusters are models."""
    TURNS = "turns as independent"
    """Every turn is its own cluster: the paper's, for comparison."""
