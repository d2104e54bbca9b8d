"""Scenarios as data: what ships is complete and fair, what is broken is named."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from offrecord.cli.content import content as command
from offrecord.content import data_folder, unwrap
from offrecord.content.library import find, new
from offrecord.protocol.cases import Case, cases
from offrecord.protocol.design import Design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.protocol.script import material_of
from offrecord.records import Kind, OffrecordError, Role, Timing
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.front import ScenarioFront
from offrecord.scenarios.load import (
    builtin_ids,
    load_scenario,
    load_scenarios,
    scenario_names,
)

SHARED = Path(__file__).parents[1].parent / "shared"
CONDITIONS = {
    "baseline": (Kind.BASELINE, Timing.NONE),
    "alignment-historical": (Kind.ALIGNMENT, Timing.HISTORICAL),
    "alignment-future": (Kind.ALIGNMENT, Timing.FUTURE),
    "persona-historical": (Kind.PERSONA, Timing.HISTORICAL),
    "persona-future": (Kind.PERSONA, Timing.FUTURE),
}
DOSES = {
    f"alignment-{timing}-dose{dose}": float(dose)
    for timing in ("historical", "future")
    for dose in (1, 3)
}
DOSED = {"clinic", "code", "endorsement", "manuscript", "newsroom", "promotion"}
SHIPPED = builtin_ids()
ALL = {name: load_scenario(name) for name in SHIPPED}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario folder without a fault, to be broken."""
    return new("scenario", tmp_path / "mine")


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# What ships


@pytest.mark.parametrize("name", SHIPPED)
def test_a_built_in_scenario_is_complete(name: str) -> None:
    scenario = ALL[name]
    assert scenario.id == name
    balanced = name in {"clinic", "moderation", "rating", "settlement"}
    assert scenario.leaning == ("balanced" if balanced else "evidence")
    assert scenario.domain
    known = scenario.conditions.values()
    assert {c.id: (c.kind, c.timing) for c in known if c.is_standard} == CONDITIONS
    assert scenario.conditions["evidence"].kind is Kind.EVIDENCE
    doses = {c.id: c.dose for c in known if c.dose is not None}
    assert doses == (DOSES if name in DOSED else {})
    assert [agent.id for agent in scenario.agents] == ["alpha", "beta"]
    assert scenario.agent("alpha").role is Role.TARGET
    assert {agent.side for agent in scenario.agents} == set(scenario.labels)
    for condition in known:
        mirrored = set() if condition.kind is Kind.BASELINE else {"alpha", "beta"}
        assert set(condition.contexts) == mirrored
        texts = list(condition.contexts.values())
        if condition.kind is Kind.EVIDENCE:
            assert texts[0] == texts[1]
        else:
            assert all(re.search(r"\byou(rs?)?\b", text.lower()) for text in texts)
    instrument = scenario.instrument
    assert (instrument.low, instrument.high, len(instrument.anchors)) == (1, 5, 5)
    assert [item.id for item in instrument.items] == [f"Q{n}" for n in range(1, 16)]
    categories = ["deliberative"] * 6 + ["evaluative"] * 3 + ["incentive"] * 6
    assert [item.category for item in instrument.items] == categories
    assert len({item.text for item in instrument.items}) == 15


def test_labels_and_sides_are_balanced() -> None:
    # The pressed side, its place among the labels, and whether it refuses something.
    expected = {
        "accounts": ("SIGN", 1, False),
        "clinic": ("OPERATE", 1, False),
        "code": ("MERGE", 0, False),
        "complaint": ("DISMISS", 0, True),
        "endorsement": ("ENDORSE", 0, False),
        "grants": ("DECLINE", 1, True),
        "hiring": ("PASS", 1, True),
        "manuscript": ("DELAY SUBMISSION", 1, True),
        "moderation": ("KEEP", 1, False),
        "newsroom": ("HOLD", 0, True),
        "plant": ("RESTART", 0, False),
        "procurement": ("AWARD", 0, False),
        "promotion": ("PROMOTE", 0, False),
        "rating": ("AFFIRM", 1, False),
        "settlement": ("SETTLE", 0, False),
    }
    found = {s.id: s for s in ALL.values()}
    assert {
        id_: (s.pressed_side, s.labels.index(s.pressed_side))
        for id_, s in found.items()
    } == {id_: (side, place) for id_, (side, place, _) in expected.items()}
    assert sum(refuses for *_, refuses in expected.values()) == 5
    assert sum(expected[id_][1] for id_ in set(found) - {*scenario_names([])}) == 6


