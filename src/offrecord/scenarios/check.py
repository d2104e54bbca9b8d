"""What `content check` says of a scenario: every fault, and what to revise.

Faults make a folder unusable, or are sentences left over from the skeleton. Warnings
come from the rules in `content/data/scenario-warnings.yaml`: a text that does more than
its kind declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from offrecord.content import data_folder, read_document
from offrecord.content.document import Front
from offrecord.content.letters import WORD
from offrecord.content.library import find
from offrecord.records import ENGLISH, Role, primary_language
from offrecord.scenarios.folder import AGENTS, CONDITIONS, SCENARIO, SCRIPTS, SURVEY
from offrecord.scenarios.front import Line
from offrecord.scenarios.load import builtin_ids, scenario_folder
from offrecord.scenarios.model import Scenario
from offrecord.scenarios.reading import read_folder

_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n")

Texts = Literal["card", "persona", "alignment", "evidence", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of checking one folder."""

    faults: tuple[str, ...]
    """One line each, with file and field; none means that the scenario loads."""
    warnings: tuple[str, ...]

    summary: str
    """One line about a folder without faults; empty otherwise."""


class _Rule(Front):
    texts: Texts
    means: Line
    names: Literal["", "objective"] = ""
    """What the rule is asked for by name."""
    phrases: tuple[Line, ...]


class _WarningRules(Front):
    longest_to_shortest: float = Field(gt=1)
    rules: tuple[_Rule, ...]


def phrases_pattern(
    phrases: Sequence[str], *, capitals: bool = False
) -> re.Pattern[str]:
    """One pattern for all phrases, at word boundaries.

    Args:
        phrases: At least one; a `*` stands for the rest of a word.
        capitals: Whether capitals tell words apart.
    """
    written = (
        re.escape(one).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for one in phrases
    )
    flags = re.NOFLAG if capitals else re.IGNORECASE
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)", flags)


def check_folder(path: str | Path) -> Finding:
    """Check a scenario's folder to the end.

    Args:
        path: A folder, or the id of a built-in scenario.

    Raises:
        OffrecordError: If there is no such folder; what is wrong inside a folder is
            returned, not raised.
    """
    folder = Path(path)
    if not folder.is_dir():
        folder = scenario_folder(path)
    scenario, faults = read_folder(folder)
    faults = faults if scenario is None else tuple(_leftovers(folder, scenario))
    if scenario is None or faults:
        return Finding(faults=faults, warnings=(), summary="")
    conditions, items = len(scenario.conditions), len(scenario.instrument.items)
    english = primary_language(scenario.language) == ENGLISH
    unread = "" if english else "; its wording is not checked, which is done in English"
    return Finding(
        faults=(),
        warnings=tuple(_warnings(folder, scenario)),
        summary=f"OK {scenario.stamp}: {conditions} conditions, {items} survey items"
        f"{unread}",
    )


@cache
def _rules() -> _WarningRules:
    return read_document(data_folder("scenario-warnings.yaml")).validate(_WarningRules)


def _leftovers(folder: Path, scenario: Scenario) -> Iterator[str]:
    """Sentences of the skeleton that are still there although its setting is not.

    What the built-in scenarios ask word for word as well belongs to any scenario.
    """
    skeleton, _ = read_folder(data_folder("skeletons") / "scenario")
    assert skeleton is not None
    if scenario.setting == skeleton.setting:
        return
    left = {words for _, text in _every_text(Path(), skeleton) for words in _said(text)}
    for place, text in _every_text(folder, scenario):
        for words, sentence in _said(text).items():
            if words in left and words not in _built_in_items():
                yield f"{place}: is still the skeleton's: '{sentence}'; rewrite it"


def _every_text(folder: Path, scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Every text of a scenario with its place."""
    yield f"{folder / SCENARIO}: field 'title'", scenario.title
    yield f"{folder / SCENARIO}: section '## setting'", scenario.setting
    yield f"{folder / SCENARIO}: section '## question'", scenario.question
    yield from _texts(folder, scenario, "all")
    for item in scenario.instrument.items:
        yield f"{folder / SURVEY}: item {item.id}", item.text


def _said(text: str) -> dict[str, str]:
    """The sentences of a text, by their words alone."""
    sentences = filter(None, _SENTENCE_END.split(text))
    return {" ".join(re.findall(r"\w+", one.casefold())): one for one in sentences}


@cache
def _built_in_items() -> frozenset[str]:
    sheets = (read_document(scenario_folder(id_) / SURVEY) for id_ in builtin_ids())
    shared = read_document(find("instrument", "core"))
    items = (item for sheet in (shared, *sheets) for item in sheet.front["items"])
    return frozenset(words for item in items for words in _said(item["text"]))


def _warnings(folder: Path, scenario: Scenario) -> Iterator[str]:
    theirs = folder.resolve().parent != data_folder("scenarios").resolve()
    if theirs and scenario.id in builtin_ids():
        yield f"{folder}: field 'id': '{scenario.id}' is also a built-in scenario"
    for rule in _rules().rules:
        yield from _found(folder, scenario, rule)
    yield from _uneven(folder, scenario)


def _found(folder: Path, scenario: Scenario, rule: _Rule) -> Iterator[str]:
    for place, text in _texts(folder, scenario, rule.texts):
        found = phrases_pattern(rule.phrases).findall(text)
        said = sorted({match.lower() for match in found})
        if said:
            words = ", ".join(f"'{word}'" for word in said)
            yield f"{place}: {rule.means}: {words}"


def named_objectives(folder: Path, scenario: Scenario) -> list[str]:
    """A line for each text that names an objective, by the rules' word lists."""
    rules = (rule for rule in _rules().rules if rule.names == "objective")
    return [line for rule in rules for line in _found(folder, scenario, rule)]


def every_text(folder: Path, scenario: Scenario) -> list[tuple[str, str]]:
    """Every card, summary, context and script line, each with its file and section."""
    return [*_texts(folder, scenario, "all")]


def _texts(folder: Path, scenario: Scenario, texts: Texts) -> Iterator[tuple[str, str]]:
    """The texts that a rule reads, each with its file and section."""
    for agent in scenario.agents:
        place = f"{folder / AGENTS / agent.id}.md"
        scripted = agent.role is Role.TARGET and scenario.leaning == "evidence"
        if texts == "all" or (texts == "card" and scripted):
            yield f"{place}: section '## card'", agent.card
        if texts == "all":
            yield f"{place}: section '## summary'", agent.summary
    for role, lines in scenario.lines.items() if texts == "all" else ():
        for (side, round_), variants in lines.said.items():
            place = f"{folder / SCRIPTS / role}.md: section '## {round_} {side}'"
            yield place, " ".join(variants)
    for condition in scenario.conditions.values():
        if texts in {"all", condition.kind}:
            place = f"{folder / CONDITIONS / condition.id}.md"
            for name, text in condition.sections.items():
                yield f"{place}: section '## {name}'", text


def _uneven(folder: Path, scenario: Scenario) -> Iterator[str]:
    """Whether contexts differ so much in length that length is a confound."""
    lengths = sorted(
        (len(WORD.findall(text)), condition.id, name)
        for condition in scenario.conditions.values()
        if condition.dose is None  # a higher dose says more
        for name, text in condition.sections.items()
    )
    if lengths and lengths[-1][0] > lengths[0][0] * _rules().longest_to_shortest:
        (low, brief, reader), (high, wordy, listener) = lengths[0], lengths[-1]
        yield (
            f"{folder / CONDITIONS / wordy}.md: section '## {listener}': {high} words,"
            f" but {low} in {brief}.md '## {reader}'; make the lengths alike"
        )
