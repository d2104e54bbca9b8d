"""What a model said of pairs of texts, kept on disk, so that no pair is read twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from offrecord.measures.texts.nli import CLASSES, NliModel, Read
from offrecord.measures.texts.nli_network import Pair
from offrecord.records import digest
from offrecord.transcript.store import make_folder, read_table, write_table

_AT_ONCE: Final = 1024
"""Pairs between two writes: what an interruption can lose."""

_SCHEMA: Final = {
    "pair": pl.String,
    "tokens": pl.Int64,
    **dict.fromkeys(CLASSES, pl.Float64),
}


def read_pairs(model: NliModel, pairs: Sequence[Pair], cache: Path) -> Read:
    """The class probabilities of pairs: stored ones, or read now and stored.

    Args:
        model: Who reads.
        pairs: Premise and hypothesis.
        cache: A folder, made where it is absent; it has one file a model.

    Raises:
        OffrecordError: If the folder cannot be read or written.
    """
    path = cache / f"nli-{digest([model.name, model.hash, model.window])}.parquet"
    stored = (
        read_table(path, again="remove it")
        if path.exists()
        else pl.DataFrame(schema=_SCHEMA)
    )
    keys = [digest(pair, 32) for pair in pairs]
    known = set(stored["pair"])
    absent = {k: p for k, p in zip(keys, pairs, strict=True) if k not in known}
    # by length, so that each batch has like ones
    waiting = sorted(absent.items(), key=lambda item: sum(map(len, item[1])))
    blocks = [
        waiting[start : start + _AT_ONCE] for start in range(0, len(waiting), _AT_ONCE)
    ]
    reads = model.reads([[pair for _, pair in some] for some in blocks])
    for some, read in zip(blocks, reads, strict=True):
        rows = {"pair": [key for key, _ in some], "tokens": read.tokens}
        rows |= dict(zip(CLASSES, read.probabilities.T, strict=True))
        stored = pl.concat([stored, pl.DataFrame(rows, schema=_SCHEMA)])
        make_folder(path.parent)
        write_table(path, stored)
    place = {key: index for index, key in enumerate(stored["pair"])}
    chosen = stored[np.array([place[key] for key in keys], dtype=np.int64)]
    return Read(chosen.select(CLASSES).to_numpy(), chosen["tokens"].to_numpy())