def test_evaluative_items_count_towards_the_partners_side() -> None:
    # "good in the long run", "a gamble", "enough": in the manuscript these speak of
    # submitting, which is not the partner's side, so the keys are the other way round.
    for scenario in ALL.values():
        keys = [
            i.reverse for i in scenario.instrument.items if i.category == "evaluative"
        ]
        turned = scenario.id == "manuscript"
        assert keys == [turned, not turned, turned]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_built_in_scenario_draws_no_warning(name: str) -> None:
    # Lengths alike, no leaning in the card, no cost of dissent in a persona context,
    # no instruction in an alignment context, nothing about the measurement.
    finding = check_folder(name)
    assert (finding.faults, finding.warnings) == ((), ())


def test_no_scenario_takes_words_from_another() -> None:
    # The three core scenarios share a few of their sentences.
    seen: dict[tuple[str, ...], str] = {}
    for scenario in ALL.values():
        texts = [scenario.setting, *(agent.card for agent in scenario.agents)]
        texts += [t for c in scenario.conditions.values() for t in c.contexts.values()]
        for text in texts:
            words = re.findall(r"\w+", text.lower())
            for gram in zip(*(words[i:] for i in range(6)), strict=False):
                first = seen.setdefault(gram, scenario.id)
                both = {first, scenario.id}
                assert len(both) == 1 or both <= {*scenario_names([])}, gram


def test_persona_contexts_are_as_long_as_alignment_contexts() -> None:
    for scenario in ALL.values():
        words = {
            kind: fmean(
                len(text.split())
                for one in scenario.conditions.values()
                if one.kind is kind and one.is_standard
                for text in one.contexts.values()
            )
            for kind in (Kind.PERSONA, Kind.ALIGNMENT)
        }
        assert 0.9 < words[Kind.PERSONA] / words[Kind.ALIGNMENT] < 1.1, scenario.id


# Sets


def test_a_bare_design_asks_the_core_under_five_conditions() -> None:
    core = ("endorsement", "manuscript", "promotion")
    design = new_design({}, {"models": ("m",)})
    assert design.scenarios == core
    assert set(design.conditions) == {f"{s}/{c}" for s in core for c in CONDITIONS}
    assert len(cases(design)) == len(cases(Design())) == 15


def test_sets_are_written_out_in_the_design() -> None:
    asked = {"models": ("m",), "scenarios": ("domain:science", "core")}
    design = new_design({}, {**asked, "conditions": ("evidence", "grants/all")})
    assert design.scenarios == ("grants", "manuscript", "endorsement", "promotion")
    assert set(design.conditions) == {
        "evidence",
        *(f"grants/{c}" for c in [*CONDITIONS, "evidence"]),
    }
    assert len(cases(design)) == 6 + 3
    assert scenario_names(["all"]) == SHIPPED
    with pytest.raises(OffrecordError, match=r"domain:sports: .*domain:science"):
        scenario_names(["domain:sports"])


def test_evidence_and_doses_are_added_to_a_study_on_request() -> None:
    asked = {"models": ("m",), "scenarios": ("hiring",), "conditions": ("baseline",)}
    old = new_design({}, asked)
    grown = grown_design(old, {"conditions": ("evidence",)})
    assert [case.id for case in cases(grown)] == ["hiring_baseline", "hiring_evidence"]
    wider = grown_design(old, {"scenarios": ("domain:law", "promotion")})
    assert wider.scenarios == ("hiring", "settlement", "promotion")
    own = grown_design(old, {"conditions": ("standard", "alignment-future")})
    assert [case.condition for case in cases(own)] == [
        "baseline",
        "alignment-future",
        *(c for c in sorted(CONDITIONS) if c not in {"baseline", "alignment-future"}),
    ]


