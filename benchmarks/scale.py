"""Time and memory of every stage after the calls, on 600, 6,000 and 60,000 runs.

The runs are debates of the simulated population, held in this process and written
straight to the table; the larger sets repeat the held ones under new run ids, each with
words of its own, so that nothing is read once for many. Each stage is a process of its
own: its processor time, libraries left out, and its peak memory, libraries included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from benchmarks import Figure
from benchmarks.importing import _peak as peak

if TYPE_CHECKING:
    from offrecord.protocol.debate import Debate, Script
    from tests.simulation import Simulation

SIZES: Final = (600, 6_000, 60_000)
HELD: Final = 4
"""Runs of each of the 150 cells that are held; the others repeat these."""

LOGGED: Final = (60, 600)
"""Runs that are read from Inspect logs, which hold far more than the table."""

_MEASURES: Final = ("stance", "survey", "attribution", "markers", "awareness")


def run(sizes: Sequence[int] = SIZES) -> Iterator[Figure]:
    """A line per stage and size, then each stage's slope and peak."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        _child("hold", root)
        peaks = []
        for stage in STAGES:
            costs = [_child(stage, root, size) for size in sizes]
            peaks += [megabytes for _, megabytes in costs]
            yield from _figures(stage, sizes, costs)
        most = f"{max(peaks):,.0f} MB"
        yield Figure("peak memory of any stage", most, "at most 8,000 MB")
        for size in LOGGED:
            _child("export", root, size)
        costs = [_child("read-logs", root, size) for size in LOGGED]
        yield from _figures("read Inspect logs of", LOGGED, costs)


def _figures(
    stage: str, sizes: Sequence[int], costs: Sequence[tuple[float, float]]
) -> Iterator[Figure]:
    for size, (seconds, megabytes) in zip(sizes, costs, strict=True):
        each = 1000 * seconds / size
        yield Figure(
            f"{stage} {size:,} runs",
            f"{seconds:.1f} s, {each:.2f} s per 1,000; {megabytes:,.0f} MB",
        )
    if len(sizes) > 1:
        # Of log time on log runs, by least squares: 1 where time is linear in runs.
        slope = np.polyfit(np.log(sizes), np.log([time for time, _ in costs]), 1)[0]
        yield Figure(f"{stage}: slope", f"{slope:.2f}", "at most 1.1")


def _child(stage: str, root: Path, size: int = 0) -> tuple[float, float]:
    """Seconds of the processor and megabytes at most of one stage."""
    # Libraries of the stages are loaded in the child alone: its peak is its own.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", stage, str(root), str(size)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def hold(root: Path, size: int = 0) -> Callable[[], object]:
    """Hold the debates and keep their rows and their facts."""
    del size
    import anyio

    from benchmarks.recovery import paper_models
    from offrecord.protocol.design import Design
    from tests.simulation import Simulation

    simulation = Simulation(paper_models(), Design(runs=HELD))

    def work() -> None:
        rows, facts = anyio.run(_held, simulation)
        rows.write_parquet(root / "held.parquet")
        (root / "facts.json").write_text(json.dumps(facts))

    return work


async def _held(simulation: Simulation) -> tuple[pl.DataFrame, dict[str, Any]]:
    from offrecord.protocol.dataset import METADATA_KEY, debate_dataset
    from offrecord.protocol.debate import Reply, Request, hold_debate
    from offrecord.transcript.schema import TRANSCRIPT_SCHEMA

    async def answer(request: Request) -> Reply:
        population = simulation.populations[request.stamp.cell.model]
        said = population.answer(request.stamp, request.frame, request.messages)
        return Reply(text=said.text, stop_reason=said.stop_reason, error=said.error)

    keying = {}
    for sample in debate_dataset(simulation.design):
        asked = (sample.metadata or {})[METADATA_KEY]
        keying[asked["scenario"]] = asked["keying"]
    rows, instruments = list[dict[str, Any]](), {}
    for script in simulation.scripts:
        scale = script.scenario.instrument
        instruments[scale.stamp] = {
            "items": [item.id for item in scale.items],
            "low": scale.low,
            "high": scale.high,
            **keying[script.scenario.id],
        }
        for repeat in range(1, HELD + 1):
            fixed = replace(script, repeat=repeat, seed=1)
            rows += _rows(fixed, await hold_debate(fixed, answer))
    facts = {
        "study": "scale",
        "source": "inspect",
        "rounds": simulation.design.rounds,
        "shadows": simulation.design.shadows,
        "channels": list(simulation.design.channels),
        "instruments": instruments,
    }
    return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA), facts


