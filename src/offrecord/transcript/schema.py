"""The interchange: the declared columns of `transcripts.parquet`."""

from __future__ import annotations

import hashlib
from typing import Final

import polars as pl

TRANSCRIPT_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "study": pl.String,
    "run": pl.String,
    "model": pl.String,
    "partner": pl.String,
    "cast": pl.String,  # JSON object, agent id to model or scripted/<hash>
    "scenario": pl.String,
    "condition": pl.String,
    "kind": pl.String,
    "timing": pl.String,
    "dose": pl.Float64,  # of the condition; null where it has no amount
    "protocol": pl.String,
    "language": pl.String,
    "sampling": pl.String,  # JSON object of the settings that shape text, as designed
    "factors": pl.String,  # JSON object, name to level, sorted, defaults left out
    "repeat": pl.Int32,
    "round": pl.Int32,
    "turn": pl.Int32,
    "agent": pl.String,
    "agent_model": pl.String,
    "role": pl.String,
    "side": pl.String,  # the label that this agent's role favours
    "pressed_side": pl.String,  # the label toward which the pressure pushes
    "labels": pl.List(pl.String),
    "channel": pl.String,
    "audience": pl.List(pl.String),
    "form": pl.String,
    "instrument": pl.String,  # id@version:hash, surveys only
    "draw": pl.Int32,
    "attempt": pl.Int32,  # which attempt at this run, from 1
    "ended": pl.String,  # by itself; null if interrupted or withdrawn
    "transport_retries": pl.Int32,
    "text": pl.String,  # the raw reply as received, reasoning blocks included
    "reasoning": pl.String,
    "status": pl.String,  # what came back: ok, empty, truncated, filtered, error
    "stop_reason": pl.String,
    "structured": pl.Boolean,  # the survey came under a schema
    "constrained": pl.Boolean,  # the label came under a grammar
    "prompt_hash": pl.String,
    "history_hash": pl.String,
    "provider": pl.String,
    "model_answered": pl.String,
    "settings": pl.String,  # JSON object of the generation settings sent
    "input_tokens": pl.Int64,  # all of them, cached ones included
    "cached_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "started": pl.Datetime("us", "UTC"),
    "seconds": pl.Float64,
    "uuid": pl.String,  # of the sample or source record
    "log": pl.String,  # file it came from, relative to the study or source
}
"""Column to type, in order. A missing value is null, never a stand-in."""

GIVEN_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "run": pl.String,
    "turn": pl.Int32,  # how many turns of agents stand before it
    "place": pl.Int32,  # its order among what was given there
    "speaker": pl.String,
    "sender": pl.String,  # system, user, assistant or tool
    "text": pl.String,
    "started": pl.Datetime("us", "UTC"),
    "uuid": pl.String,
}
"""What the agents of a recorded conversation were given: system prompts, users' words,
results of tools."""

ASKED_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "run": pl.String,
    "turn": pl.Int32,
    "agent": pl.String,
    "whole": pl.Boolean,  # nothing that stood before it is lost or is no plain text
    "senders": pl.List(pl.String),  # of the messages that its model was given, in order
    "texts": pl.List(pl.UInt64),  # their digests (`text_key`); null if not recorded
}
"""What is known of the prompt at each turn of an agent; of a record of calls, all."""

SAMPLED_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "run": pl.String,
    "turn": pl.Int32,
    "agent": pl.String,
    "source": pl.String,  # the conversation that it is a turn of
    "stratum": pl.String,  # what it was drawn from: agent, kind of conversation, prompt
    "prompt": pl.String,  # recorded, or reconstructed
    "weight": pl.Float64,  # turns that it stands for: 1 / its chance to be drawn
}
"""The turns that a probe asks, drawn from those of a study of transcripts."""

ROW_KEY: Final = ("run", "attempt", "turn", "agent", "channel", "form", "draw")
"""What names one row within a study, in every table keyed to the transcript."""


def text_key(text: str) -> int:
    """A digest of a text, by which prompts name what stands once: 64 bits."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
