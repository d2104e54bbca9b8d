"""What a page needs beside the estimates: counts of the record, design, prompts."""

from __future__ import annotations

import json
from typing import Any, Final

import polars as pl

from offrecord.estimates.file import Estimates
from offrecord.measures.reading import is_recorded, turns_to_read
from offrecord.records import Form, OffrecordError
from offrecord.report.numbers import count
from offrecord.report.page.findings import Findings
from offrecord.report.prompts import study_items, study_prompts
from offrecord.report.quotes import study_quotes
from offrecord.transcript.audits import Anytime, read_audits
from offrecord.transcript.designed import planned_of
from offrecord.transcript.ended import first_ended
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.guesses import guessed_replies
from offrecord.transcript.record import Record

_READ: Final = 20
"""Turns that a page names to be read first."""


def gather(study: Record, estimates: Estimates, channel: str | None) -> Findings:
    """What the sections of a page are drawn from.

    Args:
        study: The study.
        estimates: Its estimates.
        channel: The channel to set beside the spoken one.

    Raises:
        OffrecordError: If the study has no such channel.
    """
    spoken, *others = [str(name) for name in study.facts["channels"]]
    if channel is not None and channel not in others:
        raise OffrecordError(f"--channel {channel}: use any of {', '.join(others)}")
    target = study.target
    beside = channel or (others[0] if others else spoken)
    return Findings(
        name=study.path.resolve().name,
        estimates=estimates.shown,
        facts=study.facts,
        target=target,
        spoken=spoken,
        channel=beside,
        planned_runs=planned_of(study),
        replay_of=study.design.on if (study.path / DESIGN_FILE).is_file() else "",
        ended_runs=study.ended_runs,
        attempts=_attempts(study),
        quotes=study_quotes(study, target, beside),
        prompts=study_prompts(study),
        items=study_items(study),
        design=_design(study, others),
        reading=_reading(study),
        judged=_judged(study),
    )


def _reading(study: Record) -> list[dict[str, Any]]:
    """The turns to read first, of recorded conversations."""
    if not is_recorded(study):
        return []
    return turns_to_read(study).head(_READ).to_dicts()


def _judged(study: Record) -> Anytime | None:
    """What the last audit by blocks found."""
    found = [line.anytime for line in read_audits(study.path) if line.anytime]
    return found[-1] if found else None


def _attempts(study: Record) -> int:
    stated = study.facts.get("attempts", {})
    return sum(stated.values()) or study.transcript["run"].n_unique()


def _design(study: Record, others: list[str]) -> list[tuple[str, str]]:
    rows, facts = study.transcript, study.facts
    utterances = rows.select("form", "draw").filter(pl.col("form") == Form.UTTERANCE)
    told = [
        ("source", str(facts.get("source", ""))),
        ("protocol", ", ".join(_levels(rows, "protocol"))),
        ("models", ", ".join(_levels(rows, "model"))),
        ("partners", ", ".join(_levels(rows, "partner"))),
        ("scenarios", ", ".join(_levels(rows, "scenario"))),
        ("conditions", ", ".join(_levels(rows, "condition"))),
        ("factors", "; ".join(_factors(rows))),
        ("channels", ", ".join([str(facts["channels"][0]), *others])),
        ("rounds", str(facts["rounds"])),
        ("shadows", str(utterances["draw"].max() or 0)),
        ("survey format", "schema" if facts.get("structured") else "free form"),
        ("runs that ended", count(study.ended_runs)),
        ("attempts", count(_attempts(study))),
        ("outputs recorded", count(rows.height)),
        ("transport retries", _total(rows, "transport_retries")),
        ("input tokens", _total(rows, "input_tokens")),
        ("of these from a cache", _cached(rows)),
        ("output tokens", _total(rows, "output_tokens")),
        ("spoken by the last label alone", _guessed(rows)),
        ("held", _dates(rows)),
        ("answered by", ", ".join(_levels(rows, "model_answered"))),
        ("settings sent", "; ".join(_levels(rows, "settings"))),
        ("left out at import", "; ".join(map(str, facts.get("left_out", [])))),
    ]
    return [(name, value) for name, value in told if value]


def _levels(rows: pl.DataFrame, column: str, most: int = 40) -> list[str]:
    found = rows[column].drop_nulls().unique().sort().to_list()
    rest = [f"and {len(found) - most} more"] if len(found) > most else []
    return [*map(str, found[:most]), *rest]


def _factors(rows: pl.DataFrame) -> list[str]:
    levels: dict[str, set[str]] = {}
    for text in rows["factors"].unique().to_list():
        for name, level in json.loads(text).items():
            levels.setdefault(name, set()).add(str(level))
    return [f"{name}: {', '.join(sorted(own))}" for name, own in sorted(levels.items())]


def _total(rows: pl.DataFrame, column: str) -> str:
    known = rows[column].drop_nulls()
    return count(int(known.sum())) if known.len() else ""


def _guessed(rows: pl.DataFrame) -> str:
    """Utterances with thinking that no known mark ends, and their share."""
    said = first_ended(rows).filter(form=Form.UTTERANCE).height
    guessed = guessed_replies(rows).height
    return f"{count(guessed)} ({100 * guessed / said:.1f} %)" if guessed else ""


def _cached(rows: pl.DataFrame) -> str:
    """Input tokens from a cache, and their share where replies say so."""
    said = rows.drop_nulls(["input_tokens", "cached_tokens"])
    whole, cached = int(said["input_tokens"].sum()), int(said["cached_tokens"].sum())
    return f"{count(cached)} ({100 * cached / whole:.1f} %)" if whole else ""


def _dates(rows: pl.DataFrame) -> str:
    first, last = rows["started"].min(), rows["started"].max()
    if first is None or last is None:
        return ""
    days = [str(moment)[:10] for moment in (first, last)]
    return days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
