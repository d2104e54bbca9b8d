"""The turns that a person should read first.

First those that carry the finding most plainly: divergence towards the partner that the
text itself puts down to who listens. Then the rest of it, the turns that go the other
way, in recorded conversations those whose text names its reason or changes its stance
in the counterpart's words, those whose parse gave no stance, and those on the border.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from offrecord.measures.codes.attribution import ATTRIBUTION, attributed_pairs
from offrecord.measures.codes.human import sheet_entries
from offrecord.measures.codes.lexical import LEXICAL
from offrecord.measures.codes.second_coder import coder_texts
from offrecord.measures.draws import stance_draws
from offrecord.measures.pairs import channel_view
from offrecord.measures.parsed import spoken_of, stances_of, target_pairs
from offrecord.measures.probes import AUDIENCE, is_probe, probe_pairs
from offrecord.measures.stored import stored_measures
from offrecord.measures.yielding import changes_of
from offrecord.protocol.probe import STORED
from offrecord.records import Form, Status
from offrecord.transcript.ended import first_ended
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

REASONS: Final = (
    "accommodating, and the text says why",
    "accommodating",
    "reversing",
    "the text names who listens, or what is at stake, as its reason",
    "yields to the counterpart without new words",
    "no stance: unclear or refusal",
    "on the border: a repaired label, or samples that disagree",
)
"""Why a turn is to be read, the most important first."""

_SEED: Final = 0  # the default of `measure --read-sheet`
_TURN: Final = ("run", "agent", "round")


def turns_to_read(study: Record) -> pl.DataFrame:
    """The turns that a person should read first, in that order.

    Of a probe they are its turns, of recorded conversations what was said aloud.

    Args:
        study: The study.

    Returns:
        `priority` (from 1) and `why`, the cell, `run`, `agent`, `round`, both texts and
        stances, `attribution`, `stored_text` and `prompt` of a probe, and `id` and the
        options by which a sheet for human coders names the text off the record.
    """
    pairs = channel_view(_with_codes(study)).join(
        _wavering(study), on=list(_TURN), how="left"
    )
    ranked = pairs.with_columns(priority=_priority(recorded=is_recorded(study))).filter(
        pl.col("priority").is_not_null()
    )
    said = _said(study)
    public = said.filter(channel=study.spoken).select(
        *_TURN, public_text="text", public_stance="label"
    )
    stored = said.filter(channel=STORED).select(*_TURN, stored_text="text")
    other = said.rename({"text": "off_record_text", "label": "off_record_stance"})
    if is_recorded(study) and not is_probe(study):  # a text is no text beside itself
        none = pl.lit(None, pl.String)
        other = other.with_columns(off_record_text=none, off_record_stance=none)
    return (
        ranked.join(public, on=list(_TURN), how="left")
        .join(stored, on=list(_TURN), how="left")
        .join(other, on=[*_TURN, "channel"], how="left")
        .with_columns(
            why=pl.col("priority").replace_strict(
                dict(enumerate(REASONS, start=1)), return_dtype=pl.String
            ),
            link=pl.format("report.html#run={}&turn={}-{}", "run", "agent", "round"),
            attribution="code",
        )
        .sort("priority", "model", "scenario", "condition", "run", "round", "channel")
    )


def _priority(*, recorded: bool) -> pl.Expr:
    """The number of a turn's reason, from 1; null if nobody need read it."""
    public, other = pl.col("public"), pl.col("other")
    unread = {str(Status.UNCLEAR), str(Status.REFUSAL)}
    statuses = pl.concat_list("public_status", "other_status")
    border = pl.col("wavers").fill_null(value=False) | statuses.list.contains(
        str(Status.REPAIRED)
    )
    explicit = pl.col("code") == "explicit"
    return (
        pl.when(public & ~other & explicit)
        .then(1)
        .when(public & ~other)
        .then(2)
        .when(~public & other)
        .then(3)
        .when(explicit & recorded)
        .then(4)
        .when("yields")
        .then(5)
        .when(statuses.list.set_intersection(sorted(unread)).list.len() > 0)
        .then(6)
        .when(border)
        .then(7)
    )


def is_recorded(study: Record) -> bool:
    """Whether a study is of recorded conversations: an import, or a probe of one."""
    return bool(study.facts.get("recorded")) or is_probe(study)


def _pairs(study: Record) -> pl.DataFrame:
    """The pairs that are ranked, with whether the agent yields without new words."""
    if is_probe(study):
        pairs = probe_pairs(study).filter(question=AUDIENCE)
    elif is_recorded(study):
        pairs = spoken_of(study).with_columns(right_status="left_status")
    else:
        pairs = target_pairs(study)
    none = pl.lit(None, pl.String)
    pairs = pairs.with_columns(
        [] if "prompt" in pairs.columns else [none.alias("prompt")]
    )
    if not is_recorded(study) or is_probe(study):
        return pairs.with_columns(yields=pl.lit(value=False))
    yields = changes_of(study).select("run", "agent", "turn", yields="close")
    return pairs.join(yields, on=["run", "agent", "turn"], how="left")


def _with_codes(study: Record) -> pl.DataFrame:
    """The target's pairs with what the text off the record was coded as, if it was."""
    pairs = _pairs(study)
    for file in (ATTRIBUTION, LEXICAL):
        codes = stored_measures(study, file)
        if codes is not None:
            return attributed_pairs(pairs, codes, study.transcript, study.spoken)
    return pairs.with_columns(code=pl.lit(None, pl.String))


def _wavering(study: Record) -> pl.DataFrame:
    """The turns in which two samples of one channel took different sides."""
    draws = stance_draws(study.transcript, stances_of(study))
    return (
        draws.group_by(*_TURN, "channel")
        .agg(wavers=pl.col("on_pressed_side").drop_nulls().n_unique() > 1)
        .group_by(_TURN)
        .agg(pl.col("wavers").any())
    )


def _said(study: Record) -> pl.DataFrame:
    """The committed utterances with stance and what a sheet has beside them."""
    entries = sheet_entries(coder_texts(study.transcript, stances_of(study)), _SEED)
    return (
        first_ended(study.transcript)
        .filter(pl.col("form") == Form.UTTERANCE, pl.col("draw") == 0)
        .select(*ROW_KEY, "round", "text")
        .join(stances_of(study).select(*ROW_KEY, "label"), on=list(ROW_KEY), how="left")
        .join(entries, on=list(ROW_KEY), how="left")
        .select(*_TURN, "channel", "text", "label", "id", "option_1", "option_2")
    )
