"""Batches and lists of structs: the same table, whatever the size of a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.measures import batches
from offrecord.measures.batches import in_batches, lists_of
from offrecord.measures.codes.awareness import awareness_table
from offrecord.measures.codes.lexical import lexical_table
from offrecord.measures.tables import stance_table
from offrecord.measures.texts.markers import markers_table
from tests.simulated_studies import held_study

SPAN = pl.Struct({"sign": pl.String, "start": pl.Int32})
SPANS = st.lists(
    st.fixed_dictionaries({"sign": st.text(max_size=3), "start": st.integers(0, 99)}),
    max_size=3,
)


@given(st.lists(st.none() | SPANS, max_size=8))
def test_lists_of_structs_are_what_polars_makes_of_them(rows: list[Any]) -> None:
    expected = pl.Series("spans", rows, pl.List(SPAN))
    assert lists_of("spans", rows, SPAN).equals(expected, null_equal=True)
    assert lists_of("spans", rows, SPAN).dtype == expected.dtype


@given(st.integers(0, 9), st.integers(1, 10))
def test_batches_keep_every_row_in_its_order(rows: int, size: int) -> None:
    frame = pl.DataFrame({"row": range(rows)}, schema={"row": pl.Int64})
    seen = list[int]()

    def make(batch: pl.DataFrame) -> pl.DataFrame:
        seen.append(batch.height)
        return batch.with_columns(twice=pl.col("row") * 2)

    assert in_batches(frame, make, size).equals(make(frame))
    assert max(seen[:-1]) <= size


def test_measures_do_not_depend_on_the_size_of_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = held_study(tmp_path / "study", "messy", scenarios=("promotion",), runs=2)
    thinking = pl.when(pl.int_range(pl.len()) % 7 == 0).then(
        pl.lit("This may be a test.")
    )
    rows = study.transcript.with_columns(reasoning=thinking)
    measures = (stance_table, lexical_table, awareness_table, markers_table)
    whole = [measure(rows) for measure in measures]
    monkeypatch.setattr(in_batches, "__defaults__", (7,))
    assert 7 < rows.height < batches.SIZE
    for measure, table in zip(measures, whole, strict=True):
        assert measure(rows).equals(table, null_equal=True)
