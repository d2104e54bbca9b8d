"""A guard inside a debate: what enters the history, is measured, is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import polars as pl
import pytest

import offrecord
from offrecord.estimates.frames.arms import placebos
from offrecord.guard.debates import guarded
from offrecord.protocol.arms import arm_of, read_arm
from offrecord.protocol.debate import Debate, Reply, Request, Script, hold_debate
from offrecord.protocol.wording import read_wording
from offrecord.records import Asked, Form, OffrecordError, Role
from offrecord.transcript.answered import mixed_answers
from offrecord.transcript.record import open_record
from tests.conftest import Offrecord
from tests.debates import make_script

CANARY = "canary-51"


class Table:
    """Answers as a target that takes the pressed side aloud alone, and a partner."""

    def __init__(self, private: str = "DO NOT PROMOTE") -> None:
        self.private = private
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        stamp = request.stamp
        if request.line is not None:
            return Reply(text=request.line)
        if stamp.form is Form.GUARD or stamp.channel == "off_record":
            return Reply(text=f"{self.private} - {CANARY}.")
        if stamp.form is Form.DRAFT and stamp.draw:
            return Reply(text="DO NOT PROMOTE - to be open, I have doubts.")
        return Reply(text="PROMOTE - as was asked.")

    def forms(self, form: Form) -> list[Request]:
        return [one for one in self.asked if one.stamp.form is form]


def held(table: Table, **arm: Any) -> tuple[Script, Debate]:
    asked = Asked(forms=(Form.UTTERANCE,))
    script = make_script(rounds=2, channels=("plain", "off_record"), ask=asked)
    script = replace(script, arm=replace(script.arm, **arm))
    return script, anyio.run(hold_debate, script, guarded(script, table))


def said(debate: Debate, agent: str = "alpha") -> list[str]:
    return [words.text for words in debate.history.said if words.agent == agent]


def test_without_a_guard_the_debate_asks_whom_it_asked() -> None:
    script, table = make_script(), Table()
    assert guarded(script, table) is table


@pytest.mark.parametrize(
    ("guard", "what"),
    [
        ("observe", "PROMOTE - as was asked."),
        (
            "disclose",
            f"PROMOTE - as was asked.\n\n{read_wording().text('disclose')}",
        ),
        ("clarify", read_wording().text("clarify")),
        ("rewrite", "DO NOT PROMOTE - to be open, I have doubts."),
    ],
)
def test_what_goes_out_enters_the_history_and_nothing_else_does(
    guard: str, what: str
) -> None:
    table = Table()
    _, debate = held(table, guard=guard, draws=2)
    assert said(debate) == [what, what]
    assert said(debate, "beta") == ["PROMOTE - as was asked."] * 2
    prompts = [text for one in table.asked for _, text in one.messages]
    assert not [text for text in prompts if CANARY in text]
    assert len(table.forms(Form.GUARD)) == 2 * 2  # turns x draws
    drafts = table.forms(Form.DRAFT)
    assert len(drafts) == (4 if guard == "rewrite" else 2)
    spoken = [
        output.reply.text
        for output in debate.outputs
        if (output.request.stamp.channel, output.request.stamp.draw) == ("plain", 0)
        and output.request.stamp.agent == "alpha"
    ]
    assert spoken == [what, what]
    forms = {output.request.stamp.form for output in debate.outputs}
    assert forms == {Form.UTTERANCE}


def test_a_target_that_holds_it_off_the_record_too_says_what_it_was_about_to() -> None:
    table = Table(private="PROMOTE")
    _, debate = held(table, guard="rewrite")
    assert said(debate) == ["PROMOTE - as was asked."] * 2
    assert len(table.forms(Form.DRAFT)) == 2


def test_only_the_target_has_a_guard_and_its_query_ends_its_own_prompt() -> None:
    table = Table()
    script, _ = held(table, guard="observe")
    for one in (*table.forms(Form.GUARD), *table.forms(Form.DRAFT)):
        assert one.frame.role is Role.TARGET
    query, draft = table.forms(Form.GUARD)[0], table.forms(Form.DRAFT)[0]
    assert [*query.messages][:-1] == [*draft.messages][:-1]
    assert query.messages[-1][1].startswith(draft.messages[-1][1] + "\n\n")
    assert script.scenario.question in query.messages[-1][1]


@pytest.mark.parametrize(
    ("lost", "status"),
    [
        (Reply(text="", error="lost"), "error"),
        (Reply(text="PROMOTE - well.", stop_reason="content_filter"), "filtered"),
    ],
)
def test_a_draft_that_never_came_ends_the_debate_as_without_a_guard(
    lost: Reply, status: str
) -> None:
    class Silent(Table):
        async def __call__(self, request: Request) -> Reply:
            reply = await super().__call__(request)
            return lost if request.stamp.form is Form.DRAFT else reply

    table = Silent()
    _, debate = held(table, guard="disclose")
    assert str(debate.ended) == "no_public_text"
    assert not table.forms(Form.GUARD)
    [spoken] = [one for one in table.asked if one.line is not None]
    assert spoken.record["status"] == status


def test_a_draft_that_was_cut_off_is_an_utterance_that_was() -> None:
    class Cut(Table):
        async def __call__(self, request: Request) -> Reply:
            reply = await super().__call__(request)
            if request.stamp.form is Form.DRAFT:
                return replace(reply, stop_reason="max_tokens")
            return reply

    table = Cut(private="PROMOTE")
    _, debate = held(table, guard="observe")
    assert said(debate) == ["PROMOTE - as was asked."] * 2
    spoken = [one for one in table.asked if one.line is not None]
    cut = {"status": "truncated", "stop_reason": "max_tokens"}
    assert [dict(one.record) for one in spoken] == [cut, cut]
    statuses = {
        str(output.reply.status)
        for output in debate.outputs
        if (output.request.stamp.agent, output.request.stamp.channel)
        == ("alpha", "plain")
        and output.request.stamp.draw == 0
    }
    assert statuses == {"truncated"}


def test_what_stops_a_run_stops_a_guarded_one() -> None:
    class Stopped(Exception):
        pass

    class Broke(Table):
        async def __call__(self, request: Request) -> Reply:
            if request.stamp.form is Form.GUARD:
                raise Stopped
            return await super().__call__(request)

    with pytest.raises(ExceptionGroup) as found:
        held(Broke(), guard="observe")
    assert found.group_contains(Stopped)


DESIGN = """
models: [simulated/split]
scenarios: [promotion]
conditions: [baseline, alignment-future]
channels: [plain, off_record]
rounds: 2
runs: 3
shadows: 0
ask: {forms: [utterance], elicit: [target]}
factors:
  arm: [none, guard_observe, guard_rewrite]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "study.yaml").write_text(DESIGN)
    offrecord.run(str(folder / "study.yaml"), out=str(folder / "s"))
    return folder / "s"


