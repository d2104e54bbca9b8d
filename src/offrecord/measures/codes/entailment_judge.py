"""A second opinion on entailment: what a judge says of each direction of a pair."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from offrecord.measures.codes.judge import judge
from offrecord.measures.codes.verdicts import (
    VERDICT_VERSION,
    JudgeRequest,
    read_judge_prompt,
)
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.texts.judged import JUDGED, prepared_pair
from offrecord.measures.texts.preparation import PREPARATION_VERSION, Variant


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
        Rows in `JUDGED`, in the order of the pairs.

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
    return JUDGED.filled(
        pairs.select(list(PAIR_KEY)),
        rows,
        variant=str(variant),
        model=model,
        version=version,
    )
