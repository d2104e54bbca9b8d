"""Vectors of texts, each computed once and kept on disk.

A vector is kept under the identity of its model and the hash of its text, in the
study's own folder, so that it goes where the study goes and away with it; no text is
kept beside it. The files are named by the hash of their content: one that was damaged
is noticed, thrown away with a line in the log, and made again.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from offrecord.measures.executor import Executor, in_process
from offrecord.records import OffrecordError
from offrecord.transcript.store import make_folder, write_bytes

POOLING: Final = "pool"
"""How a text over the window is read, as vectors and their version name it."""

VECTORS: Final = "vectors"
"""Where in its cache a study keeps its vectors, in one folder per model."""

_LOG: Final = logging.getLogger(__name__)
_BLOCK: Final = 1024  # texts per file: what an interruption costs at most
_BATCH: Final = 32
_KEPT: Final = {
    "key": pl.String,  # the hash of a text
    "tokens": pl.Int32,
    "read": pl.Float32,
    "window": pl.Int32,
}  # and the vector


class Piece(NamedTuple):
    """A part of a text that fits the window."""

    text: str
    tokens: int


class Encoder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """What it is called in tables."""

    @property
    def identity(self) -> str:
        """A hash of everything that its vectors depend on."""

    @property
    def window(self) -> int:
        """How many tokens it reads at most, special ones included."""

    def pieces(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Part each text into pieces that fit the window, most often one.

        The tokens of a text's pieces sum to its tokens, special ones counted once for
        each piece.
        """

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of texts that fit: one row each, of length 1, as one batch."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of distinct texts."""

    place: dict[str, int]
    """Text to row."""
    vectors: npt.NDArray[np.float32]
    """One row of length 1 for each text."""
    tokens: pl.Series
    """How long each text is."""
    read: pl.Series
    """The share of each text's tokens that its vector stands for."""
    window: int | None
    """How many tokens the model reads at most; unknown where there are no texts."""
    computed: int
    """How many vectors were not kept yet and had to be computed."""


def embed(
    texts: Iterable[str],
    encoder: Encoder,
    folder: Path,
    through: Executor = in_process,
) -> Embedded:
    """The vectors of texts: kept ones, and new ones in the order of their length.

    Of a text over the window it is the mean of its pieces' vectors, weighted by tokens.

    Args:
        texts: Any texts that are not empty; each counts once.
        encoder: The model. It is not loaded where every vector is kept.
        folder: Where vectors are kept (`VECTORS` in a study's cache).
        through: Who gives the model its batches.

    Raises:
        OffrecordError: If the model gives something that is no number, or nothing can
            be written.
    """
    keys = {text: _key(text) for text in dict.fromkeys(texts)}
    shelf = folder / f"{encoder.identity}-{POOLING}"
    kept = _kept(shelf)
    known = set(kept["key"]) if kept is not None else set()
    new = [text for text, key in keys.items() if key not in known]
    parts = [] if kept is None else [kept]
    if new:
        parts += _compute(new, encoder, shelf, through)
    if not parts:
        parts = [pl.DataFrame(schema={**_KEPT, "vector": pl.Array(pl.Float32, 0)})]
    wanted = pl.DataFrame({"key": list(keys.values())}, schema={"key": pl.String})
    rows = wanted.join(
        pl.concat(parts).unique("key"), on="key", how="left", maintain_order="left"
    )
    return Embedded(
        place={text: index for index, text in enumerate(keys)},
        vectors=rows["vector"].to_numpy(),
        tokens=rows["tokens"],
        read=rows["read"],
        window=rows.select(pl.col("window").max()).item(),
        computed=len(new),
    )


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _compute(
    texts: Sequence[str], encoder: Encoder, shelf: Path, through: Executor
) -> list[pl.DataFrame]:
    """Embed texts, like lengths together, and keep each block once it is done."""
    parted = encoder.pieces(texts)
    sizes = [sum(piece.tokens for piece in pieces) for pieces in parted]
    order = sorted(range(len(texts)), key=sizes.__getitem__)
    some = [order[start : start + _BLOCK] for start in range(0, len(order), _BLOCK)]
    parts = [[parted[i] for i in chosen] for chosen in some]
    # One stream over all blocks: elsewhere, a model is loaded once for all of them.
    found = through(encoder.encode, [b for read in parts for b in _batches(read)])
    blocks = []
    for chosen, read in zip(some, parts, strict=True):
        vectors = _pooled(read, islice(found, len(_batches(read))), encoder.name)
        columns = {
            "key": [_key(texts[i]) for i in chosen],
            "tokens": [sizes[i] for i in chosen],
            "read": [1.0] * len(chosen),
            "window": encoder.window,
        }
        block = pl.DataFrame(columns, schema=_KEPT).with_columns(
            pl.Series("vector", vectors, pl.Array(pl.Float32, vectors.shape[1]))
        )
        _keep(shelf, block)
        blocks.append(block)
    return blocks


def _batches(parted: Sequence[Sequence[Piece]]) -> list[list[str]]:
    texts = [piece.text for pieces in parted for piece in pieces]
    return [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]


def _pooled(
    parted: Sequence[Sequence[Piece]],
    found: Iterable[npt.NDArray[np.float32]],
    model: str,
) -> npt.NDArray[np.float32]:
    """One vector a text, from those of its pieces."""
    vectors = np.concatenate(list(found))
    if not np.isfinite(vectors).all():
        raise OffrecordError(f"{model}: gives vectors that are no numbers")
    pieces = [piece for pieces in parted for piece in pieces]
    if len(pieces) == len(parted):
        return vectors
    owner = np.repeat(np.arange(len(parted)), [len(pieces) for pieces in parted])
    weights = np.array([piece.tokens for piece in pieces], np.float64)
    sums = np.zeros((len(parted), vectors.shape[1]))
    np.add.at(sums, owner, vectors * weights[:, None])
    means = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    pooled: npt.NDArray[np.float32] = means.astype(np.float32)
    return pooled


def _keep(shelf: Path, block: pl.DataFrame) -> None:
    buffer = io.BytesIO()
    block.write_parquet(buffer, compression="uncompressed")
    data = buffer.getvalue()
    make_folder(shelf)
    write_bytes(shelf / f"{hashlib.sha256(data).hexdigest()}.parquet", data)


def _kept(shelf: Path) -> pl.DataFrame | None:
    """Every kept vector of a model, damaged files thrown away."""
    blocks = []
    for path in sorted(shelf.glob("*.parquet")):
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == path.stem:
            blocks.append(pl.read_parquet(data))
            continue
        _LOG.warning("%s: damaged, its vectors are made again", path)
        path.unlink()
    return pl.concat(blocks) if blocks else None
