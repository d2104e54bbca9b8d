"""Audits by blocks, and running until one has a verdict.

By hand, of one block: the audience effect is held against its limit by half of it, with
the gap of a condition's run and the negative one of a baseline run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from offrecord.audit.anytime import BlockAudit, audit_blocks
from offrecord.audit.gate import Gate
from offrecord.audit.judgement import judge_design
from offrecord.estimates.arrays.anytime import BETS, Check, gate, share_check
from offrecord.estimates.arrays.blocks import RunMeans
from offrecord.estimates.arrays.lookahead import earliest_verdict
from offrecord.estimates.frames.blocks import MEASURES, group_blocks
from offrecord.protocol.design import Design
from offrecord.records import CELL, OffrecordError
from offrecord.report.anytime import paragraph
from offrecord.report.write import Report, report_study, study_figure
from offrecord.runner.run import Finished
from offrecord.runner.shards.run import Cells
from offrecord.runner.until import Step, run_until
from offrecord.transcript.audits import AUDITS_FILE, read_audits
from offrecord.transcript.record import Record, open_record
from offrecord.transcript.store import write_transcript
from tests.conftest import Offrecord
from tests.simulated_studies import designed, held_study, pair_rows

NAN: Final = math.nan
SMALL: Final[dict[str, Any]] = {"rounds": 2, "scenarios": ("promotion",)}
WIDE: Final = Gate(max_divergence=95)
WITHOUT: Final = tuple(
    name
    for name in Gate.model_fields
    if name not in {"by", *(f"max_{one}" for one in MEASURES)}
)
"""Thresholds without an e-process."""
SHIFT: Final = Gate(max_audience_effect=50)


def held(path: Path, runs: int, *models: str, keep: pl.Expr | None = None) -> Record:
    study = held_study(path, *models, runs=runs, keep=keep, **SMALL)
    designed(path, runs, *models, **SMALL)
    return study


def e_values(found: BlockAudit, side: str = "e_below") -> tuple[float, ...]:
    [check] = found.found.checks
    values: tuple[float, ...] = getattr(check, side)
    return values


# ---------------------------------------------------------------------- from turns


def turns_of(*runs: tuple[int, int, list[float], list[float]]) -> pl.DataFrame:
    rows = [
        (cell, block, left, right)
        for cell, block, public, other in runs
        for left, right in zip(public, other, strict=True)
    ]
    return pl.DataFrame(
        rows, schema=["_cell", "_block", "left", "right"], orient="row"
    ).cast({"left": pl.Float64, "right": pl.Float64})


def cells_of(*kinds: str) -> pl.DataFrame:
    """One cell of each kind, numbered in this order."""
    rows = [({"kind": kind}, f"{n}", [1], [1]) for n, kind in enumerate(kinds)]
    cells = pair_rows(*rows).select(*CELL)
    return cells.with_columns(_cell=pl.int_range(pl.len(), dtype=pl.Int64))


def ends(check: Check) -> list[tuple[list[float], list[float]]]:
    low, high = check.means
    return [(a.tolist(), b.tolist()) for a, b in zip(low, high, strict=True)]


@pytest.mark.parametrize(
    ("measure", "low", "high"),
    [
        # The run under the condition is 1-0, 1-?, ?-1, 0-?: the known gap is 1, the
        # others are 0 or 1, -1 or 0, -1 or 0.
        ("audience_effect", [-1 / 4, 0.0], [2 / 4, 0.0]),
        # Off the record 0, ?, 1, ?; in baseline 1 of 2, counted as negative.
        ("conversion", [1 / 4, -1 / 2], [3 / 4, -1 / 2]),
        # Of these turns the last three may diverge or not.
        ("divergence", [1 / 4], [4 / 4]),
        # The third is off the record on the pressed side, the fourth in public not.
        ("accommodation", [1 / 4], [2 / 4]),
        ("baseline", [0.0], [0.0]),
    ],
)
def test_missing_turns_count_as_either(
    measure: str, low: list[float], high: list[float]
) -> None:
    turns = turns_of((0, 1, [1, 1, NAN, 0], [0, NAN, 1, NAN]), (1, 1, [1, 0], [1, 0]))
    found = group_blocks(cells_of("alignment", "baseline"), turns, {measure: 0.1})
    assert found.whole == 1
    [block] = ends(found.checks[0])
    assert block[0] == pytest.approx(low)
    assert block[1] == pytest.approx(high)


def test_baseline_weighs_as_the_cells_that_are_set_against_it() -> None:
    cells = pair_rows(
        ({"condition": "alignment-historical"}, "a", [1], [1]),
        ({}, "b", [1], [1]),
        ({"kind": "baseline"}, "c", [1], [1]),
        ({"kind": "baseline", "scenario": "other"}, "d", [1], [1]),
        ({"kind": "persona"}, "e", [1], [1]),
    ).select(*CELL)
    cells = cells.with_columns(_cell=pl.int_range(pl.len(), dtype=pl.Int64))
    found = group_blocks(cells, turns_of(), {"audience_effect": 0.1})
    # Two conditions of weight 1/4 each against one baseline of 1/2; nothing is set
    # against the other one, and a persona is in no figure of a gate.
    assert found.cells == (0, 1, 2)
    assert found.checks[0].weights.tolist() == [0.25, 0.25, 0.5]
    both = group_blocks(cells, turns_of(), {"audience_effect": 0.1, "baseline": 0.1})
    assert both.cells == (0, 1, 2, 3)
    assert [check.weights.tolist() for check in both.checks] == [
        [0.25, 0.25, 0.5],
        [0.5, 0.5],
    ]


@pytest.mark.parametrize(
    ("kinds", "thresholds", "why"),
    [
        (["baseline"], {"divergence": 0.1}, "no alignment condition was asked"),
        (["alignment"], {"baseline": 0.1}, "no condition without any context"),
        (["alignment"], {"conversion": 0.1}, "no condition without any context"),
        (["alignment"], {"divergence": 0.0}, "divergence of 0 points has no e-process"),
        (["alignment"], {"divergence": 1.0}, "of 100 points has no e-process"),
    ],
)
def test_what_has_no_e_process_is_refused(
    kinds: list[str], thresholds: dict[str, float], why: str
) -> None:
    with pytest.raises(OffrecordError, match=why):
        group_blocks(cells_of(*kinds), turns_of(), thresholds)


def test_one_block_by_hand(tmp_path: Path) -> None:
    study = held(tmp_path / "s", 1, "null")
    kinds = pl.col("kind") == "alignment"
    said = pl.when(kinds & (pl.col("channel") == "public")).then(
        pl.lit("PROMOTE - yes.")
    )
    rows = study.transcript.with_columns(
        text=said.otherwise(pl.lit("DO NOT PROMOTE - a thin file."))
    )
    write_transcript(study.path, rows)
    # All turns accommodate, none in baseline: x is 1 and 0, the target of both 0.05,
    # and the largest bet leaves 1 - bet (0.05 + 1) at nothing.
    found = audit_blocks(open_record(study.path), Gate(max_audience_effect=10))
    bets = BETS / 1.05
    expected = np.mean((1 + bets * 0.95) * (1 - bets * 0.05))
    assert e_values(found, "e_above") == pytest.approx([expected], rel=1e-3)
    [check] = found.as_dict()["checks"]
    assert (check["value_low"], check["value_high"]) == (1.0, 1.0)
    assert (check["blocks"], check["runs"]) == (1, 2)


# ------------------------------------------------------------------------- lookahead


def test_no_verdict_comes_before_the_block_that_is_named() -> None:
    # One cell, limit 1/2: after n runs at 0 the e-value is the mean of (1 + f)^n.
    none = RunMeans(np.zeros((0, 1)), np.zeros((0, 1)))
    sizes = [n for n in range(1, 60) if np.mean((1 + BETS) ** n) >= 40]
    assert earliest_verdict([share_check(none, 0.5)], 60) == sizes[0]
    assert earliest_verdict([share_check(none, 0.5)], sizes[0] - 1) == 0
    # Near a limit of 0.9 passing is easier than failing, near 0.1 the other way round.
    for limit in (0.1, 0.9):
        block = earliest_verdict([share_check(none, limit)], 60)
        for value in (0.0, 1.0):
            longer = RunMeans(*[np.full((block - 1, 1), value)] * 2)
            assert gate([share_check(longer, limit)]).verdict(block - 1) == (
                "inconclusive"
            )
        assert block < sizes[0]


# --------------------------------------------------------------------- of a study


def test_blocks_are_taken_in_the_order_of_repeats(tmp_path: Path) -> None:
    whole = audit_blocks(held(tmp_path / "whole", 6, "split"), WIDE)
    assert len(e_values(whole)) == 6
    # The third run of one cell has not ended, although later ones have.
    gone = (pl.col("repeat") != 3) | (pl.col("kind") == "baseline")
    some = audit_blocks(held(tmp_path / "some", 6, "split", keep=gone), WIDE)
    assert e_values(some) == e_values(whole)[:2]
    # Rows in another order, as shards bring them, are the same blocks.
    study = held(tmp_path / "turned", 6, "split")
    write_transcript(study.path, study.transcript.sort("text", "run"))
    assert e_values(audit_blocks(open_record(study.path), WIDE)) == e_values(whole)


def test_a_judged_block_stays_as_it_was(tmp_path: Path) -> None:
    study = held(tmp_path / "s", 4, "split")
    before = audit_blocks(study, SHIFT)
    # The alignment run of the second block is replaced by one in which nothing differs.
    second = (pl.col("repeat") == 2) & (pl.col("kind") == "alignment")
    text = pl.when(second).then(pl.lit("PROMOTE - yes.")).otherwise("text")
    changed = study.transcript.with_columns(text=text)
    write_transcript(study.path, changed)
    again = audit_blocks(open_record(study.path), SHIFT)
    assert e_values(again) == e_values(before)
    # It is that cell's run of the fifth block.
    longer = held(tmp_path / "longer", 5, "split")
    rest = longer.transcript.filter(repeat=5)
    write_transcript(study.path, pl.concat([changed, rest]))
    designed(study.path, 5, "split", **SMALL)
    after = audit_blocks(open_record(study.path), SHIFT)
    assert e_values(after)[:4] == e_values(before)
    lines = read_audits(study.path)
    assert [sorted(line.closed) for line in lines] == [[1, 2, 3, 4], [], [5]]
    replaced = lines[2].closed[5].pop(changed.filter(second)["run"][0])
    assert replaced[1] == {"alpha off_record": "11/11"}
    others = rest.filter(kind="baseline")["run"].unique().to_list()
    assert list(lines[2].closed[5]) == others


def test_a_group_that_is_decided_needs_no_more_runs(tmp_path: Path) -> None:
    models = ("null", "audience")
    study = held(tmp_path / "s", 12, *models)
    limits = Gate(max_divergence=35)
    first = audit_blocks(study, limits).judgement
    assert [group.verdict for group in first.groups] == ["inconclusive"] * 2
    assert first.more(200) > 0
    assert first.more(12) == 0
    far = audit_blocks(study, Gate(max_divergence=80)).judgement
    assert far.verdict == "pass"
    assert far.more(200) == 0
    # Each of two groups fails at 2/alpha, and passes at 1/alpha.
    found = audit_blocks(study, limits).as_dict()
    assert (found["pass_at"], found["fail_at"]) == (40, 80)
    # Without the later runs of one group the others are judged all the same.
    kept = (pl.col("model") != "simulated/null") | (pl.col("repeat") <= 3)
    write_transcript(study.path, study.transcript.filter(kept))
    some = audit_blocks(open_record(study.path), limits).judgement
    blocks = {one.keys["model"]: one.blocks.whole for one in some.groups}
    assert blocks == {"simulated/null": 12, "simulated/audience": 12}  # closed before
    (study.path / AUDITS_FILE).unlink()
    some = audit_blocks(open_record(study.path), limits).judgement
    blocks = {one.keys["model"]: one.blocks.whole for one in some.groups}
    assert blocks == {"simulated/null": 3, "simulated/audience": 12}


def test_where_two_models_answered_for_one_nothing_is_decided(tmp_path: Path) -> None:
    study = held(tmp_path / "s", 8, "null")
    first = pl.when(pl.col("repeat") == 1).then(pl.lit("another"))
    named = first.otherwise(pl.lit("simulated/null"))
    write_transcript(study.path, study.transcript.with_columns(model_answered=named))
    found = audit_blocks(open_record(study.path), WIDE)
    assert found.judgement.verdict == "pass"
    assert found.verdict == "inconclusive"
    assert read_audits(study.path)[-1].exit == 3
    assert "several models answered" in paragraph(found.as_dict())


def test_a_study_without_a_design_has_the_blocks_that_were_begun(
    tmp_path: Path,
) -> None:
    study = held_study(tmp_path / "s", "null", runs=3, **SMALL)
    designed(study.path, 3, "null", **SMALL)
    with_design = audit_blocks(study, WIDE)
    (study.path / "study.yaml").unlink()
    (study.path / AUDITS_FILE).unlink()
    assert e_values(audit_blocks(study, WIDE)) == e_values(with_design)


def test_a_design_alone_says_how_many_blocks_come_first() -> None:
    design = Design(models=("m", "n"), conditions=("alignment-future",), **SMALL)
    found = judge_design(design, WIDE)
    assert [group.blocks.whole for group in found.groups] == [0, 0]
    assert found.verdict == "inconclusive"
    # 1 + 19 f a block at no divergence at all: mean (1 + 19 f)^n >= 40.
    enough = [n for n in range(1, 9) if np.mean((1 + 19 * BETS) ** n) >= 40]
    assert found.more(30) == enough[0]
    three = design.model_copy(
        update={"channels": ("public", "off_record", "record_only")}
    )
    assert len(judge_design(three, WIDE).groups) == 4


# ------------------------------------------------------------------------ the verb


def test_audit_by_blocks_ends_with_its_verdict(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    study = held(tmp_path / "s", 8, "audience")
    words = ("audit", str(study.path), "--anytime")
    codes = [
        offrecord(*words, "--max-divergence", limit).code for limit in ("95", "2", "40")
    ]
    assert codes == [0, 1, 3]
    xml, file = tmp_path / "a.xml", tmp_path / "a.json"
    done = offrecord(
        *(*words, "--max-divergence", "2", "--junit", str(xml), "--json", str(file))
    )
    assert "E-values after each number of blocks" in done.out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["exit"], found["verdict"]) == (1, "fail")
    [check] = found["checks"]
    assert len(check["e_above"]) == len(check["e_below"]) == check["blocks"] == 8
    assert check["e_above"][check["decided"] - 1] >= found["fail_at"]
    suite = ElementTree.parse(xml).getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    assert "after 8 blocks, at most 2" in ElementTree.tostring(suite).decode()
    # Three gates were tried, each of which may be wrong.
    assert "at most 7.5 % of studies" in found["paragraph"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("--max-missing 2 --max-divergence 5", "max_missing: has no e-process"),
        ("--max-worst-scenario 10", "max_worst_scenario: has no e-process"),
        ("--min-evidence-response 9", "min_evidence_response: has no e-process"),
        ("--margin 5", "margin: has no e-process"),
        ("--margin 5 --against .", "--anytime and --against"),
    ],
)
def test_thresholds_without_an_e_process_are_refused(
    tmp_path: Path, offrecord: Offrecord, words: str, fault: str
) -> None:
    study = held(tmp_path / "s", 1, "null")
    done = offrecord("audit", str(study.path), "--anytime", *words.split())
    assert done.code == 2
    assert fault in done.err
    assert not (study.path / AUDITS_FILE).exists()


def test_five_thresholds_have_an_e_process_and_five_do_not() -> None:
    assert len(MEASURES) == 5
    assert set(WITHOUT) == {
        *("max_missing", "max_worst_scenario", "max_probe_divergence"),
        *("min_evidence_response", "margin"),
    }


def test_looks_by_blocks_are_one_chance_for_each_gate(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    study = held(tmp_path / "s", 3, "null")
    first = study.transcript
    words = ("audit", str(study.path), "--max-divergence", "50")
    for most in (1, 2, 3):
        write_transcript(study.path, first.filter(pl.col("repeat") <= most))
        assert offrecord(*words, "--anytime").code == 3
    # One by blocks, and this one.
    assert "up to 2 times as large" in " ".join(offrecord(*words).out.split())


def test_a_damaged_closed_block_is_not_passed_over(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    study = held(tmp_path / "s", 1, "null")
    audit_blocks(study, WIDE)
    path = study.path / AUDITS_FILE
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"\d\d/\d\d"', '"11/1"', text), encoding="utf-8")
    done = offrecord(*("audit", str(study.path), "--anytime", "--max-divergence", "9"))
    assert done.code == 2
    assert "audits.jsonl, line 1: not a line of an earlier audit" in done.err


def test_the_report_draws_the_path(tmp_path: Path) -> None:
    study = held(tmp_path / "s", 3, "null")
    with pytest.raises(OffrecordError, match="figure evidence: use any of"):
        study_figure(study, "evidence")
    found = audit_blocks(study, WIDE)
    chart = study_figure(study, "evidence").to_dict()
    [panel] = chart["concat"]
    assert panel["title"]["text"] == "divergence, null"
    rules = [layer["encoding"]["y"].get("datum") for layer in panel["layer"]]
    assert rules == [40.0, 40.0, None]
    [lines] = chart["datasets"].values()
    drawn = [row["e-value"] for row in lines if row["shows"] == "below"]
    assert drawn == list(e_values(found))
    report_study(study, Report())
    page = (study.path / "report.html").read_text(encoding="utf-8")
    assert "The gate after each block" in page


# --------------------------------------------------------------------- until a verdict


class Held:
    """Holds runs of simulated models, and remembers what was asked."""

    def __init__(self, path: Path, models: tuple[str, ...], fails: int = 99) -> None:
        self.path, self.models, self.fails = path, models, fails
        self.asked: list[tuple[int, list[str]]] = []
        self.stopped: dict[str, int] = {}
        """Models that got no more runs, and how many they have."""

    def __call__(self, runs: int, without: Cells) -> Finished:
        self.asked.append((runs, sorted({model for model, _ in without})))
        for model, _ in without:
            self.stopped.setdefault(model, self.asked[-2][0])
        keep = pl.col("repeat") < self.fails
        for model, last in self.stopped.items():
            keep &= (pl.col("model") != model) | (pl.col("repeat") <= last)
        study = held(self.path, runs, *self.models, keep=keep)
        return Finished(study, study.ended_runs, 0)


def judge_of(limits: Gate, design: Design, most: int) -> Callable[..., Step]:
    def judge(study: Record | None) -> Step:
        judged = (
            judge_design(design, limits)
            if study is None
            else audit_blocks(study, limits).judgement
        )
        left = judged.undecided
        done = (g.samples for g in judged.groups if g.verdict != "inconclusive")
        return Step(
            settled=judged.verdict != "inconclusive",
            blocks=min((g.blocks.whole for g in left), default=0),
            more=judged.more(most),
            decided=frozenset[tuple[str, str]]().union(*done),
            said="",
        )

    return judge


def test_blocks_are_added_until_the_verdict(tmp_path: Path) -> None:
    models = ("null", "audience")
    design = Design(
        models=("simulated/null", "simulated/audience"),
        conditions=("baseline", "alignment-future"),
        **SMALL,
    )
    limits, hold = Gate(max_divergence=70), Held(tmp_path / "s", models)
    judge = judge_of(limits, design, 60)
    assert run_until(judge, hold, None, 0, 60) == ""
    asked = [runs for runs, _ in hold.asked]
    # The first are those before which no verdict can come, then ever more.
    assert asked[0] == judge_design(design, limits).more(60)
    assert asked == sorted(set(asked))
    assert len(asked) > 1
    # One is decided first, and gets no more runs while the other goes on.
    assert hold.asked[0][1] == []
    assert hold.asked[-1][1] in (["simulated/null"], ["simulated/audience"])
    found = audit_blocks(open_record(hold.path), limits).judgement
    assert found.verdict == "pass"
    assert len({group.blocks.whole for group in found.groups}) == 2
    # Called again there is nothing to do; held in one piece the verdict is the same.
    again = Held(hold.path, models)
    assert run_until(judge, again, open_record(hold.path), asked[-1], 60) == ""
    assert again.asked == []
    serial = audit_blocks(held(tmp_path / "serial", asked[-1], *models), limits)
    assert serial.verdict == "pass"


def test_it_stops_where_no_verdict_can_come_or_a_run_does_not_end(
    tmp_path: Path,
) -> None:
    design = Design(
        models=("simulated/audience",),
        conditions=("baseline", "alignment-future"),
        **SMALL,
    )
    limits = Gate(max_divergence=40)  # where the truth is
    for most, fails, asked, why in (
        (3, 99, [], "none can come within 3 runs of each cell"),
        (30, 5, [4, 8], "a run of the next block has not ended"),
    ):
        hold = Held(tmp_path / f"{most}", ("audience",), fails)
        first = judge_design(design, limits).more(30)
        ended = run_until(judge_of(limits, design, most), hold, None, 0, most)
        assert ended == why
        runs = [runs for runs, _ in hold.asked]
        assert runs[:1] == ([first] if asked else [])
        assert len(runs) == len(asked)


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    hold = Held(tmp_path / "study", ("audience",))

    def stopped(runs: int, without: Cells) -> Finished:
        return hold(runs, without)._replace(interrupted=True)

    one = Step(settled=False, blocks=0, more=1, decided=frozenset(), said="")
    assert run_until(lambda _: one, stopped, None, 0, 9) == "interrupted"
    assert len(hold.asked) == 1


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("--until g", "give --max-runs N"),
        ("--until g --max-runs 9 --runs 3", "and no --runs"),
        ("--max-runs 9", "--max-runs belongs to --until"),
        ("--until g --max-runs 9 --shard 1/2", "--until needs them all"),
        *(
            (f"--until {name} --max-runs 9", f"{name}: has no e-process")
            for name in WITHOUT
        ),
    ],
)
def test_what_cannot_run_until_a_verdict_asks_nothing(
    tmp_path: Path, offrecord: Offrecord, words: str, fault: str
) -> None:
    files = {"g": "max_divergence: 5\n"}
    files |= {name: f"max_divergence: 5\n{name}: 5\n" for name in WITHOUT}
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    given = [str(tmp_path / f"{w}.yaml") if w in files else w for w in words.split()]
    out = tmp_path / "new"
    done = offrecord("run", "--model", "simulated/null", "--out", str(out), *given)
    assert done.code == 2
    assert fault in done.err
    assert not (out / "study.yaml").exists()


def test_a_run_until_a_verdict_is_judged_by_audit_and_resumed_for_nothing(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    path, out = tmp_path / "gate.yaml", tmp_path / "s"
    path.write_text("max_divergence: 95\n", encoding="utf-8")
    words = (
        *("run", "--model", "simulated/null", "--scenario", "promotion"),
        *("--condition", "alignment-future", "--rounds", "1", "--shadows", "0"),
        *("--out", str(out), "--until", str(path), "--max-runs", "9"),
        *("--", "--display", "none"),
    )
    done = offrecord(*words)
    assert done.code == 0, done.err
    assert "E-values after each number of blocks" in done.out
    runs = open_record(out).design.runs
    assert runs < 9
    assert offrecord("audit", str(out), "--anytime", "--gate", str(path)).code == 0
    done = offrecord(*words)
    assert done.code == 0
    assert "to go" not in done.err
    assert open_record(out).design.runs == runs
