"""The prompts of deployed agents' turns, as far as an import has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from offrecord.protocol.prompts import Message
from offrecord.records import Form, OffrecordError, Status
from offrecord.transcript.deployed.messages import TOOL
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ASKED_SCHEMA, GIVEN_SCHEMA, text_key
from offrecord.transcript.store import ASKED_FILE, GIVEN_FILE, read_table

RECORDED: Final = "recorded"
RECONSTRUCTED: Final = "reconstructed"

NO_WORDS: Final = "a turn without words"
NOTHING_BEFORE: Final = "a turn before which no one else said anything"
OWN_BEFORE: Final = "a turn right behind the agent's own words"
LOST: Final = "a turn whose prompt is not stored whole"


def turns_of(study: Record) -> tuple[pl.DataFrame, Counter[str]]:
    """The turns of a study of transcripts that can be asked again.

    Returns:
        Rows of the transcript with `nth` (which turn of its conversation), `senders`,
        `texts`, and `prompt`; and by reason how many turns cannot be asked.

    Raises:
        OffrecordError: If the import says nothing of prompts.
    """
    rows = said(study)
    given = given_of(study)
    asked = _table(study, ASKED_FILE, ASKED_SCHEMA)
    before = given.filter(pl.col("sender") != "system")
    heard = before.select("run", nth=pl.col("turn") + 1, heard=True).unique()
    system = given.filter(sender="system", turn=0).select("run", system=True).unique()
    seats = rows.group_by("run").agg(seats=pl.col("agent").n_unique())
    last = pl.col("senders").list.last()
    spoke = pl.col("agent").shift().over("run", order_by="nth") != pl.col("agent")
    other = pl.coalesce("heard", spoke, pl.lit(value=False))
    calls = last.is_not_null()
    alone = (pl.col("seats") == 1) & pl.col("system").is_not_null()
    rows = (
        rows.join(asked, on=["run", "turn", "agent"], how="left", maintain_order="left")
        .join(heard, on=["run", "nth"], how="left", maintain_order="left")
        .join(system, on="run", how="left", maintain_order="left")
        .join(seats, on="run", how="left", maintain_order="left")
        .with_columns(
            prompt=pl.when(pl.col("whole") & (calls | alone))
            .then(pl.lit(RECORDED))
            .otherwise(pl.lit(RECONSTRUCTED)),
            why=pl.when(pl.col("status") != Status.OK)
            .then(pl.lit(NO_WORDS))
            .when(calls & (last == "assistant"))
            .then(pl.lit(OWN_BEFORE))
            .when(calls & (last == "system"))
            .then(pl.lit(NOTHING_BEFORE))
            .when(calls | other)
            .then(pl.lit(None, pl.String))
            .when(pl.col("nth") == 1)
            .then(pl.lit(NOTHING_BEFORE))
            .otherwise(pl.lit(OWN_BEFORE)),
        )
    )
    left_out = Counter(rows["why"].drop_nulls().to_list())
    return rows.filter(pl.col("why").is_null()), left_out


def said(study: Record) -> pl.DataFrame:
    """What agents said to someone, one row a turn, numbered in each conversation."""
    rows = study.transcript.filter(
        form=Form.UTTERANCE, channel=study.facts["channels"][0], draw=0
    )
    nth = pl.col("turn").rank("ordinal").over("run").cast(pl.Int32)
    return rows.with_columns(nth=nth)


def given_of(study: Record) -> pl.DataFrame:
    """What agents were given, in order, in `GIVEN_SCHEMA`."""
    return _table(study, GIVEN_FILE, GIVEN_SCHEMA)


def _table(study: Record, name: str, schema: Mapping[str, Any]) -> pl.DataFrame:
    path = study.path / name
    if not path.is_file() or (table := read_table(path)).columns != [*schema]:
        raise OffrecordError(
            f"{path}: says not what agents were given: import the transcripts again"
        )
    return table


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said in one conversation, and given to those who spoke in it."""

    words: Sequence[Mapping[str, Any]]
    """Rows as `said` gives them, in order."""
    given: Mapping[int, Sequence[Mapping[str, Any]]]
    """Rows of `given_of` by the turns of agents that stand before them."""
    texts: Mapping[int, str]
    """Every text by its digest."""
    several: bool
    """Whether more than one agent speaks."""

    @classmethod
    def of(cls, words: pl.DataFrame, given: pl.DataFrame) -> Conversation:
        """A conversation from its rows."""
        rows = words.sort("nth").to_dicts()
        parts = given.partition_by("turn", as_dict=True, maintain_order=True)
        texts = [*words["text"].drop_nulls(), *given["text"].drop_nulls()]
        return cls(
            rows,
            {int(turn): part.to_dicts() for (turn,), part in parts.items()},
            {text_key(text): text for text in texts},
            words["agent"].n_unique() > 1,
        )

    def prompt(self, turn: Mapping[str, Any]) -> list[Message] | None:
        """What the model of a turn was given, the last message from a user.

        Args:
            turn: A row of `turns_of`.

        Returns:
            None where a part of it is not stored.
        """
        if turn["senders"] is not None:
            found = [self.texts.get(key, "") for key in turn["texts"]]
            senders = ["user" if one == TOOL else one for one in turn["senders"]]
            messages = list(zip(senders, found, strict=True))
        else:
            messages = self._before(turn)
        whole = messages and all(text for _, text in messages)
        return messages if whole and messages[-1][0] == "user" else None

    def _before(self, turn: Mapping[str, Any]) -> list[Message]:
        messages = list[Message]()
        for nth in range(turn["nth"]):
            for one in self.words[nth - 1 : nth] if nth else ():
                if not one["text"]:
                    continue
                if one["agent"] == turn["agent"]:
                    _add(messages, "assistant", one["text"])
                else:
                    name = f"{one['agent']}: " if self.several else ""
                    _add(messages, "user", name + one["text"])
            for one in self.given.get(nth, ()):
                known = one["sender"] in {"system", "assistant"}
                _add(messages, one["sender"] if known else "user", one["text"])
        return messages


def _add(messages: list[Message], sender: str, text: str) -> None:
    """Add a message; two of one sender in a row are one, as many models want it."""
    if messages and messages[-1][0] == sender:
        messages[-1] = sender, f"{messages[-1][1]}\n\n{text}"
    else:
        messages.append((sender, text))
