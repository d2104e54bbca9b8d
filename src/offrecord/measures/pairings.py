"""Pairings: which two texts of a study are compared, as data.

Floors, ceilings, self-consistency and the alignment of two agents are the same measure
on other pairs. The pairs are those that were planned: one with a missing text stays,
with the reason, so that nothing is lost between the transcript and an estimate. The
pairings are data: `rules/pairings.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from offrecord.content.document import Front
from offrecord.measures.wordlists import word_lists
from offrecord.records import CELL, Form, OffrecordError
from offrecord.transcript.planned import outputs
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

NO_COUNTERPART: Final = "no_counterpart"
"""The status of a right side where a cell has nothing to draw it from."""


class Pairing(Front):
    """One entry of `rules/pairings.yaml`, which says what its fields mean."""

    about: str
    left: Literal["spoken", "any"]
    right: Literal["spoken", "other", "any"]
    draws: Literal["committed", "all"]
    same: tuple[str, ...]
    ascending: str | None = None
    elsewhere: tuple[str, ...] = ()
    before: Literal["own", "other"] | None = None


class _Pairings(Front):
    pairings: dict[str, Pairing]


PAIRINGS: Final[Mapping[str, Pairing]] = MappingProxyType(
    word_lists("pairings").validate(_Pairings).pairings
)
"""The pairings by name; the first is the default."""

DEFAULT_PAIRING: Final = next(iter(PAIRINGS))

PAIR_KEY: Final = {
    "pairing": pl.String,
    **{
        f"{side}_{name}": TRANSCRIPT_SCHEMA[name]
        for side in ("left", "right")
        for name in ROW_KEY
    },
}
"""What names one pair of rows, in every table keyed to pairs."""

PAIR_SCHEMA: Final = {
    **PAIR_KEY,
    "left_text": pl.String,  # raw; null if there is none
    "right_text": pl.String,
    "labels": pl.List(pl.String),
    "language": pl.String,
    "left_status": pl.String,  # where the text is null, why
    "right_status": pl.String,
}
"""One row per planned pair."""


def pair_rows(
    transcript: pl.DataFrame,
    pairing: str,
    facts: Mapping[str, Any],
    rng: np.random.Generator | None = None,
) -> pl.DataFrame:
    """The texts that a pairing compares, missing ones included.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`. Of each run the measured attempt
            counts, and of that the utterances.
        pairing: A name out of `PAIRINGS`.
        facts: The content of study.json: `rounds`, `channels` (the spoken one first),
            and `shadows` where there are any.
        rng: What a random pairing draws with; the same seed gives the same pairs.

    Returns:
        Rows in `PAIR_SCHEMA`. A text is null unless its status is ok or truncated. The
        key of a side that was never recorded is the one that it would have had; its
        attempt is null where every attempt was interrupted.

    Raises:
        OffrecordError: If there is no such pairing, it is random and there is no `rng`,
            or study.json does not say what was planned.
    """
    if pairing not in PAIRINGS:
        raise OffrecordError(
            f"unknown pairing '{pairing}': it is one of {', '.join(PAIRINGS)}"
        )
    rule = PAIRINGS[pairing]
    sides = outputs(transcript, facts, Form.UTTERANCE)
    if rule.draws == "committed":
        sides = sides.filter(draw=0)
    spoken = pl.col("channel") == facts["channels"][0]
    chosen = {"spoken": spoken, "other": ~spoken, "any": pl.lit(True)}
    left, right = sides.filter(chosen[rule.left]), sides.filter(chosen[rule.right])
    if rule.before:
        pairs = _earlier(left, rule.before)
    elif rule.elsewhere:
        if rng is None:
            raise OffrecordError(f"pairing '{pairing}' is random: give a Generator")
        pairs = _drawn(left, right, rule, rng)
    else:
        pairs = _joined(left, right, rule)
    return pairs.select(
        pl.lit(pairing).alias("pairing"),
        *(pl.col(name).alias(f"left_{name}") for name in ROW_KEY),
        *(pl.col(f"{name}_right").alias(f"right_{name}") for name in ROW_KEY),
        pl.col("text").alias("left_text"),
        pl.col("text_right").alias("right_text"),
        "labels",
        "language",
        pl.col("status").alias("left_status"),
        pl.col("status_right").fill_null(NO_COUNTERPART).alias("right_status"),
    )


def _joined(left: pl.DataFrame, right: pl.DataFrame, rule: Pairing) -> pl.DataFrame:
    """Every pair of sides that share what they must, each once."""
    pairs = _join(left, right, _columns(rule.same), "inner")
    if rule.ascending is None:
        return pairs
    return pairs.filter(pl.col(rule.ascending) < pl.col(f"{rule.ascending}_right"))


def _earlier(said: pl.DataFrame, whose: Literal["own", "other"]) -> pl.DataFrame:
    """Each text with the last one before it: by the same agent, or by another."""
    place = ["run", "channel", "draw"]
    said = said.sort(*place, "turn")
    if whose == "own":
        nth = pl.int_range(pl.len()).over([*place, "agent"])
        numbered, on = said.with_columns(nth=nth), [*place, "agent", "nth"]
        before = numbered.with_columns(nth=pl.col("nth") + 1)
    else:  # the last text of the stretch before an agent's own
        new = (pl.col("agent") != pl.col("agent").shift()).fill_null(value=False)
        numbered = said.with_columns(nth=new.cum_sum().over(place))
        on = [*place, "nth"]
        last = numbered.unique(on, keep="last", maintain_order=True)
        before = last.with_columns(nth=pl.col("nth") + 1)
    return _join(numbered, before, on, "inner")


def _drawn(
    left: pl.DataFrame, right: pl.DataFrame, rule: Pairing, rng: np.random.Generator
) -> pl.DataFrame:
    """Each left side with a right side of every channel, from elsewhere in its group.

    The planned sides of a group are a full grid, so a shift by 1 to n - 1 along each
    axis draws evenly among those that differ in all of them.
    """
    same = _columns(rule.same)
    axes = [f"place in {name}" for name in rule.elsewhere]
    places = [
        pl.col(name).rank("dense").cast(pl.Int64).over(same).alias(axis)
        for name, axis in zip(rule.elsewhere, axes, strict=True)
    ]
    right = right.with_columns(places, other="channel")
    pairs = left.with_columns(places).join(
        right.select(pl.col("other").unique(maintain_order=True)), how="cross"
    )
    for axis in axes:
        size = pairs.select(pl.col(axis).max().over(same)).to_series()
        shift = 1 + np.floor(rng.random(len(size)) * (size.to_numpy() - 1))
        place = (
            pl.col(axis) - 1 + pl.lit(pl.Series(shift.astype(np.int64)))
        ) % size + 1
        pairs = pairs.with_columns(pl.when(size > 1).then(place).alias(axis))
    return _join(pairs, right, [*same, *axes, "other"], "left")


def _columns(names: Sequence[str]) -> list[str]:
    return [part for name in names for part in (CELL if name == "cell" else (name,))]


def _join(
    left: pl.DataFrame,
    right: pl.DataFrame,
    on: list[str],
    how: Literal["inner", "left"],
) -> pl.DataFrame:
    return left.join(
        right.rename(lambda name: f"{name}_right"),
        left_on=on,
        right_on=[f"{name}_right" for name in on],
        how=how,
        coalesce=False,
        nulls_equal=True,
        maintain_order="left_right",
    )
