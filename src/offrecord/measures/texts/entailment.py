"""Entailment: whether what is said in one text follows from another, or denies it.

Both directions are measured and every column names its own: `left_to_right` takes the
left text as true and asks about the right one. In the default pairing the left text is
the spoken one. A missing or empty text is a missing value with its reason.

How texts of several sentences are compared: see `comparison`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from offrecord.measures.codes.verdicts import (
    VERDICT_VERSION,
    JudgeRequest,
    Verdict,
    read_judge_prompt,
)
from offrecord.measures.declare import Made, Measure, Quantity, Rows, Table
from offrecord.measures.english import pairs_in_english, unread_of
from offrecord.measures.options import Options
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.texts.comparison import Method, comparisons, pooled
from offrecord.measures.texts.nli import (
    CLASSES,
    DEFAULT_MODEL,
    NLI_FILE,
    NliModel,
    load_nli,
)
from offrecord.measures.texts.nli_network import Pair
from offrecord.measures.texts.preparation import PREPARATION_VERSION, Variant, prepare
from offrecord.records import ENGLISH, OffrecordError

DIRECTIONS: Final = ("left_to_right", "right_to_left")

ENTAILMENT_VERSION: Final = (
    f"entailment-1:{NLI_FILE.hash} preparation-{PREPARATION_VERSION}"
)
"""The version of the rules; a row's version names the model as well."""

_MEANS: Final = {
    "mean_entailment": "entailment",  # over the two directions, as in the paper
    "mean_neutral": "neutral",
    "mean_contradiction": "contradiction",
    "max_contradiction": "strongest contradiction",
    "mutual_entailment": "mutual entailment",  # the smaller of the two directions
}

ENTAILMENT: Final = Table(
    "entailment",
    "pair",
    {
        **{f"{way}_{name}": pl.Float64 for way in DIRECTIONS for name in CLASSES},
        **dict.fromkeys(_MEANS, pl.Float64),
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
    },
    extra_key=("variant", "model"),
    quantities=tuple(
        Quantity(name, title, "probability", low=0, high=1)
        for name, title in _MEANS.items()
    ),
)
"""One row per planned pair; probabilities are fractions of 1."""

