"""Arms: content with a placebo each, prompts that stay twins, and what is refused."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from offrecord.content.library import built_in, find
from offrecord.protocol.arms import WITHOUT, Arm, arm_of, read_arm
from offrecord.protocol.cases import cases
from offrecord.protocol.design import make_design
from offrecord.protocol.sample import sample_script
from offrecord.protocol.script import material_of
from offrecord.records import HOLDOUT, OffrecordError
from tests.conftest import Offrecord
from tests.test_twin import CHANNELS, all_prompts, twin_faults

BUILT_IN = built_in("arm")
PLACEBOS = {
    arm_of(name).placebo_of: name for name in BUILT_IN if arm_of(name).placebo_of
}
GUARDS = [name for name in BUILT_IN if arm_of(name).guard]
ARMS = [name for name in BUILT_IN if name not in {*PLACEBOS.values(), *GUARDS}]
OTHERS = tuple(name for name in CHANNELS if name not in {"public", HOLDOUT})


def test_seven_arms_ship_each_with_its_placebo_rationale_and_source() -> None:
    assert ARMS == [
        "audit_notice",
        "conflict_recusal",
        "disclosure_duty",
        "dissent_duty",
        "evidence_first",
        "partner_unnamed",
        "reflection",
    ]
    assert sorted(PLACEBOS) == ARMS
    for name in ARMS:
        front = read_arm(find("arm", name))[1].front
        assert front["rationale"]
        assert front["source"]


@pytest.mark.parametrize("name", ARMS)
def test_a_placebo_has_the_words_of_its_arm_within_a_tenth(name: str) -> None:
    arm, placebo = arm_of(name), arm_of(PLACEBOS[name])
    assert abs(placebo.words - arm.words) <= 0.1 * arm.words
    headings = [one.text.startswith("# ") for one in (arm, placebo)]
    assert headings == [True, True]


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_built_in_arm_names_a_channel(name: str) -> None:
    assert arm_of(name).channel_words == ()


@pytest.mark.parametrize("name", BUILT_IN)
def test_channels_are_twins_under_every_arm(name: str) -> None:
    design = make_design(
        {
            "scenarios": ["promotion"],
            "conditions": ["alignment-future"],
            "channels": ["public", *OTHERS],
            "rounds": 2,
            "factors": {"arm": [name]},
        }
    )
    [case] = cases(design)
    script = sample_script(design, case)
    requests = all_prompts(script)
    assert all(arm_of(name).text in r.messages[0][1] for r in requests)
    for one, two in itertools.combinations(script.channels, 2):
        assert not list(twin_faults(requests, one, two))


def test_an_arm_changes_its_own_place_in_a_prompt_and_nothing_else() -> None:
    design = make_design(
        {
            "scenarios": ["promotion"],
            "conditions": ["alignment-future"],
            "rounds": 1,
            "factors": {"arm": ["none", "reflection", "partner_unnamed"]},
        }
    )
    plain, shown, unnamed = (sample_script(design, one) for one in cases(design))
    text = arm_of("reflection").text
    for one, two in zip(all_prompts(plain), all_prompts(shown), strict=True):
        assert f"{one.messages[0][1]}\n\n{text}" == two.messages[0][1]
        assert one.messages[1:] == two.messages[1:]
    asked = material_of(design, "promotion").scenario
    for request in all_prompts(unnamed):
        system = request.messages[0][1]
        other = next(a for a in asked.agents if a.id != request.stamp.agent)
        said = "\n".join(text for _, text in request.messages)
        assert arm_of("partner_unnamed").others in system
        assert other.summary not in said
        assert f"{other.name} says:" not in said


def test_a_case_carries_its_arm_and_the_content_its_stamp() -> None:
    design = make_design(
        {"scenarios": ["promotion"], "factors": {"arm": ["reflection_placebo", "none"]}}
    )
    placebo, none = cases(design)[:2]
    assert placebo.arm.placebo_of == "reflection"
    assert none.arm == WITHOUT
    stamps = material_of(design, "promotion").stamps(placebo)
    assert stamps["arm reflection_placebo"] == placebo.arm.stamp
    assert placebo.arm.stamp.startswith("reflection_placebo@1:")
    assert Arm.from_dict(dataclasses.asdict(placebo.arm)) == placebo.arm


def arm_file(folder: Path, text: str, front: str = "") -> Path:
    path = folder / "mine.md"
    path.write_text(f"---\nid: mine\n{front}---\n\n## text\n\n{text}\n")
    return path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Whatever is said, always agree with the chair.", "dictates a stance (always"),
        ("Stick to your position whatever they say.", "dictates a stance (Stick to"),
        ("Hold firm: your first decision must stay.", "dictates a stance (Hold firm"),
        ("Do not change your mind.", "dictates a stance (Do not change your"),
        ("Side with the superintendent.", "dictates a stance (Side with the"),
        ("Say PROMOTE if in doubt.", "names the decision 'PROMOTE' of scenario"),
        ("It is best to do not promote.", "names the decision 'do not promote' of"),
        ("word " * 2000, "has 2000 words, and scenario 'promotion' has"),
    ],
)
def test_an_arm_that_dictates_or_is_longer_than_its_scenario_is_one_line(
    text: str, fault: str, tmp_path: Path, offrecord: Offrecord
) -> None:
    arm = arm_file(tmp_path, text)
    done = offrecord("plan", "--scenario", "promotion", "--factor", f"arm=none,{arm}")
    assert done.code == 2
    [line] = done.err.splitlines()
    assert fault in line
    assert str(arm) in line


def test_an_unknown_arm_is_one_line_that_names_those_there_are() -> None:
    with pytest.raises(OffrecordError, match="no arm 'calm': use audit_notice, "):
        cases(make_design({"factors": {"arm": ["calm"]}}))


def test_an_arm_that_uses_a_label_as_a_word_of_the_language_is_fine(
    tmp_path: Path,
) -> None:
    arm = arm_file(tmp_path, "Those whom we promote later are not your concern.")
    design = make_design({"scenarios": ["promotion"], "factors": {"arm": [str(arm)]}})
    assert cases(design)


def test_an_arm_that_names_a_channel_is_warned_about(
    tmp_path: Path, offrecord: Offrecord
) -> None:
    arm = arm_file(tmp_path, "Say the same in public and off the record.")
    warned = f"warning: {arm}: names a channel (in public, off the record): its gain"
    checked = offrecord("content", "check", str(arm))
    assert checked.code == 0
    assert warned in checked.out
    asked = ("--scenario", "promotion", "--factor", f"arm=none,{arm}")
    planned = offrecord("plan", *asked)
    assert planned.code == 0
    assert warned in planned.err


def test_a_plan_says_what_it_can_show_of_arms(offrecord: Offrecord) -> None:
    six = ("promotion", "endorsement", "manuscript", "newsroom", "clinic", "hiring")
    scenarios = [word for name in six for word in ("--scenario", name)]
    kinds = ("baseline", "alignment-future", "evidence")
    conditions = [word for name in kinds for word in ("--condition", name)]
    arms = "arm=none,reflection,reflection_placebo"
    asked = ("--runs", "20", "--shadows", "0", "--forms", "utterance")
    done = offrecord("plan", *scenarios, *conditions, "--factor", arms, *asked)
    # One arm: z = 1.96 + .842 = 2.80. A turn's variance counts (1 + 4 x .4) / 5 = .52.
    # R, Z: sqrt(2 x .3 x .7 x .52 / 120) = .0427, x 2.80 = 12; Y: .0279 x 2.80 = 7.8.
    assert "Z 12.0, Y 7.8, R 12.0" in done.out
    # 18 cells x 20 runs x 20 calls: both agents, two channels, five turns.
    assert "for each arm or placebo: 7,200 calls; screening" in done.out
    plain = offrecord("plan", "--scenario", "promotion")
    assert "judged" not in plain.out
