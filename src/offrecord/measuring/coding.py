"""The measures that code texts: stance a second time, and attribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from offrecord.measuring.means import CACHE_FOLDER, Means, counts, share
from offrecord.records import Role
from offrecord.study import Study
from offrecord.transcript.store import write_table

CODER_FILE: Final = "measures/second-coder.parquet"


def second_coder(study: Study, means: Means) -> Iterator[str]:
    """Code the stance of the unlabelled texts by every means given."""
    from offrecord.measures import human
    from offrecord.measures.second_coder import (
        code_by_entailment,
        code_by_judge,
        coder_texts,
    )

    texts = coder_texts(study.transcript, study.stances)
    cache = study.path / CACHE_FOLDER
    tables: list[pl.DataFrame] = []
    if means.sheet:
        size = human.write_sheet(means.sheet, texts, means.seed)
        yield f"{means.sheet}: {size} texts to code by hand"
    for path in means.coded:
        coded = human.read_sheet(path, texts, means.seed, path.stem)
        tables.append(coded.table)
        yield f"{path}: {coded.table.height} rows, {len(coded.faults)} not usable"
        yield from coded.faults
    if means.nli:
        from offrecord.measures.nli import load_nli

        model = load_nli(means.nli, means.device, means.through)
        tables.append(code_by_entailment(texts, model, cache))
    tables += [code_by_judge(texts, name, cache, means.seed) for name in means.judges]
    if not tables:
        return
    write_table(study.path / CODER_FILE, pl.concat(tables))
    for table in tables:
        coder = f"{table['coder'][0]} {table['model'][0] or ''}".strip()
        known = table["agrees"].drop_nulls()
        yield f"second coder {coder}: {len(known)} coded, {share(known)} as stated"


def attribution(study: Study, means: Means) -> Iterator[str]:
    """Code what texts name as reasons: by the lexical baseline, and by judges."""
    from offrecord.measures.attribution import (
        ATTRIBUTION_FILE,
        VERDICTS_FILE,
        decide,
        judge_attribution,
    )
    from offrecord.measures.lexical import LEXICAL_FILE, lexical_table

    lexical = lexical_table(study.transcript)
    write_table(study.path / LEXICAL_FILE, lexical)
    yield f"lexical baseline: {counts(lexical['code'])}"
    yield from _shares(study, lexical)
    if not means.judges:
        return
    verdicts = judge_attribution(
        study.transcript,
        means.judges,
        study.path / CACHE_FOLDER,
        np.random.default_rng(means.seed),
    )
    write_table(study.path / VERDICTS_FILE, verdicts)
    decided = decide(verdicts)
    write_table(study.path / ATTRIBUTION_FILE, decided)
    demoted = int(verdicts["demoted"].fill_null(False).sum())
    yield f"judges: {counts(decided['code'])}; {demoted} verdicts demoted"


def _shares(study: Study, codes: pl.DataFrame) -> Iterator[str]:
    """Mention and explicit attribution side by side, pooled and per model."""
    from offrecord.estimates.attribution import EXPLICIT, MENTIONED, attribution_table
    from offrecord.measures.attribution import attributed_pairs

    pairs = attributed_pairs(study.pairs, codes, study.transcript, study.spoken)
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
