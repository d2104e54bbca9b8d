"""Measuring a stored study: every measure in turn, none of them calling its models.

This stands beside the flow, as `study.py` does. A measure whose model cannot be had
says so in one line; the others are measured all the same, and study.json keeps what
was not, so that every later stage can say so too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.measures.codes.coding import attribution, second_coder
from offrecord.measures.options import CACHE_FOLDER, Options, counts, share
from offrecord.measures.pairings import PAIRINGS, pair_rows
from offrecord.measures.parsed import stances_of, surveys_of
from offrecord.records import OffrecordError, Status
from offrecord.transcript.record import Record
from offrecord.transcript.store import (
    UnwritableError,
    write_study_json,
    write_table,
)

__all__ = ["MEASURES", "Done", "measure_study"]

ENTAILMENT_FILE: Final = "measures/entailment.parquet"
JUDGED_FILE: Final = "measures/entailment-judge.parquet"


class Done(NamedTuple):
    """What became of one measure."""

    name: str
    measured: bool
    line: str
    """What was measured, or why it was not."""


Measure = Callable[[Record, Options], Iterator[str]]
"""Measures a study, writes its tables, and says what it did, a line for each."""


def measure_study(study: Record, names: Sequence[str], options: Options) -> list[Done]:
    """Take measures of a study and write their tables.

    Args:
        study: The study.
        names: Out of `MEASURES`; all by default.
        options: What they are taken with.

    Returns:
        One entry a line that a measure has to say.

    Raises:
        OffrecordError: If a measure or a pairing is unknown.
    """
    for name in names:
        if name not in MEASURES:
            raise OffrecordError(
                f"no measure '{name}': use any of {', '.join(MEASURES)}"
            )
    for pairing in options.pairings:
        if pairing not in PAIRINGS:
            raise OffrecordError(
                f"no pairing '{pairing}': use any of {', '.join(PAIRINGS)}"
            )
    done: list[Done] = []
    for name in names or MEASURES:
        try:
            # Line by line: what a measure did before it failed was done.
            for line in MEASURES[name](study, options):
                done.append(Done(name, True, line))
        except UnwritableError:
            raise  # not this measure's fault: none of the others could be kept either
        except OffrecordError as fault:
            done.append(Done(name, False, f"not measured: {fault}"))
    stated: dict[str, Any] = dict(study.facts.get("measured", {}))
    for name in dict.fromkeys(entry.name for entry in done):
        own = [entry for entry in done if entry.name == name]
        lines = [entry.line for entry in own]
        stated[name] = {"measured": all(e.measured for e in own), "lines": lines}
    study.facts["measured"] = stated
    write_study_json(study.path, study.facts)
    return done


def _stance(study: Record, options: Options) -> Iterator[str]:
    yield _counted(stances_of(study)["status"], "utterances")
    if options.sheet or options.coded or options.nli or options.judges:
        yield from second_coder(study, options)


def _survey(study: Record, options: Options) -> Iterator[str]:
    del options
    from offrecord.measures.survey_gap import measure_survey_gaps

    yield _counted(surveys_of(study)["status"], "surveys")
    items, categories = measure_survey_gaps(
        study.path, study.transcript, surveys_of(study), study.facts
    )
    for what, gaps in (("item", items), ("category", categories)):
        yield f"{gaps.height} {what} gaps, {gaps['gap'].null_count()} missing"


def _similarity(study: Record, options: Options) -> Iterator[str]:
    from offrecord.measures.texts.sentences import SentenceEncoder
    from offrecord.measures.texts.similarity import (
        DEFAULT_EMBEDDER,
        measure_similarity,
        over_window,
    )
    from offrecord.providers.folders import resolve_folder

    name = options.embedder or DEFAULT_EMBEDDER
    encoder = SentenceEncoder(resolve_folder(name), name, options.device)
    table, computed = measure_similarity(
        study.path,
        study.transcript,
        study.facts,
        encoder,
        pairings=options.pairings,
        variants=options.variants,
        seed=options.seed,
        through=options.through,
    )
    missing = table["cosine"].null_count()
    yield (
        f"{encoder.name}: {table.height} pairs, {missing} missing, {computed} texts "
        f"embedded now, {100 * over_window(table):.1f} % over the window of "
        f"{encoder.window} tokens"
    )


def _entailment(study: Record, options: Options) -> Iterator[str]:
    from offrecord.measures.codes.entailment_judge import judged_entailment
    from offrecord.measures.texts.entailment import (
        entailment_table,
        unmeasured_entailment,
    )
    from offrecord.measures.texts.nli import DEFAULT_MODEL, load_nli

    pairs = pl.concat(list(_pairs(study, options)))
    cache = study.path / CACHE_FOLDER
    if options.judges:
        judged = [judged_entailment(pairs, name, cache) for name in options.judges]
        write_table(study.path / JUDGED_FILE, pl.concat(judged))
        yield f"judged by {', '.join(options.judges)}: {pairs.height} pairs"
    try:
        model = load_nli(options.nli or DEFAULT_MODEL, options.device, options.through)
    except OffrecordError as fault:
        table = unmeasured_entailment(pairs, str(fault))
        write_table(study.path / ENTAILMENT_FILE, table)
        raise
    for probe in model.probes:
        yield f"probe {probe}"
    tables = [
        entailment_table(
            pairs,
            model,
            cache,
            variant=variant,
            method="whole" if options.whole else "auto",
        )
        for variant in options.variants
    ]
    table = pl.concat(tables)
    write_table(study.path / ENTAILMENT_FILE, table)
    missing = table["reason"].len() - table["reason"].null_count()
    yield f"{model.name}: {table.height} pairs, {missing} missing"


def _markers(study: Record, options: Options) -> Iterator[str]:
    del options
    from offrecord.measures.codes.awareness import (
        AWARENESS_FILE,
        SIGNS,
        awareness_table,
    )
    from offrecord.measures.texts.markers import MARKERS_FILE, markers_table

    markers = markers_table(study.transcript)
    write_table(study.path / MARKERS_FILE, markers)
    yield f"markers of {markers.height} texts"
    awareness = awareness_table(study.transcript)
    write_table(study.path / AWARENESS_FILE, awareness)
    shares = [f"{sign} {share(awareness[sign])}" for sign in SIGNS]
    yield f"awareness: {', '.join(shares)} of {awareness.height} texts"


MEASURES: Final[Mapping[str, Measure]] = {
    "stance": _stance,
    "survey": _survey,
    "similarity": _similarity,
    "entailment": _entailment,
    "attribution": attribution,
    "markers": _markers,
}
"""The measures by name, in the order in which they are taken."""


def _pairs(study: Record, options: Options) -> Iterator[pl.DataFrame]:
    for pairing in options.pairings:
        yield pair_rows(
            study.transcript, pairing, study.facts, np.random.default_rng(options.seed)
        )


def _counted(statuses: pl.Series, what: str) -> str:
    valued = statuses.is_in([str(Status.OK), str(Status.REPAIRED)]).sum()
    return f"{len(statuses)} {what}, {valued} with a value: {counts(statuses)}"
