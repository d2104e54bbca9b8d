"""Recovery: the estimates give back the truth that was planted in a simulated study.

Table 1 of the paper is planted in ten models, 750 runs. One seed goes through
`offrecord run`, with Inspect, its logs and their import; twenty go through protocol,
population, parsers and estimates in this process. A second population has identical
channels: it must show no gap, although its replies of one turn often differ.

    python -m benchmarks recovery --seed 1
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Final

import numpy as np
import polars as pl

from benchmarks import Figure
from benchmarks.nominal import expected_coverage
from offrecord.content import data_folder, read_document
from offrecord.measures.parsed import pairs_of
from offrecord.measures.tables import stance_table
from offrecord.transcript.record import open_record
from tests.simulation import Recovered, Simulation

SEEDS: Final = 20
RUNS: Final = 750

_FREQUENT: Final = 0.05  # below, many samples show no divergent turn at all


def run(seed: int = 1) -> list[Figure]:
    """Recover the planted truth.

    Args:
        seed: The first of the seeds; the first goes through Inspect.
    """
    simulation = Simulation(paper_models())
    pairs = {seed + i: _pairs(simulation, seed + i) for i in range(SEEDS)}
    figures = list(_through_inspect(simulation, seed, pairs[seed]))
    by_model = [list(simulation.recovered(p)) for p in pairs.values()]
    pooled = [list(simulation.recovered(p, ["condition"])) for p in pairs.values()]
    every = list(chain.from_iterable(by_model))
    figures += _coverage("by model", every, simulation)
    every = list(chain.from_iterable(pooled))
    figures += _coverage("models pooled", every, simulation)
    figures.append(_bias(pooled))
    return [*figures, *_null(seed)]


def _pairs(simulation: Simulation, seed: int) -> pl.DataFrame:
    transcript = simulation.transcript(seed)
    return simulation.pairs(transcript, stance_table(transcript))


def paper_models() -> list[str]:
    """The populations that plant one row of Table 1 each."""
    table = read_document(data_folder("populations/paper.yaml")).front["table"]
    return [f"paper/{row}" for row in table["rows"] if row != table["default"]]


def _through_inspect(
    simulation: Simulation, seed: int, expected: pl.DataFrame
) -> Iterator[Figure]:
    """One seed through `offrecord run`, against the same seed in this process."""
    models = [part for m in simulation.populations for part in ("--model", m)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "study"
        command = [
            *(sys.executable, "-m", "offrecord", "run", "--out", str(out), *models),
            *("--shadows", "0", "--seed", str(seed)),
            *("--", "--display", "none", "--no-log-realtime"),  # no one watches
        ]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        if done.returncode:
            raise RuntimeError(f"{done.stdout}\n{done.stderr}")
        pairs = pairs_of(open_record(out))
    key = ["run", "agent", "round"]
    value = [*key, "left", "right"]
    same = pairs.select(value).sort(key).equals(expected.select(value).sort(key))
    found = list(simulation.recovered(pairs))
    yield Figure("runs through Inspect", f"{pairs['run'].n_unique()}", str(RUNS))
    yield Figure("  took", f"{seconds:.0f} s")
    yield Figure("  pairs missing", str(sum(r.row["missing"] for r in found)), "0")
    yield Figure("  the same stances as in process", "yes" if same else "NO", "yes")
    yield from _coverage("this seed by model", found, simulation)


def _coverage(
    what: str, found: Sequence[Recovered], simulation: Simulation
) -> Iterator[Figure]:
    """How often the planted rate is within two clustered standard errors.

    The aim is what the design itself gives, since 15 short runs are too few for the
    normal 95 %, and a rate near zero often shows no divergent turn at all.
    """
    rng = np.random.default_rng(0)
    design = simulation.design
    [persistence] = {p.file.persistence for p in simulation.populations.values()}
    nominal = {
        rates: expected_coverage(
            rates,
            runs=design.runs,
            rounds=design.rounds,
            persistence=persistence,
            rng=rng,
        )
        for rates in dict.fromkeys(map(_rates, found))
    }
    for which, least in (("", 0.0), (f", {_FREQUENT:.0%} or more", _FREQUENT)):
        chosen = [r for r in found if r.planted.divergence > least]
        expected = [nominal[_rates(r)] for r in chosen]
        spread = sum(p * (1 - p) for p in expected) ** 0.5 / len(expected)
        yield Figure(
            f"truth within 2 se: {what}{which}",
            f"{100 * fmean(r.covered for r in chosen):.1f} % of {len(chosen)}",
            f"{100 * fmean(expected):.1f} ± {100 * 2 * spread:.1f} %",
        )


def _rates(found: Recovered) -> tuple[float, ...]:
    return tuple(rates.divergence for rates in found.cells)


def _bias(seeds: Sequence[Sequence[Recovered]]) -> Figure:
    """The mean error over all conditions and seeds: what noise cannot explain."""
    errors = [fmean(100 * r.error for r in found) for found in seeds]
    return Figure("mean error, points", _mean_and_error(errors), "0 within 2 se")


def _null(seed: int) -> Iterator[Figure]:
    """The population with identical channels."""
    simulation = Simulation(["null"])
    gaps, divergences, planted = list[float](), list[float](), math.nan
    for number in range(seed, seed + SEEDS):
        found = list(simulation.recovered(_pairs(simulation, number), ["condition"]))
        gaps.append(fmean(100 * r.row["gap"] for r in found))
        divergences.append(fmean(100 * r.row["divergence"] for r in found))
        planted = fmean(100 * r.planted.divergence for r in found)
    yield Figure("null: gap, points", _mean_and_error(gaps), "0 within 2 se")
    yield Figure(
        "null: divergence, points", _mean_and_error(divergences), f"{planted:.1f}"
    )


def _mean_and_error(values: Sequence[float]) -> str:
    """Mean over seeds with its standard error, which the seeds' own spread gives."""
    return f"{fmean(values):.2f} ± {stdev(values) / len(values) ** 0.5:.2f}"
