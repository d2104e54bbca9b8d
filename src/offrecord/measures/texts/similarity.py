"""Similarity: the cosine of the vectors of two prepared texts.

It says how alike two texts are in what they are about and how they put it. Two texts
with opposite stances on one question are still alike, so a value means something only
beside that of other pairings, such as repeats and shuffled pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.english import pairs_in_english, unread_of
from offrecord.measures.executor import Executor, in_process
from offrecord.measures.options import Options
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.texts.preparation import (
    EMPTY,
    PREPARATION_VERSION,
    Prepared,
    Variant,
    prepare,
)
from offrecord.measures.texts.sentences import SentenceEncoder
from offrecord.measures.texts.vectors import (
    POOLING,
    VECTORS,
    Embedded,
    Encoder,
    embed,
)
from offrecord.records import digest

DEFAULT_EMBEDDER: Final = "all-mpnet-base-v2"

SIMILARITY: Final = Table(
    "similarity",
    "pair",
    {
        "cosine": pl.Float64,  # -1 to 1, or null
        "reason": pl.String,  # why there is none: of the left side if it has none
        "variant": pl.String,
        "model": pl.String,
        "version": pl.String,  # of the model's files, the preparation and the pooling
        "left_tokens": pl.Int32,  # special ones included
        "right_tokens": pl.Int32,
        "window": pl.Int32,  # how many tokens the model reads at most
        "left_read": pl.Float32,  # the share of the tokens that the vector stands for
        "right_read": pl.Float32,
    },
    extra_key=("variant", "model"),
    quantities=(
        Quantity("cosine", "cosine similarity", "cosine, -1 to 1", low=-1, high=1),
    ),
)
"""One row per pair and variant."""


def similarity_table(
    pairs: pl.DataFrame,
    encoder: Encoder,
    cache: Path,
    variant: Variant = Variant.CLEAN,
    through: Executor = in_process,
) -> tuple[pl.DataFrame, int]:
    """The similarity of every pair.

    Args:
        pairs: Rows as `pair_rows` gives them.
        encoder: The model.
        cache: The folder of kept vectors.
        variant: How texts are prepared.
        through: Who gives the model its batches.

    Returns:
        Rows in `SIMILARITY`, in the order of the pairs, and how many vectors had
        to be computed. A pair with a side that is missing or empty has no cosine.

    Raises:
        OffrecordError: If the model cannot be had.
    """
    sides = {side: _prepared(pairs, side, variant) for side in ("left", "right")}
    texts = [one.text for side in sides.values() for one in side if one.text]
    embedded = embed(texts, encoder, cache, through)
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
    version = digest([encoder.identity, PREPARATION_VERSION, POOLING])
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


def over_window(table: pl.DataFrame) -> float:
    """The share of texts that are longer than the model's window; NaN without texts.

    Args:
        table: Rows in `SIMILARITY`. A text counts once for each pair it is in.
    """
    tokens = pl.concat([table["left_tokens"], table["right_tokens"]]).drop_nulls()
    window = table["window"].first()
    return float((tokens > window).sum() / len(tokens)) if len(tokens) else np.nan


def _prepared(pairs: pl.DataFrame, side: str, variant: Variant) -> list[Prepared]:
    columns = (f"{side}_text", f"{side}_status", "labels", "language")
    return [
        Prepared(None, status if status not in {"ok", "truncated"} else EMPTY)
        if text is None
        else prepare(text, tuple(labels or ()), variant, language)
        for text, status, labels, language in pairs.select(columns).iter_rows()
    ]


def _row(one: Prepared, embedded: Embedded) -> int | None:
    return embedded.place[one.text] if one.text is not None else None


def _column(name: str, rows: Sequence[int | None], values: pl.Series) -> pl.Series:
    at = pl.Series(rows, dtype=pl.UInt32)
    return values.gather(at).cast(SIMILARITY.columns[name]).alias(name)


@lru_cache(maxsize=1)  # a scorer asks for it once a debate
def _encoder(name: str, device: str | None) -> SentenceEncoder:
    from offrecord.providers.weights import resolve_folder

    return SentenceEncoder(resolve_folder(name), name, device)


def _take(rows: Rows, options: Options) -> Iterator[Made]:
    encoder = _encoder(options.embedder or DEFAULT_EMBEDDER, options.device)
    # The default model was trained on English; of another one its user knows.
    pairs = rows.pairs if options.embedder else pairs_in_english(rows.pairs)
    taken = [
        similarity_table(
            pairs, encoder, rows.cache / VECTORS, variant, through=options.through
        )
        for variant in options.variants
    ]
    table = pl.concat([table for table, _ in taken])
    yield SIMILARITY, table
    yield (
        f"{encoder.name}: {table.height} pairs, {table['cosine'].null_count()} missing,"
        f" {sum(computed for _, computed in taken)} texts embedded now, "
        f"{100 * over_window(table):.1f} % over the window of {encoder.window} tokens"
        f"{unread_of(table['reason'])}"
    )


MEASURE: Final = Measure(
    name="similarity",
    about="how alike two texts are: the cosine of their sentence vectors",
    version=PREPARATION_VERSION,
    tables=(SIMILARITY,),
    options=("embedder", "pairings", "variants", "seed"),
    extra="semantic",
    take=_take,
)
