"""The outputs that are due: one row each, whether or not it came back.

What is missing is what was planned less what can be used. Nothing else knows how many
agents, rounds or channels a study has.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import polars as pl

from offrecord.protocol.factors import DEFAULTS
from offrecord.records import (
    ASKED_FORMS,
    CELL,
    FACTOR,
    HOLDOUT,
    Asked,
    Ended,
    Form,
    OffrecordError,
    Status,
    due,
    schedule,
)
from offrecord.transcript.ended import first_ended
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

PLANNED_KEY: Final = ("run", "turn", "round", "agent", "role", "channel", "form")
"""The columns, with `draw`, that name an output that is due."""

INTERRUPTED: Final = "interrupted"
"""The status of an output where no attempt at its run ended by itself."""

NOT_RECORDED: Final = "not_recorded"
"""The status of an output for which a completed run has no row."""

_EMPTY: Final = "empty"
"""What stands for the role of a seat in which no one was seen."""


def planned(
    transcript: pl.DataFrame,
    facts: Mapping[str, Any],
    form: Form,
    *,
    holdout: bool = False,
) -> pl.DataFrame:
    """Every output of one form that is due, in order.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`: which runs there are.
        facts: The content of study.json: `rounds`, `channels` (the spoken one first),
            `seats`, `shadows` where there are any, and `ask` where the design says who
            is asked what. Of a study that was `recorded` elsewhere what is there was
            due.
        form: Utterances or surveys; a form of which there is no row was not planned.
        holdout: Whether with those of the hold-out, where it was asked.

    Returns:
        The columns of `PLANNED_KEY` and `draw`.

    Raises:
        OffrecordError: If study.json does not say what was planned.
    """
    rounds, channels = plan_of(facts)
    said = transcript.filter(pl.col("form") == form)
    if facts.get("recorded") or facts.get("probe"):
        return said.select(*PLANNED_KEY, "draw").unique(maintain_order=True)
    largest = said.select(pl.col("draw").max().fill_null(0)).item()
    shadows = facts.get("shadows", 0) if form is Form.UTTERANCE else 0
    runs = transcript.select("run", "scenario").unique("run", maintain_order=True)
    turns = _turns(transcript, facts, rounds).filter(not said.is_empty())
    also = HOLDOUT if holdout and Asked(**facts.get("ask", {})).holdout else None
    asked = _asked(turns["role"], channels, max(shadows, largest), facts, also)
    return (
        runs.join(turns, on="scenario", maintain_order="left_right", nulls_equal=True)
        .join(
            asked.filter(form=str(form)),
            on="role",
            nulls_equal=True,
            maintain_order="left_right",
        )
        .select(*PLANNED_KEY, "draw")
    )


def outputs(
    transcript: pl.DataFrame,
    facts: Mapping[str, Any],
    form: Form,
    *,
    holdout: bool = False,
) -> pl.DataFrame:
    """Every planned output of one form with its row, or with why there is none.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`. Of each run the measured attempt
            counts.
        facts: The content of study.json, as for `planned`.
        form: Utterances or surveys.
        holdout: Whether with those of the hold-out.

    Returns:
        The columns of `ROW_KEY` and of `CELL`, `repeat`, `round`, `role`, `labels`,
        `pressed_side`, `text` and `status`. A text is null unless its status is ok or
        truncated; `attempt` is null where every attempt was interrupted.

    Raises:
        OffrecordError: If study.json does not say what was planned.
    """
    asked = pl.col("form") == form
    said = transcript.select(*ROW_KEY, "round", "ended", "text", "status").filter(asked)
    counted = measured_rows(transcript, said)
    runs = transcript.group_by("run", maintain_order=True).agg(
        pl.col(*CELL, "repeat").first(),
        pl.col("labels", "pressed_side").drop_nulls().first(),
    )
    has_text = pl.col("status").is_in([Status.OK, Status.TRUNCATED])
    key = ["run", "agent", "round", "channel", "draw"]
    return (
        planned(transcript, facts, form, holdout=holdout)
        .join(runs, on="run", how="left", maintain_order="left")
        .join(
            counted.select("run", "attempt", "ended").unique("run"),
            on="run",
            how="left",
            maintain_order="left",
        )
        .join(
            counted.select(*key, "text", "status", said="turn"),
            on=key,
            how="left",
            maintain_order="left",
        )
        .with_columns(
            turn=pl.coalesce("said", "turn"),
            text=pl.when(has_text).then("text"),
            status=pl.col("status").fill_null(why_absent()),
        )
        .drop("ended", "said")
    )


def measured_rows(transcript: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Those rows, or a measure's rows keyed alike, that are of a measured attempt.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        rows: Any with `run` and `attempt`.
    """
    attempts = transcript.select("run", "attempt", "ended")
    kept = first_ended(attempts).select("run", "attempt").unique()
    return rows.join(kept, on=["run", "attempt"], how="semi", maintain_order="left")


