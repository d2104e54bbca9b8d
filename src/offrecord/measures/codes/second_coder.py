"""A second coder of stance: what a text argues for once its label is taken off.

A model may flip the label and keep the argument, or the other way round. So the stance
of the rest is coded again, blind to the label, the channel, the model and the
condition: by a model for natural language inference that is asked which label's
statement the text entails more, or by a judge that chooses between the two in a seeded
order. Both may say `unclear`. Human coders are in `human`; agreement is an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from offrecord.measures.declare import Quantity, Table
from offrecord.measures.texts.comparison import comparisons, pooled
from offrecord.measures.texts.nli import NLI_FILE, NliModel
from offrecord.measures.texts.preparation import PREPARATION_VERSION, Variant, prepare
from offrecord.records import Form, Status, digest
from offrecord.transcript.ended import first_ended
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

UNCLEAR: Final = "unclear"
"""The code of a text that argues for neither label."""

MARGIN: Final[float] = NLI_FILE.front["statements"]["margin"]
"""How much more probable one statement must be than the other, or it is unclear."""

_TEMPLATE: Final[str] = NLI_FILE.front["statements"]["template"]
_SCENARIOS: Final[dict[str, dict[str, str]]] = NLI_FILE.front["statements"]["scenarios"]

CODER_VERSION: Final = (
    f"second-coder-1:{NLI_FILE.hash} preparation-{PREPARATION_VERSION}"
)
"""The version of the rules; a row's version names model and prompt as well."""

_TEXT: Final = {
    **{name: TRANSCRIPT_SCHEMA[name] for name in ROW_KEY},
    "scenario": pl.String,
    "labels": pl.List(pl.String),
    "pressed_side": pl.String,
    "stated": pl.String,  # the label that the text stated before it was taken off
}

TEXT_SCHEMA: Final = {
    **_TEXT,
    "text": pl.String,  # without label; null if nothing is left
    "reason": pl.String,  # why there is no text
}
"""One row per utterance: what a coder may see is `text` and the labels."""

CODER: Final = Table(
    "second-coder",
    "text",
    {
        **{name: kind for name, kind in _TEXT.items() if name not in ROW_KEY},
        "coder": pl.String,  # entailment, judge, or human:NAME
        "code": pl.String,  # one of the labels, or unclear; null if missing
        "agrees": pl.Boolean,  # with the stated label; null unless both are labels
        "first_entailment": pl.Float64,  # of the first label's statement
        "second_entailment": pl.Float64,
        "status": pl.String,  # of a judge's reply
        "reason": pl.String,  # why there is no code
        "reply": pl.String,  # a judge's raw reply, a human's note
        "model": pl.String,
        "model_answered": pl.String,
        "version": pl.String,
    },
    extra_key=("coder", "model"),
    quantities=(Quantity("code", "second coder", kind="note", exported=False),),
)
"""One row per utterance and coder."""


def coder_texts(transcript: pl.DataFrame, stances: pl.DataFrame) -> pl.DataFrame:
    """The utterances of a study without their labels.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`; of each run the measured attempt.
        stances: Rows in `STANCE_SCHEMA`.

    Returns:
        Rows in `TEXT_SCHEMA`, those with nothing to read included.
    """
    rows = (
        first_ended(transcript)
        .filter(pl.col("form") == Form.UTTERANCE)
        .join(
            stances.select(*ROW_KEY, stated="label"),
            on=list(ROW_KEY),
            how="left",
            maintain_order="left",
        )
    )
    texts: list[str | None] = []
    reasons: list[str | None] = []
    asked = rows.select("text", "labels", "language", "status")
    for text, labels, language, status in asked.iter_rows():
        if status not in {Status.OK, Status.TRUNCATED}:
            texts.append(None)
            reasons.append(status)
            continue
        ready = prepare(text, tuple(labels or ()), Variant.CLEAN, language)
        texts.append(ready.text)
        reasons.append(ready.reason)
    return rows.select(
        *_TEXT,
        pl.Series("text", texts, pl.String),
        pl.Series("reason", reasons, pl.String),
    )


def code_by_entailment(
    texts: pl.DataFrame, model: NliModel, cache: Path
) -> pl.DataFrame:
    """Code each text by which label's statement it entails more.

    Args:
        texts: Rows in `TEXT_SCHEMA`.
        model: As `load_nli` gives it.
        cache: A folder for what the model says.

    Returns:
        Rows in `CODER`. A text is unclear where the two are closer than
        `MARGIN`.
    """
    asked = [row for row in texts.iter_rows(named=True) if has_choice(row)]
    pairs = [
        (row["text"], statement(row["scenario"], label))
        for row in asked
        for label in row["labels"]
    ]
    plans = comparisons(model, pairs, "auto")
    found = pooled(model, [(plan.left, plan.right) for plan in plans], cache)
    entailed = np.array([each.probabilities[0] for each in found]).reshape(-1, 2)
    codes = [
        {
            "code": row["labels"][int(second > first)]
            if abs(first - second) >= MARGIN
            else UNCLEAR,
            "first_entailment": first,
            "second_entailment": second,
        }
        for row, (first, second) in zip(asked, entailed.tolist(), strict=True)
    ]
    version = f"{CODER_VERSION} {model.version}"
    return coder_table(texts, codes, "entailment", model.name, version)


