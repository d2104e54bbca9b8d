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

from offrecord.measures.pairings import PAIRINGS, pair_rows
from offrecord.measuring.coding import attribution, second_coder
from offrecord.measuring.means import CACHE_FOLDER, Means, counts, share
from offrecord.records import OffrecordError, Status
from offrecord.study import Study
from offrecord.transcript.store import (
    UnwritableError,
    write_study_json,
    write_table,
)

__all__ = ["MEASURES", "Done", "Means", "measure_study"]

ENTAILMENT_FILE: Final = "measures/entailment.parquet"
JUDGED_FILE: Final = "measures/entailment-judge.parquet"


class Done(NamedTuple):
    """What became of one measure."""

    name: str
    measured: bool
    line: str
    """What was measured, or why it was not."""


Measure = Callable[[Study, Means], Iterator[str]]
"""Measures a study, writes its tables, and says what it did, a line for each."""


def measure_study(study: Study, names: Sequence[str], means: Means) -> list[Done]:
    """Take measures of a study and write their tables.

    Args:
        study: The study.
        names: Out of `MEASURES`; all by default.
        means: What they are taken with.

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
    for pairing in means.pairings:
        if pairing not in PAIRINGS:
            raise OffrecordError(
                f"no pairing '{pairing}': use any of {', '.join(PAIRINGS)}"
            )
    done: list[Done] = []
    for name in names or MEASURES:
        try:
            # Line by line: what a measure did before it failed was done.
            for line in MEASURES[name](study, means):
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


def _stance(study: Study, means: Means) -> Iterator[str]:
    yield _counted(study.stances["status"], "utterances")
    if means.sheet or means.coded or means.nli or means.judges:
        yield from second_coder(study, means)


def _survey(study: Study, means: Means) -> Iterator[str]:
    del means
    from offrecord.measures.survey_gap import measure_survey_gaps

    yield _counted(study.surveys["status"], "surveys")
    items, categories = measure_survey_gaps(
        study.path, study.transcript, study.surveys, study.facts
    )
    for what, gaps in (("item", items), ("category", categories)):
        yield f"{gaps.height} {what} gaps, {gaps['gap'].null_count()} missing"


def _similarity(study: Study, means: Means) -> Iterator[str]:
    from offrecord.measures.sentences import SentenceEncoder
    from offrecord.measures.similarity import (
        DEFAULT_EMBEDDER,
        measure_similarity,
        over_window,
    )
    from offrecord.providers.folders import resolve_folder

    name = means.embedder or DEFAULT_EMBEDDER
    encoder = SentenceEncoder(resolve_folder(name), name, means.device)
    table, computed = measure_similarity(
        study.path,
        study.transcript,
        study.facts,
        encoder,
        pairings=means.pairings,
        variants=means.variants,
        seed=means.seed,
        through=means.through,
    )
    missing = table["cosine"].null_count()
    yield (
        f"{encoder.name}: {table.height} pairs, {missing} missing, {computed} texts "
        f"embedded now, {100 * over_window(table):.1f} % over the window of "
        f"{encoder.window} tokens"
    )


def _entailment(study: Study, means: Means) -> Iterator[str]:
    from offrecord.measures.entailment import entailment_table, unmeasured_entailment
    from offrecord.measures.entailment_judge import judged_entailment
    from offrecord.measures.nli import DEFAULT_MODEL, load_nli

    pairs = pl.concat(list(_pairs(study, means)))
    cache = study.path / CACHE_FOLDER
    if means.judges:
        judged = [judged_entailment(pairs, name, cache) for name in means.judges]
        write_table(study.path / JUDGED_FILE, pl.concat(judged))
        yield f"judged by {', '.join(means.judges)}: {pairs.height} pairs"
    try:
        model = load_nli(means.nli or DEFAULT_MODEL, means.device, means.through)
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
            method="whole" if means.whole else "auto",
        )
        for variant in means.variants
    ]
    table = pl.concat(tables)
    write_table(study.path / ENTAILMENT_FILE, table)
    missing = table["reason"].len() - table["reason"].null_count()
    yield f"{model.name}: {table.height} pairs, {missing} missing"


def _markers(study: Study, means: Means) -> Iterator[str]:
    del means
    from offrecord.measures.awareness import (
        AWARENESS_FILE,
        SIGNS,
        awareness_table,
    )
    from offrecord.measures.markers import MARKERS_FILE, markers_table

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


def _pairs(study: Study, means: Means) -> Iterator[pl.DataFrame]:
    for pairing in means.pairings:
        yield pair_rows(
            study.transcript, pairing, study.facts, np.random.default_rng(means.seed)
        )


def _counted(statuses: pl.Series, what: str) -> str:
    valued = statuses.is_in([str(Status.OK), str(Status.REPAIRED)]).sum()
    return f"{len(statuses)} {what}, {valued} with a value: {counts(statuses)}"
