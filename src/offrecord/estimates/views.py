"""The groupings that a report shows, whatever keys `estimate` was asked for.

Each view is a set of keys and the estimates wanted of its groups. They stand in
`estimates.json` beside what was asked for, so that a page, a figure and a file of
numbers can only ever say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.described import (
    cosine_spread,
    missing_rows,
    status_rows,
)
from offrecord.estimates.frames.channel_gap import channel_gap_rows
from offrecord.estimates.frames.rows import (
    floor_rows,
    persistence_rows,
    rank_rows,
    scenario_rows,
    survival_rows,
)
from offrecord.estimates.frames.splits import split_rows
from offrecord.estimates.frames.table import estimate_table
from offrecord.estimates.measured import measured_rows, own_rows
from offrecord.records import factor_names
from offrecord.transcript.record import Record

Rows = list[dict[str, Any]]


class View(NamedTuple):
    """One grouping, and what is estimated of each of its groups."""

    by: tuple[str, ...]
    parts: tuple[str, ...]


VIEWS: Final[Mapping[str, View]] = {
    "kinds": View(("kind",), ("rates", "split", "gap", "floor", "missing", "measures")),
    "models": View(("model", "kind"), ("rates", "split", "floor", "missing", "ranks")),
    "conditions": View(("condition",), ("rates", "split", "floor", "persistence")),
    "cells": View(("model", "condition"), ("rates", "split", "floor", "pairs")),
    "scenarios": View(("scenario", "kind"), ("rates", "split", "floor", "missing")),
    "worst": View(("model", "kind"), ("scenarios",)),
    "rounds": View(("kind", "round"), ("rates", "split")),
    "scenario_rounds": View(("scenario", "kind", "round"), ("rates", "split")),
    "first": View(("kind",), ("first_divergence", "persistence")),
}
"""The views by name; a study with factors has one more for each, `factor NAME`."""


def study_views(
    study: Record,
    pairs: pl.DataFrame,
    draws: pl.DataFrame,
    seed: int = 0,
) -> dict[str, Any]:
    """Every view of a study, and what is described beside the rates.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count.
        draws: Rows as `stance_draws` gives them.
        seed: Of tests that draw at random.

    Returns:
        By name: the view's keys as `by` and a list of rows per part. `scopes` holds the
        rates of each kind for every scope; `cosine` and the measures that have an
        estimator of their own have no rows where nothing was measured; `statuses`
        counts what came back.
    """
    levels = {
        f"factor {name}": View((name, "kind"), ("rates", "split"))
        for name in factor_names(pairs.columns)
        if pairs[name].n_unique() > 1
    }
    maker = _Maker(study, pairs, draws, np.random.default_rng(seed))
    found: dict[str, Any] = {
        name: {
            "by": list(view.by),
            **{part: maker.rows(part, list(view.by)) for part in view.parts},
        }
        for name, view in {**VIEWS, **levels}.items()
    }
    return found | {
        "scopes": [
            row for scope in Scope for row in split_dicts(pairs, ["kind"], scope)
        ],
        **own_rows(study, pairs, ["model"]),
        "cosine": cosine_spread(study),
        "statuses": status_rows(study),
    }


def split_dicts(pairs: pl.DataFrame, by: list[str], scope: Scope) -> Iterator[Any]:
    """The split as plain rows, one per group and estimate."""
    for row in split_rows(pairs, by, scope):
        for name, estimate in row.estimates.items():
            yield {**row.keys, "estimate": name, **asdict(estimate)}


class _Maker(NamedTuple):
    """The tables of one study, from which each part makes its rows."""

    study: Record
    pairs: pl.DataFrame
    draws: pl.DataFrame
    rng: np.random.Generator

    def rows(self, part: str, by: list[str]) -> Rows:
        within = [key for key in by if key != "round"]
        makers: dict[str, Callable[[], Rows]] = {
            "rates": lambda: estimate_table(self.pairs, by),
            "split": lambda: list(split_dicts(self.pairs, by, Scope.RUNS)),
            "gap": lambda: channel_gap_rows(self.pairs, by, self.rng),
            "floor": lambda: floor_rows(
                self.draws, self.study.spoken, within, self.rng
            ),
            "missing": lambda: missing_rows(self.pairs, by),
            "persistence": lambda: persistence_rows(self.pairs, within),
            "first_divergence": lambda: survival_rows(self.pairs, within),
            "ranks": lambda: rank_rows(self.pairs, within),
            "scenarios": lambda: scenario_rows(self.pairs, within),
            "measures": lambda: measured_rows(
                self.study, self.pairs, within, Scope.RUNS
            ),
            "pairs": lambda: measured_rows(
                self.study, self.pairs, within, Scope.RUNS, ["pair"]
            ),
        }
        return makers[part]()
