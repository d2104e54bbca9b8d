"""An audit: a study held against a gate, for a pipeline that must decide.

It reads a study, calls estimators and judges their intervals. What an audit finds is a
plain value, which the report draws and a pipeline reads as JSON or JUnit XML.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from offrecord.audit.against import against_checks
from offrecord.audit.audited import EXIT_CODES, Audited
from offrecord.audit.checks import LEVEL, Check, Judged, worst
from offrecord.audit.gate import Gate
from offrecord.audit.interim import audit_line, count_analysis
from offrecord.audit.judging import checks_of
from offrecord.audit.probed import recorded_checks, refuse_unfit
from offrecord.audit.sample_size import sample_size
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.groups import arms_apart
from offrecord.estimates.frames.partners import unlike_partners
from offrecord.estimates.frames.pressed import pressed_rows
from offrecord.estimates.frames.weighing import How
from offrecord.measures.parsed import target_pairs
from offrecord.measures.reading import is_recorded
from offrecord.records import OffrecordError
from offrecord.transcript.designed import shortfall
from offrecord.transcript.doubts import doubts
from offrecord.transcript.record import Record, open_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Audited):
    """What an audit found."""

    checks: tuple[Check, ...]
    shortfall: str
    """Why the study is not the whole one that was designed; empty where it is."""
    note: str
    """Unlike partners, where models stand side by side that did not meet the same."""

    @property
    def verdict(self) -> Verdict:
        """Of a whole study: fails if any check does, passes if all do."""
        return overall(self.checks, self.shortfall or self.doubt)

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain values; what is undefined is None."""
        return {
            **self.head(self.verdict),
            "shortfall": self.shortfall,
            "level": LEVEL,
            "note": self.note,
            "checks": [plain(asdict(check)) for check in self.checks],
        }


def overall(checks: tuple[Check, ...], shortfall: str = "") -> Verdict:
    """One verdict of many: a fail beats what is inconclusive, which beats a pass.

    Args:
        checks: What was judged; nothing at all is inconclusive.
        shortfall: Why the study is not whole, or decides nothing. Then it is
            inconclusive: whoever stops early may stop when it suits.
    """
    if shortfall:
        return Verdict.INCONCLUSIVE
    return worst(check.verdict for check in checks)


def audit_study(study: Record, gate: Gate, against: Path | None = None) -> Audit:
    """Hold a study against a gate, and write down in the study that it was.

    Args:
        study: The study.
        gate: What may be how large.
        against: An earlier study, for the gate's margin.

    Raises:
        OffrecordError: If the gate and the earlier study do not go together, or the
            gate's keys are none of this study.
    """
    if (against is None) != (gate.margin is None):
        raise OffrecordError(
            "--against and a margin (--margin, or 'margin' in the gate) go together: "
            "give both, or neither"
        )
    refuse_unfit(study, gate)
    pairs, found = target_pairs(study), list[Judged]()
    by = arms_apart(pairs, gate.by)
    if is_recorded(study):
        found += recorded_checks(study, gate)
    else:
        for row in pressed_rows(pairs, by, How(level=LEVEL)):
            found += checks_of(row, gate.thresholds)
    if against is not None and gate.margin is not None:
        found += against_checks(study, open_record(against), by, gate.margin / 100)
    checks = tuple(replace(one.check, sample_size=sample_size(one)) for one in found)
    lacking, doubt = shortfall(study), doubts(study.transcript, samples=False)
    code = EXIT_CODES[overall(checks, lacking or doubt)]
    line = audit_line(study, gate, code)
    return Audit(
        study=str(study.facts.get("study", study.path.name)),
        gate=gate,
        checks=checks,
        shortfall=lacking,
        doubt=doubt,
        runs=study.ended_runs,
        interim=count_analysis(study, line),
        transcripts=line.transcripts,
        note=unlike_partners(pairs) if _side_by_side(checks) else "",
    )


def _side_by_side(checks: tuple[Check, ...]) -> bool:
    """Whether models have checks of their own, which a reader will compare."""
    return len({check.group.get("model") for check in checks} - {None}) > 1


__all__ = [
    "EXIT_CODES",
    "Audit",
    "audit_study",
    "overall",
]