JUDGED: Final = Table(
    "entailment-judge",
    "pair",
    {
        "left_to_right": pl.String,  # entailment, neutral or contradiction
        "right_to_left": pl.String,
        "status": pl.String,  # of the judge's reply; null where nothing was asked
        "reason": pl.String,  # why there are no values
        "reply": pl.String,  # raw
        "variant": pl.String,
        "model": pl.String,  # the judge
        "model_answered": pl.String,
        "version": pl.String,
    },
    extra_key=("variant", "model"),
    quantities=(
        Quantity("left_to_right", "judge, from public", kind="note", exported=False),
        Quantity("right_to_left", "judge, to public", kind="note", exported=False),
    ),
)
"""One row per planned pair and judge."""


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
        Rows in `ENTAILMENT`, in the order of the pairs.
    """
    texts = [_prepared(row, variant) for row in pairs.iter_rows(named=True)]
    distinct = list(dict.fromkeys(pair for pair in texts if isinstance(pair, tuple)))
    plans = comparisons(model, distinct, method)
    there = pooled(model, [(plan.left, plan.right) for plan in plans], cache)
    back = pooled(model, [(plan.right, plan.left) for plan in plans], cache)
    values: dict[Pair, dict[str, Any]] = {
        pair: {
            **_values(one.probabilities, other.probabilities),
            "method": plan.method,
            "left_sentences": plan.sentences[0],
            "right_sentences": plan.sentences[1],
            "tokens": plan.tokens,
            "truncated": one.truncated or other.truncated,
        }
        for pair, plan, one, other in zip(distinct, plans, there, back, strict=True)
    }
    rows = [
        values[found] if isinstance(found, tuple) else {"reason": found}
        for found in texts
    ]
    return ENTAILMENT.filled(
        pairs.select(list(PAIR_KEY)),
        rows,
        window=model.window,
        variant=str(variant),
        model=model.name,
        version=f"{ENTAILMENT_VERSION} {model.version}",
    )


def unmeasured_entailment(pairs: pl.DataFrame, why: str) -> pl.DataFrame:
    """The table where no model can be had: every pair, with that as its reason.

    Args:
        pairs: Rows in `PAIR_SCHEMA`.
        why: One line.
    """
    row = {"reason": f"not measured: {why}", "version": ENTAILMENT_VERSION}
    return ENTAILMENT.filled(pairs.select(list(PAIR_KEY)), [row] * pairs.height)


def judged_entailment(pairs: pl.DataFrame, model: str, cache: Path) -> pl.DataFrame:
    """A judge's reading of every pair, in both directions: a second opinion.

    The judge is not told which channel, model or condition a text is from.

    Args:
        pairs: Rows in `PAIR_SCHEMA`.
        model: The judge, as Inspect names it.
        cache: A folder for its replies.

    Returns:
        Rows in `JUDGED`, in the order of the pairs.

    Raises:
        OffrecordError: If the judge cannot be asked.
    """
    from offrecord.measures.codes.judge import judge  # brings Inspect

    prompt = read_judge_prompt("entailment")
    texts = [_prepared(row, Variant.CLEAN) for row in pairs.iter_rows(named=True)]
    requests = [
        JudgeRequest(prompt=prompt, texts={"first": found[0], "second": found[1]})
        for found in texts
        if isinstance(found, tuple)
    ]
    verdicts = iter(judge(requests, model, cache))
    rows = [
        {"reason": found} if isinstance(found, str) else _judged(next(verdicts))
        for found in texts
    ]
    return JUDGED.filled(
        pairs.select(list(PAIR_KEY)),
        rows,
        variant=str(Variant.CLEAN),
        model=model,
        version=f"{VERDICT_VERSION} {prompt.stamp} preparation-{PREPARATION_VERSION}",
    )


def _judged(verdict: Verdict) -> dict[str, Any]:
    there, back = (
        verdict.values.get(f"{one}_to_{other}")
        for one, other in (("first", "second"), ("second", "first"))
    )
    return {**verdict.columns, "left_to_right": there, "right_to_left": back}


def _prepared(row: Mapping[str, Any], variant: Variant) -> Pair | str:
    """Both texts of a row of `PAIR_SCHEMA`, or why there are not two, side first."""
    found = []
    for side in ("left", "right"):
        raw = row[f"{side}_text"]
        if raw is None:
            return f"{side}: {row[f'{side}_status']}"
        ready = prepare(
            raw, tuple(row["labels"] or ()), variant, row["language"] or ENGLISH
        )
        if ready.text is None:
            return f"{side}: {ready.reason}"
        found.append(ready.text)
    return found[0], found[1]


def _values(
    there: npt.NDArray[np.float64], back: npt.NDArray[np.float64]
) -> dict[str, float]:
    """The probability columns from those of the two directions."""
    both = np.stack([there, back])
    entailment, _, contradiction = both.T
    return {
        **{
            f"{direction}_{name}": float(both[i, j])
            for i, direction in enumerate(DIRECTIONS)
            for j, name in enumerate(CLASSES)
        },
        **{f"mean_{name}": float(both[:, j].mean()) for j, name in enumerate(CLASSES)},
        "max_contradiction": float(contradiction.max()),
        "mutual_entailment": float(entailment.min()),
    }


def _take(rows: Rows, options: Options) -> Iterator[Made]:
    pairs = rows.pairs
    if options.judges:
        asked = [judged_entailment(pairs, name, rows.cache) for name in options.judges]
        yield JUDGED, pl.concat(asked)
        yield f"judged by {', '.join(options.judges)}: {pairs.height} pairs"
    try:
        model = load_nli(options.nli or DEFAULT_MODEL, options.device, options.through)
    except OffrecordError as fault:
        yield ENTAILMENT, unmeasured_entailment(pairs, str(fault))
        raise
    for probe in model.probes:
        yield f"probe {probe}"
    method: Method = "whole" if options.whole else "auto"
    # The default model was trained on English; of another one its user knows.
    own = pairs if options.nli else pairs_in_english(pairs)
    tables = [
        entailment_table(own, model, rows.cache, variant=variant, method=method)
        for variant in options.variants
    ]
    table = pl.concat(tables)
    yield ENTAILMENT, table
    missing = table.height - table["reason"].null_count()
    yield (
        f"{model.name}: {table.height} pairs, {missing} missing"
        f"{unread_of(table['reason'])}"
    )


MEASURE: Final = Measure(
    name="entailment",
    about="whether what one text says follows from the other, or denies it",
    version=ENTAILMENT_VERSION,
    tables=(ENTAILMENT, JUDGED),
    options=("nli", "judges", "pairings", "variants", "whole", "seed"),
    extra="semantic",
    take=_take,
)
