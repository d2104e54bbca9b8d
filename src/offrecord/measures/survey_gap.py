"""Survey gaps: what an agent answers in the spoken channel minus what in another one.

An item's gap is raw: positive where the spoken channel agrees more. A category is the
mean over its items answered in both channels, next to how many those are. Where its
instrument declares which items count against it, these are turned round the middle of
the scale; where it does not, the mean is of the answers as given, and says `unkeyed`. A
missing answer is missing, never the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from offrecord.measures.declare import KEYS, Made, Measure, Quantity, Rows, Table
from offrecord.measures.options import Options, statuses
from offrecord.measures.parsed import surveys_of
from offrecord.measures.replies.survey import SURVEY_VERSION
from offrecord.records import Form, OffrecordError, Status
from offrecord.transcript.planned import outputs
from offrecord.transcript.schema import ROW_KEY

_RUNS: Final = 500  # whose answers are set side by side at once

SKIPPED: Final = "skipped"
"""Why there is no answer: the survey has a value, and this item of it has none."""

NO_CATEGORY: Final = "no_category"
"""Why items have no summary: nobody said what they have in common."""

KEYED: Final = "keyed"
UNKEYED: Final = "unkeyed"
"""How a category counts its items: turned round where declared, or as answered."""

NOTHING_HEARD: Final = "nothing_heard"
"""Why an answer does not count: it rates a counterpart who has not spoken yet."""

_TURN: Final = tuple(KEYS["item"])

ITEM_GAPS: Final = Table(
    "survey-items",
    "item",  # the channel is the other one
    {
        "item": pl.String,
        "category": pl.String,  # null where none is declared
        "public": pl.Int32,  # the answer in the spoken channel
        "other": pl.Int32,
        "gap": pl.Int32,  # public minus other, in points of the scale
        "public_reason": pl.String,  # why there is no answer
        "other_reason": pl.String,
    },
    extra_key=("item",),
    quantities=(Quantity("gap", "survey answers", "scale points", called="answer"),),
)
"""One row per planned pair of surveys and item."""

CATEGORY_GAPS: Final = Table(
    "survey-categories",
    "item",
    {
        "category": pl.String,
        "keying": pl.String,  # `KEYED` or `UNKEYED`
        "items": pl.UInt32,  # how many it has
        "answered": pl.UInt32,  # how many of them in both channels, for the means
        "public": pl.Float64,  # mean answer
        "other": pl.Float64,
        "gap": pl.Float64,
        "reason": pl.String,  # why there is no summary
    },
    extra_key=("category", "keying"),
    quantities=(
        Quantity(
            "gap",
            "mean answer of a category",
            "scale points",
            called="category",
            exported=False,
        ),
    ),
)
"""One row per planned pair of surveys and category."""

_INSTRUMENT: Final = {
    "instrument": pl.String,
    "item": pl.String,
    "low": pl.Int32,
    "high": pl.Int32,
    "category": pl.String,
    "reverse": pl.Boolean,
    "counterpart": pl.Boolean,
}


def survey_gaps(
    transcript: pl.DataFrame, surveys: pl.DataFrame, facts: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The gap of every item, and of every category, at every planned turn.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        surveys: Their answers, as `survey_table` gives them.
        facts: The content of study.json: `rounds`, `channels` and `instruments`.

    Returns:
        Rows in `ITEM_GAPS` and in `CATEGORY_GAPS`; none where no survey was asked.
        Items without a category form one of no name, which has no summary.

    Raises:
        OffrecordError: If study.json does not say what was planned or asked.
    """
    parts = [
        (answers.select(*ITEM_GAPS.schema), _category_gaps(answers))
        for answers in _answers(transcript, surveys, facts)
    ]
    items, categories = (pl.concat(tables) for tables in zip(*parts, strict=True))
    return items, categories


def _category_gaps(answers: pl.DataFrame) -> pl.DataFrame:
    both = pl.col("gap").is_not_null()
    reason = (
        pl.when(pl.col("category").is_null())
        .then(pl.lit(NO_CATEGORY))
        .when("unheard")  # the rest of it is another list of statements
        .then(pl.lit(NOTHING_HEARD))
        .when(pl.col("answered") == 0)
        .then(pl.coalesce("public_reason", "other_reason"))
    )
    return (
        answers.group_by(*_TURN, "category", maintain_order=True)
        .agg(
            items=pl.len(),
            answered=both.sum(),
            public=_keyed("public").filter(both).mean(),
            other=_keyed("other").filter(both).mean(),
            unheard=(pl.col("public_reason") == NOTHING_HEARD).any(),
            keying=pl.when(pl.col("keyed").all()).then(pl.lit(KEYED)),
            public_reason=pl.col("public_reason").drop_nulls().first(),
            other_reason=pl.col("other_reason").drop_nulls().first(),
        )
        .with_columns(pl.col("keying").fill_null(UNKEYED), reason=reason)
        .with_columns(
            pl.when(pl.col("reason").is_null()).then(name).alias(name)
            for name in ("public", "other")
        )
        .with_columns(gap=pl.col("public") - pl.col("other"))
        .select(*CATEGORY_GAPS.schema)
        .cast(pl.Schema(CATEGORY_GAPS.schema))
    )


