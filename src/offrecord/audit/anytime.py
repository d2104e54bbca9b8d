"""An audit by blocks: a gate that may be looked at after every one of them.

A block is one run of every cell that the gate reads, in the order of repeats. Evidence
for each figure is an e-value (`estimates.arrays.anytime`), which stays valid however
often it is looked at and whenever the runs stop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from offrecord.audit import EXIT_CODES
from offrecord.audit.closed import (
    ClosedRun,
    by_block,
    closed_runs,
    placed,
    run_digests,
    run_stances,
    turn_rows,
)
from offrecord.audit.gate import PREFIX, Gate
from offrecord.audit.interim import Interim, audit_line, count_analysis
from offrecord.estimates.arrays import anytime
from offrecord.estimates.arrays.anytime import ALPHA, Check
from offrecord.estimates.arrays.lookahead import earliest_verdict
from offrecord.estimates.arrays.plain import plain
from offrecord.estimates.arrays.rates import Values
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.card import target_pairs
from offrecord.estimates.frames.blocks import MEASURES, SHIFTED, Blocks, group_blocks
from offrecord.estimates.frames.groups import grouped, known_key
from offrecord.estimates.frames.pressed import GROUP_KEYS
from offrecord.protocol.design import Design
from offrecord.records import CELL, OffrecordError
from offrecord.transcript.audits import Anytime, EPath, read_audits
from offrecord.transcript.due import designed_runs, due_runs
from offrecord.transcript.record import Record

_LARGEST: Final = 300.0  # decimal places of an e-value as a number


class Group(NamedTuple):
    """What is judged alone."""

    keys: dict[str, Any]
    samples: frozenset[tuple[str, str]]
    """Model and sample of its cells."""
    runs: frozenset[str]
    """Of the cells of its blocks."""
    blocks: Blocks
    judged: anytime.Gate

    @property
    def verdict(self) -> Verdict:
        """Of this group, after all of its blocks."""
        return self.judged.verdict(self.blocks.whole)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A gate after the blocks that a study has so far."""

    measures: tuple[str, ...]
    groups: tuple[Group, ...]
    placed: tuple[ClosedRun, ...]
    """Every run that has ended, in its block."""

    @property
    def verdict(self) -> Verdict:
        """Fails once a group does, passes once all do."""
        found = {group.verdict for group in self.groups}
        if Verdict.FAIL in found:
            return Verdict.FAIL
        return Verdict.PASS if found == {Verdict.PASS} else Verdict.INCONCLUSIVE

    @property
    def checks(self) -> int:
        """How many figures are judged, over all groups."""
        return len(self.measures) * len(self.groups)

    @property
    def undecided(self) -> list[Group]:
        """The groups that need more blocks."""
        return [one for one in self.groups if one.verdict is Verdict.INCONCLUSIVE]

    def more(self, most: int) -> int:
        """Blocks to add before another look, since none before can bring a verdict.

        Args:
            most: Blocks at most, those so far included.

        Returns:
            0 where no block can bring one by then.
        """
        left = (
            earliest_verdict(one.blocks.checks, most, of=self.checks) - one.blocks.whole
            for one in self.undecided
            if one.blocks.whole < most
        )
        return min((blocks for blocks in left if blocks > 0), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockAudit:
    """What an audit by blocks found."""

    study: str
    gate: Gate
    judgement: Judgement
    found: Anytime
    figures: tuple[Mapping[str, Any], ...]
    """Of each check: value, blocks, runs."""
    runs: int
    interim: Interim
    transcripts: str

    @property
    def verdict(self) -> Verdict:
        """As `Judgement.verdict`."""
        return self.judgement.verdict

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain values; what is undefined is None."""
        return {
            "study": self.study,
            "verdict": str(self.verdict),
            "exit": EXIT_CODES[self.verdict],
            "gate": self.gate.model_dump(mode="json"),
            "gate_digest": self.gate.digest,
            "transcripts": self.transcripts,
            "runs": self.runs,
            **self.interim._asdict(),
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
    closed = closed_runs(read_audits(study.path))
    digests, stances = run_digests(study), run_stances(target_pairs(study))
    due = _celled(due_runs(study))
    runs = placed(due, closed, digests, stances)
    judgement = _judged(due, runs, gate, _silent(study.facts["channels"]))
    found = _paths(judgement, gate)
    line = audit_line(
        study,
        gate,
        EXIT_CODES[judgement.verdict],
        closed=by_block(_newly_closed(judgement, closed)),
        anytime=found,
    )
    return BlockAudit(
        study=study.name,
        gate=gate,
        judgement=judgement,
        found=found,
        figures=tuple(_figures(judgement)),
        runs=study.ended_runs,
        interim=count_analysis(study, line),
        transcripts=line.transcripts,
    )


def judge_design(design: Design, gate: Gate) -> Judgement:
    """The judgement of a design without any run.

    Raises:
        OffrecordError: As `audit_blocks`.
    """
    due = _celled(designed_runs(design))
    return _judged(due, [], gate, _silent(design.listed))


def _silent(channels: Sequence[str]) -> list[str]:
    return sorted(channels[1:])


def _celled(due: pl.DataFrame) -> pl.DataFrame:
    number = pl.struct(CELL).rank("dense").cast(pl.Int64)
    return due.with_columns(_cell=number)


def _judged(
    due: pl.DataFrame, runs: Sequence[ClosedRun], gate: Gate, channels: Sequence[str]
) -> Judgement:
    thresholds = gate.thresholds
    without = [PREFIX + name for name in thresholds if name not in MEASURES]
    without += [] if gate.margin is None else ["margin"]
    if without:
        known = ", ".join(PREFIX + name for name in MEASURES)
        raise OffrecordError(
            f"{', '.join(without)}: has no e-process and cannot be judged by blocks: "
            f"leave it to an audit without --anytime (these have one: {known})"
        )
    by = [known_key(key, GROUP_KEYS, due.columns) for key in gate.by]
    parts = list(product(grouped(due, list(dict.fromkeys([*by, "agent"]))), channels))
    count = len(parts) * len(thresholds)
    groups = []
    for (keys, part), channel in parts:
        cells = part.unique("_cell", maintain_order=True).sort("_cell")
        numbers = dict(part.select("run", "_cell").iter_rows())
        turns = turn_rows(runs, numbers, f"{keys['agent']} {channel}")
        blocks = group_blocks(cells, turns, thresholds)
        several = {"right_channel": channel} if len(channels) > 1 else {}
        own = part.filter(pl.col("_cell").is_in(blocks.cells))
        groups.append(
            Group(
                {**keys, **several},
                frozenset(part.select("model", "sample").iter_rows()),
                frozenset(own["run"]),
                blocks,
                anytime.gate(blocks.checks, of=count),
            )
        )
    return Judgement(tuple(thresholds), tuple(groups), tuple(runs))


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
