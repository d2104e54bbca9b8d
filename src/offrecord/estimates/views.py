"""What a report shows: the views of `estimates.json`, and its lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import polars as pl

from offrecord.estimates.estimator import Estimator
from offrecord.estimates.estimators import (
    ARM_VERDICTS,
    ARMS,
    ATTRIBUTION,
    COSINE,
    DOSES,
    ESTIMATORS,
    FIRST_DIVERGENCE,
    FLOOR,
    GAP,
    LADDER,
    MEASURES,
    MISSING,
    PAIRS,
    PERSISTENCE,
    RANKS,
    RATES,
    SCENARIOS,
    SCOPES,
    SPLIT,
    STATUSES,
)
from offrecord.records import factor_names


class View(NamedTuple):
    """One grouping that a report shows, and what is estimated of each of its groups."""

    by: tuple[str, ...]
    parts: tuple[Estimator[Any], ...]


VIEWS: Final[Mapping[str, View]] = {
    "kinds": View(("kind",), (RATES, SPLIT, GAP, FLOOR, MISSING, MEASURES)),
    "models": View(("model", "kind"), (RATES, SPLIT, FLOOR, MISSING, RANKS)),
    "conditions": View(("condition",), (RATES, SPLIT, FLOOR, PERSISTENCE)),
    "cells": View(("model", "condition"), (RATES, SPLIT, FLOOR, PAIRS)),
    "scenarios": View(("scenario", "kind"), (RATES, SPLIT, FLOOR, MISSING)),
    "worst": View(("model", "kind"), (SCENARIOS,)),
    "rounds": View(("kind", "round"), (RATES, SPLIT)),
    "scenario_rounds": View(("scenario", "kind", "round"), (RATES, SPLIT)),
    "first": View(("kind",), (FIRST_DIVERGENCE, PERSISTENCE)),
}
"""The views by name; a study with factors has one more for each, `factor NAME`."""

LISTS: Final[tuple[View, ...]] = (
    View(("kind",), (SCOPES,)),
    View(("model",), (ATTRIBUTION,)),
    View(("model",), (DOSES,)),
    View(("model", "kind"), (LADDER,)),
    View(("model",), (ARMS, ARM_VERDICTS)),
    View((), (COSINE, STATUSES)),
)
"""What stands beside the views under its own name, whatever was asked for."""

NAMED: Final[Mapping[str, Estimator[Any]]] = {
    one.name: one
    for one in (
        *ESTIMATORS,
        *(part for view in (*VIEWS.values(), *LISTS) for part in view.parts),
    )
}
"""Every estimator of the file by its name."""


def views_of(pairs: pl.DataFrame) -> dict[str, View]:
    """The views of a study."""
    levels = {
        f"factor {name}": View((name, "kind"), (RATES, SPLIT))
        for name in factor_names(pairs.columns)
        if pairs[name].n_unique() > 1
    }
    return {**VIEWS, **levels}
