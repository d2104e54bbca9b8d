"""From a folder to a scenario, noting all that is wrong on the way.

`load_scenario` and `content check` stand on this one reading, so that what passes
the check loads, and what loads has passed it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from offrecord.content import Document, read_document
from offrecord.content.boundary.shown import escaped
from offrecord.content.library import find, is_id
from offrecord.records import Role, digest, primary_language
from offrecord.scenarios.conditions import read_conditions
from offrecord.scenarios.folder import AGENTS, SCENARIO, SURVEY, Files, read_files
from offrecord.scenarios.front import (
    AgentFront,
    InstrumentFront,
    Item,
    Line,
    ScenarioFront,
    SurveyFront,
)
from offrecord.scenarios.lines import read_lines
from offrecord.scenarios.model import Agent, Instrument, Scenario

_LABELS = TypeAdapter(tuple[Line, Line])


def read_folder(folder: Path) -> tuple[Scenario | None, tuple[str, ...]]:
    """Read a scenario's folder to the end, whatever is wrong in it.

    Returns:
        The scenario, None where there is any fault; and of each fault one line: file,
        field, what is wrong.
    """
    files = read_files(folder)
    head, texts = _head(files)
    agents = _agents(files)
    conditions = read_conditions(files)
    instrument = _instrument(files)
    lines = read_lines(files, _labels(files))
    if head and instrument:
        _check_language(head, instrument, files)
    if files.faults or head is None or instrument is None:
        return None, tuple(map(escaped, files.faults))
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
        lines=lines,
        language=head.language,
        domain=head.domain,
        stamp=f"{document.id}@{document.version}:{digest(hashes)}",
    )
    return scenario, ()


def read_instrument(path: Path) -> tuple[Instrument, tuple[str, ...]]:
    """Read an instrument's own file, without a scenario.

    Returns:
        The instrument, and a line for each item at fault.

    Raises:
        OffrecordError: If the file breaks the format, naming file and field.
    """
    files = Files(path.parent)
    sheet = read_document(path)
    sheet.only_sections()
    scale = sheet.validate(InstrumentFront)
    items = _items([(sheet, scale.items)], scale.categories, files)
    return _scaled(sheet, scale, items, sheet.stamp), tuple(map(escaped, files.faults))


def _head(files: Files) -> tuple[ScenarioFront | None, Mapping[str, str]]:
    document = files.documents.get(SCENARIO)
    if document is None:
        if SCENARIO not in files.names:
            files.fault(files.path / SCENARIO, "is missing")
        return None, {}
    if document.id == document.path.stem:
        files.fault(document.path, "field 'id': is missing; name the scenario")
    head = files.front(document, ScenarioFront)
    return head, files.sections(document, ("setting", "question"))


def _labels(files: Files) -> tuple[str, ...]:
    """The labels, also where another field of `scenario.md` is at fault."""
    document = files.documents.get(SCENARIO)
    try:
        return _LABELS.validate_python(document.front["labels"] if document else ())
    except (KeyError, ValidationError):
        return ()


def _agents(files: Files) -> tuple[Agent, ...]:
    agents = []
    known = _labels(files)
    for document in files.inside(AGENTS):
        card = files.front(document, AgentFront)
        texts = files.sections(document, ("card", "summary"))
        if "\n" in texts.get("summary", ""):
            files.fault(document.path, "section '## summary': use one sentence")
        if card is None:
            continue
        if known and card.side not in known:
            labels = " or ".join(f"'{label}'" for label in known)
            message = f"field 'side': '{card.side}' is no label (use {labels})"
            files.fault(document.path, message)
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
        files.fault(files.path / AGENTS, message)
    elif complete and agents[0].side == agents[1].side:
        message = f"field 'side': both agents are on the side '{agents[0].side}'"
        files.fault(files.path / AGENTS, message)
    return tuple(agents)


def _instrument(files: Files) -> Instrument | None:
    survey = files.documents.get(SURVEY)
    if survey is None:
        if SURVEY not in files.names:
            files.fault(files.path / SURVEY, "is missing")
        return None
    own = files.front(survey, SurveyFront)
    if own is None:
        return None
    for document in files.inside(""):
        if document.path.name not in {SCENARIO, SURVEY, own.instrument}:
            files.fault(document.path, f"is not the instrument named in {SURVEY}")
    sheet = _sheet(own.instrument, files)
    scale = None if sheet is None else files.front(sheet, InstrumentFront)
    listed = [(survey, own.items)]
    if sheet is not None and scale is not None:
        listed = [(sheet, scale.items), *listed]
    items = _items(listed, None if scale is None else scale.categories, files)
    if sheet is None or scale is None:
        return None
    if not items:
        files.fault(survey.path, "field 'items': the survey has no item at all")
    stamp = f"{sheet.id}@{sheet.version}:{digest([sheet.hash, survey.hash])}"
    return _scaled(sheet, scale, items, stamp)


def _check_language(head: ScenarioFront, instrument: Instrument, files: Files) -> None:
    if primary_language(head.language) != primary_language(instrument.language):
        files.fault(
            files.path / SURVEY,
            f"field 'instrument': '{instrument.id}' is in '{instrument.language}', and "
            f"the scenario in '{head.language}' (give both the same 'language')",
        )


def _scaled(
    sheet: Document, scale: InstrumentFront, items: tuple[Item, ...], stamp: str
) -> Instrument:
    return Instrument(
        id=sheet.id,
        low=scale.low,
        high=scale.high,
        anchors=scale.anchors,
        items=items,
        stamp=stamp,
        language=scale.language,
        answers=scale.answers,
    )


def _items(
    listed: Iterable[tuple[Document, tuple[Item, ...]]],
    categories: Collection[str] | None,
    files: Files,
) -> tuple[Item, ...]:
    """The items in order; categories are None where the instrument is unreadable."""
    items: dict[str, Item] = {}
    for document, fronts in listed:
        for index, item in enumerate(fronts):
            where = f"field 'items.{index}"
            if categories is not None and item.category not in categories:
                known = ", ".join(categories)
                message = f"'{item.category}' is no category (known: {known})"
                files.fault(document.path, f"{where}.category': {message}")
            if item.id.casefold() in items:
                files.fault(document.path, f"{where}.id': '{item.id}' stands twice")
            items[item.id.casefold()] = item
    return tuple(items.values())


def _sheet(name: str, files: Files) -> Document | None:
    """The instrument's file: by id, the folder's own by file name."""
    if name.endswith(".yaml") and name in files.names and name != SURVEY:
        return files.documents.get(name)
    if is_id(name):
        with files.gathered(f"{files.path / SURVEY}: field 'instrument': "):
            return read_document(find("instrument", name))
    else:
        message = f"field 'instrument': '{name}' is no id and no .yaml file"
        files.fault(files.path / SURVEY, f"{message} of this folder")
    return None