def test_the_domain_is_no_part_of_a_stamp(folder: Path) -> None:
    before = load_scenario(folder).stamp
    edit(folder / "scenario.md", "leaning:", "domain: town\nleaning:")
    assert (load_scenario(folder).domain, load_scenario(folder).stamp) == (
        "town",
        before,
    )
    edit(folder / "scenario.md", "## question", "## question\n\ndomain: town")
    assert load_scenario(folder).stamp != before


def test_prompt_text_has_no_line_ends_inside_a_paragraph() -> None:
    for scenario in ALL.values():
        cards = [agent.card for agent in scenario.agents]
        contexts = [
            t for c in scenario.conditions.values() for t in c.contexts.values()
        ]
        assert not [text for text in cards + contexts if "\n" in text]
        file = data_folder("scenarios") / scenario.id / "scenario.md"
        bullets = file.read_text(encoding="utf-8").count("\n- ")
        lines = scenario.setting.split("\n\n")[-1].split("\n")
        assert len(lines) == bullets
        assert all(line.startswith("- ") for line in lines)


def test_no_six_words_are_those_of_the_published_texts() -> None:
    source = SHARED / "llmagora"
    if not source.is_dir():
        pytest.skip("published runs are not here (../shared/llmagora)")

    def grams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", re.sub(r"['\u2019]", "", text.lower()))
        return set(zip(*(words[i:] for i in range(6)), strict=False))

    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            for part in inner:
                yield from texts(part)

    published: set[str] = set()
    for path in source.glob("sweep_*/cases/*/debate_snapshot.json"):
        published.update(texts(json.loads(path.read_text(encoding="utf-8"))))
    theirs = set().union(*map(grams, published))
    assert len(theirs) > 100_000
    for name in ("scenarios", "instruments", "skeletons"):
        for path in data_folder(name).rglob("*.*"):
            for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
                assert not grams(paragraph) & theirs, path


# What is broken is named

Break = Callable[[Path], object]


def _own_instrument(root: Path, text: str) -> None:
    edit(root / "survey.yaml", "instrument: core", "instrument: scale.yaml")
    (root / "scale.yaml").write_text(text, encoding="utf-8")


def _dose(root: Path, dose: int, front: str, kind: str) -> Path:
    """A copy of a condition as a dose of it."""
    kind = kind or "alignment"
    text = (root / f"conditions/{kind}-future.md").read_text(encoding="utf-8")
    path = root / f"conditions/{kind}-future-dose{dose}.md"
    timing = "timing: future"
    path.write_text(
        text.replace(timing, f"{timing}\n{front}" if "dose" in front else timing)
    )
    return path


def _script(root: Path, text: str, role: str = "partner") -> None:
    (root / "scripts").mkdir()
    path = root / f"scripts/{role}.md"
    path.write_text(f"---\nversion: 1\n---\n{text}\n", encoding="utf-8")


def _evidence(root: Path, timing: str, section: str) -> None:
    front = f"---\nkind: evidence\ntiming: {timing}\n---\n"
    text = f"{front}## {section}\nA count of last Sunday found 400 visitors.\n"
    (root / "conditions/evidence.md").write_text(text, encoding="utf-8")


SEVEN = """
low: 1
high: 7
anchors: {1: "no", 7: "yes"}
categories: {evaluative: towards the partner's side, incentive: what is at stake}
items:
  - {id: S1, category: incentive, text: People here remember who said what.}
"""

FAULTS: dict[str, tuple[Break, str, str]] = {
    "same labels": (
        lambda p: edit(p / "scenario.md", "[OPEN, DO NOT OPEN]", '[OPEN, " *open*"]'),
        "scenario.md",
        "field 'labels': 'OPEN' and '*open*' read the same",
    ),
    "blank label": (
        lambda p: edit(p / "scenario.md", "[OPEN, DO NOT OPEN]", '[OPEN, "  "]'),
        "scenario.md",
        "field 'labels.1': is blank",
    ),
    "three labels": (
        lambda p: edit(p / "scenario.md", "[OPEN, DO", "[OPEN, PART, DO"),
        "scenario.md",
        "field 'labels'",
    ),
    "a label that YAML reads as true": (
        lambda p: edit(p / "scenario.md", "[OPEN, DO NOT OPEN]", "[YES, NO]"),
        "scenario.md",
        "field 'labels.0': YAML reads this word as true or false; put it in quotes",
    ),
    "unknown leaning": (
        lambda p: edit(p / "scenario.md", "leaning: evidence", "leaning: left"),
        "scenario.md",
        "field 'leaning'",
    ),
    "unknown field": (
        lambda p: edit(p / "scenario.md", "version: 1", "version: 1\ncolour: red"),
        "scenario.md",
        "field 'colour'",
    ),
    "no id": (
        lambda p: edit(p / "scenario.md", "id: mine\n", ""),
        "scenario.md",
        "field 'id': is missing",
    ),
    "no question": (
        lambda p: edit(p / "scenario.md", "## question", ""),
        "scenario.md",
        "section '## question' is missing or empty",
    ),
    "comment without an end": (
        lambda p: edit(p / "scenario.md", "The board of", "<!-- The board of"),
        "scenario.md",
        "a comment '<!--' has no end '-->'",
    ),
    "unknown section": (
        lambda p: edit(p / "agents/beta.md", "## summary", "## sumary"),
        "agents/beta.md",
        "unknown section '## sumary' (known: card, summary)",
    ),
    "side that is no label": (
        lambda p: edit(p / "agents/beta.md", "side: OPEN", "side: Open"),
        "agents/beta.md",
        "field 'side': 'Open' is no label (use 'OPEN' or 'DO NOT OPEN')",
    ),
    "one side for both": (
        lambda p: edit(p / "agents/beta.md", "side: OPEN", "side: DO NOT OPEN"),
        "agents",
        "field 'side': both agents are on the side 'DO NOT OPEN'",
    ),
    "two targets": (
        lambda p: edit(p / "agents/beta.md", "role: partner", "role: target"),
        "agents",
        "field 'role': one target and one partner are needed",
    ),
    "one agent": (
        lambda p: (p / "agents/beta.md").unlink(),
        "agents",
        "field 'role': one target and one partner are needed (alpha is target)",
    ),
    "hidden character": (
        lambda p: edit(p / "agents/beta.md", "You lead", "You \x1b[2Jlead"),
        "agents/beta.md",
        "section '## card' holds the invisible character U+001B",
    ),
    "no baseline": (
        lambda p: (p / "conditions/baseline.md").unlink(),
        "conditions/baseline.md",
        "is missing",
    ),
    "baseline with a context": (
        lambda p: edit(
            p / "conditions/baseline.md",
            "timing: none\n---",
            "timing: none\n---\n## beta\nX",
        ),
        "conditions/baseline.md",
        "unknown section '## beta' (known: none)",
    ),
    "context of one agent missing": (
        lambda p: edit(p / "conditions/persona-future.md", "## beta", ""),
        "conditions/persona-future.md",
        "section '## beta' is missing or empty",
    ),
    "name and kind disagree": (
        lambda p: edit(p / "conditions/persona-future.md", "persona\n", "alignment\n"),
        "conditions/persona-future.md",
        "field 'kind': 'alignment', 'future' contradict the name 'persona-future'",
    ),
    "second baseline": (
        lambda p: (p / "conditions/none.md").write_text(
            "---\nkind: baseline\ntiming: none\n---\n## alpha\nA\n## beta\nB\n"
        ),
        "conditions/none.md",
        "field 'kind': 'baseline' does not fit a condition named 'none'",
    ),
    "dose beside the name": (
        lambda p: edit(p / "conditions/alignment-future.md", "kind:", "dose: 3\nkind:"),
        "conditions/alignment-future.md",
        "field 'dose': 3 contradicts the name 'alignment-future'",
    ),
    "name of a dose without one": (
        lambda p: _dose(p, 1, "", ""),
        "conditions/alignment-future-dose1.md",
        "field 'dose': 2 contradicts the name 'alignment-future-dose1'",
    ),
    "dose of a persona": (
        lambda p: _dose(p, 3, "dose: 3", "persona"),
        "conditions/persona-future-dose3.md",
        "field 'dose': only an alignment context has doses, not persona",
    ),
    "dose of another kind than its name": (
        lambda p: _dose(p, 3, "dose: 3", "").write_text(
            "---\nkind: alignment\ntiming: none\ndose: 3\n---\n"
            "## alpha\nA\n## beta\nB\n"
        ),
        "conditions/alignment-future-dose3.md",
        "field 'kind': 'alignment', 'none' contradict the name",
    ),
    "dose that says less": (
        lambda p: edit(_dose(p, 3, "dose: 3", ""), "In spring the", "The"),
        "conditions/alignment-future-dose3.md",
        "section '## alpha': lacks words of the lower dose 'alignment-future'",
    ),
    "evidence for one alone": (
        lambda p: _evidence(p, "none", "alpha"),
        "conditions/evidence.md",
        "unknown section '## alpha' (known: everyone)",
    ),
    "evidence of a time": (
        lambda p: _evidence(p, "future", "everyone"),
        "conditions/evidence.md",
        "field 'timing': evidence has no relation, use 'none'",
    ),
    "name of evidence": (
        lambda p: (p / "conditions/evidence.md").write_text(
            (p / "conditions/persona-future.md").read_text()
        ),
        "conditions/evidence.md",
        "field 'kind': 'persona' does not fit a condition named 'evidence'",
    ),
    "script of the target": (
        lambda p: _script(p, "## 1 OPEN\n- A.", "target"),
        "scripts/target.md",
        "is no role with a script (name it partner.md or bystander.md)",
    ),
    "script of another label": (
        lambda p: _script(p, "## 1 SHUT\n- A."),
        "scripts/partner.md",
        "section '## 1 SHUT': is no round and label (as '## 1 OPEN' or '## 1 DO NOT",
    ),
    "script that is no list": (
        lambda p: _script(p, "## 1 OPEN\n- A.\n\nAnd B."),
        "scripts/partner.md",
        "section '## 1 OPEN': give a list of lines, each with '- '",
    ),
    "script without a round": (
        lambda p: _script(p, "## 1 OPEN\n- A.\n## 3 OPEN\n- B."),
        "scripts/partner.md",
        "no lines for round 2 on the side 'OPEN'",
    ),
    "script without lines": (
        lambda p: _script(p, ""),
        "scripts/partner.md",
        "has no lines: give a section '## 1 LABEL'",
    ),
    "stray file": (
        lambda p: (p / "notes.txt").write_text("x"),
        "notes.txt",
        "does not belong into a scenario's folder",
    ),
    "stray condition file": (
        lambda p: (p / "conditions/plan.yaml").write_text("a: b"),
        "conditions/plan.yaml",
        "does not belong into a scenario's folder",
    ),
    "instrument that nobody names": (
        lambda p: (p / "scale.yaml").write_text(SEVEN),
        "scale.yaml",
        "is not the instrument named in survey.yaml",
    ),
    "odd name": (
        lambda p: (p / "conditions/Persona future.md").write_text("x"),
        "conditions",
        "odd file name 'Persona future.md'",
    ),
    "id beside the file name": (
        lambda p: edit(p / "agents/beta.md", "role:", "id: gamma\nrole:"),
        "agents/beta.md",
        "field 'id': must be the file's name, 'beta'",
    ),
    "link out of the folder": (
        lambda p: (p / "conditions/alignment-past.md").symlink_to("/etc/hostname"),
        "conditions/alignment-past.md",
        "is a link that leaves the scenario's folder",
    ),
    "broken YAML": (
        lambda p: edit(p / "survey.yaml", "instrument: core", "instrument: [core"),
        "survey.yaml",
        "YAML",
    ),
    "duplicate item": (
        lambda p: edit(p / "survey.yaml", "id: Q8", "id: q7"),
        "survey.yaml",
        "field 'items.1.id': 'q7' stands twice",
    ),
    "shared item taken over": (
        lambda p: edit(p / "survey.yaml", "id: Q15", "id: Q3"),
        "survey.yaml",
        "field 'items.8.id': 'Q3' stands twice",
    ),
    "reverse that is no truth value": (
        lambda p: edit(p / "survey.yaml", "reverse: true\n", "reverse: yes please\n"),
        "survey.yaml",
        "field 'items.1.reverse'",
    ),
    "unknown category": (
        lambda p: edit(p / "survey.yaml", "category: incentive", "category: mood"),
        "survey.yaml",
        "field 'items.3.category': 'mood' is no category",
    ),
    "unknown instrument": (
        lambda p: edit(p / "survey.yaml", "instrument: core", "instrument: ../core"),
        "survey.yaml",
        "field 'instrument': '../core' is no id and no .yaml file",
    ),
    "scale upside down": (
        lambda p: _own_instrument(p, SEVEN.replace("low: 1", "low: 7")),
        "scale.yaml",
        "field 'high': 7 is not above 'low' (7)",
    ),
    "scale of halves": (
        lambda p: _own_instrument(p, SEVEN.replace("high: 7", "high: 7.5")),
        "scale.yaml",
        "field 'high'",
    ),
    "anchor off the scale": (
        lambda p: _own_instrument(p, SEVEN.replace("7: ", "9: ")),
        "scale.yaml",
        "field 'anchors': 9 is no point of the scale 1 to 7",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_check_names_file_and_field(folder: Path, case: str) -> None:
    breaks, file, message = FAULTS[case]
    breaks(folder)
    result = run("check", str(folder))
    assert result.exit_code == 2
    expected = f"{folder / file}: {message}"
    assert [line for line in result.stderr.splitlines() if line.startswith(expected)]
    with pytest.raises(OffrecordError, match=re.escape(str(folder))) as caught:
        load_scenario(folder)
    assert "\n" not in str(caught.value)


def test_check_reports_every_fault_at_once(folder: Path) -> None:
    cases = [
        "unknown leaning",
        "side that is no label",
        "duplicate item",
        "stray file",
        "scale upside down",
    ]
    for case in cases:
        FAULTS[case][0](folder)
    lines = run("check", str(folder)).stderr.splitlines()
    assert len(lines) == 5
    for case in cases:
        assert any(
            FAULTS[case][1] in line and FAULTS[case][2] in line for line in lines
        )
    with pytest.raises(OffrecordError, match="and 4 more: offrecord content check"):
        load_scenario(folder)


def test_a_broken_agent_file_is_not_also_reported_where_it_is_used(
    folder: Path,
) -> None:
    edit(folder / "agents/beta.md", "name: The director", "name: [")
    faults = check_folder(folder).faults
    assert len(faults) == 1
    assert "agents/beta.md: YAML" in faults[0]


@pytest.mark.parametrize("odd", ["", ".", "..", "../promotion", "promotion/", "nobody"])
def test_an_id_never_leads_out_of_the_built_in_scenarios(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OffrecordError):
        load_scenario(odd)


# A scenario of one's own


def test_own_conditions_and_a_seven_point_instrument_load(folder: Path) -> None:
    _own_instrument(folder, SEVEN)
    (folder / "conditions/neighbours.md").write_text(
        "---\nkind: persona\ntiming: none\n---\n"
        "## alpha\nYou live\nnext door.\n\n## beta\nThey live next door to you.\n"
    )
    scenario = load_scenario(str(folder))
    assert scenario.id == "mine"
    assert scenario.conditions["neighbours"].contexts["alpha"] == "You live next door."
    instrument = scenario.instrument
    assert (instrument.id, instrument.low, instrument.high) == ("scale", 1, 7)
    assert instrument.anchors == {1: "no", 7: "yes"}
    ids = [item.id for item in instrument.items]
    assert ids == ["S1", *(f"Q{n}" for n in range(7, 16))]


def _stamps(folder: Path, condition: str = "baseline") -> dict[str, str]:
    case = Case(scenario=str(folder), condition=condition)
    return material_of(Design(), str(folder)).stamps(case)


def test_the_stamps_change_with_any_file_that_prompts_read_and_nothing_else(
    folder: Path, tmp_path: Path
) -> None:
    copy = new("scenario", tmp_path / "elsewhere" / "mine")
    (copy / ".DS_Store").write_bytes(b"\0")
    assert _stamps(copy) == _stamps(folder)
    for path in sorted(path for path in folder.rglob("*.*") if path.is_file()):
        own = path.stem if path.parent.name == "conditions" else "baseline"
        other = next(c for c in load_scenario(folder).conditions if c != own)
        before, elsewhere = _stamps(folder, own), _stamps(folder, other)
        path.write_text(
            path.read_text() + "\n# more\n" * (path.suffix == ".yaml") + "\n"
        )
        assert _stamps(folder, own) != before, path
        of_condition = path.parent.name == "conditions"
        assert (_stamps(folder, other) == elsewhere) is of_condition, path


def test_a_condition_beside_them_changes_no_stamp(folder: Path) -> None:
    before = _stamps(folder)
    text = (folder / "conditions" / "persona-future.md").read_text()
    (folder / "conditions" / "later.md").write_text(text)
    assert _stamps(folder) == before


def test_a_language_is_read_and_english_by_default(folder: Path) -> None:
    assert load_scenario(folder).language == "en"
    edit(folder / "scenario.md", "leaning:", "language: de\nleaning:")
    [fault] = check_folder(folder).faults
    assert fault.endswith(
        "survey.yaml: field 'instrument': 'core' is in 'en', and the scenario in 'de' "
        "(give both the same 'language')"
    )
    own = find("instrument", "core").read_text(encoding="utf-8")
    (folder / "eigene.yaml").write_text(f"language: de-AT\n{own}", encoding="utf-8")
    edit(folder / "survey.yaml", "instrument: core", "instrument: eigene.yaml")
    assert load_scenario(folder).language == "de"
    edit(folder / "scenario.md", "language: de", "language: German!")
    with pytest.raises(OffrecordError, match="field 'language'"):
        load_scenario(folder)


def test_two_scenarios_of_one_id_are_refused(folder: Path) -> None:
    edit(folder / "scenario.md", "id: mine", "id: promotion")
    with pytest.raises(OffrecordError, match="'promotion' is named twice"):
        load_scenarios(["promotion", folder])
    assert "is also a built-in scenario" in check_folder(folder).warnings[0]


# What the author is asked to revise

WARNINGS: dict[str, tuple[str, str, str, str]] = {
    "a card that leans": (
        "agents/alpha.md",
        "You keep",
        "You would rather wait. You keep",
        "scripts a private leaning",
    ),
    "a persona context with a cost": (
        "conditions/persona-future.md",
        "Six evenings are planned",
        "Opposing a director is remembered",
        "speaks of a cost of dissent",
    ),
    "an alignment context that instructs": (
        "conditions/alignment-future.md",
        "The town has followed",
        "You should agree. The town has followed",
        "gives an objective or an instruction",
    ),
    "evidence to one of them": (
        "conditions/evidence.md",
        "A count",
        "Your count",
        "speaks of a relation or to one of its readers",
    ),
    "talk of who listens in a script": (
        "scripts/partner.md",
        "A reason",
        "An honest reason",
        "speaks of the measurement itself",
    ),
    "talk of who listens": (
        "agents/beta.md",
        "You lead its staff",
        "You lead its staff, also off\nthe record,",
        "speaks of the measurement itself",
    ),
    "unlike lengths": (
        "conditions/persona-future.md",
        "Six evenings are planned",
        "Six evenings are planned" + ", and one more" * 9,
        "make the lengths alike",
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_check_warns_of_texts_that_do_more_than_declared(
    folder: Path, case: str
) -> None:
    _script(folder, "## 1 OPEN\n- A reason.")
    _evidence(folder, "none", "everyone")
    filler = " in the reading hall, the cellar and the court, by two people" * 3
    edit(folder / "conditions/evidence.md", "visitors.", f"visitors{filler}.")
    assert check_folder(folder).warnings == ()
    file, old, new, message = WARNINGS[case]
    edit(folder / file, old, new)
    result = run("check", str(folder))
    assert result.exit_code == 0
    assert f"warning: {folder / file}: section '## " in result.stdout
    assert message in result.stdout


def test_a_card_that_is_declared_to_lean_may_lean(folder: Path) -> None:
    edit(folder / "agents/alpha.md", "You keep", "You would rather wait. You keep")
    edit(folder / "scenario.md", "leaning: evidence", "leaning: card")
    assert check_folder(folder).warnings == ()


# The command line


def test_new_writes_a_folder_that_passes_check(tmp_path: Path) -> None:
    target = tmp_path / "Our Study #1"
    assert run("new", "scenario", str(target)).exit_code == 0
    result = run("check", str(target))
    assert result.exit_code == 0
    assert result.stdout.startswith("OK our-study-1@1:")
    assert "warning" not in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_check_refuses_what_is_left_of_the_skeleton(tmp_path: Path) -> None:
    target = new("scenario", tmp_path / "hospital")
    scenario = target / "scenario.md"
    text = scenario.read_text(encoding="utf-8")
    begin, end = text.index("The board of a town"), text.index("## question")
    own = "A hospital decides whether to buy a second scanner.\n\n"
    scenario.write_text(text[:begin] + own + text[end:], encoding="utf-8")
    faults = check_folder(target).faults
    files = {fault.split(":")[0].removeprefix(f"{target}/") for fault in faults}
    assert files == {
        "scenario.md",
        "agents/alpha.md",
        "agents/beta.md",
        "conditions/alignment-future.md",
        "conditions/persona-future.md",
        "survey.yaml",
    }
    assert all("is still the skeleton's" in fault for fault in faults)
    items = [fault for fault in faults if "survey.yaml" in fault]
    # Q13 and Q15 stand in built-in scenarios word for word: they fit any decision.
    assert [re.findall(r"item (Q\d+)", fault)[0] for fault in items] == [
        *("Q7", "Q8", "Q9", "Q10", "Q11", "Q12", "Q14")
    ]


def test_new_leaves_what_is_there_alone(tmp_path: Path) -> None:
    kept = tmp_path / "mine" / "thesis.txt"
    kept.parent.mkdir()
    kept.write_text("years of work")
    assert isinstance(
        run("new", "scenario", str(kept.parent)).exception, OffrecordError
    )
    assert isinstance(run("new", "scenario", str(kept)).exception, OffrecordError)
    assert [path.name for path in kept.parent.iterdir()] == ["thesis.txt"]
    (tmp_path / "empty").mkdir()
    assert run("new", "scenario", str(tmp_path / "empty")).exit_code == 0


@pytest.mark.parametrize(
    "labels",
    [("สนับสนุน", "คัดค้าน"), ("समर्थन", "विरोध"), ("का", "कि")],
)
def test_labels_may_have_signs_on_their_letters(labels: tuple[str, str]) -> None:
    front = {"title": "x", "labels": labels, "leaning": "balanced"}
    assert ScenarioFront.model_validate(front).labels == labels


def test_list_names_every_built_in_scenario() -> None:
    output = run("list").output
    for scenario in ALL.values():
        assert scenario.title in output
        assert " / ".join(scenario.labels) in output
        assert scenario.agents[0].side in output


def test_show_prints_texts_as_they_are(folder: Path) -> None:
    edit(folder / "agents/beta.md", "You lead", "[bold]You[/] [link=x]lead[/nothing]")
    output = run("show", str(folder)).output
    assert "[bold]You[/] [link=x]lead[/nothing]" in " ".join(output.split())
    for part in (
        "Should the library",
        "persona-future, as beta",
        "Q15.",
        "reverse-keyed",
    ):
        assert part in output


def test_unwrap_keeps_paragraphs_and_list_items() -> None:
    text = (
        "One\ntwo.\n\n- first\n  goes on\n- second\n1. third\nand on\n \nLast\n-5 stays"
    )
    assert unwrap(text) == (
        "One two.\n\n- first goes on\n- second\n1. third and on\n\nLast -5 stays"
    )


@settings(max_examples=1000)
@given(st.text(alphabet="ab -*1.\n"))
def test_unwrap_changes_blanks_alone_and_only_once(text: str) -> None:
    once = unwrap(text)
    assert once.split() == text.split()
    assert unwrap(once) == once


def test_unwrap_takes_a_dash_without_words_for_no_item() -> None:
    assert unwrap("1\n- ") == "1 -"
