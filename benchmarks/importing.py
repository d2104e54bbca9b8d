"""How an import of published runs compares with decoding the same files.

The budget: at most six times as long as reading the files and decoding their JSON, up
to the written transcript, library imports left out and parsing timed apart; and under
400 MB of memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import Figure
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.store import Imported, write_study_json, write_transcript

SOURCE = Path(__file__).parents[2] / "shared" / "llmagora"
ROUNDS = 3


def run() -> list[Figure]:
    """Time and memory of importing the published runs."""
    if not SOURCE.is_dir():
        return [Figure("import of published runs", "skipped: no ../shared/llmagora")]
    decoding, importing = [], []
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"
        for _ in range(ROUNDS):  # side by side, so that both meet the same machine
            decoding.append(_seconds(_decode))
            importing.append(_seconds(lambda: _import(study)))
        imported = _import(study)
        parsing = _seconds(lambda: _parse(imported))
        peak = _peak_megabytes(study)
    ratio = min(importing) / min(decoding)
    return [
        Figure("read and JSON-decode 600 published runs", f"{min(decoding):.3f} s"),
        Figure("import them, to the written transcript", f"{min(importing):.3f} s"),
        Figure("import over decoding", f"{ratio:.2f}", "at most 6"),
        Figure("parse their stances and surveys", f"{parsing:.3f} s"),
        Figure("peak memory of the import", f"{peak:.0f} MB", "under 400 MB"),
    ]


def _decode() -> None:
    for pattern in ("sweep_*/*.json", "sweep_*/cases/*/*.json"):
        for path in SOURCE.glob(pattern):
            json.loads(path.read_bytes())


def _import(study: Path) -> Imported:
    imported = import_llmagora(SOURCE, "bench")
    study.mkdir(exist_ok=True)
    write_transcript(study, imported.transcript)
    write_study_json(study, imported.facts)
    return imported


def _parse(imported: Imported) -> None:
    # Here, so that the child whose memory is measured loads what an import loads.
    from offrecord.measures.tables import stance_table, survey_table

    stance_table(imported.transcript)
    survey_table(imported.transcript, imported.facts["instruments"])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak_megabytes(study: Path) -> float:
    """The peak of a process of its own that does nothing but import."""
    program = (
        "from pathlib import Path; from benchmarks import importing; "
        f"importing._import(Path({str(study)!r})); print(importing._peak())"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return float(output)


def _peak() -> float:
    """Megabytes. Linux's own figure, since getrusage inherits a parent's peak there."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
