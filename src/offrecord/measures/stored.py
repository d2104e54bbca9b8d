"""Reading what was measured: every table against the schema that it was written with.

A study may come from anyone, and a table of another version lacks a column: both are
said in one line instead of failing wherever the column is first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from offrecord.content.boundary.tables import read_table
from offrecord.measures.codes.attribution import (
    ATTRIBUTION_FILE,
    ATTRIBUTION_SCHEMA,
    VERDICTS_FILE,
    VERDICTS_SCHEMA,
)
from offrecord.measures.codes.awareness import AWARENESS_FILE, AWARENESS_SCHEMA
from offrecord.measures.codes.coding import CODER_FILE
from offrecord.measures.codes.entailment_judge import JUDGED_SCHEMA
from offrecord.measures.codes.lexical import LEXICAL_FILE, LEXICAL_SCHEMA
from offrecord.measures.codes.second_coder import CODER_SCHEMA
from offrecord.measures.measure import ENTAILMENT_FILE, JUDGED_FILE
from offrecord.measures.pairings import PAIR_KEY
from offrecord.measures.survey_gap import (
    CATEGORY_GAP_SCHEMA,
    CATEGORY_GAPS_FILE,
    ITEM_GAP_SCHEMA,
    ITEM_GAPS_FILE,
)
from offrecord.measures.texts.entailment import ENTAILMENT_SCHEMA
from offrecord.measures.texts.markers import MARKERS_FILE, MARKERS_SCHEMA
from offrecord.measures.texts.similarity import SIMILARITY_FILE, SIMILARITY_SCHEMA
from offrecord.records import OffrecordError, first_line
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        ATTRIBUTION_FILE: ATTRIBUTION_SCHEMA,
        AWARENESS_FILE: AWARENESS_SCHEMA,
        CATEGORY_GAPS_FILE: CATEGORY_GAP_SCHEMA,
        CODER_FILE: CODER_SCHEMA,
        ENTAILMENT_FILE: ENTAILMENT_SCHEMA,
        ITEM_GAPS_FILE: ITEM_GAP_SCHEMA,
        JUDGED_FILE: JUDGED_SCHEMA,
        LEXICAL_FILE: LEXICAL_SCHEMA,
        MARKERS_FILE: MARKERS_SCHEMA,
        SIMILARITY_FILE: SIMILARITY_SCHEMA,
        VERDICTS_FILE: VERDICTS_SCHEMA,
    }
)
"""Every table of measures, by its file in a study."""


_ANSWER: Final = ("run", "agent", "turn", "channel")
_KEYS: Final = {
    ITEM_GAPS_FILE: (*_ANSWER, "item"),
    CATEGORY_GAPS_FILE: (*_ANSWER, "category"),
}
_NAMING: Final = {
    *(*ROW_KEY, *PAIR_KEY),
    *("source", "judge", "coder", "model", "variant"),
}
"""What names a row, in any other table that has it."""


def stored_measures(
    study: Record, file: str, columns: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """A table of measures, or None where it was not measured.

    Args:
        study: The study.
        file: One of `SCHEMAS`.
        columns: Those to read; all by default.

    Raises:
        OffrecordError: If it is no such table.
    """
    path = study.path / file
    if not path.is_file():
        return None
    schema = SCHEMAS[file]
    wanted = list(columns or schema)
    key = _KEYS.get(file) or [name for name in schema if name in _NAMING]
    both = list(dict.fromkeys([*wanted, *key]))
    table = read_table(path, both, again="measure it again")
    try:
        table = table.cast(pl.Schema({name: schema[name] for name in both}))
    except pl.exceptions.PolarsError as error:
        raise OffrecordError(f"{path}: {first_line(error)}; measure it again") from None
    # By hashes: the keys themselves, of all answers of a large study, fill the memory.
    if table.select(key).hash_rows().n_unique() < table.height:
        raise OffrecordError(f"{path}: two rows for one value; measure it again")
    return table.select(wanted)
