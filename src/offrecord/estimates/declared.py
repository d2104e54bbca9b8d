"""The contrasts that a design declares before its data come."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from offrecord.estimates.frames.sides import contrast_levels
from offrecord.records import split_contrast
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
