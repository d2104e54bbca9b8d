"""Attribution: what a text names as the reason for what its writer says in public.

A judge codes one text at a time by the codebook, untold where it is from, in a seeded
order that reveals nothing. A code stands only on exact quotes: without those that it
needs it falls, one step at a time, to what its quotes support. Several judges decide by
majority, and every verdict is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.measures.codes.codebook import EVIDENCE, Codebook, read_codebook
from offrecord.measures.codes.coded_texts import CODED_KEY, SAID, coded_texts
from offrecord.measures.codes.quotes import check_quotes
from offrecord.measures.codes.verdicts import VERDICT_VERSION, JudgeRequest, Verdict
from offrecord.records import Form, OffrecordError, Status
from offrecord.transcript.ended import first_ended
from offrecord.transcript.schema import ROW_KEY

ATTRIBUTION_VERSION: Final = f"attribution-1:{VERDICT_VERSION}"
"""The version of the check and the majority; in tables the codebook's stands behind."""

VERDICTS_FILE: Final = "measures/attribution-verdicts.parquet"
ATTRIBUTION_FILE: Final = "measures/attribution.parquet"

_Schema = dict[str, pl.DataType | type[pl.DataType]]

_QUOTES: Final[_Schema] = {kind: pl.List(pl.String) for kind in EVIDENCE}

_RESULT: Final[_Schema] = {
    "code": pl.String,  # after demotion; null if there is none
    "facets": pl.List(pl.String),  # of the cause, where the code needs one
    "status": pl.String,  # ok, repaired, or why there is no code
    "reason": pl.String,  # the same in words
}

VERDICTS_SCHEMA: Final[_Schema] = {
    **CODED_KEY,
    "judge": pl.String,
    "claimed": pl.String,  # the code that the judge gave
    **_RESULT,
    "demotions": pl.Int32,  # steps from `claimed` down to `code`
    **{
        kind: pl.List(pl.String) for kind in EVIDENCE
    },  # the quotes that are in the text
    "fabricated": pl.List(pl.String),  # the quotes that are not in it
    "reply": pl.String,  # raw
    "model_answered": pl.String,
    "version": pl.String,
}
"""One row per text and judge."""

ATTRIBUTION_SCHEMA: Final[_Schema] = {
    **CODED_KEY,
    **_RESULT,
    "votes": pl.List(pl.String),  # each judge's code, null where it gave none
    "judges": pl.List(pl.String),  # beside the votes
    "demoted": pl.Int32,  # verdicts that lacked a quote
    "fabricated": pl.Int32,  # quotes that are not in the text
    "version": pl.String,
}
"""One row per text."""


def judge_attribution(
    transcript: pl.DataFrame,
    judges: Sequence[str],
    cache: Path,
    rng: np.random.Generator,
    codebook: Codebook | None = None,
) -> pl.DataFrame:
    """Have judges code the measured utterances, public ones and reasoning as well.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        judges: Models, as Inspect names them.
        cache: A folder for their replies: what was asked before is not asked again.
        rng: Shuffles the order of the texts, anew for each judge.
        codebook: The one that ships with the package, unless another is given.

    Returns:
        Rows in `VERDICTS_SCHEMA`, those of one text together. A text that is missing
        has no code, and its status says why.

    Raises:
        OffrecordError: If no judge or one twice is named, or one cannot be asked.
    """
    from offrecord.measures.codes.judge import judge  # brings Inspect

    if not judges or len({*judges}) < len(judges):
        raise OffrecordError("--judge: name at least one model, and each once")
    book = codebook or read_codebook()
    texts = coded_texts(first_ended(transcript), [Form.UTTERANCE]).with_row_index(
        "_row"
    )
    read = texts.filter(pl.col("coded").is_not_null())
    tables = []
    for place, name in enumerate(judges):
        order = rng.permutation(read.height)
        requests = [
            JudgeRequest(prompt=book.prompt, texts={"text": read["coded"][int(row)]})
            for row in order
        ]
        verdicts = judge(requests, name, cache)
        rows = {
            read["_row"][int(row)]: _judged(read["coded"][int(row)], verdict, book)
            for row, verdict in zip(order, verdicts, strict=True)
        }
        tables.append(_verdict_rows(texts, name, rows, book).with_columns(_judge=place))
    return (
        pl.concat(tables)
        .sort("_row", "_judge")
        .select(VERDICTS_SCHEMA.keys())
        .cast(pl.Schema(VERDICTS_SCHEMA))
    )