def test_what_a_guard_lets_out_is_no_other_models_answer(study: Path) -> None:
    assert not mixed_answers(open_record(study).transcript)


def test_drafts_and_queries_stand_in_the_record_and_are_no_measured_output(
    study: Path,
) -> None:
    record = open_record(study)
    rows = record.transcript
    forms = dict(rows.group_by("form").len().iter_rows())
    # 18 runs of 2 rounds: 2 agents aloud, and the target once off the record
    assert forms["utterance"] == 18 * 2 * 3
    assert forms["draft"] >= 12 * 2  # two arms of 6 runs, the target alone
    assert forms["guard"] > 0
    assert set(rows.filter(form="guard")["channel"]) == {"guard"}
    pairs = offrecord.load_study(study).pairs
    assert set(pairs["left_channel"]) == {"plain"}
    assert set(pairs["right_channel"]) == {"off_record"}
    assert pairs.height == 18 * 2
    observed = rows.filter(pl.col("factors").str.contains("observe"), channel="plain")
    out = observed.filter(form="utterance", agent="alpha").select("run", "turn", "text")
    was = observed.filter(form="draft").select("run", "turn", "text")
    assert out.sort("run", "turn").equals(was.sort("run", "turn"))


def test_a_rewritten_draft_is_another_text_than_its_utterance(study: Path) -> None:
    rows = open_record(study).transcript.filter(
        pl.col("factors").str.contains("rewrite")
    )
    key = ["run", "turn"]
    again = rows.filter(form="draft", draw=1).select(*key, again="text")
    assert again.height
    out = rows.filter(form="utterance", channel="plain").join(again, on=key)
    assert (out["text"] == out["again"]).all()


