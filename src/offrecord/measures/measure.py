"""Taking the measures of a stored study, none of them calling the debating models.

A measure whose model cannot be had says so in one line; the others are taken all the
same, and study.json keeps what was not, so that every later stage can say so too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from offrecord.measures.declare import Measure, Rows
from offrecord.measures.options import CACHE_FOLDER, Options
from offrecord.measures.pairings import PAIRINGS, pair_rows
from offrecord.measures.registry import find_measure, other_measures, our_measures
from offrecord.measures.stored import drop_stale, is_fresh, store
from offrecord.records import OffrecordError, first_line
from offrecord.transcript.record import Record
from offrecord.transcript.store import UnwritableError, write_study_json

__all__ = ["Done", "measure_study"]


class Done(NamedTuple):
    """What became of one measure."""

    name: str
    measured: bool
    line: str
    """What was measured, or why it was not."""
    fault: OffrecordError | None = None
    """What kept it from being measured, where that is a user's to mend."""


def measure_study(
    study: Record,
    names: Sequence[str],
    options: Options,
    *,
    begin: Callable[[str], object] = str,
    tell: Callable[[Done], object] = bool,
) -> list[Done]:
    """Take measures of a study and write their tables.

    A measure is not taken again where texts, options, versions and files are as they
    were: its lines are those of then.

    Args:
        study: The study.
        names: Which; all there are by default, those of other packages too.
        options: What they are taken with.
        begin: Is told the name of each measure when its turn has come.
        tell: Is told each entry as soon as it is there.

    Returns:
        One entry a line that a measure has to say.

    Raises:
        OffrecordError: If a measure or a pairing is unknown.
    """
    for name in names:
        if name not in our_measures():
            find_measure(name)
    for pairing in options.pairings:
        if pairing not in PAIRINGS:
            raise OffrecordError(
                f"no pairing '{pairing}': use any of {', '.join(PAIRINGS)}"
            )
    rows = Rows(
        study.transcript,
        lambda: pl.concat(list(_pairs(study, options))),
        study.path / CACHE_FOLDER,
        study,
    )
    done: list[Done] = []
    for name in names or [*our_measures(), *other_measures()]:
        begin(name)
        own = list[Done]()
        for entry in _taken(name, rows, options):
            own.append(entry)
            tell(entry)
        study.facts.setdefault("measured", {})[name] = {
            "measured": all(entry.measured for entry in own),
            "lines": [entry.line for entry in own],
        }
        done += own
    write_study_json(study.path, study.facts)
    return done


def _taken(name: str, rows: Rows, options: Options) -> Iterator[Done]:
    try:
        # Line by line: what a measure did before it failed was done.
        for line in _take(find_measure(name), rows, options):
            yield Done(name, True, line)
    except UnwritableError:
        raise  # not this measure's fault: none of the others could be kept either
    except OffrecordError as fault:
        yield Done(name, False, f"not measured: {fault}", fault)
    except Exception as fault:
        if name in our_measures():
            raise
        said = f"{type(fault).__name__}: {first_line(fault)}"
        yield Done(name, False, f"not measured: a fault of its package: {said}")


def _take(measure: Measure, rows: Rows, options: Options) -> Iterator[str]:
    facts = rows.record.facts
    stamp = measure.stamp(options, facts)
    by_hand = "sheet" in measure.options and bool(options.sheet or options.coded)
    if not by_hand and is_fresh(rows.record, measure, stamp):
        yield from facts["measured"][measure.name]["lines"]
        return
    facts.get("taken", {}).get(measure.name, {}).pop("stamp", None)
    drop_stale(rows.record, measure)
    for made in measure.take(rows, options):
        if isinstance(made, str):
            yield made
        else:
            store(rows.record, measure, *made)
    facts.setdefault("taken", {}).setdefault(measure.name, {"tables": {}})
    facts["taken"][measure.name]["stamp"] = stamp


def _pairs(study: Record, options: Options) -> Iterator[pl.DataFrame]:
    for pairing in options.pairings:
        yield pair_rows(
            study.transcript, pairing, study.facts, np.random.default_rng(options.seed)
        )
