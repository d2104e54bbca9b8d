"""Interim analyses: how often a study was judged while its runs grew.

Whoever adds runs until a gate passes gives chance one more try at every analysis. Each
audit leaves one line in the study, so that the next one can say how many there were.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any, NamedTuple

from offrecord.audit.gate import Gate
from offrecord.transcript.audits import AuditLine, add_audit, read_audits
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY


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


def count_analysis(study: Record, line: AuditLine) -> Interim:
    """Count this audit among those before it, and write it down.

    Args:
        study: The study.
        line: What is written down. By blocks, one gate is one chance for all analyses.

    Raises:
        OffrecordError: If the record cannot be read or written.
    """
    every = [*read_audits(study.path), line]
    tried = [
        ("" if one.anytime else one.transcripts, one.chance)
        for one in every
        if one.chance
    ]
    add_audit(study.path, line)
    return Interim(
        interim_analyses=len({one.transcripts for one in every}),
        gates=len({chance for _, chance in tried}),
        chances=len(set(tried)),
        audits=len(every),
    )


def audit_line(study: Record, gate: Gate, exit_code: int, **more: Any) -> AuditLine:  # noqa: ANN401
    """What is written down of an audit.

    Args:
        study: The study.
        gate: What it was held against.
        exit_code: How the audit ends.
        more: Other fields of the line.
    """
    return AuditLine(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        transcripts=transcript_digest(study),
        gate=gate.digest,
        chance=gate.chance,
        runs=study.ended_runs,
        exit=exit_code,
        **more,
    )
