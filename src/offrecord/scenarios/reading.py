"""From a folder to a scenario, noting all that is wrong on the way.

`load_scenario` and `scenarios check` stand on this one reading, so that what passes
the check loads, and what loads has passed it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from offrecord.content import Document, data_folder, read_document
from offrecord.content.escapes import escaped
from offrecord.records import Kind, Role, Timing, digest
from offrecord.scenarios.folder import (
    AGENTS,
    CONDITIONS,
    SCENARIO,
    SURVEY,
    Faults,
    Files,
    front,
    read_files,
    sections,
)
from offrecord.scenarios.front import (
    AgentFront,
    ConditionFront,
    InstrumentFront,
    ItemFront,
    Line,
    ScenarioFront,
    SurveyFront,
)
from offrecord.scenarios.model import Agent, Condition, Instrument, Item, Scenario

BASELINE = "baseline"

_LABELS = TypeAdapter(tuple[Line, Line])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a folder holds, or what is wrong with it."""

    scenario: Scenario | None
    """None where there is any fault."""
    faults: tuple[str, ...]
    """One line each: file, field, what is wrong."""


def read_folder(folder: Path) -> Reading:
    """Read a scenario's folder to the end, whatever is wrong in it."""
    faults = Faults()
    files = read_files(folder, faults)
    head, texts = _head(files, faults)
    agents = _agents(files, faults)
    conditions = _conditions(files, faults)
    instrument = _instrument(files, faults)
    if faults.lines or head is None or instrument is None:
        return Reading(scenario=None, faults=tuple(map(escaped, faults.lines)))
    document = files.documents[SCENARIO]
    read = [document, *files.inside(AGENTS)]
    hashes = {file.path.relative_to(folder).as_posix(): file.hash for file in read}
    scenario = Scenario(
        id=document.id,
        title=head.title,
        setting=texts["setting"],
        question=texts["question"],
        labels=head.labels,
        leaning=head.leaning,
        agents=agents,
        conditions=conditions,
        instrument=instrument,
        language=head.language,
        stamp=f"{document.id}@{document.version}:{digest(hashes)}",
    )
    return Reading(scenario=scenario, faults=())


def instrument_ids() -> tuple[str, ...]:
    """The ids of the instruments that ship with the package, sorted."""
    return tuple(
        sorted(path.stem for path in data_folder("instruments").glob("*.yaml"))
    )


def _head(
    files: Files, faults: Faults
) -> tuple[ScenarioFront | None, Mapping[str, str]]:
    document = files.documents.get(SCENARIO)
    if document is None:
        if SCENARIO not in files.names:
            faults.add(files.path / SCENARIO, "is missing")
        return None, {}
    if document.id == document.path.stem:
        faults.add(document.path, "field 'id': is missing; name the scenario")
    head = front(document, ScenarioFront, faults)
    return head, sections(document, ("setting", "question"), faults)


def _labels(files: Files) -> tuple[str, ...]:
    """The labels, also where another field of `scenario.md` is at fault."""
    document = files.documents.get(SCENARIO)
    try:
        return _LABELS.validate_python(document.front["labels"] if document else ())
    except (KeyError, ValidationError):
        return ()


def _agents(files: Files, faults: Faults) -> tuple[Agent, ...]:
    agents = []
    known = _labels(files)
    for document in files.inside(AGENTS):
        card = front(document, AgentFront, faults)
        texts = sections(document, ("card", "summary"), faults)
        if "\n" in texts.get("summary", ""):
            faults.add(document.path, "section '## summary': use one sentence")
        if card is None:
            continue
        if known and card.side not in known:
            labels = " or ".join(f"'{label}'" for label in known)
            message = f"field 'side': '{card.side}' is no label (use {labels})"
            faults.add(document.path, message)
        agents.append(
            Agent(
                id=document.id,
                role=card.role,
                name=card.name,
                side=card.side,
                card=texts.get("card", ""),
                summary=texts.get("summary", ""),
            )
        )
    roles = [agent.role for agent in agents]
    complete = len(agents) == len(files.ids(AGENTS))
    if complete and sorted(roles) != sorted([Role.PARTNER, Role.TARGET]):
        found = ", ".join(f"{agent.id} is {agent.role}" for agent in agents) or "none"
        message = f"field 'role': one target and one partner are needed ({found})"
        faults.add(files.path / AGENTS, message)
    elif complete and agents[0].side == agents[1].side:
        message = f"field 'side': both agents are on the side '{agents[0].side}'"
        faults.add(files.path / AGENTS, message)
    return tuple(agents)


