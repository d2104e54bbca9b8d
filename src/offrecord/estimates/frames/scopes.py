"""What an interval generalizes to: which turns form a cluster, and in which strata.

The same rate has quite different errors for further runs of the same cells and for
models that nobody has asked yet, so no interval goes without its scope.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.sample import Sample
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.groups import numbered

_CLUSTERS: Final = {
    Scope.PAIRS: "_pair",
    Scope.SCENARIOS: "_scenario",
    Scope.MODELS: "_model",
    Scope.BOTH: "_pair",
    Scope.TURNS: "_turn",
}
_WAYS: Final = {
    Scope.MODELS: ("_model",),
    Scope.SCENARIOS: ("_scenario",),
    Scope.BOTH: ("_model", "_scenario"),
}


def clustered(pairs: pl.DataFrame) -> pl.DataFrame:
    """Number runs and cells (`numbered`), models, scenarios, their pairs, and turns.

    Number all pairs before they are split into groups: groups share clusters only if
    they share ids.

    Args:
        pairs: Rows as `stance_pairs` gives them, or any others with its cell columns
            and a number on each side.
    """
    return numbered(pairs).with_columns(
        pl.struct("model", "scenario").rank("dense").cast(pl.Int64).alias("_pair"),
        pl.col("model").rank("dense").cast(pl.Int64).alias("_model"),
        pl.col("scenario").rank("dense").cast(pl.Int64).alias("_scenario"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("_turn"),
    )


def scoped(pairs: pl.DataFrame, values: Values, scope: Scope = Scope.RUNS) -> Sample:
    """Values of pairs with the clusters and strata of a scope.

    Args:
        pairs: Rows of `clustered`.
        values: Shape (pairs,), NaN where missing.
        scope: What the interval generalizes to.
    """
    runs: Ids = pairs["_run"].to_numpy()
    one: Ids = np.zeros(pairs.height, dtype=np.int64)
    cells: Ids = pairs["_cell"].to_numpy()
    if scope is Scope.RUNS:
        return Sample(values, runs, runs, cells)
    ways = tuple(pairs[name].to_numpy() for name in _WAYS.get(scope, ()))
    return Sample(values, runs, pairs[_CLUSTERS[scope]].to_numpy(), one, cells, ways)
