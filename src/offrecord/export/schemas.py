"""The columns of the tidy tables, declared; docs/data.md says what each one means.

A factor of the design adds one more column of text, `factor_` and its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from offrecord.records import CELL
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

Schema = Mapping[str, pl.DataType | type[pl.DataType]]

FACTOR: Final = "factor_"

NOT_MEASURED: Final = "not_measured"
"""The reason where nobody has taken the measure yet: see `offrecord measure`."""


def _recorded(*names: str) -> dict[str, pl.DataType | type[pl.DataType]]:
    return {name: TRANSCRIPT_SCHEMA[name] for name in names}


TURNS_SCHEMA: Final[Schema] = {
    **_recorded("study", "run", *CELL, "repeat", "attempt", "ended"),
    "measured": pl.Boolean,
    **_recorded("round", "turn", "agent", "agent_model", "role", "side"),
    **_recorded("pressed_side", "labels", "channel", "audience", "draw"),
    **_recorded("text", "reasoning"),
    "reply_status": pl.String,
    "stance": pl.String,
    "on_pressed_side": pl.Boolean,
    "stance_status": pl.String,
    "stance_rule": pl.String,
    "stance_repairs": pl.List(pl.String),
    "words": pl.Int32,
    "sentences": pl.Int32,
    "concession_opening": pl.Boolean,
    "hedges": pl.Int32,
    "boosters": pl.Int32,
    "partner_credit": pl.Int32,
    "markers_reason": pl.String,
    "names_test": pl.Boolean,
    "names_role_play": pl.Boolean,
    "doubts_privacy": pl.Boolean,
    "awareness_reason": pl.String,
    "attribution_lexical": pl.String,
    "attribution_lexical_reason": pl.String,
    "attribution_judged": pl.String,
    "attribution_judged_reason": pl.String,
    **_recorded("stop_reason", "constrained", "transport_retries", "prompt_hash"),
    **_recorded("history_hash", "provider", "model_answered", "settings"),
    **_recorded("input_tokens", "cached_tokens", "output_tokens", "started"),
    **_recorded("seconds", "uuid", "log"),
}
"""One row per utterance that came back, of every attempt and draw."""

PAIRS_SCHEMA: Final[Schema] = {
    **_recorded("study", "run", *CELL, "repeat"),
    "attempts": pl.Int64,
    **_recorded("round", "turn", "agent", "role", "channel"),
    "public": pl.Boolean,
    "other": pl.Boolean,
    "quadrant": pl.String,
    "public_stance": pl.String,
    "other_stance": pl.String,
    "public_status": pl.String,
    "other_status": pl.String,
    "similarity": pl.Float64,
    "similarity_reason": pl.String,
    "similarity_model": pl.String,
    "entailment": pl.Float64,
    "neutral": pl.Float64,
    "contradiction": pl.Float64,
    "max_contradiction": pl.Float64,
    "mutual_entailment": pl.Float64,
    "entailment_reason": pl.String,
    "entailment_model": pl.String,
    "public_attribution_lexical": pl.String,
    "public_attribution_lexical_reason": pl.String,
    "other_attribution_lexical": pl.String,
    "other_attribution_lexical_reason": pl.String,
    "public_attribution_judged": pl.String,
    "public_attribution_judged_reason": pl.String,
    "other_attribution_judged": pl.String,
    "other_attribution_judged_reason": pl.String,
    "survey_distance": pl.Float64,
    "survey_items": pl.UInt32,
    "survey_reason": pl.String,
}
"""One row per planned pair: run, agent, round and channel beside the spoken one."""

SURVEYS_SCHEMA: Final[Schema] = {
    **_recorded("study", "run", *CELL, "repeat", "attempt", "ended"),
    "measured": pl.Boolean,
    **_recorded("round", "turn", "agent", "agent_model", "role", "channel"),
    **_recorded("draw", "instrument"),
    "low": pl.Int32,
    "high": pl.Int32,
    "item": pl.String,
    "category": pl.String,
    "reverse": pl.Boolean,
    "answer": pl.Int32,
    "reason": pl.String,
    "survey_status": pl.String,
    "survey_repairs": pl.List(pl.String),
    "reply_status": pl.String,
    "structured": pl.Boolean,
}
"""One row per item of every survey that came back, in every channel and attempt."""
