"""The populations that an interval may generalize to."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """The scopes, in the words in which tables and figures print them."""

    RUNS = "new runs of the same cells"
    """Clusters are runs, strata their cells: the default."""
    PAIRS = "new pairs of model and scenario"
    """Clusters are model x scenario, as if none shared a model or a scenario."""
    SCENARIOS = "new scenarios"
    """Clusters are scenarios, the models stay."""
    MODELS = "new models"
    """Clusters are models, the scenarios stay."""
    BOTH = "new models in new scenarios"
    """Clusters are models and scenarios."""
    TURNS = "turns as independent"
    """Every turn is its own cluster: the paper's, for comparison."""

    @property
    def claim(self) -> str:
        """Whom a figure with such an interval speaks about."""
        return _CLAIMS[self]


RUNS_ONLY: Final = "this interval is for new runs of the same cells alone"
"""Why a figure has none in another scope."""

_CLAIMS: Final = {
    Scope.RUNS: "these models in these scenarios",
    Scope.PAIRS: "neither models nor scenarios by themselves",
    Scope.SCENARIOS: "these models in scenarios like these",
    Scope.MODELS: "models like these in these scenarios",
    Scope.BOTH: "models and scenarios like these",
    Scope.TURNS: "nothing: turns of one run depend on each other",
}
