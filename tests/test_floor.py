"""The noise floor: two samples differ too, and how much of that is the audience."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offrecord.estimates.arrays.floor import Draws, Floor, noise_floor
from offrecord.estimates.arrays.floor_spread import floor_interval, floor_test
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.estimators import FLOOR
from offrecord.estimates.frames.floors import REPEATS, SHADOWS, floor_rows
from offrecord.measures.draws import stance_draws
from offrecord.measures.tables import stance_table
from offrecord.protocol.design import Design
from offrecord.transcript.llmagora import import_llmagora
from tests.simulation import Simulation

SHARED = Path(__file__).parents[1].parent / "shared" / "llmagora"
NAN = math.nan

Unit = tuple[Sequence[float], Sequence[float]]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def turns_with_shadows(*units: Unit, per_run: int = 1, held: bool = True) -> Draws:
    """Each unit is one turn: its public draws, the first committed, and the others."""
    values, other, unit, fixed = (list[Any]() for _ in range(4))
    for number, (public, off_record) in enumerate(units):
        values += [*public, *off_record]
        other += [False] * len(public) + [True] * len(off_record)
        unit += [number] * (len(public) + len(off_record))
        fixed += [held, *[False] * (len(public) - 1 + len(off_record))]
    numbers = np.array(unit, dtype=np.int64)
    runs = numbers // per_run
    return Draws(
        np.array(values, dtype=np.float64),
        np.array(other, dtype=bool),
        numbers,
        runs,
        np.zeros_like(runs),
        np.array(fixed, dtype=bool),
    )


def first_turns(*cells: Unit) -> Draws:
    """Each unit is one cell: one public and one other draw of each of its runs."""
    flat = turns_with_shadows(*cells, held=False)
    runs = [
        100 * cell + run
        for cell, (public, _) in enumerate(cells)
        for _ in range(2)
        for run in range(len(public))
    ]
    return flat._replace(runs=np.array(runs), cells=flat.units)


def test_one_turn_by_hand() -> None:
    # Public 1 1 0, other 0 0: cross pairs 6, of which the four with a 1 differ;
    # public pairs 11 10 10: two of three differ; the other pair agrees.
    floor = noise_floor(turns_with_shadows(([1, 1, 0], [0, 0])))
    assert floor.cross == pytest.approx(4 / 6)
    assert floor.within_public == pytest.approx(2 / 3)
    assert floor.within_other == 0
    assert floor.d_star == pytest.approx(4 / 6 - 2 / 6)
    assert floor.gap == pytest.approx(2 / 3)
    # sqrt(1/3) is below the gap: nothing but noise can do that, so D is the bound.
    assert (floor.changed_low, floor.changed_high) == (floor.gap, floor.cross)


def test_a_d_star_below_zero_is_shown_and_bounds_nothing() -> None:
    # cross 1/2, within 1 in both channels: 1/2 - 1 = -1/2
    floor = noise_floor(turns_with_shadows(([1, 0], [0, 1])))
    assert floor.d_star == -0.5
    assert (floor.changed_low, floor.changed_high) == (0, 0.5)


def test_the_bracket_by_hand() -> None:
    # One turn in two is changed from 0 to 1, the rest is noise-free agreement:
    # gap, D, D* and the share changed are all 1/2, sqrt(1/2) lies above.
    floor = noise_floor(turns_with_shadows(([1, 1], [0, 0]), ([0, 0], [0, 0])))
    assert floor[3:] == (0.5, 0.5, 0, 0, 0.5, 0.5, 0.5)


def test_opposite_changes_have_no_gap_but_a_d_star() -> None:
    floor = noise_floor(turns_with_shadows(([1, 1], [0, 0]), ([0, 0], [1, 1])))
    assert (floor.gap, floor.d_star) == (0, 1)
    assert (floor.changed_low, floor.changed_high) == (1, 1)


def test_units_without_two_draws_of_each_channel_are_counted_and_left_out() -> None:
    draws = turns_with_shadows(([1, 1], [0, 0]), ([1, NAN], [0, 0]), ([1, 1], [0]))
    floor = noise_floor(draws)
    assert (floor.units, floor.left_out, floor.draws) == (1, 2, 4)
    assert floor.cross == 1


binary = st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=5)


@given(st.lists(st.tuples(binary, binary), min_size=1, max_size=4))
def test_every_pair_of_draws_counts_once(units: list[Unit]) -> None:
    def differing(pairs: Any) -> float:
        return float(np.mean([a != b for a, b in pairs]))

    floor = noise_floor(turns_with_shadows(*units))
    cross = np.mean([differing(product(p, q)) for p, q in units])
    public = np.mean([differing(combinations(p, 2)) for p, _ in units])
    other = np.mean([differing(combinations(q, 2)) for _, q in units])
    assert floor.cross == pytest.approx(cross)
    assert floor.within_public == pytest.approx(public)
    assert floor.within_other == pytest.approx(other)
    assert floor.d_star == pytest.approx(cross - (public + other) / 2)
    assert floor.changed_low <= floor.changed_high + 1e-9


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.3), (0.9, 0.2), (0.0, 0.5), (1.0, 0.0)])
def test_d_star_has_the_mean_of_the_squared_difference(p: float, q: float) -> None:
    def chance(values: tuple[int, ...], rate: float) -> float:
        return math.prod(rate if value else 1 - rate for value in values)

    mean = sum(
        chance(public, p)
        * chance(other, q)
        * noise_floor(turns_with_shadows(([*public], [*other]))).d_star
        for public in product((0, 1), repeat=3)
        for other in product((0, 1), repeat=2)
    )
    assert mean == pytest.approx((p - q) ** 2)


def test_the_test_counts_the_ways_to_deal_the_draws() -> None:
    # One turn, public 1 1, other 0 0; the committed draw stays public. Of three ways to
    # choose its companion one is as far out: 1/3; two such turns 1/9.
    turn: Unit = ([1, 1], [0, 0])
    one = floor_test(turns_with_shadows(turn), rng())
    assert one.exact
    two = floor_test(turns_with_shadows(turn, turn), rng())
    assert one.p == pytest.approx(1 / 3)
    assert two.p == pytest.approx(1 / 9)
    # First turns of two runs hold nothing: of six ways two have all ones together.
    cell = floor_test(first_turns(turn), rng())
    assert cell.p == pytest.approx(2 / 6)


def test_the_committed_draw_stays_public() -> None:
    # Public 1 1 0, the first committed, other 0 0, D* 1/3. Of the four others two stay
    # public; the 1 is among them in half of the ways, else D* is below zero. If the
    # committed draw could move, 4 of 10 ways would be as far out.
    found = floor_test(turns_with_shadows(([1, 1, 0], [0, 0])), rng())
    assert found.p == pytest.approx(1 / 2)
    moved = floor_test(turns_with_shadows(([1, 1, 0], [0, 0]), held=False), rng())
    assert moved.p == pytest.approx(4 / 10)


def test_drawn_arrangements_agree_with_counted_ones() -> None:
    generator = rng()
    units: list[Unit] = [
        (
            list((generator.random(3) < 0.6).astype(float)),
            list((generator.random(3) < 0.4).astype(float)),
        )
        for _ in range(30)
    ]
    draws = turns_with_shadows(*units)
    exact = floor_test(draws, rng())
    assert exact.exact
    # Dealing by hand, without the library's counting.
    observed, hits = noise_floor(draws).d_star, 0
    for _ in range(2000):
        dealt = []
        for public, other in units:
            free = generator.permutation([*public[1:], *other]).tolist()
            dealt.append(([public[0], *free[:2]], free[2:]))
        hits += noise_floor(turns_with_shadows(*dealt)).d_star >= observed - 1e-9
    assert hits / 2000 == pytest.approx(exact.p, abs=4 * math.sqrt(0.25 / 2000))


def test_the_jackknife_by_hand() -> None:
    # Three runs of one turn with D* of 1, 0 and 0 (public and other 11 00, 11 11,
    # 00 00): without one of them 0, 1/2, 1/2; about 1/3 the squares are 1/9, 1/36,
    # 1/36, sum 1/6, times (G - 1)/G = 2/3: 1/9. t of two degrees of freedom 4.3027.
    draws = turns_with_shadows(([1, 1], [0, 0]), ([1, 1], [1, 1]), ([0, 0], [0, 0]))
    interval = floor_interval(draws)
    assert interval.low == pytest.approx(1 / 3 - 4.30265 / 3, abs=1e-4)
    assert interval.high == pytest.approx(1 / 3 + 4.30265 / 3, abs=1e-4)


def test_the_jackknife_over_first_turns_leaves_a_run_out_of_both_channels() -> None:
    cells: list[Unit] = [([1, 1, 0], [0, 0, 0]), ([1, 0, 0, 1], [0, 0, 1, 0])]
    interval = floor_interval(first_turns(*cells))
    # The cell keeps its weight, three or four of seven runs, whoever is left out.
    variance = 0.0
    for public, other in cells:
        size = len(public)
        without = [
            noise_floor(
                turns_with_shadows(
                    ([*public[:i], *public[i + 1 :]], [*other[:i], *other[i + 1 :]])
                )
            ).d_star
            for i in range(size)
        ]
        squares = (np.array(without) - np.mean(without)) ** 2
        variance += (size / 7) ** 2 * (size - 1) / size * squares.sum()
    half = 2.5705818 * math.sqrt(variance)  # t of 7 - 2 degrees of freedom
    assert (interval.high - interval.low) / 2 == pytest.approx(half)


def test_the_jackknife_of_turns_is_the_stratified_variance() -> None:
    # Where every run is one turn, D* is a mean of independent values, and leaving runs
    # out must give the textbook's G / (G - 1) sum (d - mean)^2 / N^2 over cells.
    units: list[Unit] = [
        ([1, 1], [0, 0]),
        ([1, 1], [1, 1]),
        ([1, 1], [0, 1]),
        ([1, 1], [0, 0]),
        ([0, 0], [0, 0]),
    ]
    cells = np.array([0, 0, 1, 1, 1])
    draws = turns_with_shadows(*units)
    draws = draws._replace(cells=cells[draws.units])
    each = np.array([noise_floor(turns_with_shadows(u)).d_star for u in units])
    variance = sum(
        size / (size - 1) * ((each[cells == c] - each[cells == c].mean()) ** 2).sum()
        for c, size in ((0, 2), (1, 3))
    )
    half = 3.1824463 * math.sqrt(variance) / 5  # t of 5 - 2 degrees of freedom
    interval = floor_interval(draws)
    assert (interval.high - interval.low) / 2 == pytest.approx(half)


@pytest.mark.filterwarnings("error")
def test_an_interval_without_channel_effect_has_the_width_of_the_noise() -> None:
    # The channels' shares are equal, and so is D* whichever run is left out: the
    # jackknife sees no spread, but the draws have some.
    interval = floor_interval(first_turns(([1, 0, 1, 0], [0, 1, 0, 1])))
    # within 2/3 in each channel: c = 1/3 / 4 + 1/3 / 4 = 1/6, 2 c^2 = 1/18
    half = 3.1824463 * math.sqrt(1 / 18)
    assert (interval.high - interval.low) / 2 == pytest.approx(half)


@pytest.mark.parametrize(
    ("draws", "reason"),
    [
        (turns_with_shadows(), "no unit has two draws of each channel"),
        (turns_with_shadows(([NAN, NAN], [NAN, 1])), "no unit has two draws"),
        (turns_with_shadows(([1, 0], [1, 0])), "a cell has a single run"),
        (turns_with_shadows(*[([1, 1], [1, 1])] * 5), "no spread among the runs"),
        (first_turns(([1, 0], [1, 1])), "a cell has fewer than three runs"),
    ],
    ids=["none", "missing", "one run", "all alike", "two runs"],
)
@pytest.mark.filterwarnings("error")
def test_where_there_is_no_interval_it_says_why(draws: Draws, reason: str) -> None:
    interval = floor_interval(draws)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert reason in interval.reason
    floor, test = noise_floor(draws), floor_test(draws, rng())
    assert math.isnan(floor.cross) == (floor.units == 0) == math.isnan(test.p)
    assert bool(test.reason) == (floor.units == 0)


def published() -> pl.DataFrame:
    if not SHARED.is_dir():
        pytest.skip("the published runs (../shared/llmagora) are not here")
    transcript = import_llmagora(SHARED, "published").transcript
    return stance_draws(transcript, stance_table(transcript))


def test_published_first_turns() -> None:
    draws = published()
    rows = {
        (row["condition"], row["agent"]): row
        for row in floor_rows(draws, "public", ["condition"], rng())
    }
    expected = {
        "alignment-historical": (32.17, 15.83, 6.67, 20.92),
        "alignment-future": (25.83, 9.17, 0.00, 21.25),
    }
    names = ("cross", "within_public", "within_other", "d_star")
    for condition, figures in expected.items():
        row = rows[condition, "alpha"]
        assert [100 * row[n] for n in names] == pytest.approx(figures, abs=0.005)
        assert (row["source"], row["units"], row["draws"]) == (REPEATS, 24, 240)
        assert 0 < row["low"] < row["d_star"] < row["high"]
        assert row["p"] < 1e-6
    silent = rows["alignment-future", "beta"]
    assert silent["units"] == 0, "the second speaker's first turn has a history"
    assert silent["reason"]


def test_rows_do_not_depend_on_their_order() -> None:
    draws = simulated(["null"], runs=4)
    shuffled = draws.sample(fraction=1, shuffle=True, seed=3)
    rows = floor_rows(draws, "public", ["kind"], rng())
    assert repr(rows) == repr(floor_rows(shuffled, "public", ["kind"], rng()))


def simulated(models: list[str], runs: int, rounds: int = 1) -> pl.DataFrame:
    conditions = "baseline", "alignment-future"
    design = Design(conditions=conditions, runs=runs, rounds=rounds, shadows=0)
    transcript = Simulation(models, design).transcript(seed=1)
    return stance_draws(transcript, stance_table(transcript))


def test_the_null_population_has_disagreement_and_no_floor_above_it() -> None:
    # Two replies of one turn differ by flips alone (0.15 each), those of two runs also
    # by their states, of which some convert; no channel has a part in either.
    draws = simulated(["null"], runs=30)
    for row in floor_rows(draws, "public", ["kind"], rng()):
        if row["agent"] == "alpha":
            assert row["cross"] > 0.2
            assert row["p"] > 0.01
            assert row["low"] < 0 < row["high"]


def with_shadows(draws: pl.DataFrame, extra: int) -> pl.DataFrame:
    """Every draw again as shadows: a population without flips repeats its channel."""
    return pl.concat(
        [
            draws.with_columns(draw=pl.lit(k, dtype=pl.Int32) + pl.col("draw"))
            for k in range(extra + 1)
        ]
    )


def test_a_floor_has_the_rounds_that_it_is_asked_for() -> None:
    draws = with_shadows(simulated(["null"], runs=3, rounds=2), 1)
    rows = floor_rows(draws, "public", ["kind", "round"], rng())
    assert FLOOR.by_round
    units = {(row["kind"], row["round"], row["agent"]): row["units"] for row in rows}
    # Three runs in each of the design's three scenarios, a unit a turn.
    assert set(units.values()) == {9}
    assert {place for _, place, _ in units} == {1, 2}


def test_shadows_are_used_where_there_are_some() -> None:
    draws = with_shadows(simulated(["paper/x-ai/grok-4"], runs=4), 1)
    rows = {
        (row["kind"], row["agent"]): row
        for row in floor_rows(draws, "public", ["kind"], rng())
    }
    alpha = rows["alignment", "alpha"]
    assert alpha["source"] == SHADOWS
    assert (alpha["units"], alpha["draws"]) == (12, 48)
    assert alpha["within_public"] == alpha["within_other"] == 0
    assert alpha["d_star"] == alpha["cross"] > 0
    assert rows["alignment", "beta"]["units"] == 12


def simulate_turns(
    generator: np.random.Generator, p: Values, q: Values, turns: int
) -> Draws:
    """Runs of turns with one shadow each; p and q vary from run to run."""
    runs = p.size
    draws = generator.random((runs, turns, 4)) < np.stack([p, p, q, q], axis=1)[:, None]
    units = np.repeat(np.arange(runs * turns), 4)
    return Draws(
        draws.astype(np.float64).ravel(),
        np.tile([False, False, True, True], runs * turns),
        units,
        units // turns,
        np.zeros_like(units),
        np.tile([True, False, False, False], runs * turns),
    )


def test_the_test_holds_its_size_and_the_interval_covers() -> None:
    generator, found = rng(), list[Floor]()
    rejected = covered = 0
    for _ in range(200):
        p = generator.beta(1, 1, 12)
        rejected += floor_test(simulate_turns(generator, p, p, 5), generator).p <= 0.05
        # Half of the runs are pushed by 0.4: the mean square is 0.08.
        q = np.where(np.arange(12) % 2 == 0, 0.5, 0.9)
        draws = simulate_turns(generator, q, np.full(12, 0.5), 5)
        interval = floor_interval(draws)
        covered += interval.low <= 0.08 <= interval.high
        found.append(noise_floor(draws))
    assert rejected / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)
    assert covered / 200 >= 0.90
    assert np.mean([f.d_star for f in found]) == pytest.approx(0.08, abs=0.015)
