"""Studies side by side: each later one less the first, on cells that both have.

The studies are levels of a factor `_study`, so a difference of two is a contrast like
any other: whole runs are exchanged within shared cells, cells weigh alike, and what
has no counterpart is left out and named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.estimates.comparable import Compared, alike_factors, compared
from offrecord.estimates.frames.contrasts import UnpairedFigures, contrast_rows
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.sides import Contrast
from offrecord.measures.parsed import pairs_of
from offrecord.records import FACTOR, Kind, OffrecordError
from offrecord.transcript.record import Record

_STUDY: Final = f"{FACTOR}_study"


class Beside(NamedTuple):
    """One study beside the first one."""

    name: str
    first: str
    found: Compared
    """Which models both have, and what else the two do not share."""
    rows: list[Row[UnpairedFigures]]
    """This study less the first, by kind and, where both have some, by model."""


def side_by_side(studies: Sequence[Record], seed: int = 0) -> list[Beside]:
    """Set every later study beside the first.

    Args:
        studies: Two or more, each once.
        seed: Of the randomized tests.

    Raises:
        OffrecordError: If a study is named twice, or has no turn of an agent under
            pressure.
    """
    names = _names(studies)
    rng = np.random.default_rng(seed)
    tables = alike_factors(
        [_named(study, name) for study, name in zip(studies, names, strict=True)]
    )
    beside = []
    for study, name, pairs in zip(studies[1:], names[1:], tables[1:], strict=True):
        found = compared(study, studies[0], called=(name, names[0]))
        both = pl.concat([tables[0], pairs], how="diagonal")
        if found.models:
            both = both.filter(pl.col("model").is_in(found.models))
        contrast = Contrast(f"{name}:{names[0]}", _STUDY, name, names[0])
        by = [*(["model"] if found.models else []), "kind"]
        rows = [
            row
            for row in contrast_rows(both, [contrast], by, rng)
            if (row["kind"], row.of.measure) != (Kind.BASELINE, "audience_effect")
        ]
        beside.append(Beside(name, names[0], found, rows))
    return beside


def _names(studies: Sequence[Record]) -> list[str]:
    """What the studies are called: their folders, or else their whole paths."""
    paths = [study.path.resolve() for study in studies]
    if len(set(paths)) < len(paths):
        raise OffrecordError("a study is named twice: name each once")
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _named(study: Record, name: str) -> pl.DataFrame:
    """The pairs of a study's target, as those of a level of the factor."""
    pairs = pairs_of(study).filter(agent=study.target)
    if pairs.is_empty():
        raise OffrecordError(
            f"{study.path}: no run has turns of an agent under pressure"
        )
    factors = {
        one: json.dumps({**json.loads(one), "_study": name}, sort_keys=True)
        for one in pairs["factors"].unique()
    }
    ids = {i: pl.format("{} {}", pl.lit(name), i) for i in ("run", "cluster")}
    return pairs.with_columns(
        pl.lit(name).alias(_STUDY),
        pl.col("factors").replace_strict(factors, return_dtype=pl.String),
        **ids,
    )
