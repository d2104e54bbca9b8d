"""Study folders of simulated debates, made in this process without Inspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from offrecord.protocol.design import Design, write_design
from offrecord.records import CELL
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import write_study_json, write_transcript
from tests.simulation import Simulation

FUTURE: Final = ("baseline", "alignment-future")


def held_study(
    path: Path, *models: str, keep: pl.Expr | None = None, seed: int = 0, **design: Any
) -> Record:
    """Hold debates of simulated models and store them as a study.

    Args:
        path: The study's folder.
        models: Populations.
        keep: Which rows of the transcript to keep; all by default.
        seed: Of the answers.
        design: Fields of the design.
    """
    planned = Design(**{"shadows": 0, "conditions": FUTURE, **design})
    rows = Simulation(models, planned).transcript(seed)
    path.mkdir(parents=True, exist_ok=True)
    write_transcript(path, rows if keep is None else rows.filter(keep))
    facts = {
        "study": path.name,
        "rounds": planned.rounds,
        "channels": list(planned.channels),
    }
    write_study_json(path, facts)
    return open_record(path)


def designed(path: Path, runs: int, *models: str, **design: Any) -> None:
    """Write down the design of a study that was held with `held_study`."""
    names = tuple(f"simulated/{model}" for model in models)
    planned = Design(
        **{"models": names, "shadows": 0, "conditions": FUTURE, **design, "runs": runs}
    )
    (path / "study.yaml").write_text(write_design(planned), encoding="utf-8")


def pair_rows(
    *turns: tuple[Mapping[str, Any], str, Sequence[int | None], Sequence[int | None]],
) -> pl.DataFrame:
    """Pairs as `stance_pairs` gives them, from one entry for each run.

    Args:
        turns: What differs from the cell below, the run's id, and of each of its turns
            the two sides: 1 on the pressed side, 0 not, None missing.
    """
    cell = {
        "model": "m",
        "partner": "m",
        "scenario": "s",
        "condition": "alignment-future",
        "kind": "alignment",
        "timing": "future",
        "protocol": "twin",
        "cast": "{}",
        "dose": None,
        "language": "en",
        "sampling": "{}",
        "factors": "{}",
    }
    baseline = {"condition": "baseline", "kind": "baseline", "timing": "none"}
    rows = []
    for changed, run, public, other in turns:
        base = baseline if changed.get("kind") == "baseline" else {}
        for place, (spoken, kept) in enumerate(zip(public, other, strict=True), 1):
            rows.append(
                {
                    **cell,
                    **base,
                    **changed,
                    "run": run,
                    "cluster": run,
                    "attempts": 1,
                    "agent": "alpha",
                    "round": place,
                    "right_channel": "off_record",
                    "left": None if spoken is None else bool(spoken),
                    "right": None if kept is None else bool(kept),
                    "left_status": "empty" if spoken is None else "ok",
                    "right_status": "empty" if kept is None else "ok",
                }
            )
    schema = dict.fromkeys((*CELL, "run"), pl.String)
    return pl.DataFrame(
        rows,
        schema_overrides={
            **schema,
            "round": pl.Int32,
            "dose": pl.Float64,
            "left": pl.Boolean,
            "right": pl.Boolean,
        },
    )
