"""Faulty providers: what is kept of a study at set rates of faults.

A server on this machine spoils replies in every way that `tests/faulty.py` knows, and
keeps what it answered well. Each good reply must stand in the record word for word,
each fault under its status, and nothing off the record in any later prompt.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks import Figure, run_against
from offrecord.records import Form, Status
from offrecord.transcript.record import open_record
from tests.fake_server import FakeServer
from tests.faulty import Faulty

RATES: Final = (0.1, 0.3, 0.6)


def run(seed: int) -> list[Figure]:
    """Hold a study at each rate of faults.

    Args:
        seed: Of the faults.
    """
    return [figure for rate in RATES for figure in _at(rate, seed)]


def _at(rate: float, seed: int) -> list[Figure]:
    faulty = Faulty(rate, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "study"
        _hold(faulty, out)
        rows = open_record(out).transcript
    good = [reply for reply in faulty.sent if reply.fault is None]
    whole = Counter(rows.select("prompt_hash", "text", "status").rows())
    kept = sum(whole[r.prompt, r.text, str(Status.OK)] > 0 for r in good)
    final = Counter((r.prompt, str(r.status)) for r in faulty.sent if r.status)
    unlike = final - Counter(rows.select("prompt_hash", "status").rows())
    again = sum(reply.status is None for reply in faulty.sent)
    public = rows.filter(channel="public", form=Form.UTTERANCE, draw=0)
    spoken = set(public["text"].str.extract(r"(mark-\w+)").drop_nulls())
    prompts = "\n".join(text for _, text in faulty.prompts)
    leaks = sum(r.mark in prompts and r.mark not in spoken for r in faulty.sent)
    counted = rows["transport_retries"].sum()
    name = f"at {100 * rate:.0f} % faults, "
    return [
        Figure(f"{name}requests", str(len(faulty.sent))),
        Figure(f"{name}good replies kept", f"{kept} of {len(good)}", str(len(good))),
        Figure(f"{name}replies with another status", str(unlike.total()), "0"),
        Figure(f"{name}requests sent again, counted", str(counted), str(again)),
        Figure(f"{name}off the record in a later prompt", str(leaks), "0"),
    ]


def _hold(faulty: Faulty, out: Path) -> None:
    with FakeServer(respond=faulty) as server:
        run_against(
            server,
            "faulty",
            *("--out", str(out), "--scenario", "promotion"),
            *("--condition", "baseline", "--condition", "alignment-future"),
            *("--runs", "10", "--rounds", "3"),
            *("--", "--display", "none", "-M", "client_timeout=5"),
        )
