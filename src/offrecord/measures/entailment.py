"""Entailment: whether what is said in one text follows from another, or denies it.

Both directions are measured and every column names its own: `left_to_right` takes the
left text as true and asks about the right one. In the default pairing the left text is
the spoken one. A missing or empty text is a missing value with its reason.

Texts of up to two sentences are compared whole. Above that each sentence of the
conclusion is compared with each of the premise: its entailment and its contradiction
are the highest that any of them gives, its neutrality the lowest, and the text has the
mean over its sentences (so the three need not sum to one there). A pair that exceeds
the model's window is compared in sentences, too, and a sentence that exceeds half of it
in parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from offrecord.measures.nli import CLASSES, NLI_FILE, NliModel
from offrecord.measures.nli_network import Pair
from offrecord.measures.nli_store import read_pairs
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.preparation import PREPARATION_VERSION, Variant, prepare
from offrecord.measures.sentence_split import split_sentences

Method = Literal["auto", "whole"]
"""`auto` as the module says; `whole` never looks at sentences unless it must."""

DIRECTIONS: Final = ("left_to_right", "right_to_left")

ENTAILMENT_VERSION: Final = (
    f"entailment-1:{NLI_FILE.hash} preparation-{PREPARATION_VERSION}"
)
"""The version of the rules; a row's version names the model as well."""

_WHOLE: Final = 2  # sentences that are still compared whole

ENTAILMENT_SCHEMA: Final = {
    **PAIR_KEY,
    "left_to_right_entailment": pl.Float64,
    "left_to_right_neutral": pl.Float64,
    "left_to_right_contradiction": pl.Float64,
    "right_to_left_entailment": pl.Float64,
    "right_to_left_neutral": pl.Float64,
    "right_to_left_contradiction": pl.Float64,
    "mean_entailment": pl.Float64,  # over the two directions, as in the paper
    "mean_neutral": pl.Float64,
    "mean_contradiction": pl.Float64,
    "max_contradiction": pl.Float64,
    "mutual_entailment": pl.Float64,  # the smaller of the two directions
    "method": pl.String,  # whole or sentences: what was done
    "left_sentences": pl.Int32,
    "right_sentences": pl.Int32,
    "tokens": pl.Int64,  # of the whole pair, special ones included
    "window": pl.Int64,  # how many the model takes
    "truncated": pl.Boolean,  # whether anything was dropped all the same
    "variant": pl.String,  # how the texts were prepared
    "reason": pl.String,  # why there are no values
    "model": pl.String,
    "version": pl.String,
}
"""One row per planned pair; probabilities are fractions of 1."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How one pair of texts is compared."""

    left: list[str]
    right: list[str]
    method: str
    sentences: tuple[int, int]
    tokens: int

    @property
    def questions(self) -> list[Pair]:
        """Left to right, then right to left, the premise's parts outermost."""
        there = [(one, other) for one in self.left for other in self.right]
        return there + [(one, other) for one in self.right for other in self.left]

    def values(self, found: npt.NDArray[np.float64]) -> dict[str, float]:
        """The probability columns from those of the questions, in their order."""
        size = len(self.left) * len(self.right)
        sides = (len(self.left), len(self.right))
        both = np.stack(
            [
                _pooled(found[:size].reshape(*sides, 3)),
                _pooled(found[size:].reshape(*sides[::-1], 3)),
            ]
        )
        entailment, _, contradiction = both.T
        return {
            **{
                f"{direction}_{name}": float(both[i, j])
                for i, direction in enumerate(DIRECTIONS)
                for j, name in enumerate(CLASSES)
            },
            **{
                f"mean_{name}": float(both[:, j].mean())
                for j, name in enumerate(CLASSES)
            },
            "max_contradiction": float(contradiction.max()),
            "mutual_entailment": float(entailment.min()),
        }


