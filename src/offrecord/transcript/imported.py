"""What an importer hands on, whatever its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an importer makes of a source: rows, facts, and what it could not use."""

    transcript: pl.DataFrame
    """One row per attempt at an elicitation, in `TRANSCRIPT_SCHEMA`."""
    facts: Mapping[str, Any]
    """The content of study.json. Later stages read from it `rounds` (planned turns
    per run and agent), `channels` (the spoken one first), `spoken`, `seats` (scenario
    to its agents and their roles, as they speak), `attempts` (run id to number) and
    `instruments` (stamp to `items`, `low`, `high`, and where they are
    declared `categories`, each with its items, and `reverse`, of each keyed category
    the items that count against it)."""
    left_out: tuple[str, ...]
    """One line for each thing that could not be read: where, and why."""
    given: pl.DataFrame | None = None
    """What agents were given beside each other's words, in `GIVEN_SCHEMA`."""
    asked: pl.DataFrame | None = None
    """What is known of the prompts of agents' turns, in `ASKED_SCHEMA`."""
    sampled: pl.DataFrame | None = None
    """The turns that a probe drew, in `SAMPLED_SCHEMA`."""
    prompts: Mapping[str, Any] | None = None
    """What a replay needs where the prompts are not our own content."""
