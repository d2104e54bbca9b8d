"""What an estimator is, what it takes, and what can be wanted of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from offrecord.estimates.arms import arm_turns
from offrecord.estimates.arrays.agreement import Agreement
from offrecord.estimates.arrays.missingness import Missingness, RateRanges, SplitRanges
from offrecord.estimates.arrays.pairing import Weights
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.frames.row import Row, declared, read_row
from offrecord.estimates.frames.splits import DEFAULT_BY, SplitRow
from offrecord.estimates.frames.weighing import How
from offrecord.transcript.record import Record

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be estimated."""

    by: tuple[str, ...] = DEFAULT_BY
    contrasts: tuple[str, ...] = ()
    """Beside those that the study's design declares primary."""
    scope: Scope = Scope.RUNS
    """What the intervals of the split generalize to."""
    weights: Weights = Weights.CELLS
    """What figures over several cells are means of."""
    margin: float | None = None
    """A difference that does not matter, as a fraction of 1."""
    against: Path | None = None
    """An earlier study, for non-inferiority by the margin."""
    without_aware: bool = False
    """Whether to leave out pairs that name a test or a role play, or doubt privacy."""
    bayes: bool = False
    """Whether to sample the hierarchical model, which needs the extra `bayes`."""
    views: bool = True
    """Whether to estimate what a report shows (`VIEWS`) as well."""
    seed: int = 0


@dataclass(frozen=True)
class Source:
    """What estimators take: one study, and what is wanted of it."""

    study: Record
    wanted: Wanted
    pairs: pl.DataFrame
    """The pairs that count."""
    draws: pl.DataFrame
    """Rows as `stance_draws` gives them."""
    rng: np.random.Generator
    split: Callable[[tuple[str, ...], Scope], list[SplitRow]]
    """The split by some keys, of which several estimators make their rows."""

    @property
    def how(self) -> How:
        """Scope of the intervals, and what cells weigh."""
        return How(self.wanted.scope, self.wanted.weights)

    @cached_property
    def turns(self) -> pl.DataFrame:
        """The turns that arms are compared on (see `arm_turns`)."""
        return arm_turns(self.study, self.pairs)

    @property
    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """The study's arms by level: none where it has none."""
        found: Mapping[str, Mapping[str, Any]] = self.study.facts.get("arms", {})
        return found


@dataclass(frozen=True)
class Estimator(Generic[F]):
    """One kind of estimate: its name, what its rows hold, and how they are made."""

    name: str
    """Its key in `estimates.json`."""
    figures: tuple[type[F], ...]
    """The types of its figures; as a rule one."""
    rows: Callable[[Source, list[str]], Iterable[Row[F]]]
    """Makes its rows, grouped by some keys."""
    by_round: bool = False
    """Whether the round may be one of these keys."""

    def made(self, source: Source, by: Sequence[str]) -> list[Row[F]]:
        """Its rows, grouped by the keys that it takes."""
        keys = [key for key in by if self.by_round or key != "round"]
        return list(self.rows(source, keys))

    def read(self, stored: Mapping[str, Any]) -> Row[F]:
        """One of its rows from a file.

        Raises:
            KeyError: If a figure is absent.
            TypeError: If one is of another type.
        """
        *others, last = self.figures
        kind = next((one for one in others if _fits(stored, one)), last)
        return read_row(stored, kind)


def _fits(stored: Mapping[str, Any], figures: type) -> bool:
    return declared(figures).keys() <= stored.keys()


# Tables that other modules make as plain rows: their figures.


@dataclass(frozen=True, kw_only=True)
class MissingFigures:
    """What is missing of a group, why, and how far it could move the rates."""

    missingness: Missingness
    ranges: RateRanges
    split: SplitRanges
    public_reasons: Mapping[str, int]
    other_reasons: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class AgreementFigures:
    """How far coders of the stance agree."""

    coders: tuple[str, ...]
    agreement: Agreement


@dataclass(frozen=True, kw_only=True)
class SpreadFigures:
    """The distribution of a measure of pairs of texts."""

    q05: float
    q25: float
    q50: float
    q75: float
    q95: float
    mean: float
    pairs: int
    missing: int


@dataclass(frozen=True, kw_only=True)
class StatusFigures:
    """How many outputs came back with a status."""

    status: str
    outputs: int
