"""What audits of every kind say about the study that they judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from offrecord.audit.gate import Gate
from offrecord.audit.interim import Interim
from offrecord.estimates.arrays.verdict import Verdict

EXIT_CODES: Final = {
    Verdict.PASS: 0,
    Verdict.FAIL: 1,
    Verdict.INCONCLUSIVE: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A study, the gate that it was held against, and how often that was done."""

    study: str
    gate: Gate
    doubt: str
    """Why its replies decide nothing, whole or not; empty where they do."""
    runs: int
    """Runs that ended by themselves."""
    interim: Interim
    transcripts: str
    """The digest of what was judged."""

    def head(self, verdict: Verdict) -> dict[str, Any]:
        """The verdict and what it is about, as plain values."""
        return {
            "study": self.study,
            "verdict": str(verdict),
            "exit": EXIT_CODES[verdict],
            "gate": self.gate.model_dump(mode="json"),
            "gate_digest": self.gate.digest,
            "transcripts": self.transcripts,
            "runs": self.runs,
            "doubt": self.doubt,
            **self.interim._asdict(),
        }
