"""The contrasts that a design declares before its data come, and those asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from offrecord.estimates.estimator import Source
from offrecord.estimates.frames.contrasts import ContrastFigures, contrast_rows
from offrecord.estimates.frames.groups import CONTEXT
from offrecord.estimates.frames.replayed import HISTORY, replay_contrast_rows
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.sides import contrast_levels
from offrecord.records import factor_names, split_contrast
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.record import Record


class Declared(NamedTuple):
    """The contrasts that a design declares primary."""

    primary: list[str]
    to_come: list[str]
    """Those that have no runs of both levels as yet."""


def declared_contrasts(study: Record, pairs: pl.DataFrame) -> Declared:
    """The contrasts that a study's design declares; none of an import."""
    levels, declared = contrast_levels(pairs), tuple[str, ...]()
    if (study.path / DESIGN_FILE).is_file():
        declared = study.design.contrasts
    primary = [one for one in declared if split_contrast(one, levels)]
    return Declared(primary, [one for one in declared if one not in primary])


def contrast_estimates(source: Source, by: list[str]) -> Iterator[Row[ContrastFigures]]:
    """The contrasts that were declared and those asked for, paired in a replay."""
    pairs, rng, asked = source.pairs, source.rng, source.wanted.contrasts
    primary, _ = declared_contrasts(source.study, pairs)
    keys = [key for key in by if key not in CONTEXT]
    margin = source.wanted.margin
    if not (primary or asked):
        return
    yield from contrast_rows(
        pairs, asked, keys, rng, primary=primary, margin=margin, how=source.how
    )
    if HISTORY in factor_names(pairs.columns):
        for contrast in dict.fromkeys((*primary, *asked)):
            scope = source.wanted.scope
            yield from replay_contrast_rows(pairs, contrast, keys, rng, scope)