def code_by_judge(
    texts: pl.DataFrame, model: str, cache: Path, seed: int = 0
) -> pl.DataFrame:
    """Code each text by a judge who sees it and the two labels, and nothing else.

    Args:
        texts: Rows in `TEXT_SCHEMA`.
        model: The judge, as Inspect names it.
        cache: A folder for its replies.
        seed: Of the order in which a row's labels are shown.

    Returns:
        Rows in `CODER`.

    Raises:
        OffrecordError: If the judge cannot be asked.
    """
    from offrecord.measures.codes.judge import judge  # brings Inspect

    prompt = read_judge_prompt("stance")
    asked = [row for row in texts.iter_rows(named=True) if has_choice(row)]
    requests = [
        JudgeRequest(
            prompt=prompt,
            texts={"text": row["text"]},
            values=dict(zip(("option_a", "option_b"), options(row, seed), strict=True)),
        )
        for row in asked
    ]
    verdicts = zip(asked, judge(requests, model, cache), strict=True)
    codes = [_judged(verdict, shown_order(row, seed)) for row, verdict in verdicts]
    version = f"{CODER_VERSION} {VERDICT_VERSION} {prompt.stamp}"
    return coder_table(texts, codes, "judge", model, version)


def has_choice(row: Mapping[str, Any]) -> bool:
    """Whether a row of `TEXT_SCHEMA` has a text and two labels to choose from."""
    return row["text"] is not None and len(row["labels"] or ()) == 2


def shown_order(row: Mapping[str, Any], seed: int) -> list[str]:
    """A row's labels in the order in which its coder sees them.

    It hangs on the seed and the row alone, so that a study can grow.
    """
    key = [str(row[name]) for name in ROW_KEY]
    turned = int(digest([seed, key]), 16) % 2
    labels: list[str] = list(row["labels"])
    return labels[::-1] if turned else labels


def statement(scenario: str, label: str) -> str:
    """The statement of a label; for scenarios that have none, one made of the label."""
    stated = _SCENARIOS.get(scenario, {}).get(label)
    return stated or _TEMPLATE.replace("{label}", label)


def options(row: Mapping[str, Any], seed: int) -> list[str]:
    """A row's labels with what each says, in the order in which its coder sees them."""
    return [
        f"{label} ({statement(row['scenario'], label)})"
        for label in shown_order(row, seed)
    ]


def coder_table(
    texts: pl.DataFrame,
    codes: Sequence[Mapping[str, Any]],
    coder: str,
    model: str | None,
    version: str,
) -> pl.DataFrame:
    """The codes of one coder beside their texts' keys, and whether they agree.

    Args:
        texts: Rows in `TEXT_SCHEMA`.
        codes: Of each row with a choice, any of the columns that a code fills.
        coder: Its name.
        model: Its model, if it is one.
        version: Of what produced the codes.

    Returns:
        Rows in `CODER`.
    """
    given = iter(codes)
    rows = [
        next(given)
        if has_choice(row)
        else {"reason": row["reason"] or "not two labels"}
        for row in texts.iter_rows(named=True)
    ]
    keys = texts.select(list(_TEXT))
    same = {"coder": coder, "model": model, "version": version}
    both = pl.col("stated").is_not_null() & (pl.col("code") != UNCLEAR)
    return CODER.filled(keys, rows, **same).with_columns(
        agrees=pl.when(both).then(pl.col("code") == pl.col("stated"))
    )


def side_codes(
    tables: Sequence[pl.DataFrame],
) -> tuple[pl.DataFrame, list[str], npt.NDArray[np.float64]]:
    """All codes as numbers, for the agreement of coders.

    Labels of different questions cannot be confused, so what is compared is the side:
    1 is the partner's, 0 the other, NaN neither (unclear or missing).

    Args:
        tables: Rows in `CODER`, of any coders.

    Returns:
        The row keys with their scenario; the coders, `stated` first; and the numbers,
        shape (rows, coders).
    """
    rows = pl.concat(tables)
    coders = rows["coder"].unique(maintain_order=True).to_list()
    unit = [*ROW_KEY, "scenario", "pressed_side", "stated", "labels"]
    wide = rows.select(*unit, "coder", "code").pivot(
        on="coder", on_columns=coders, index=unit, values="code", maintain_order=True
    )
    names = ["stated", *coders]
    on_side = wide.select(
        pl.when(pl.col(name).is_in(pl.col("labels")))
        .then((pl.col(name) == pl.col("pressed_side")).cast(pl.Float64))
        .alias(name)
        for name in names
    )
    return wide.select(*ROW_KEY, "scenario"), names, on_side.to_numpy()


def _judged(verdict: Verdict, order: Sequence[str]) -> dict[str, Any]:
    codes = {"A": order[0], "B": order[1], UNCLEAR: UNCLEAR}
    return {**verdict.columns, "code": codes.get(str(verdict.values.get("decision")))}