def _conditions(files: Files, faults: Faults) -> dict[str, Condition]:
    agents = files.ids(AGENTS)
    conditions: dict[str, Condition] = {}
    for document in files.inside(CONDITIONS):
        kept = front(document, ConditionFront, faults)
        is_baseline = document.id == BASELINE
        contexts = sections(document, () if is_baseline else agents, faults)
        if kept is None:
            continue
        wrong = _misdeclared(document.id, kept.kind, kept.timing)
        if wrong:
            faults.add(document.path, wrong)
        conditions[document.id] = Condition(
            id=document.id,
            kind=kept.kind,
            timing=kept.timing,
            contexts=contexts,
            stamp=document.stamp,
        )
    if BASELINE not in files.ids(CONDITIONS):
        faults.add(files.path / CONDITIONS / f"{BASELINE}.md", "is missing")
    return conditions


def _misdeclared(condition: str, kind: Kind, timing: Timing) -> str | None:
    """What contradicts a condition's id: everyone pools conditions by these names."""
    if (condition == BASELINE) != (kind is Kind.BASELINE):
        return f"field 'kind': '{kind}' does not fit a condition named '{condition}'"
    if kind is Kind.BASELINE and timing is not Timing.NONE:
        return f"field 'timing': baseline has no relation, use '{Timing.NONE}'"
    standard = {f"{k}-{t}": (k, t) for k in Kind for t in Timing}
    if standard.get(condition, (kind, timing)) != (kind, timing):
        return f"field 'kind': '{kind}', '{timing}' contradict the name '{condition}'"
    return None


def _instrument(files: Files, faults: Faults) -> Instrument | None:
    survey = files.documents.get(SURVEY)
    if survey is None:
        if SURVEY not in files.names:
            faults.add(files.path / SURVEY, "is missing")
        return None
    own = front(survey, SurveyFront, faults)
    if own is None:
        return None
    for document in files.inside(""):
        if document.path.name not in {SCENARIO, SURVEY, own.instrument}:
            faults.add(document.path, f"is not the instrument named in {SURVEY}")
    sheet = _sheet(own.instrument, files, faults)
    scale = None if sheet is None else front(sheet, InstrumentFront, faults)
    listed = [(survey, own.items)]
    if sheet is not None and scale is not None:
        listed = [(sheet, scale.items), *listed]
    items = _items(listed, None if scale is None else scale.categories, faults)
    if sheet is None or scale is None:
        return None
    if not items:
        faults.add(survey.path, "field 'items': the survey has no item at all")
    return Instrument(
        id=sheet.id,
        low=scale.low,
        high=scale.high,
        anchors=scale.anchors,
        items=items,
        stamp=f"{sheet.id}@{sheet.version}:{digest([sheet.hash, survey.hash])}",
    )


def _items(
    listed: Iterable[tuple[Document, tuple[ItemFront, ...]]],
    categories: Collection[str] | None,
    faults: Faults,
) -> tuple[Item, ...]:
    """The items in order; categories are None where the instrument is unreadable."""
    items: dict[str, Item] = {}
    for document, fronts in listed:
        for index, item in enumerate(fronts):
            where = f"field 'items.{index}"
            if categories is not None and item.category not in categories:
                known = ", ".join(categories)
                message = f"'{item.category}' is no category (known: {known})"
                faults.add(document.path, f"{where}.category': {message}")
            if item.id.casefold() in items:
                faults.add(document.path, f"{where}.id': '{item.id}' stands twice")
            items[item.id.casefold()] = Item(**item.model_dump())
    return tuple(items.values())


def _sheet(name: str, files: Files, faults: Faults) -> Document | None:
    """The instrument's file: the package's by id, the folder's own by file name."""
    sheet = None
    if name in instrument_ids():
        with faults.gathered():
            sheet = read_document(data_folder("instruments") / f"{name}.yaml")
    elif name.endswith(".yaml") and name in files.names and name != SURVEY:
        sheet = files.documents.get(name)
    else:
        known = ", ".join(instrument_ids())
        message = (
            f"'{name}' is neither built in ({known}) nor a .yaml file of this folder"
        )
        faults.add(files.path / SURVEY, f"field 'instrument': {message}")
    return sheet