def plan_of(facts: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The rounds and the channels that were planned, the spoken channel first.

    Args:
        facts: The content of study.json.

    Raises:
        OffrecordError: If it does not say.
    """
    rounds, channels = facts.get("rounds"), facts.get("channels")
    if not isinstance(rounds, int) or not isinstance(channels, list):
        raise OffrecordError(
            "study.json: says no 'rounds' or no 'channels'; import the study again"
        )
    return rounds, channels


def with_factors(rows: pl.DataFrame, also: Collection[str] = ()) -> pl.DataFrame:
    """Rows with a column `factor_NAME` for each factor, from their `factors`.

    A factor that a cell does not state is at its default level there.

    Args:
        rows: With the column `factors`: a JSON object of names and levels.
        also: Names of factors that get a column although no cell states them.
    """
    stated = rows.select(pl.col("factors").unique(maintain_order=True))
    levels = [json.loads(text) for text in stated["factors"]]
    names = sorted({*also, *(name for level in levels for name in level)})
    spelled = stated.with_columns(
        pl.Series(
            FACTOR + name,
            [level.get(name, DEFAULTS.get(name)) for level in levels],
            pl.String,
        )
        for name in names
    )
    return rows.join(spelled, on="factors", how="left", maintain_order="left")


def why_absent() -> pl.Expr:
    """Why a planned row is not there, from the column `ended` of its run."""
    return (
        pl.when(pl.col("ended").is_null())
        .then(pl.lit(INTERRUPTED))
        .when(pl.col("ended") == Ended.COMPLETED)
        .then(pl.lit(NOT_RECORDED))
        .otherwise("ended")
    )


def _asked(
    roles: pl.Series,
    channels: Sequence[str],
    shadows: int,
    facts: Mapping[str, Any],
    holdout: str | None,
) -> pl.DataFrame:
    """What an agent of each role is asked for at a turn, channel by channel."""
    stated = Asked(**facts["ask"]) if "ask" in facts else None
    rows = [
        (role, *output)
        for role in roles.unique(maintain_order=True)
        for output in due(
            channels, shadows, stated.of(role) if stated else ASKED_FORMS, holdout
        )
    ]
    places = [*channels, holdout]
    rows.sort(key=lambda row: (places.index(row[1]), row[3]))
    names = ("role", "channel", "form", "draw")
    schema = {name: TRANSCRIPT_SCHEMA[name] for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _turns(
    transcript: pl.DataFrame, facts: Mapping[str, Any], rounds: int
) -> pl.DataFrame:
    """Every turn of a whole run of each scenario, in order.

    Who speaks in a round is what study.json says of a scenario under `seats`, or else
    who is there; a seat in which no one was seen stays empty.
    """
    stated: Mapping[str, Mapping[str, str]] = facts.get("seats", {})
    said = transcript.filter(pl.col("form").is_in(ASKED_FORMS))
    rows = list[tuple[object, ...]]()
    for (scenario,), own in said.partition_by("scenario", as_dict=True).items():
        seats = stated.get(scenario) or _seen(own)
        for turn, round_, agent in schedule(list(seats), rounds):
            if seats[agent] != _EMPTY:
                rows.append((scenario, turn, round_, agent, seats[agent]))
    names = ("scenario", "turn", "round", "agent", "role")
    schema = {name: TRANSCRIPT_SCHEMA[name] for name in names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _seen(said: pl.DataFrame) -> dict[str, str | None]:
    """The seats of a scenario as its rows show them: agent to role."""
    least = (pl.col("turn") / pl.col("round")).ceil().max()
    agents = max(said["agent"].n_unique(), int(said.select(least).item()))
    seat = (pl.col("turn") - 1) % agents
    seen = said.group_by(seat=seat).agg(
        pl.col("agent").first(), pl.col("role").drop_nulls().first()
    )
    seats: dict[int, tuple[str, str | None]] = {
        place: (agent, role) for place, agent, role in seen.iter_rows()
    }
    return dict(seats.get(n, (f"seat {n + 1}", _EMPTY)) for n in range(agents))
