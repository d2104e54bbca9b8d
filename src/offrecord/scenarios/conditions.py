"""The conditions of a scenario: kinds, timings and doses, by rules that pool them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from offrecord.records import STANDARD_DOSE, Kind, Timing
from offrecord.scenarios.folder import AGENTS, CONDITIONS, Files
from offrecord.scenarios.front import ConditionFront
from offrecord.scenarios.model import EVERYONE, Condition

BASELINE = "baseline"
DOSED = "-dose"
"""What parts the name of a condition from its dose, where it is not the standard."""


def read_conditions(files: Files) -> dict[str, Condition]:
    """The conditions of a folder by id; what is wrong with them is noted in `files`."""
    agents = files.ids(AGENTS)
    conditions: dict[str, Condition] = {}
    for document in files.inside(CONDITIONS):
        kept = files.front(document, ConditionFront)
        is_baseline = document.id == BASELINE
        common = kept is not None and kept.kind is Kind.EVIDENCE
        named = () if is_baseline else (EVERYONE,) if common else agents
        contexts = files.sections(document, named)
        if kept is None:
            continue
        if common:  # the same words for all, so that none depends on another for them
            contexts = dict.fromkeys(agents, contexts.get(EVERYONE, ""))
        wrong = _misdeclared(document.id, kept)
        if wrong:
            files.fault(document.path, wrong)
        conditions[document.id] = Condition(
            id=document.id,
            kind=kept.kind,
            timing=kept.timing,
            dose=None if kept.dose == STANDARD_DOSE else kept.dose,
            contexts=contexts,
            stamp=document.stamp,
        )
    for lower, higher in _doses(conditions.values()):
        for agent, text in lower.contexts.items():
            if not _only_adds(text, higher.contexts.get(agent, text)):
                where = files.path / CONDITIONS / f"{higher.id}.md"
                lacks = f"lacks words of the lower dose '{lower.id}', or turns them"
                files.fault(where, f"section '## {agent}': {lacks}; only add to it")
    if BASELINE not in files.ids(CONDITIONS):
        files.fault(files.path / CONDITIONS / f"{BASELINE}.md", "is missing")
    return conditions


def _misdeclared(condition: str, front: ConditionFront) -> str | None:
    """What contradicts a condition's id: everyone pools conditions by these names."""
    kind, timing, dose = front.kind, front.timing, front.dose
    if (condition == BASELINE) != (kind is Kind.BASELINE) or (
        condition == Kind.EVIDENCE and kind is not Kind.EVIDENCE
    ):
        return f"field 'kind': '{kind}' does not fit a condition named '{condition}'"
    if kind in {Kind.BASELINE, Kind.EVIDENCE} and timing is not Timing.NONE:
        return f"field 'timing': {kind} has no relation, use '{Timing.NONE}'"
    family, _, named = condition.partition(DOSED)
    if (named or str(STANDARD_DOSE)) != str(dose):
        return f"field 'dose': {dose} contradicts the name '{condition}'"
    if dose != STANDARD_DOSE and kind is not Kind.ALIGNMENT:
        return f"field 'dose': only an alignment context has doses, not {kind}"
    standard = {f"{k}-{t}": (k, t) for k in Kind for t in Timing}
    if standard.get(family, (kind, timing)) != (kind, timing):
        return f"field 'kind': '{kind}', '{timing}' contradict the name '{condition}'"
    return None


def _doses(conditions: Iterable[Condition]) -> Iterator[tuple[Condition, Condition]]:
    """Conditions that are doses of one fact, each with the next higher one."""
    families: dict[str, list[Condition]] = {}
    for condition in sorted(conditions, key=lambda one: one.dose or STANDARD_DOSE):
        families.setdefault(condition.id.partition(DOSED)[0], []).append(condition)
    for family in families.values():
        yield from pairwise(family)


def _only_adds(lower: str, higher: str) -> bool:
    """Whether all words of a text stand in another one, in the same order."""
    rest = iter(re.findall(r"\w+", higher.casefold()))
    return all(word in rest for word in re.findall(r"\w+", lower.casefold()))
