"""One study on one machine, in 4 and in 16 shards: the same estimates to the byte."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import Figure
from offrecord.estimates.frames.table import as_json, estimate_table
from offrecord.measures.parsed import pairs_of
from offrecord.protocol.part import Part
from offrecord.runner.logs import log_root
from offrecord.runner.run import run_study
from offrecord.runner.shards.run import import_logs, run_shard
from offrecord.transcript.record import Record

QUIET = ("--display", "none")
ASKED: dict[str, Any] = {
    "models": ("simulated/paper", "simulated/null"),
    "scenarios": ("promotion", "manuscript"),
    "conditions": ("baseline", "alignment-future"),
    "runs": 6,
    "rounds": 3,
}


def run() -> list[Figure]:
    """Run the same 48 runs three times, and compare all that is estimated of them."""
    with tempfile.TemporaryDirectory() as made:
        begun = time.perf_counter()
        whole = run_study(None, ASKED, QUIET, Path(made) / "whole").study
        alone = time.perf_counter() - begun
        figures = [Figure("one machine", f"{alone:.0f} s, {whole.ended_runs} runs")]
        for count in (4, 16):
            begun = time.perf_counter()
            study = _in_shards(Path(made) / str(count), count)
            seconds = time.perf_counter() - begun
            same = _estimates(study) == _estimates(whole)
            figures.append(
                Figure(
                    f"{count} shards, {os.cpu_count()} at once",
                    f"{seconds:.0f} s, {study.ended_runs} runs, estimates "
                    f"{'the same' if same else 'DIFFER'}",
                    "the same",
                )
            )
    return figures


def _in_shards(out: Path, count: int) -> Record:
    root = log_root(out, None)

    def shard(number: int) -> None:
        run_shard(None, ASKED, QUIET, out, Part(number, count), root)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(shard, range(1, count + 1)))
    return import_logs(root, out)


def _estimates(study: Record) -> str:
    return as_json(estimate_table(pairs_of(study), ["model", "scenario", "condition"]))
