"""The transcript browser as one fragment of a page: mark-up, style, script and data.

Texts are compressed in chunks of runs, which the page decodes when they are asked for;
what it filters by is a compact index beside them. Nothing in the mark-up comes from a
model: names and replies reach the page as data, and the script shows them as text.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from offrecord.content.boundary.shown import STEERING
from offrecord.report.browser.index import browser_index
from offrecord.report.browser.records import run_records
from offrecord.report.browser.selection import MAX_RUNS, carried_runs, shown_rows
from offrecord.report.browser.values import Tables, never_measured

CHUNK: Final = 256_000
"""Characters of JSON after which a chunk is closed: some 30 runs of the usual size."""

_SCRIPTS: Final = (
    "text.js",
    "store.js",
    "filters.js",
    "list.js",
    "turn.js",
    "reader.js",
    "main.js",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A part of a page that runs under a strict content policy."""

    html: str
    """A section, without inline handlers or styles."""
    css: str
    js: str
    """One function call, without eval."""
    data: dict[str, str]
    """Id of a data block to its JSON, which holds no `<`."""


def browser_fragment(
    transcript: pl.DataFrame,
    stances: pl.DataFrame,
    surveys: pl.DataFrame,
    pairs: pl.DataFrame,
    facts: Mapping[str, Any],
    *,
    measures: Tables = (),
    items: Mapping[str, str] = MappingProxyType({}),
    max_runs: int = MAX_RUNS,
) -> Fragment:
    """The transcript browser of a study.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        stances: Rows in `STANCE_SCHEMA`.
        surveys: Rows in `SURVEY_SCHEMA`.
        pairs: Rows as `stance_pairs` gives them.
        facts: The content of study.json.
        measures: What else was measured.
        items: The wording of survey items by id, of those that are known.
        max_runs: How many runs the page holds at most, evenly across cells.

    Raises:
        OffrecordError: If study.json does not say what was planned.
    """
    held = carried_runs(transcript, max_runs)
    rows = shown_rows(transcript, held)
    ours = pl.col("run").is_in(held)
    stances, surveys = stances.filter(ours), surveys.filter(ours)
    index = browser_index(rows, pairs.filter(ours), [stances, surveys], facts)
    attempts = (
        transcript.filter(ours)
        .group_by("run", "attempt")
        .agg(pl.col("ended").first(), pl.len())
        .sort("run", "attempt")
    )
    records = run_records(rows, attempts, stances, surveys, facts, measures)
    texts, lengths = _texts(in_chunks(records))
    index |= {
        "chunks": lengths,
        "total": transcript["run"].n_unique(),
        "attempts": _asked(held, facts, attempts),
        "scales": _scales(facts),
        "items": dict(items),
        "steering": sorted(STEERING),
        "unmeasured": never_measured(measures),
    }
    whole = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    scripts = "\n".join(_asset(name) for name in _SCRIPTS)
    return Fragment(
        html=_asset("browser.html"),
        css=_asset("browser.css"),
        js=f'(() => {{\n"use strict";\n{scripts}\n}})();\n',
        data={"transcript-index": packed(whole), **texts},
    )


def _texts(chunks: Iterable[list[str]]) -> tuple[dict[str, str], list[int]]:
    """Data blocks of runs, decoded when they are looked at, and the runs in each."""
    blocks, lengths = dict[str, str](), list[int]()
    for number, chunk in enumerate(chunks):
        blocks[f"transcript-texts-{number}"] = packed(f"[{','.join(chunk)}]")
        lengths.append(len(chunk))
    return blocks, lengths


def _asked(
    held: list[str], facts: Mapping[str, Any], attempts: pl.DataFrame
) -> list[int]:
    """How many attempts at each run there were, recorded or not."""
    recorded = dict(attempts.group_by("run").len().iter_rows())
    counted = facts.get("attempts", {})
    return [counted.get(run, recorded[run]) for run in held]


def _scales(facts: Mapping[str, Any]) -> list[list[int]]:
    """The ends of the scales that surveys were answered on."""
    ends = {(one["low"], one["high"]) for one in facts.get("instruments", {}).values()}
    return [list(scale) for scale in sorted(ends)]


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def packed(text: str) -> str:
    """A JSON string with a text's zlib stream, in base64, which holds no `<`.

    So no reply can end the script element that it stands in, or open a comment there.

    Args:
        text: Anything, JSON for one.
    """
    return f'"{base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")}"'


def in_chunks(records: Iterable[object], size: int = CHUNK) -> Iterator[list[str]]:
    """The JSON of records, in lists of about equal length.

    Args:
        records: Anything that JSON can hold.
        size: Characters after which a list is closed; it has at least one record.
    """
    chunk: list[str] = []
    length = 0
    for record in records:
        chunk.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
        length += len(chunk[-1])
        if length >= size:
            yield chunk
            chunk, length = [], 0
    if chunk:
        yield chunk