def _rows(script: Script, debate: Debate) -> Iterator[dict[str, Any]]:
    """Every output of a debate, as the importer of live logs would have it."""
    cell = script.cell
    for request, reply in debate.outputs:
        stamp, frame = request.stamp, request.frame
        survey = stamp.form == "survey"
        yield {
            "study": "scale",
            **cell.as_dict(),
            "factors": "{}",
            "run": cell.run(script.repeat),
            "repeat": script.repeat,
            "round": stamp.round,
            "turn": stamp.turn,
            "agent": stamp.agent,
            "agent_model": cell.model,
            "role": str(frame.role),
            "side": frame.side,
            "pressed_side": frame.pressed_side,
            "labels": list(frame.labels),
            "channel": stamp.channel,
            "audience": list(request.channel.audience),
            "form": str(stamp.form),
            "instrument": script.scenario.instrument.stamp if survey else None,
            "draw": stamp.draw,
            "attempt": 1,
            "ended": str(debate.ended),
            "transport_retries": 0,
            "text": reply.text,
            "status": str(reply.status),
            "stop_reason": reply.stop_reason,
            "structured": False,
            "constrained": False,
            "prompt_hash": request.prompt_hash,
            "history_hash": request.history_hash,
            "provider": "simulated",
            "model_answered": cell.model,
            "settings": "{}",
            "input_tokens": sum(len(text) for _, text in request.messages) // 4,
            "output_tokens": len(reply.text) // 4,
            "seconds": 0.0,
            "uuid": cell.run(script.repeat),
            "log": "logs/held.eval",
        }


def _repeated(held: pl.DataFrame, copies: int) -> pl.DataFrame:
    """The held runs so many times over, no two utterances alike."""
    said = pl.col("form") == "utterance"
    parts = []
    for copy in range(copies):
        run_id = (pl.col("run") + f"-{copy}").hash(seed=0).cast(pl.String)
        own = pl.when(said & (pl.col("text") != "")).then(
            pl.col("text") + f"\nThis is copy {copy} of it."
        )
        part = held.with_columns(
            run=run_id,
            repeat=pl.col("repeat") + HELD * copy,
            text=own.otherwise("text"),
            uuid=run_id,
        )
        parts.append(part.cast(held.schema))
    return pl.concat(parts)


def landed(root: Path, size: int) -> Callable[[], object]:
    """The end of every import: write the table, parse stances and surveys."""
    from offrecord.measures.parsed import write_parsed
    from offrecord.transcript.store import Imported

    held = pl.read_parquet(root / "held.parquet")
    facts: Mapping[str, Any] = json.loads((root / "facts.json").read_text())
    rows = _repeated(held, size // held["run"].n_unique())
    attempts = dict.fromkeys(rows["run"].unique(maintain_order=True).to_list(), 1)
    imported = Imported(
        transcript=rows, facts={**facts, "attempts": attempts}, left_out=()
    )
    return lambda: write_parsed(root / str(size), imported)


def exported(root: Path, size: int) -> Callable[[], object]:
    """Some of the held runs as Inspect logs."""
    from offrecord.export.logs import export_inspect
    from offrecord.transcript.record import open_record
    from offrecord.transcript.store import write_study_json, write_transcript

    held = pl.read_parquet(root / "held.parquet")
    some = held["run"].unique(maintain_order=True).gather_every(len(held) // 60 // size)
    study = root / f"of-{size}"
    study.mkdir()
    write_study_json(study, json.loads((root / "facts.json").read_text()))
    write_transcript(study, held.filter(pl.col("run").is_in(some.to_list())))
    return lambda: export_inspect(open_record(study), root / f"logs-{size}")


def read_logs(root: Path, size: int) -> Callable[[], object]:
    """The reading of logs, up to the table in memory."""
    from offrecord.transcript.inspect_logs import import_inspect

    return lambda: import_inspect(root / f"logs-{size}", "scale")


def measured(root: Path, size: int) -> Callable[[], object]:
    """Every measure that needs no model."""
    from offrecord.measures.measure import measure_study
    from offrecord.measures.options import Options
    from offrecord.transcript.record import open_record

    def work() -> None:
        taken = measure_study(open_record(root / str(size)), _MEASURES, Options())
        assert all(done.measured for done in taken), taken

    return work


def estimated(root: Path, size: int) -> Callable[[], object]:
    """Every estimate, with the views of a report."""
    from offrecord.estimates.estimator import Wanted
    from offrecord.estimates.file import write_estimates
    from offrecord.estimates.study import estimate_study
    from offrecord.transcript.record import open_record

    def work() -> None:
        study = open_record(root / str(size))
        write_estimates(study, estimate_study(study, Wanted()))

    return work


def reported(root: Path, size: int) -> Callable[[], object]:
    """The page, from stored estimates."""
    from offrecord.report.write import Report, report_study
    from offrecord.transcript.record import open_record

    return lambda: report_study(open_record(root / str(size)), Report())


STAGES: Final = {
    "import": landed,
    "measure": measured,
    "estimate": estimated,
    "report": reported,
}


def main() -> None:
    """One stage on one study: what `_child` calls."""
    stage, root, size = sys.argv[1:]
    work = {**STAGES, "hold": hold, "export": exported, "read-logs": read_logs}[stage](
        Path(root), int(size)
    )
    start = time.process_time()
    work()
    print(json.dumps([time.process_time() - start, peak()]))


if __name__ == "__main__":
    main()
