"""What measures are taken with, and how what they found is counted in a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from offrecord.measures.executor import Executor, in_process
from offrecord.measures.pairings import DEFAULT_PAIRING
from offrecord.measures.texts.preparation import Variant
from offrecord.records import Status

CACHE_FOLDER: Final = "measures/cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What measures are taken with."""

    embedder: str | None = None
    """A known model, a folder or a Hub id; the default one unless given."""
    nli: str | None = None
    judges: tuple[str, ...] = ()
    device: str | None = None
    pairings: tuple[str, ...] = (DEFAULT_PAIRING,)
    variants: tuple[Variant, ...] = (Variant.CLEAN,)
    through: Executor = in_process
    """Who gives the measures' own models their batches; judges are Inspect's."""
    whole: bool = False
    """Whether entailment takes the whole text always, as in the paper."""
    seed: int = 0
    sheet: Path | None = None
    """Where to write a sheet for human coding of stance."""
    coded: tuple[Path, ...] = field(default=())
    """Sheets that human coders filled in."""


def counts(values: pl.Series) -> str:
    """How often each value occurs, the commonest first."""
    counts = values.fill_null("missing").value_counts(sort=True)
    return ", ".join(f"{count} {value}" for value, count in counts.iter_rows())


def statuses(values: pl.Series, what: str) -> str:
    """How many parses have a value, and how often each status occurs."""
    valued = values.is_in([str(Status.OK), str(Status.REPAIRED)]).sum()
    return f"{len(values)} {what}, {valued} with a value: {counts(values)}"


def share(flags: pl.Series) -> str:
    """The share of flags that are set, of those that are known."""
    known = flags.drop_nulls()
    return f"{100 * float(known.sum()) / len(known):.1f} %" if len(known) else "none"
