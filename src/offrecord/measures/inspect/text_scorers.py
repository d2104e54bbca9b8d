"""The text measures as Inspect scorers: `inspect score LOG --scorer offrecord/...`.

They stand beside the flow, since a model has to be found for two of them. Each scores
the target's committed utterances of one debate; NaN, never 0, where there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import platformdirs
import polars as pl
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from offrecord.measures.codes.lexical import read_attribution
from offrecord.measures.inspect.scorers import (
    compared,
    defined_mean,
    target_turns,
    texts_of,
)
from offrecord.measures.pairings import PAIR_SCHEMA
from offrecord.measures.texts.entailment import entailment_table
from offrecord.measures.texts.markers import count_markers
from offrecord.measures.texts.nli import DEFAULT_MODEL, load_nli
from offrecord.measures.texts.sentences import SentenceEncoder
from offrecord.measures.texts.similarity import DEFAULT_EMBEDDER, similarity_table
from offrecord.protocol.solver import STORE_KEY
from offrecord.providers.folders import resolve_folder
from offrecord.records import Form, Status

_CACHE: Final = Path(platformdirs.user_cache_dir("offrecord")) / "scorers"


@scorer(metrics=[defined_mean()])
def similarity(embedder: str = DEFAULT_EMBEDDER, device: str | None = None) -> Scorer:
    """The mean cosine of what the target says in public and off the record.

    Args:
        embedder: A known model, a folder or a Hub id.
        device: `cuda`, `mps` or `cpu`; the best there is by default.
    """

    @cache
    def encoder() -> SentenceEncoder:
        return SentenceEncoder(resolve_folder(embedder), embedder, device)

    def measure(pairs: pl.DataFrame) -> pl.Series:
        return similarity_table(pairs, encoder(), _CACHE)[0]["cosine"]

    return _of_pairs(measure)


@scorer(metrics=[defined_mean()])
def entailment(nli: str = DEFAULT_MODEL, device: str | None = None) -> Scorer:
    """The mean contradiction between the target's two channels, both directions.

    Args:
        nli: A folder or a Hub id.
        device: As torch names it.
    """
    model = cache(lambda: load_nli(nli, device))

    def measure(pairs: pl.DataFrame) -> pl.Series:
        return entailment_table(pairs, model(), _CACHE)["mean_contradiction"]

    return _of_pairs(measure)


def _of_pairs(measure: Callable[[pl.DataFrame], pl.Series]) -> Scorer:
    """The mean of a measure over the target's pairs, taken beside the event loop."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        pairs = _pairs(state)
        values = await anyio.to_thread.run_sync(measure, pairs)
        return _mean(values.to_list())

    return score


@scorer(metrics=[defined_mean()])
def attribution() -> Scorer:
    """The share of the target's texts off the record that attribute explicitly.

    By the lexical baseline, which needs no model and is no more than a baseline.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        texts = _texts(state, place=1)
        return _mean([read_attribution(text).code == "explicit" for text in texts])

    return score


@scorer(metrics=[defined_mean()])
def hedges() -> Scorer:
    """Hedges per 100 words of the target's public texts."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        counts = [count_markers(text) for text in _texts(state, place=0)]
        return _mean([one["hedges_per_100"] for one in counts])

    return score


def _texts(state: TaskState, place: int) -> list[str]:
    record = state.store.get(STORE_KEY)
    if not isinstance(record, Mapping):
        return []
    texts, channel = texts_of(record, Form.UTTERANCE), compared(record)[place]
    wanted = [(turn, channel) for turn in target_turns(record)]
    return [texts[key] for key in wanted if key in texts]


def _pairs(state: TaskState) -> pl.DataFrame:
    """The target's planned pairs, as the pair measures take them."""
    record = state.store.get(STORE_KEY)
    rows: list[dict[str, Any]] = []
    if isinstance(record, Mapping):
        texts, channels = texts_of(record, Form.UTTERANCE), compared(record)
        for turn in target_turns(record):
            row: dict[str, Any] = {"pairing": "channels", "labels": record["labels"]}
            for side, channel in zip(("left", "right"), channels, strict=True):
                text = texts.get((turn, channel))
                row |= {
                    f"{side}_text": text,
                    f"{side}_status": str(Status.EMPTY if text is None else Status.OK),
                }
            rows.append(row)
    return pl.DataFrame(rows, schema=PAIR_SCHEMA)


def _mean(values: Sequence[float | None]) -> Score:
    known = [float(value) for value in values if value is not None]
    mean = sum(known) / len(known) if known else math.nan
    return Score(value=mean, explanation=f"{len(known)} of {len(values)} have a value")
