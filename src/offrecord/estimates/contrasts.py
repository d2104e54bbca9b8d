"""Contrasts: those that a study's design declares primary, and those asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from offrecord.estimates.frames.contrasts import contrast_rows
from offrecord.estimates.frames.groups import CONTEXT
from offrecord.estimates.frames.replayed import HISTORY, replay_contrast_rows
from offrecord.estimates.frames.sides import contrast_levels
from offrecord.records import OffrecordError, factor_names, split_contrast
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.record import Record


def contrast_estimates(
    study: Record,
    pairs: pl.DataFrame,
    contrasts: Sequence[str],
    by: Sequence[str],
    margin: float | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Every contrast of a study that has runs of both levels.

    Args:
        study: The study.
        pairs: Its pairs, or those of them that count.
        contrasts: Beside those that the study's design declares primary.
        by: Keys to group by.
        margin: A difference that does not matter, as a fraction of 1.
        rng: Draws arrangements where they are too many to count.

    Returns:
        `contrasts`, rows as `contrast_rows` gives them, and `contrasts_to_come`: those
        declared that lack a level as yet, as in a study that was imported early.

    Raises:
        OffrecordError: If a contrast that was asked for is none of this study.
    """
    levels, declared = contrast_levels(pairs), tuple[str, ...]()
    if (study.path / DESIGN_FILE).is_file():
        declared = study.design.contrasts
    primary = [one for one in declared if split_contrast(one, levels)]
    return {
        "contrasts": _rows(study, pairs, primary, contrasts, by, margin, rng),
        "contrasts_to_come": [one for one in declared if one not in primary],
    }


def _rows(
    study: Record,
    pairs: pl.DataFrame,
    primary: Sequence[str],
    contrasts: Sequence[str],
    by: Sequence[str],
    margin: float | None,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    asked = tuple(dict.fromkeys((*primary, *contrasts)))
    if not asked:
        return []
    keys = [key for key in by if key not in CONTEXT]
    rows = contrast_rows(pairs, contrasts, keys, rng, primary=primary, margin=margin)
    if HISTORY in factor_names(pairs.columns):
        repeats = study.transcript.select("run", "repeat").unique()
        for contrast in asked:
            try:
                rows += replay_contrast_rows(pairs, repeats, contrast, keys, rng)
            except OffrecordError:
                continue  # no two of its levels answered the same histories
    return rows
