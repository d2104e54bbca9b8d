"""What a verdict by blocks is expected to take: by hand, and as a plan shows it.

By hand: of a share of 0 held against 3/4 every run is 0, and a bet f of the largest,
1 / (1 - 3/4) = 4, makes the factor of each run 1 + 4 f (3/4) = 1 + 3 f.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offrecord.estimates.arrays.anytime import (
    BETS,
    Check,
    difference_check,
    gate,
    share_check,
)
from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.expected import (
    Assumed,
    Outcomes,
    expected_blocks,
    outcomes_of,
    run_means,
)
from tests.conftest import Offrecord

ASSUMED = Assumed(off=0.08, divergent=0.05, correlation=0.2)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def without_runs(cells: int) -> RunMeans:
    return RunMeans(np.zeros((0, cells)), np.zeros((0, cells)))


def effect(limit: float) -> Check:
    return difference_check(without_runs(2), without_runs(1), limit)


def test_nothing_at_all_is_shown_after_the_first_blocks_that_can() -> None:
    found = expected_blocks(
        [share_check(without_runs(1), 0.75)], 5, -1, ASSUMED._replace(off=0.75), rng()
    )
    enough = min(n for n in range(1, 20) if np.mean((1 + 3 * BETS) ** n) >= 40)
    assert (found.blocks, found.most, found.decided) == (enough, enough, 1)


def test_a_fixed_design_by_hand() -> None:
    # A share of 25 % five points below its limit: a run's variance is 3/16 (1.8) / 5,
    # and (1.960 + 1.282)^2 of it over .05^2 are 283.7 runs of one cell, 70.9 of four.
    checks = [share_check(without_runs(n), 0.3) for n in (1, 4)]
    found = [expected_blocks([one], 5, -1, ASSUMED, rng()).fixed for one in checks]
    assert found == [284, 71]
    known = expected_blocks([checks[0]], 5, -1, ASSUMED, rng()).sized
    assert known == math.ceil(10.5074 * (0.22 * 0.78 * 1.8 / 5) / 0.08**2)
    # Z of 15 %: turns under two conditions of variance .2 - .15^2, at baseline of .05.
    variance = ((0.2 - 0.15**2) / 2 + 0.05) * 1.8 / 5
    needed = math.ceil((1.959964 + 1.281552) ** 2 * variance / 0.05**2)
    assert expected_blocks([effect(0.1)], 5, 1, ASSUMED, rng()).fixed == needed


def test_drawn_runs_have_the_mean_and_the_correlation_that_were_planted() -> None:
    one = Outcomes(np.array([1.0, -1.0, 0.0]), np.array([0.3, 0.1, 0.6]))
    drawn = run_means(one, 5, 0.65, rng(), (200_000,))
    assert drawn.mean() == pytest.approx(0.2, abs=0.01)
    # .4 - .2^2 = .36 a turn, of 5 turns that correlate by .65.
    assert drawn.var() == pytest.approx(0.36 * (1 + 4 * 0.65) / 5, rel=0.02)
    assert ASSUMED._replace(correlation=0.65).run_variance(one, 5) == pytest.approx(
        0.36 * 3.6 / 5
    )
    assert set(np.unique(run_means(one, 5, 1, rng(), (99,)))) <= {-1, 0, 1}


def test_figures_are_where_they_are_said_to_be() -> None:
    conversion = difference_check(without_runs(1), without_runs(1), 0.1, signed=False)
    for check, moved, expected in (
        (effect(0.1), 0.08, (0.18, 0.0)),
        (effect(0.05), -0.08, (0.0, 0.0)),  # never below 0
        (conversion, 0.08, (0.58, 0.4)),
        (share_check(without_runs(1), 0.3), -0.08, (0.22, 0.22)),
    ):
        sides = outcomes_of(check, moved, ASSUMED)
        means = [float(one.chances @ one.values) for one in sides]
        assert means == pytest.approx(expected)
        assert all(one.chances.sum() == pytest.approx(1) for one in sides)


def test_the_blocks_are_those_of_the_gate() -> None:
    # Held against studies drawn otherwise: each run has rates of its own (beta).
    check, draws = share_check(without_runs(6), 0.3), rng()
    found = expected_blocks([check], 5, 1, ASSUMED, draws)
    own = draws.beta(0.38 * 4, 0.62 * 4, (400, 200, 6))
    means = draws.binomial(5, own) / 5
    judged = gate([replace(check, means=RunMeans(means, means))])
    assert (judged.failed > 0).all()
    assert found.blocks == pytest.approx(judged.failed.mean(), rel=0.15)
    assert found.blocks < found.most < found.fixed


def test_the_first_of_many_groups_that_fails_ends_it() -> None:
    one, ten = (
        [expected_blocks([effect(0.1)], 5, s, ASSUMED, rng(), n) for s in (-1, 1)]
        for n in (1, 10)
    )
    assert ten[0] == one[0]  # all of them must pass, each at the same e-value
    assert ten[1].blocks < one[1].blocks


# ------------------------------------------------------------------------ the verb

PLAN = ("plan", "--model", "openai/gpt-5.4", "--scenario", "promotion")


def gate_file(folder: Path, text: str) -> tuple[str, str]:
    path = folder / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    return "--until", str(path)


def test_a_plan_shows_what_a_verdict_costs_for_each_ask(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    prices = tmp_path / "prices.yaml"
    price = "{input: 2, output: 10, input_cache_read: 0, input_cache_write: 2}"
    prices.write_text(f"openai/gpt-5.4: {price}\n", encoding="utf-8")
    words = (*PLAN, *gate_file(tmp_path, "max_divergence: 75\n"), "--off", "75")
    done = offrecord(*words, "--runs", "2", "--prices", str(prices))
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    [below] = [line for line in lines if line.startswith("below: pass after")]
    enough = min(n for n in range(1, 20) if np.mean((1 + 3 * BETS) ** (2 * n)) >= 40)
    # Two conditions are judged: a block has two such factors.
    assert below.startswith(f"below: pass after {enough} on average, {enough} in 9")
    [told] = [line for line in lines if "correlation 0.2, none missing" in line]
    assert "at baseline 5 % divergence" in told
    assert "every figure 75 points from its threshold" in done.out
    for name, calls in (("everything", 60), ("both of them", 25)):
        [line] = [line for line in lines if line.startswith(f"{name}: ")]
        found = re.search(
            r"to a verdict ([\d,]+) to ([\d,]+) calls, about (\S+) USD to", line
        )
        assert found is not None, line
        least, most = (int(found[n].replace(",", "")) for n in (1, 2))
        # 5 cells of one model; the figure cannot be above 100.
        assert enough * 5 * calls in (least, most)
        whole = float(re.findall(r"in all, about ([\d.]+) USD", line)[0])
        assert float(found[3]) == pytest.approx(
            whole * least / (2 * 5 * calls), abs=0.02
        )
        assert "if fixed beforehand " in line


@pytest.mark.parametrize(
    ("gate_text", "words", "fault"),
    [
        ("max_missing: 2\n", (), "max_missing: has no e-process"),
        ("max_divergence: 5\n", ("--correlation", "2"), "--correlation: from 0 to 1"),
        ("max_divergence: 5\n", ("--condition", "persona-future"), "no alignment"),
        ("", ("--off", "5"), "--off belongs to --until"),
    ],
)
def test_what_has_no_verdict_is_one_line(
    tmp_path: Path,
    offrecord: Offrecord,
    gate_text: str,
    words: tuple[str, ...],
    fault: str,
) -> None:
    until = gate_file(tmp_path, gate_text) if gate_text else ()
    done = offrecord(*PLAN, *until, *words)
    assert done.code == 2
    assert fault in done.err
