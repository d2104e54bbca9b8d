"""What a gate says of blocks of runs: group by group, check by check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import polars as pl

from offrecord.audit.closed import ClosedRun, turn_rows
from offrecord.audit.gate import FIELDS, Gate
from offrecord.estimates.arrays import anytime
from offrecord.estimates.arrays.lookahead import earliest_verdict
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.estimates.frames.blocks import MEASURES, Blocks, group_blocks
from offrecord.estimates.frames.groups import arms_apart, grouped, known_key
from offrecord.estimates.frames.pressed import GROUP_KEYS
from offrecord.protocol.design import Design
from offrecord.records import CELL, OffrecordError
from offrecord.transcript.due import designed_runs


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


def judge_design(design: Design, gate: Gate) -> Judgement:
    """The judgement of a design without any run.

    Raises:
        OffrecordError: As `audit_blocks`.
    """
    due = celled(designed_runs(design))
    return judge_runs(due, [], gate, design.listed)


def celled(due: pl.DataFrame) -> pl.DataFrame:
    """Runs that are due, with `_cell` as the number of their cell."""
    number = pl.struct(CELL).rank("dense").cast(pl.Int64)
    return due.with_columns(_cell=number)


def judge_runs(
    due: pl.DataFrame, runs: Sequence[ClosedRun], gate: Gate, channels: Sequence[str]
) -> Judgement:
    """The judgement of runs in their blocks.

    Args:
        due: As `celled` gives them.
        runs: Those that have ended, each in its block.
        gate: What may be how large.
        channels: The spoken one first; each other one is judged alone.

    Raises:
        OffrecordError: If a threshold has no e-process, or a key is unknown.
    """
    thresholds = gate.thresholds
    without = [FIELDS[name] for name in thresholds if name not in MEASURES]
    without += [] if gate.margin is None else ["margin"]
    if without:
        known = ", ".join(FIELDS[name] for name in MEASURES)
        raise OffrecordError(
            f"{', '.join(without)}: has no e-process and cannot be judged by blocks: "
            f"leave it to an audit without --anytime (these have one: {known})"
        )
    keys = arms_apart(due, gate.by)
    by = [known_key(key, GROUP_KEYS, due.columns) for key in keys]
    silent = sorted(channels[1:])
    parts = list(product(grouped(due, list(dict.fromkeys([*by, "agent"]))), silent))
    count = len(parts) * len(thresholds)
    groups = []
    for (keys, part), channel in parts:
        cells = part.unique("_cell", maintain_order=True).sort("_cell")
        numbers = dict(part.select("run", "_cell").iter_rows())
        turns = turn_rows(runs, numbers, f"{keys['agent']} {channel}")
        blocks = group_blocks(cells, turns, thresholds)
        several = {"right_channel": channel} if len(silent) > 1 else {}
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
