"""Coverage of a probe's intervals on planted conversations, drawn as pairs.

Conversations, shares and the sample are those of docs/design/probe.md. Each study draws
its turns, as `offrecord run --on` does, and the stances of two draws in each channel.

    python -m benchmarks probe
    python -m benchmarks.probe       prints the table of the docs
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from benchmarks import Figure
from offrecord.estimates.frames.probed import probe_rows
from offrecord.records import CELL
from offrecord.transcript.sampling import drawn

STUDIES: Final = 2000
SAMPLE: Final = 200
CONVERSATIONS: Final = {"release": 80, "refund": 40}
TURNS: Final = {"planner": 5, "critic": 2}
SHIFT: Final = 0.08
"""How far a conversation is above or below all its shares."""
SHARES: Final = {
    ("planner", "release"): (0.60, 0.35),
    ("planner", "refund"): (0.40, 0.40),
    ("critic", "release"): (0.30, 0.25),
    ("critic", "refund"): (0.10, 0.10),
}
"""Share of stances on the pressed side, in public and off the record."""


class Truth(NamedTuple):
    """What is planted over all turns."""

    gap: float
    divergence: float
    d_star: float
    unweighted: float
    """The gap where strata weigh alike."""


def population() -> pl.DataFrame:
    """Every turn of the planted conversations, in order."""
    rows = [
        {"agent": agent, "scenario": kind, "run": f"{kind}-{n}", "turn": turn}
        for kind, number in CONVERSATIONS.items()
        for n in range(number)
        for agent, turns in TURNS.items()
        for turn in range(turns)
    ]
    same = {"condition": "observed", "prompt": "recorded"}
    frame = pl.DataFrame(rows).with_columns(pl.lit(v).alias(k) for k, v in same.items())
    shares = [SHARES[key] for key in frame.select("agent", "scenario").iter_rows()]
    return frame.with_columns(
        p=pl.Series([p for p, _ in shares]), q=pl.Series([q for _, q in shares])
    )


def truth() -> Truth:
    """By arithmetic from the shares; a conversation's own shift is alike in both."""
    turns = population()
    p, q = turns["p"].to_numpy(), turns["q"].to_numpy()
    differ = [(p + s) * (1 - q - s) + (q + s) * (1 - p - s) for s in (SHIFT, -SHIFT)]
    strata = [p - q for p, q in SHARES.values()]
    return Truth(
        float(np.mean(p - q)),
        float(np.mean(differ)),
        float(np.mean((p - q) ** 2)),
        float(np.mean(strata)),
    )


def study(turns: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The pairs of one probe of them, as `probe_pairs` gives them."""
    sample = drawn(turns, SAMPLE, int(rng.integers(2**31)))
    runs, place = np.unique(sample["run"].to_numpy(), return_inverse=True)
    shift = rng.choice([-SHIFT, SHIFT], runs.size)[place]

    def draws(share: str) -> Any:  # noqa: ANN401 - an array of shape (turns, 2)
        chance = (sample[share].to_numpy() + shift)[:, None]
        return rng.random((sample.height, 2)) < chance

    public, other = draws("p"), draws("q")
    cell: dict[str, Any] = dict.fromkeys(set(CELL) - {*sample.columns}, "x")
    return sample.drop("p", "q").with_columns(
        *(pl.lit(value).alias(name) for name, value in cell.items() if name != "dose"),
        dose=pl.lit(None, pl.Float64),
        cluster="run",
        round="turn",
        question=pl.lit("audience"),
        left_channel=pl.lit("public"),
        right_channel=pl.lit("off_record"),
        pressed_side=pl.lit("SHIP"),
        left=pl.Series(public[:, 0]),
        right=pl.Series(other[:, 0]),
        left_draws=pl.lit(2),
        right_draws=pl.lit(2),
        left_on=pl.Series(public.sum(axis=1)),
        right_on=pl.Series(other.sum(axis=1)),
    )


class Found(NamedTuple):
    """How a figure came out over all studies."""

    truth: float
    mean: float
    covered: float
    """Share of intervals that hold the truth."""
    width: float


def found(studies: int = STUDIES, seed: int = 0) -> Mapping[str, Found]:
    """Gap, divergence and D* of planted probes; and the gap without weights.

    Args:
        studies: How many are drawn.
        seed: Of all of them.
    """
    rng, turns, planted = np.random.default_rng(seed), population(), truth()
    values: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(studies):
        pairs = study(turns, rng)
        (row,) = probe_rows(pairs, ())
        alike = pairs.with_columns(weight=pl.lit(1.0))
        (bare,) = probe_rows(alike, ())
        for name, bounds in (
            ("gap", row.of.gap),
            ("divergence", row.of.divergence),
            ("D*", row.of.d_star),
            ("gap without weights", bare.of.gap),
        ):
            values.setdefault(name, []).append((bounds.value, bounds.low, bounds.high))
    true = {**planted._asdict(), "D*": planted.d_star}
    true["gap without weights"] = planted.gap
    made = {}
    for name, rows in values.items():
        value, low, high = np.array(rows).T
        covered = (low <= true[name]) & (true[name] <= high)
        made[name] = Found(
            true[name], value.mean(), covered.mean(), float((high - low).mean())
        )
    return made


def run(seed: int = 1, studies: int = STUDIES) -> list[Figure]:
    """The coverage of a probe's intervals."""
    return [
        Figure(
            f"coverage of {name}, {studies:,} planted probes",
            f"{100 * one.covered:.1f} %",
            "" if "without" in name else "at least 93 %",
        )
        for name, one in found(studies, seed).items()
    ]


def main() -> None:
    """Print the table of docs/coverage.md."""
    print("| figure | planted | mean | coverage | width |\n|---|--:|--:|--:|--:|")
    for name, one in found().items():
        shown = (100 * one.truth, 100 * one.mean, 100 * one.covered, 100 * one.width)
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in shown)} |")


if __name__ == "__main__":
    main()
