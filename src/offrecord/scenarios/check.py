"""What `content check` says of a scenario: every fault, and what to revise.

Faults make a folder unusable. Warnings come from the rules in
`content/data/scenario-warnings.yaml`: a text that does more than its kind declares.
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
from offrecord.records import Role
from offrecord.scenarios.folder import AGENTS, CONDITIONS, SCRIPTS
from offrecord.scenarios.front import Line
from offrecord.scenarios.load import builtin_ids, scenario_folder
from offrecord.scenarios.model import Scenario
from offrecord.scenarios.reading import read_folder

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
    if scenario is None:
        return Finding(faults=faults, warnings=(), summary="")
    conditions, items = len(scenario.conditions), len(scenario.instrument.items)
    return Finding(
        faults=(),
        warnings=tuple(_warnings(folder, scenario)),
        summary=f"OK {scenario.stamp}: {conditions} conditions, {items} survey items",
    )


@cache
def _rules() -> _WarningRules:
    return read_document(data_folder("scenario-warnings.yaml")).validate(_WarningRules)


def _warnings(folder: Path, scenario: Scenario) -> Iterator[str]:
    theirs = folder.resolve().parent != data_folder("scenarios").resolve()
    if theirs and scenario.id in builtin_ids():
        yield f"{folder}: field 'id': '{scenario.id}' is also a built-in scenario"
    for rule in _rules().rules:
        for place, text in _texts(folder, scenario, rule.texts):
            said = sorted(
                {match.lower() for match in phrases_pattern(rule.phrases).findall(text)}
            )
            if said:
                words = ", ".join(f"'{word}'" for word in said)
                yield f"{place}: {rule.means}: {words}"
    yield from _uneven(folder, scenario)


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
        (len(text.split()), condition.id, name)
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
