"""A second opinion on entailment: what a judge says of each direction of a pair."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from offrecord.measures.codes.judge import judge
from offrecord.measures.codes.verdicts import (
    VERDICT_VERSION,
    JudgeRequest,
    read_judge_prompt,
)
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.texts.entailment import prepared_pair
from offrecord.measures.texts.preparation import PREPARATION_VERSION, Variant

JUDGED_SCHEMA: Final = {
    **PAIR_KEY,
    "left_to_right": pl.String,  # entailment, neutral or contradiction
    "right_to_left": pl.String,
    "status": pl.String,  # of the judge's reply; null where nothing was asked
    "reason": pl.String,  # why there are no values
    "reply": pl.String,  # raw
    "variant": pl.String,
    "model": pl.String,  # the judge
    "model_answered": pl.String,
    "version": pl.String,
}
"""One row per planned pair."""


def judged_entailment(
    pairs: pl.DataFrame, model: str, cache: Path, variant: Variant = Variant.CLEAN
) -> pl.DataFrame:
    """A judge's reading of every pair, in both directions.

    The judge is not told which channel, model or condition a text is from.

    Args:
        pairs: Rows in `PAIR_SCHEMA`.
        model: The judge, as Inspect names it.
        cache: A folder for its replies.
        variant: How the texts are prepared.

    Returns:
        Rows in `JUDGED_SCHEMA`, in the order of the pairs.

    Raises:
        OffrecordError: If the judge cannot be asked.
    """
    prompt = read_judge_prompt("entailment")
    texts = [prepared_pair(row, variant) for row in pairs.iter_rows(named=True)]
    requests = [
        JudgeRequest(prompt=prompt, texts={"first": found[0], "second": found[1]})
        for found in texts
        if isinstance(found, tuple)
    ]
    verdicts = iter(judge(requests, model, cache))
    rows: list[dict[str, object]] = []
    for found in texts:
        if isinstance(found, str):
            rows.append({"reason": found})
            continue
        verdict = next(verdicts)
        rows.append(
            {
                "left_to_right": verdict.values.get("first_to_second"),
                "right_to_left": verdict.values.get("second_to_first"),
                "status": str(verdict.status),
                "reason": verdict.reason,
                "reply": verdict.reply,
                "model_answered": verdict.model_answered or None,
            }
        )
    version = f"{VERDICT_VERSION} {prompt.stamp} preparation-{PREPARATION_VERSION}"
    schema = {
        name: kind for name, kind in JUDGED_SCHEMA.items() if name not in PAIR_KEY
    }
    filled = pl.DataFrame(
        [{name: row.get(name) for name in schema} for row in rows], schema=schema
    ).with_columns(
        variant=pl.lit(str(variant)), model=pl.lit(model), version=pl.lit(version)
    )
    return pl.concat([pairs.select(list(PAIR_KEY)), filled], how="horizontal")
