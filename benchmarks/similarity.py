"""How our embedding of a study compares with a plain encode of its texts.

Both in one run, in turns, on a cell of published runs. Ours takes each distinct text
once, with those of like length, whatever number of pairs it is in; the plain one takes
the texts in file order: once, and once for every pair, as a script does that embeds the
left and the right column of its table. A second measure must embed nothing.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from benchmarks import Figure
from offrecord.measures.pairings import pair_rows
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.measures.texts.similarity import DEFAULT_EMBEDDER, similarity_table
from offrecord.providers.weights import fetched, known_model
from offrecord.transcript.llmagora import import_llmagora

SOURCE = Path(__file__).parents[2] / "shared" / "llmagora"
PAIRINGS = ("channels", "agents")
ROUNDS = 2


def run() -> list[Figure]:
    """Seconds for a cell, ours and a plain encode's, and what a second measure does."""
    folder = fetched(known_model(DEFAULT_EMBEDDER))
    if not SOURCE.is_dir() or folder is None:
        return [Figure("similarity", "skipped: no ../shared/llmagora or no weights")]
    if importlib.util.find_spec("sentence_transformers") is None:
        return [Figure("similarity", "skipped: no extra 'semantic'")]
    from sentence_transformers import SentenceTransformer

    from offrecord.measures.texts.sentences import SentenceEncoder

    plain = SentenceTransformer(str(folder), local_files_only=True)
    encoder = SentenceEncoder(folder, DEFAULT_EMBEDDER)
    pairs = _pairs()
    once, every = _texts(pairs.filter(pairing=PAIRINGS[0])), _texts(pairs)
    for model in (plain, encoder):
        model.encode(once[:8])  # loaded and warm
    alone, paired, ours, again, counts = [], [], [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:

            def measure(cache: Path = Path(cache)) -> None:
                counts.append(similarity_table(pairs, encoder, cache)[1])

            ours.append(_seconds(measure))
            again.append(_seconds(measure))
        alone.append(_seconds(lambda: plain.encode(once, show_progress_bar=False)))
        paired.append(_seconds(lambda: plain.encode(every, show_progress_bar=False)))
    return [
        Figure(f"plain encode, each of {len(once)} texts once", f"{min(alone):.1f} s"),
        Figure(f"plain encode, both columns ({len(every)})", f"{min(paired):.1f} s"),
        Figure(f"our measure of the same ({counts[0]})", f"{min(ours):.1f} s"),
        Figure("ours over plain, texts once", f"{min(ours) / min(alone):.2f}"),
        Figure(
            "ours over plain, both columns",
            f"{min(ours) / min(paired):.2f}",
            "under 1",
        ),
        Figure("second measure", f"{min(again):.2f} s"),
        Figure("texts that it embeds", f"{counts[1]}", "0"),
    ]


def _pairs() -> pl.DataFrame:
    """The pairs of one cell."""
    imported = import_llmagora(SOURCE, "bench")
    rows = imported.transcript
    first = rows.head(1).select("model", "scenario", "condition")
    cell = rows.join(first, on=first.columns, how="semi", maintain_order="left")
    return pl.concat(pair_rows(cell, name, imported.facts) for name in PAIRINGS)


def _texts(pairs: pl.DataFrame) -> list[str]:
    """The prepared texts of both columns, in file order."""
    return [
        text
        for side in ("left", "right")
        for raw, labels in pairs.select(f"{side}_text", "labels").iter_rows()
        if (text := prepare(raw, tuple(labels), Variant.CLEAN).text)
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
