"""`offrecord run --until`: add blocks of runs until a gate has its verdict."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from offrecord.audit.anytime import BlockAudit, audit_blocks
from offrecord.audit.gate import Gate, read_gate
from offrecord.audit.judgement import judge_design
from offrecord.cli.summary import said_nothing, show_summary
from offrecord.estimates.arrays.verdict import Verdict
from offrecord.protocol.design import Design
from offrecord.records import OffrecordError
from offrecord.report.anytime import print_blocks
from offrecord.runner.logs import log_root
from offrecord.runner.resolve import design_over
from offrecord.runner.run import Finished
from offrecord.runner.shards.files import known_design
from offrecord.runner.shards.ray import run_on_ray
from offrecord.runner.shards.run import Cells, run_rest
from offrecord.runner.until import Step, run_until
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import TRANSCRIPT_FILE


class Call(NamedTuple):
    """What `run` was called with."""

    file: Path | None
    """The user's `study.yaml`."""
    fields: dict[str, Any]
    """Design fields given on the command line."""
    words: Sequence[str]
    """Options for `inspect eval-set`."""
    out: Path
    """The study's folder."""
    root: str | None
    """Where logs are written."""
    ray: dict[str, Any] | None
    """Address and number of shards, where a cluster runs them."""

    def hold(self, runs: int, without: Cells) -> Finished:
        """Run so many repeats of every cell, but for some."""
        fields, out = {**self.fields, "runs": runs}, self.out
        asked = (self.file, fields, self.words, out)
        if self.ray is not None:
            return run_on_ray(*asked, self.root, **self.ray, without=without)
        return run_rest(*asked, log_root(out, self.root), without)


def run_to_verdict(call: Call, until: Path, most: int | None) -> None:
    """Run a design block by block, judge it, and print the path of the e-values.

    Args:
        call: What is to be run.
        until: The gate.
        most: Runs of a cell at most.

    Raises:
        OffrecordError: If an option or the gate is wrong.
    """
    if most is None or "runs" in call.fields:
        raise OffrecordError(
            "--until: give --max-runs N, the runs of each cell at most, and no --runs"
        )
    out, gate = call.out, read_gate(until, {})
    known = known_design(out, log_root(out, call.root))
    runs = known.runs if known else 0
    fields = {**call.fields, "runs": max(runs, 1)}
    design = design_over(known, call.file, fields, call.words, out)
    if design.on:
        raise OffrecordError("--until: a replay has one run of each, and no blocks")
    if runs > most:
        raise OffrecordError(
            f"--max-runs {most}: this study has {runs} runs of each cell already"
        )
    looks: list[BlockAudit] = []
    judge = partial(_step, design, gate, most, looks)
    begun = known == design and (out / TRANSCRIPT_FILE).is_file()
    why = run_until(judge, call.hold, open_record(out) if begun else None, runs, most)
    if looks:
        show_summary(open_record(out))
        print_blocks(looks[-1].as_dict())
    if why:
        click.echo(
            f"offrecord: no verdict: {why}; go on with: offrecord run --out {out} "
            f"--until {until} --max-runs N",
            err=True,
        )
        sys.exit(1)


def _step(
    design: Design,
    gate: Gate,
    most: int,
    looks: list[BlockAudit],
    study: Record | None,
) -> Step:
    """What comes next, by a gate; a look at a study is one more of `looks`."""
    if study is None:
        judged, doubt = judge_design(design, gate), ""
    else:
        looks.append(audit_blocks(study, gate))
        judged = looks[-1].judgement
        doubt = looks[-1].doubt or said_nothing(study)
    left, verdict = judged.undecided, judged.verdict
    blocks = min((one.blocks.whole for one in left), default=0)
    decided = (
        one.samples for one in judged.groups if one.verdict is not Verdict.INCONCLUSIVE
    )
    return Step(
        settled=verdict is not Verdict.INCONCLUSIVE and not doubt,
        blocks=blocks,
        more=judged.more(most),
        decided=frozenset[tuple[str, str]]().union(*decided),
        said=f"{verdict}; {len(left)} of {len(judged.groups)} groups are not decided"
        + (f" after {blocks} blocks" if left else ""),
        doubt=doubt,
    )
