"""Interim analyses: how often a study was judged while its runs grew.

Whoever adds runs until a gate passes gives chance one more try at every analysis. Each
audit leaves one line in the study, so that the next one can say how many there were.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from offrecord.audit.gate import Gate
from offrecord.content.boundary.files import read_file
from offrecord.records import OffrecordError
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY

AUDITS_FILE: Final = "audits.jsonl"


class Interim(NamedTuple):
    """How often a study was judged, this time included."""

    interim_analyses: int
    """States of the study's transcripts that any gate was held against."""
    gates: int
    """Different gates that were held against it and that luck could decide."""
    chances: int
    """Different pairs of the two: each could have come out well by luck."""
    audits: int


def transcript_digest(study: Record) -> str:
    """A hash of what was said: the same for the same rows, however they are stored."""
    said = study.transcript.select(*ROW_KEY, "ended", "status", "text").sort(ROW_KEY)
    return hashlib.sha256(said.write_csv().encode()).hexdigest()[:16]


def count_analysis(
    study: Record, gate: Gate, exit_code: int, transcripts: str
) -> Interim:
    """Count this audit among those before it, and write it down.

    Args:
        study: The study.
        gate: What it was held against.
        exit_code: How the audit ends.
        transcripts: The digest of what was said.

    Raises:
        OffrecordError: If the record cannot be read or written.
    """
    path = study.path / AUDITS_FILE
    before = _before(path)
    now = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "transcripts": transcripts,
        "gate": gate.digest,
        "chance": gate.chance,
        "runs": study.ended_runs,
        "exit": exit_code,
    }
    every = [*before, now]
    tried = [one for one in every if one["chance"]]
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(now) + "\n")
    except OSError as error:
        raise OffrecordError(f"{path}: cannot be written ({error.strerror})") from None
    return Interim(
        interim_analyses=len({one["transcripts"] for one in every}),
        gates=len({one["chance"] for one in tried}),
        chances=len({(one["transcripts"], one["chance"]) for one in tried}),
        audits=len(every),
    )


def _before(path: Path) -> list[dict[str, Any]]:
    try:
        lines = read_file(path).decode().splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise OffrecordError(f"{path}: cannot be read ({error})") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            one = json.loads(line)
            gate = str(one["gate"])
            said, chance = str(one["transcripts"]), str(one.get("chance", gate))
            found.append({"transcripts": said, "gate": gate, "chance": chance})
        except (ValueError, TypeError, KeyError):
            raise OffrecordError(
                f"{path}, line {number}: not a line of an earlier audit: mend it, or "
                "move the file away"
            ) from None
    return found
