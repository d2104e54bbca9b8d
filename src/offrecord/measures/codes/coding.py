"""The measures that code texts: stance a second time, and attribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.measures.options import CACHE_FOLDER, Options, counts, share
from offrecord.measures.parsed import pairs_of, stances_of
from offrecord.records import Role
from offrecord.transcript.record import Record
from offrecord.transcript.store import write_table

CODER_FILE: Final = "measures/second-coder.parquet"


def second_coder(study: Record, options: Options) -> Iterator[str]:
    """Code the stance of the unlabelled texts by every options given."""
    from offrecord.measures.codes import human
    from offrecord.measures.codes.second_coder import (
        code_by_entailment,
        code_by_judge,
        coder_texts,
    )

    texts = coder_texts(study.transcript, stances_of(study))
    cache = study.path / CACHE_FOLDER
    tables: list[pl.DataFrame] = []
    if options.sheet:
        size = human.write_sheet(options.sheet, texts, options.seed)
        yield f"{options.sheet}: {size} texts to code by hand"
    for path in options.coded:
        coded = human.read_sheet(path, texts, options.seed, path.stem)
        tables.append(coded.table)
        yield f"{path}: {coded.table.height} rows, {len(coded.faults)} not usable"
        yield from coded.faults
    if options.nli:
        from offrecord.measures.texts.nli import load_nli

        model = load_nli(options.nli, options.device, options.through)
        tables.append(code_by_entailment(texts, model, cache))
    tables += [
        code_by_judge(texts, name, cache, options.seed) for name in options.judges
    ]
    if not tables:
        return
    write_table(study.path / CODER_FILE, pl.concat(tables))
    for table in tables:
        coder = f"{table['coder'][0]} {table['model'][0] or ''}".strip()
        known = table["agrees"].drop_nulls()
        yield f"second coder {coder}: {len(known)} coded, {share(known)} as stated"


def attribution(study: Record, options: Options) -> Iterator[str]:
    """Code what texts name as reasons: by the lexical baseline, and by judges."""
    from offrecord.measures.codes.attribution import (
        ATTRIBUTION_FILE,
        VERDICTS_FILE,
        decide,
        judge_attribution,
    )
    from offrecord.measures.codes.lexical import LEXICAL_FILE, lexical_table

    lexical = lexical_table(study.transcript)
    write_table(study.path / LEXICAL_FILE, lexical)
    yield f"lexical baseline: {counts(lexical['code'])}"
    yield from _shares(study, lexical)
    if not options.judges:
        return
    verdicts = judge_attribution(
        study.transcript,
        options.judges,
        study.path / CACHE_FOLDER,
        np.random.default_rng(options.seed),
    )
    write_table(study.path / VERDICTS_FILE, verdicts)
    decided = decide(verdicts)
    write_table(study.path / ATTRIBUTION_FILE, decided)
    demoted = int(verdicts["demoted"].fill_null(False).sum())
    yield f"judges: {counts(decided['code'])}; {demoted} verdicts demoted"


def _shares(study: Record, codes: pl.DataFrame) -> Iterator[str]:
    """Mention and explicit attribution side by side, pooled and per model."""
    from offrecord.estimates.frames.attribution import (
        EXPLICIT,
        MENTIONED,
        attribution_table,
    )
    from offrecord.measures.codes.attribution import attributed_pairs

    pairs = attributed_pairs(pairs_of(study), codes, study.transcript, study.spoken)
    roles = study.transcript.select("role", "agent")
    target = roles.filter(role=Role.TARGET)["agent"].first()
    pairs = pairs.filter(agent=target)
    for by in ((), ("model",)):
        for what, wanted in (("mention", MENTIONED), ("explicit", EXPLICIT)):
            for row in attribution_table(pairs, by, wanted):
                if row["rounds"] == "all":
                    who = row.get("model", "all models")
                    yield f"{who}: {what} {_groups(row)}"


def _groups(row: Mapping[str, Any]) -> str:
    parts = []
    for group in ("accommodating", "consistent", "baseline"):
        share, turns = row[f"{group}_share"], row[f"{group}_turns"]
        shown = "none" if not turns else f"{100 * share:.1f} %"
        parts.append(f"{shown} of {turns} {group}")
    return ", ".join(parts)
