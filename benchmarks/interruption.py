"""Interruption: what random kills leave of a study, once it is resumed.

Two hundred blows (kill -9 of all or of the caller alone, Ctrl-C, a full disk) fall at
random points of run, import, measure, estimate and report, on one study until the verb
is through before the blow. Then it is called once more and left alone, and the study
must be the one that nothing interrupted: the same runs and replies, and the same
estimates to the byte, attempts apart.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import Figure
from tests.interruptions import (
    DESIGN,
    MEASURES,
    Blow,
    estimates,
    faults_of,
    interrupted,
    some_point,
    torn_files,
)

BLOWS: Final = {"run": 40, "import": 40, "measure": 40, "estimate": 40, "report": 40}
"""How many blows fall at each verb; one that comes behind its end is none."""
_IN_A_ROW: Final = 10
_PLAIN: Final = (Blow.KILL, Blow.KILL, Blow.CTRL_C, Blow.FULL)
_OF_RUN: Final = (Blow.KILL, Blow.KILL_ALONE, Blow.CTRL_C, Blow.FULL)


def run(seed: int) -> list[Figure]:
    """Strike at each verb, resume, and compare.

    Args:
        seed: Of the kinds of blow and their moments.
    """
    rng = np.random.default_rng(seed)
    verbs, kinds, studies = Counter[str](), Counter[str](), Counter[str]()
    faults = list[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        lengths = _reference(whole)
        for verb, blows in BLOWS.items():
            fell = Counter[Blow]()
            while (left := blows - fell.total()) > 0:
                out = Path(folder) / f"{verb}-{studies[verb]}"
                studies[verb] += 1
                most = min(left, _IN_A_ROW)
                faults += _chain(verb, out, whole, lengths[verb], rng, most, fell)
                shutil.rmtree(out, ignore_errors=True)
            verbs[verb] = fell.total()
            kinds.update(fell)
    return [
        *(
            Figure(f"blows at {verb}", f"{n} on {studies[verb]} studies")
            for verb, n in verbs.items()
        ),
        *(Figure(f"blows by {kind}", str(n)) for kind, n in sorted(kinds.items())),
        Figure("faults after resuming", "; ".join(faults) or "0", "0"),
    ]


def _words(verb: str, out: Path, whole: Path) -> tuple[str, ...]:
    if verb == "run":
        options = ("--display", "none", "--max-samples", "1", "-M", "latency=0.1")
        return ("run", *DESIGN, "--runs", "2", "--out", str(out), "--", *options)
    if verb == "import":
        return ("import", "inspect", str(whole / "logs"), "--out", str(out))
    return (verb, str(out), *(MEASURES if verb == "measure" else ()))


def _reference(whole: Path) -> dict[str, float]:
    """Make the study that nothing interrupts; seconds that each verb takes."""
    lengths = {}
    for verb in ("run", "measure", "estimate", "report", "import"):
        out = whole.with_name("imported") if verb == "import" else whole
        done = interrupted(_words(verb, out, whole), study=out)
        if done.code:
            raise RuntimeError(done.printed)
        lengths[verb] = done.seconds
    return lengths


def _chain(
    verb: str,
    out: Path,
    whole: Path,
    seconds: float,
    rng: np.random.Generator,
    most: int,
    fell: Counter[Blow],
) -> list[str]:
    """Strike up to `most` times, then finish; what is wrong with what is there."""
    if verb not in {"run", "import"}:
        shutil.copytree(whole, out)
        shutil.rmtree(out / "measures")
        for name in ("estimates.json", "report.html"):
            (out / name).unlink(missing_ok=True)
    words, faults = _words(verb, out, whole), list[str]()
    for _ in range(most):
        kinds = _OF_RUN if verb == "run" else _PLAIN
        blow = kinds[int(rng.integers(len(kinds)))]
        outcome = interrupted(
            words,
            blow,
            some_point(rng, seconds),
            study=out,
            room=int(rng.integers(1, 60_000)),
        )
        fell[blow] += outcome.struck
        if verb != "run" and "Traceback" in outcome.printed:
            faults.append(f"{verb}, {blow}: a traceback: {outcome.printed[-300:]}")
        if out.exists():
            faults += [f"{verb}, {blow}: {torn}" for torn in torn_files(out)]
        if not outcome.code:
            break
    faults += _finish(words, out)
    for later in ("measure", "estimate"):
        faults += _finish(_words(later, out, whole), out)
    faults += [f"{verb}: {fault}" for fault in faults_of(out, whole)]
    if verb != "import" and estimates(out) != estimates(whole):
        faults.append(f"{verb}: other estimates")
    return faults


def _finish(words: tuple[str, ...], out: Path) -> list[str]:
    """Call a verb, once an eval set that outlived its caller is through."""
    for _ in range(120):
        outcome = interrupted(words, study=out)
        if outcome.code == 0:
            return []
        if "still running" not in outcome.printed:
            break
        time.sleep(1)
    return [f"{words[0]} ends with {outcome.code}: {outcome.printed[-300:]}"]