def _take(rows: Rows, _options: Options) -> Iterator[Made]:
    surveys = surveys_of(rows.record)
    yield statuses(surveys["status"], "surveys")
    both = survey_gaps(rows.texts, surveys, rows.record.facts)
    for table, gaps in zip((ITEM_GAPS, CATEGORY_GAPS), both, strict=True):
        yield table, gaps
        what = table.extra_key[0]
        yield f"{gaps.height} {what} gaps, {gaps['gap'].null_count()} missing"


MEASURE: Final = Measure(
    name="survey",
    about="what is answered in a survey, item by item",
    version=SURVEY_VERSION,
    tables=(ITEM_GAPS, CATEGORY_GAPS),
    identity=lambda _options, facts: repr(facts.get("instruments")),
    take=_take,
)


def _keyed(side: str) -> pl.Expr:
    return (
        pl.when(pl.col("turned").is_null())
        .then(pl.col(side))
        .otherwise(pl.col("turned") - pl.col(side))
    )


def _answers(
    transcript: pl.DataFrame, surveys: pl.DataFrame, facts: Mapping[str, Any]
) -> Iterator[pl.DataFrame]:
    """One row per planned pair of surveys and item: both answers, and the keying.

    So many runs at a time, since a run has hundreds of such rows.
    """
    asked = (
        transcript.filter(pl.col("form") == Form.SURVEY)
        .group_by("scenario")
        .agg(pl.col("instrument").drop_nulls().first())
    )
    planned = (
        outputs(transcript, facts, Form.SURVEY)
        .filter(draw=0)
        .drop("text")
        .join(asked, on="scenario", maintain_order="left")
    )
    items = _items(facts, asked)
    given = surveys.select(*ROW_KEY, parsed="status", item="items", answer="answers")
    runs = planned.select(pl.col("run").unique(maintain_order=True))
    batches = [*runs.iter_slices(_RUNS)] or [runs]
    for batch in batches:
        asked_of, given_by = (
            rows.join(batch, on="run", how="semi", maintain_order="left")
            for rows in (planned, given)
        )
        yield _gaps(asked_of, given_by, items, facts["channels"][0])


def _gaps(
    planned: pl.DataFrame, given: pl.DataFrame, items: pl.DataFrame, first: str
) -> pl.DataFrame:
    unheard = pl.col("counterpart") & (pl.col("turn") == 1)
    sides = (
        planned.join(items, on="instrument", maintain_order="left_right")
        .join(
            given.explode("item", "answer"),
            on=[*ROW_KEY, "item"],
            how="left",
            maintain_order="left",
        )
        .with_columns(
            status=pl.when(unheard)
            .then(pl.lit(NOTHING_HEARD))
            .otherwise(pl.coalesce("parsed", "status")),
            answer=pl.when(~unheard).then("answer"),
        )
        .with_columns(
            reason=pl.when(pl.col("answer").is_null()).then(
                pl.when(pl.col("status").is_in([Status.OK, Status.REPAIRED]))
                .then(pl.lit(SKIPPED))
                .otherwise("status")
            )
        )
    )
    spoken = pl.col("channel") == first
    place = ["run", "agent", "turn", "item"]
    public = sides.filter(spoken).select(
        *place, public="answer", public_reason="reason"
    )
    return (
        sides.filter(~spoken)
        .rename({"answer": "other", "reason": "other_reason"})
        .join(public, on=place, how="left", maintain_order="left")
        .with_columns(gap=pl.col("public") - pl.col("other"))
    )


def _items(facts: Mapping[str, Any], asked: pl.DataFrame) -> pl.DataFrame:
    """The items of the instruments that were asked, with their keying."""
    known = facts.get("instruments", {})
    stamps = asked["instrument"].unique(maintain_order=True).drop_nulls().to_list()
    for stamp in stamps:
        if stamp not in known:
            raise OffrecordError(
                f"study.json: no instrument '{stamp}'; import the study again"
            )
    return instrument_items({stamp: known[stamp] for stamp in stamps}).select(
        "instrument",
        "item",
        "category",
        "counterpart",
        keyed=pl.col("reverse").is_not_null(),
        turned=pl.when("reverse").then(pl.col("low") + pl.col("high")),
    )


def instrument_items(instruments: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Every item of some instruments: its scale, its category, whether it is turned.

    Args:
        instruments: As study.json holds them.

    Returns:
        `instrument`, `item`, `low`, `high`, `category`, `reverse`, which is null
        where its category declares no keying, and `counterpart`: whether it is about
        someone who must have spoken first.
    """
    rows = []
    for stamp, asked in instruments.items():
        category = {
            item: name
            for name, items in asked.get("categories", {}).items()
            for item in items
        }
        for item in asked["items"]:
            name = category.get(item)
            against = asked.get("reverse", {}).get(name)
            reverse = None if against is None else item in against
            about = item in asked.get("counterpart", ())
            ends = asked["low"], asked["high"]
            rows.append((stamp, item, *ends, name, reverse, about))
    return pl.DataFrame(rows, schema=_INSTRUMENT, orient="row")
