"""The measure `stance`: what each utterance states, and who else codes it so.

The parse of labels is always there (`parsed`). A second coder codes the same texts
without their labels: judges, a model for natural language inference, people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from offrecord.measures.codes.second_coder import CODER, CODER_VERSION
from offrecord.measures.declare import Made, Measure, Rows
from offrecord.measures.options import Options, share, statuses
from offrecord.measures.parsed import stances_of
from offrecord.measures.replies.stance import STANCE_VERSION


def _take(rows: Rows, options: Options) -> Iterator[Made]:
    stances = stances_of(rows.record)
    yield statuses(stances["status"], "utterances")
    if not (options.sheet or options.coded or options.nli or options.judges):
        return
    from offrecord.measures.codes import human
    from offrecord.measures.codes.second_coder import (
        code_by_entailment,
        code_by_judge,
        coder_texts,
    )

    texts = coder_texts(rows.texts, stances)
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
        tables.append(code_by_entailment(texts, model, rows.cache))
    tables += [
        code_by_judge(texts, name, rows.cache, options.seed) for name in options.judges
    ]
    if not tables:
        return
    yield CODER, pl.concat(tables)
    for table in tables:
        coder = f"{table['coder'][0]} {table['model'][0] or ''}".strip()
        known = table["agrees"].drop_nulls()
        yield f"second coder {coder}: {len(known)} coded, {share(known)} as stated"


MEASURE: Final = Measure(
    name="stance",
    about="the label that an utterance states; by second coders, what it argues for",
    version=f"{STANCE_VERSION} {CODER_VERSION}",
    tables=(CODER,),
    options=("nli", "judges", "seed", "sheet", "coded"),
    take=_take,
)
