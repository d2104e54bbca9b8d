"""The ladder of audiences, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from offrecord.estimates.frames.ladder import ladder_rows
from offrecord.estimates.frames.weighing import How
from offrecord.protocol.channel import rungs
from tests.simulated_studies import pair_rows

SPOKEN: list[int | None] = [1, 1, 0, 0]
"""The public stance of the two turns of each of two runs."""
SILENT: dict[str, list[int | None]] = {
    "off_record": [0, 0, 0, 0],
    "partner": [1, 0, 0, 0],
    "press": [1, 1, 1, None],
    "off_record_reworded": [1, 1, 1, 1],
}


def pairs(*channels: str) -> pl.DataFrame:
    tables = [
        pair_rows(
            ({}, "r1", SPOKEN[:2], SILENT[channel][:2]),
            ({}, "r2", SPOKEN[2:], SILENT[channel][2:]),
        ).with_columns(left_channel=pl.lit("public"), right_channel=pl.lit(channel))
        for channel in channels
    ]
    return pl.concat(tables)


def test_levels_steps_and_trend_are_those_of_the_rungs_in_their_order() -> None:
    shown = pairs("press", "off_record_reworded", "off_record", "partner")
    rows = list(ladder_rows(shown, ["model"], rungs(), How()))
    assert {row.group["agent"] for row in rows} == {"alpha"}
    found = {(row.of.quantity, row.of.rung): row.of for row in rows}
    assert {key: one.value for key, one in found.items()} == pytest.approx(
        {
            ("level", "off_record"): 0,
            ("level", "partner"): 1 / 4,
            ("level", "public"): 2 / 4,
            ("level", "press"): 3 / 3,
            ("step", "partner"): 1 / 4,
            ("step", "public"): 1 / 4,
            ("step", "press"): 1 / 3,  # of three turns: 0, 0 and 1
            ("against", "off_record"): -2 / 4,
            ("against", "partner"): -1 / 4,
            ("against", "press"): 1 / 3,
            # The first three turns have the rungs 0111, 0011 and 0001. At -1.5, -0.5,
            # 0.5 and 1.5, whose squares sum to 5, their slopes are 1.5 / 5, 2 / 5 and
            # 1.5 / 5.
            ("trend", "press"): (0.3 + 0.4 + 0.3) / 3,
        }
    )
    assert found["level", "press"].missing == 1


def test_two_rungs_are_no_ladder() -> None:
    assert not list(ladder_rows(pairs("off_record"), ["model"], rungs(), How()))
