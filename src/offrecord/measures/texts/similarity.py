"""Similarity: the cosine of the vectors of two prepared texts.

It says how alike two texts are in what they are about and how they put it. Two texts
with opposite stances on one question are still alike, so a value means something only
beside that of other pairings, such as repeats and shuffled pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.measures.executor import Executor, in_process
from offrecord.measures.pairings import DEFAULT_PAIRING, PAIR_KEY, pair_rows
from offrecord.measures.texts.preparation import (
    EMPTY,
    PREPARATION_VERSION,
    Prepared,
    Variant,
    prepare,
)
from offrecord.measures.texts.vectors import (
    VECTORS_FOLDER,
    Embedded,
    Encoder,
    Long,
    embed,
)
from offrecord.records import digest
from offrecord.transcript.store import write_table

SIMILARITY_FILE: Final = "measures/similarity.parquet"
DEFAULT_EMBEDDER: Final = "all-mpnet-base-v2"

SIMILARITY_SCHEMA: Final = {
    **PAIR_KEY,
    "cosine": pl.Float64,  # -1 to 1, or null
    "reason": pl.String,  # why there is no cosine: of the left side if it has none
    "variant": pl.String,
    "model": pl.String,
    "version": pl.String,  # of the model's files, the preparation and the pooling
    "left_tokens": pl.Int32,  # special ones included
    "right_tokens": pl.Int32,
    "window": pl.Int32,  # how many tokens the model reads at most
    "left_read": pl.Float32,  # the share of the tokens that the vector stands for
    "right_read": pl.Float32,
}
"""One row per pair and variant."""


def similarity_table(
    pairs: pl.DataFrame,
    encoder: Encoder,
    cache: Path,
    variant: Variant = Variant.CLEAN,
    long: Long = Long.POOL,
    through: Executor = in_process,
) -> tuple[pl.DataFrame, int]:
    """The similarity of every pair.

    Args:
        pairs: Rows as `pair_rows` gives them.
        encoder: The model.
        cache: The folder of kept vectors.
        variant: How texts are prepared.
        long: What becomes of texts over the model's window.
        through: Who gives the model its batches.

    Returns:
        Rows in `SIMILARITY_SCHEMA`, in the order of the pairs, and how many vectors had
        to be computed. A pair with a side that is missing or empty has no cosine.

    Raises:
        OffrecordError: If the model cannot be had.
    """
    sides = {side: _prepared(pairs, side, variant) for side in ("left", "right")}
    texts = [one.text for side in sides.values() for one in side if one.text]
    embedded = embed(texts, encoder, cache, long, through)
    left, right = ([_row(one, embedded) for one in side] for side in sides.values())
    both = np.array(
        [i is not None and j is not None for i, j in zip(left, right, strict=True)],
        bool,
    )
    cosine = np.full(len(pairs), np.nan)
    if both.any():
        at = [np.array(side, object)[both].astype(int) for side in (left, right)]
        products = np.einsum(
            "ij,ij->i", embedded.vectors[at[0]], embedded.vectors[at[1]]
        )
        cosine[both] = np.clip(products, -1, 1)
    reasons = [
        one.reason or other.reason
        for one, other in zip(sides["left"], sides["right"], strict=True)
    ]
    version = digest([encoder.identity, PREPARATION_VERSION, str(long)])
    table = pairs.select(
        *PAIR_KEY,
        pl.Series("cosine", cosine, pl.Float64).fill_nan(None),
        pl.Series("reason", reasons, pl.String),
        pl.lit(str(variant)).alias("variant"),
        pl.lit(encoder.name).alias("model"),
        pl.lit(version).alias("version"),
        _column("left_tokens", left, embedded.tokens),
        _column("right_tokens", right, embedded.tokens),
        pl.lit(embedded.window, pl.Int32).alias("window"),
        _column("left_read", left, embedded.read),
        _column("right_read", right, embedded.read),
    )
    return table, embedded.computed


def measure_similarity(
    study: Path,
    transcript: pl.DataFrame,
    facts: Mapping[str, Any],
    encoder: Encoder,
    *,
    pairings: Sequence[str] = (DEFAULT_PAIRING,),
    variants: Sequence[Variant] = (Variant.CLEAN,),
    long: Long = Long.POOL,
    seed: int = 0,
    through: Executor = in_process,
) -> tuple[pl.DataFrame, int]:
    """Measure a study's similarities and store them; vectors are computed once.

    Args:
        study: The study's folder.
        transcript: Its rows.
        facts: The content of its study.json.
        encoder: The model.
        pairings: Names out of `PAIRINGS`.
        variants: How texts are prepared.
        long: What becomes of texts over the model's window.
        seed: Of random pairings.
        through: Who gives the model its batches.

    Returns:
        The table, and how many vectors had to be computed.

    Raises:
        OffrecordError: If a pairing is unknown, or the model cannot be had.
    """
    tables, computed = [], 0
    for pairing in pairings:
        pairs = pair_rows(transcript, pairing, facts, np.random.default_rng(seed))
        for variant in variants:
            table, new = similarity_table(
                pairs, encoder, study / VECTORS_FOLDER, variant, long, through
            )
            tables.append(table)
            computed += new
    whole = pl.concat(tables)
    write_table(study / SIMILARITY_FILE, whole)
    return whole, computed


def over_window(table: pl.DataFrame) -> float:
    """The share of texts that are longer than the model's window; NaN without texts.

    Args:
        table: Rows in `SIMILARITY_SCHEMA`. A text counts once for each pair it is in.
    """
    tokens = pl.concat([table["left_tokens"], table["right_tokens"]]).drop_nulls()
    window = table["window"].first()
    return float((tokens > window).sum() / len(tokens)) if len(tokens) else np.nan


def _prepared(pairs: pl.DataFrame, side: str, variant: Variant) -> list[Prepared]:
    columns = pairs.select(f"{side}_text", f"{side}_status", "labels").iter_rows()
    return [
        Prepared(None, status if status not in {"ok", "truncated"} else EMPTY)
        if text is None
        else prepare(text, tuple(labels or ()), variant)
        for text, status, labels in columns
    ]


def _row(one: Prepared, embedded: Embedded) -> int | None:
    return embedded.place[one.text] if one.text is not None else None


def _column(name: str, rows: Sequence[int | None], values: pl.Series) -> pl.Series:
    at = pl.Series(rows, dtype=pl.UInt32)
    return values.gather(at).cast(SIMILARITY_SCHEMA[name]).alias(name)