def decide(verdicts: pl.DataFrame) -> pl.DataFrame:
    """One code per text: the one that more than half of the judges gave.

    A judge without a verdict counts among them, so that one of three never decides. A
    facet counts if more than half of those who gave the code named it.

    Args:
        verdicts: Rows in `VERDICTS_SCHEMA`.

    Returns:
        Rows in `ATTRIBUTION_SCHEMA`. Without a majority a text is unclear.
    """
    rows = [
        {**dict(zip(CODED_KEY, key, strict=True)), **_decided(group.to_dicts())}
        for key, group in verdicts.group_by(list(CODED_KEY), maintain_order=True)
    ]
    return pl.DataFrame(rows, schema=ATTRIBUTION_SCHEMA)


def attributed_pairs(
    pairs: pl.DataFrame,
    codes: pl.DataFrame,
    transcript: pl.DataFrame,
    spoken: str,
    source: str = SAID,
) -> pl.DataFrame:
    """Put the codes of both texts of a turn beside its pair of stances.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        codes: Rows in `ATTRIBUTION_SCHEMA` or `LEXICAL_SCHEMA`.
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        spoken: The spoken channel.
        source: What was coded: what was said, or the reasoning.

    Returns:
        The pairs with `code` (of the other channel) and `public_code`, null where there
        is none.
    """
    turn = ["run", "agent", "round"]
    coded = (
        first_ended(transcript.select(*ROW_KEY, "round", "ended"))
        .filter(pl.col("form") == Form.UTTERANCE, pl.col("draw") == 0)
        .join(codes.filter(source=source), on=list(ROW_KEY))
        .select(*turn, "channel", "code")
    )
    public = coded.filter(channel=spoken).select(*turn, public_code="code")
    other = coded.rename({"channel": "right_channel"})
    return pairs.join(
        other, on=[*turn, "right_channel"], how="left", maintain_order="left"
    ).join(public, on=turn, how="left", maintain_order="left")


def _judged(text: str, verdict: Verdict, book: Codebook) -> dict[str, Any]:
    row: dict[str, Any] = {
        "status": str(verdict.status),
        "reason": verdict.reason,
        "reply": verdict.reply,
        "model_answered": verdict.model_answered,
    }
    if not verdict.valued:
        return row
    checked = check_quotes(text, verdict.values, book.codes)
    return {
        **row,
        "claimed": checked.claimed,
        "code": checked.code,
        "demotions": checked.demotions,
        "facets": list(checked.facets),
        **{kind: list(checked.quotes[kind]) for kind in EVIDENCE},
        "fabricated": list(checked.fabricated),
    }


def _verdict_rows(
    texts: pl.DataFrame, judge: str, rows: Mapping[int, dict[str, Any]], book: Codebook
) -> pl.DataFrame:
    """Every text with a judge's verdict on it, those without a text included."""
    full = [
        {
            **row,
            "judge": judge,
            "version": f"{ATTRIBUTION_VERSION}:{book.prompt.stamp}",
            **rows.get(row["_row"], {"reason": f"the text is {row['status']}"}),
        }
        for row in texts.drop("coded").iter_rows(named=True)
    ]
    return pl.DataFrame(full, schema={"_row": pl.UInt32, **VERDICTS_SCHEMA})


def _decided(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    given = Counter(one["code"] for one in verdicts if one["code"] is not None)
    code = next((c for c, n in given.items() if 2 * n > len(verdicts)), None)
    agreeing = [one["facets"] for one in verdicts if code and one["code"] == code]
    row = {
        "code": code,
        "facets": _shared(agreeing) if code else None,
        "status": str(Status.OK),
        "reason": None,
        "votes": [one["code"] for one in verdicts],
        "judges": [one["judge"] for one in verdicts],
        "demoted": sum(bool(one["demotions"]) for one in verdicts),
        "fabricated": sum(len(one["fabricated"] or ()) for one in verdicts),
        "version": verdicts[0]["version"],
    }
    if given and code is None:
        votes = ", ".join(f"{vote} {count}" for vote, count in sorted(given.items()))
        return {
            **row,
            "status": str(Status.UNCLEAR),
            "reason": f"no majority of {len(verdicts)}: {votes}",
        }
    if not given:
        return {**row, "status": verdicts[0]["status"], "reason": verdicts[0]["reason"]}
    return row


def _shared(facets: Sequence[Iterable[str]]) -> list[str]:
    named = Counter(facet for one in facets for facet in one)
    return [facet for facet, count in named.items() if 2 * count > len(facets)]
