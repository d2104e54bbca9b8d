"""An audit by blocks: a gate that may be looked at after every one of them.

A block is one run of every cell that the gate reads, in the order of repeats. Evidence
for each figure is an e-value (`estimates.arrays.anytime`), which stays valid however
often it is looked at and whenever the runs stop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from offrecord.audit.audited import EXIT_CODES, Audited
from offrecord.audit.closed import (
    ClosedRun,
    by_block,
    closed_runs,
    placed,
    run_digests,
    run_stances,
)
from offrecord.audit.gate import Gate
from offrecord.audit.interim import audit_line, count_analysis
from offrecord.audit.judgement import Group, Judgement, celled, judge_runs
from offrecord.estimates.arrays import anytime
from offrecord.estimates.arrays.anytime import ALPHA, Check
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.blocks import SHIFTED
from offrecord.measures.parsed import target_pairs
from offrecord.measures.reading import is_recorded
from offrecord.records import OffrecordError
from offrecord.transcript.answered import mixed_answers
from offrecord.transcript.audits import Anytime, EPath, read_audits
from offrecord.transcript.due import due_runs
from offrecord.transcript.record import Record

_LARGEST: Final = 300.0  # decimal places of an e-value as a number


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockAudit(Audited):
    """What an audit by blocks found."""

    judgement: Judgement
    found: Anytime
    figures: tuple[Mapping[str, Any], ...]
    """Of each check: value, blocks, runs."""

    @property
    def verdict(self) -> Verdict:
        """As `Judgement.verdict`; inconclusive where it is not known who answered."""
        return Verdict.INCONCLUSIVE if self.doubt else self.judgement.verdict

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain values; what is undefined is None."""
        return {
            **self.head(self.verdict),
            "alpha": ALPHA,
            "pass_at": self.found.pass_at,
            "fail_at": self.found.fail_at,
            "checks": [
                plain({**path.model_dump(), **figures})
                for path, figures in zip(self.found.checks, self.figures, strict=True)
            ],
        }


def audit_blocks(study: Record, gate: Gate) -> BlockAudit:
    """Judge the whole blocks of a study, close them, and write down that it was done.

    Args:
        study: The study.
        gate: What may be how large.

    Raises:
        OffrecordError: If a threshold has no e-process, or the gate's keys are none of
            this study.
    """
    if is_recorded(study):
        raise OffrecordError("--anytime: recorded conversations have no blocks of runs")
    closed = closed_runs(read_audits(study.path))
    digests, stances = run_digests(study), run_stances(target_pairs(study))
    due = celled(due_runs(study))
    runs = placed(due, closed, digests, stances)
    judgement = judge_runs(due, runs, gate, study.facts["channels"])
    found, doubt = _paths(judgement, gate), mixed_answers(study.transcript)
    line = audit_line(
        study,
        gate,
        EXIT_CODES[Verdict.INCONCLUSIVE if doubt else judgement.verdict],
        closed=by_block(_newly_closed(judgement, closed)),
        anytime=found,
    )
    return BlockAudit(
        study=study.name,
        gate=gate,
        judgement=judgement,
        doubt=doubt,
        found=found,
        figures=tuple(_figures(judgement)),
        runs=study.ended_runs,
        interim=count_analysis(study, line),
        transcripts=line.transcripts,
    )


def _newly_closed(judgement: Judgement, closed: Sequence[ClosedRun]) -> list[ClosedRun]:
    before = {(one.run, one.block) for one in closed}
    return [
        one
        for one in judgement.placed
        if (one.run, one.block) not in before
        and any(
            one.run in group.runs and one.block <= group.blocks.whole
            for group in judgement.groups
        )
    ]


def _paths(judgement: Judgement, gate: Gate) -> Anytime:
    fail_at = judgement.checks / ALPHA
    limits = gate.thresholds
    return Anytime(
        pass_at=1 / ALPHA,
        fail_at=fail_at,
        checks=tuple(
            EPath(
                group=group.keys,
                measure=measure,
                threshold=limits[measure],
                verdict=_verdict(group, paths, fail_at),
                e_below=_e_values(paths.below),
                e_above=_e_values(paths.above),
            )
            for group in judgement.groups
            for measure, paths in zip(
                judgement.measures, group.judged.paths, strict=True
            )
        ),
    )


def _e_values(logs: Values) -> tuple[float, ...]:
    most = np.minimum(logs, _LARGEST * math.log(10))
    return tuple(float(f"{value:.4g}") for value in np.exp(most))


def _verdict(group: Group, paths: anytime.Paths, fail_at: float) -> Verdict:
    """Of one check, up to the block that decided its group."""
    decided = max(int(group.judged.passed), int(group.judged.failed))
    seen = decided or group.blocks.whole
    if int(group.judged.failed) and (paths.above[:seen] >= math.log(fail_at)).any():
        return Verdict.FAIL
    shown = (paths.below[:seen] >= -math.log(ALPHA)).any()
    return Verdict.PASS if shown else Verdict.INCONCLUSIVE


def _figures(judgement: Judgement) -> list[dict[str, Any]]:
    return [
        {
            "value_low": low,
            "value_high": high,
            "blocks": group.blocks.whole,
            "runs": group.blocks.whole * check.weights.size,
            "decided": max(int(group.judged.passed), int(group.judged.failed)) or None,
        }
        for group in judgement.groups
        for name, check in zip(judgement.measures, group.blocks.checks, strict=True)
        for low, high in [_value(check, 2.0 if name in SHIFTED else 1.0)]
    ]


def _value(check: Check, scale: float) -> tuple[float, float]:
    """The figure over all blocks, missing turns at either end; NaN without any."""
    if not check.means.low.shape[0]:
        return math.nan, math.nan
    low, high = (float(side.mean(axis=0) @ check.weights) for side in check.means)
    return scale * low, scale * high