def entailment_table(
    pairs: pl.DataFrame,
    model: NliModel,
    cache: Path,
    *,
    variant: Variant = Variant.CLEAN,
    method: Method = "auto",
) -> pl.DataFrame:
    """Entailment of every pair, in both directions.

    Args:
        pairs: Rows in `PAIR_SCHEMA`.
        model: As `load_nli` gives it, its probes proved.
        cache: A folder for what the model says, so that no two texts are read twice.
        variant: How the texts are prepared.
        method: `whole` for replication of the paper.

    Returns:
        Rows in `ENTAILMENT_SCHEMA`, in the order of the pairs.
    """
    texts = [prepared_pair(row, variant) for row in pairs.iter_rows(named=True)]
    distinct = list(dict.fromkeys(pair for pair in texts if isinstance(pair, tuple)))
    counts = model.tokens(distinct)
    plans = [
        _plan(model, pair, int(tokens), method)
        for pair, tokens in zip(distinct, counts, strict=True)
    ]
    questions = [question for plan in plans for question in plan.questions]
    read = read_pairs(model, questions, cache)
    values: dict[Pair, dict[str, Any]] = {}
    start = 0
    for pair, plan in zip(distinct, plans, strict=True):
        end = start + len(plan.questions)
        values[pair] = {
            **plan.values(read.probabilities[start:end]),
            "method": plan.method,
            "left_sentences": plan.sentences[0],
            "right_sentences": plan.sentences[1],
            "tokens": plan.tokens,
            "truncated": bool((read.tokens[start:end] > model.window).any()),
        }
        start = end
    rows = [
        values[found] if isinstance(found, tuple) else {"reason": found}
        for found in texts
    ]
    return _table(pairs, rows).with_columns(
        window=pl.lit(model.window, pl.Int64),
        variant=pl.lit(str(variant)),
        model=pl.lit(model.name),
        version=pl.lit(f"{ENTAILMENT_VERSION} {model.version}"),
    )


def unmeasured_entailment(pairs: pl.DataFrame, why: str) -> pl.DataFrame:
    """The table where no model can be had: every pair, with that as its reason.

    Args:
        pairs: Rows in `PAIR_SCHEMA`.
        why: One line.
    """
    return _table(pairs, [{"reason": f"not measured: {why}"}] * pairs.height)


def _table(pairs: pl.DataFrame, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    schema = {n: kind for n, kind in ENTAILMENT_SCHEMA.items() if n not in PAIR_KEY}
    filled = [{name: row.get(name) for name in schema} for row in rows]
    return pl.concat(
        [pairs.select(list(PAIR_KEY)), pl.DataFrame(filled, schema=schema)],
        how="horizontal",
    )


def prepared_pair(row: Mapping[str, Any], variant: Variant) -> Pair | str:
    """Both texts of a row of `PAIR_SCHEMA`, or why there are not two: side and reason.

    Args:
        row: A row as a dict.
        variant: How the texts are prepared.
    """
    found = []
    for side in ("left", "right"):
        raw = row[f"{side}_text"]
        if raw is None:
            return f"{side}: {row[f'{side}_status']}"
        ready = prepare(raw, tuple(row["labels"] or ()), variant)
        if ready.text is None:
            return f"{side}: {ready.reason}"
        found.append(ready.text)
    return found[0], found[1]


def _plan(model: NliModel, pair: Pair, tokens: int, method: Method) -> _Plan:
    left, right = map(split_sentences, pair)
    count = (len(left), len(right))
    short = method == "whole" or max(count) <= _WHOLE
    if short and tokens <= model.window:
        return _Plan([pair[0]], [pair[1]], "whole", count, tokens)
    parts = [[p for s in side for p in _parts(model, s)] for side in (left, right)]
    return _Plan(parts[0], parts[1], "sentences", count, tokens)


def _parts(model: NliModel, text: str) -> list[str]:
    """A text in parts of which any two fit into the window, unless a word does not."""
    words = text.split()
    if len(words) < 2 or model.tokens([(text, text)])[0] <= model.window:
        return [text]
    half = len(words) // 2
    first, second = " ".join(words[:half]), " ".join(words[half:])
    return _parts(model, first) + _parts(model, second)


def _pooled(found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """One distribution from those of parts: shape (premise, conclusion, 3) to (3,)."""
    entailment, neutral, contradiction = np.moveaxis(found, 2, 0)
    return np.array(
        [
            entailment.max(axis=0).mean(),
            neutral.min(axis=0).mean(),
            contradiction.max(axis=0).mean(),
        ]
    )