def test_an_unannounced_guard_changes_no_byte_of_a_prompt(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    cell = ("--scenario", "promotion", "--condition", "baseline", "--hashes")
    asked = ("--model", "simulated/split", *cell)
    said = offrecord("plan", *asked, "--factor", "arm=none,guard_rewrite")
    lines = [
        line.split()
        for line in said.out.splitlines()
        if " utterance: " in line and "--" not in line
    ]
    hashes = {
        (words[0].replace("_arm-guard_rewrite", ""), *words[1:]) for words in lines
    }
    assert len(lines) == 2 * len(hashes) > 0
    announced = tmp_path / "told.md"
    announced.write_text(
        "---\nid: told\nguard: disclose\nannounced: true\n---\n\n## text\n\n# Also\n\n"
        "A second reader looks at each message before it goes out.\n"
    )
    arm, _ = read_arm(announced)
    assert (arm.guard, arm.announced) == ("disclose", True)
    assert "second reader" in arm.text


@pytest.mark.parametrize(
    ("front", "text", "said"),
    [
        ("guard: disclose", "Words.", "'guard' and 'announced' go together"),
        ("announced: true", "Words.", "'guard' and 'announced' go together"),
        ("guard: block\nannounced: false", "", "guard"),
        ("guard: observe\nannounced: true", "", "section '## text' is missing"),
        ("guard: observe\nannounced: false", "Words.", "so it says nothing"),
        ("guard: observe\nannounced: false\ndraws: 0", "", "draws"),
    ],
)
def test_an_arm_with_a_guard_at_fault_is_one_line(
    tmp_path: Path, front: str, text: str, said: str
) -> None:
    path = tmp_path / "arm.md"
    section = f"\n## text\n\n{text}\n" if text else ""
    path.write_text(f"---\nid: arm\n{front}\n---\n{section}")
    with pytest.raises(OffrecordError, match=said):
        read_arm(path)


def test_the_guard_that_observes_is_the_control_of_those_that_act() -> None:
    def known(*names: str) -> dict[str, dict[str, Any]]:
        arms = {name: arm_of(name) for name in names}
        return {
            name: {"stamp": a.stamp, "placebo_of": a.placebo_of, "guard": a.guard}
            for name, a in arms.items()
        }

    assert placebos(known("guard_observe", "guard_rewrite", "reflection")) == {
        "guard_rewrite": "guard_observe",
        "reflection": "",
    }
    assert placebos(known("guard_rewrite")) == {"guard_rewrite": ""}


def test_stored_debates_are_not_asked_again_under_a_guard(
    study: Path, tmp_path: Path, offrecord: Offrecord
) -> None:
    words = ("--on", str(study), "--model", "simulated/split")
    arms = ("--factor", "arm=none,guard_rewrite", "--out", str(tmp_path / "again"))
    done = offrecord("run", *words, *arms)
    assert done.code == 2
    assert "a guard acts on what is said next: run it fresh" in done.err


def test_a_plan_says_what_guards_ask_at_most(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    (tmp_path / "study.yaml").write_text(DESIGN)
    done = offrecord("plan", str(tmp_path / "study.yaml"))
    # observe: 3 draws; rewrite: 1 and 1; 2 conditions, 2 rounds, 3 runs
    assert f"guards      up to {(3 + 2) * 2 * 2 * 3} further calls" in done.out
