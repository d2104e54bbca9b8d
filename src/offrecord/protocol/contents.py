"""Content of every kind for people: found by name, listed, shown and checked alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from offrecord.content import Document, read_document
from offrecord.content.boundary.shown import escaped
from offrecord.content.library import SHELVES, entries, find, is_id
from offrecord.protocol.arms import check_arm, read_arm
from offrecord.protocol.channel import read_channel
from offrecord.protocol.prompts import find_protocol
from offrecord.records import ENGLISH, OffrecordError, primary_language
from offrecord.scenarios.check import Finding, check_folder
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Instrument
from offrecord.scenarios.reading import read_instrument


class Shown(NamedTuple):
    """One piece of content, read and without fault."""

    stamp: str
    """`id@version:hash`."""
    facts: Mapping[str, str]
    blocks: tuple[tuple[str, str], ...]
    """Headings, each with its text."""
    language: str = ENGLISH


def locate(name: str) -> tuple[str, Path]:
    """The kind of what is named, and where it stands.

    Args:
        name: `KIND/ID`, an id, or a path.

    Raises:
        OffrecordError: If it is none of them.
    """
    kind, _, identity = name.partition("/")
    if kind in SHELVES and is_id(identity):
        return kind, find(kind, identity)
    for entry in entries()[0]:  # by its bare id, as designs name it
        if entry.id == name:
            return entry.kind, entry.path
    path = Path(name)
    if not name.strip() or not path.exists():
        raise OffrecordError(
            f"{name}: no such file or folder, and no KIND/ID such as "
            "scenario/promotion ('offrecord content list' names what there is)"
        )
    if path.is_dir():
        is_protocol = (path / SHELVES["protocol"].file).is_file()
        return ("protocol" if is_protocol else "scenario"), path
    if path.suffix != ".md":
        return "instrument", path
    try:
        document = read_document(path)
    except OffrecordError:
        return "channel", path  # whose reader says what is wrong
    if "order" in document.front or "system" in document.sections:
        return "protocol", path
    return ("arm" if "text" in document.sections else "channel"), path


def check(name: str) -> Finding:
    """Check content to the end.

    Args:
        name: `KIND/ID`, or a path.

    Raises:
        OffrecordError: If there is none; what is wrong in it is returned, not raised.
    """
    kind, path = locate(name)
    if kind == "scenario":
        return check_folder(path)
    try:
        if kind == "arm":
            return check_arm(path)
        shown = _READERS[kind](path)
    except OffrecordError as error:
        faults = str(error).split("\n")
        return Finding(faults=tuple(map(escaped, faults)), warnings=(), summary="")
    facts = "; ".join(f"{name} {value}" for name, value in shown.facts.items())
    summary = f"OK {kind} {shown.stamp}: {facts}"
    return Finding(faults=(), warnings=(), summary=summary)


def language_fault(names: Sequence[str]) -> str:
    """What is wrong with the languages of content that is to be asked together.

    Args:
        names: As `check` takes them, all without fault.

    Returns:
        One line; empty where all are in one language. An arm may be in any.
    """
    found = dict[str, list[str]]()
    for name in names:
        kind, path = locate(name)
        if kind != "arm":
            language = primary_language(_READERS[kind](path).language)
            found.setdefault(language, []).append(name)
    if len(found) < 2:
        return ""
    listed = [f"'{language}': {', '.join(of)}" for language, of in found.items()]
    return f"in different languages: {'; '.join(listed)} (see 'language' in each)"


def overview(kind: str | None, folder: Path | None) -> tuple[Group, list[str]]:
    """A few lines about each piece of content there is.

    Args:
        kind: One kind alone.
        folder: A further folder with content, laid out as a package's.

    Returns:
        The lines, and one for each thing that is passed over.

    Raises:
        OffrecordError: If the folder holds no content.
    """
    parts: list[RenderableType] = []
    every, faults = entries(folder)
    passed_over = [*faults]
    for entry in every:
        if kind in (None, entry.kind):
            try:
                shown = _READERS[entry.kind](entry.path)
            except OffrecordError as error:
                passed_over.append(str(error))
            else:
                parts += _outline(f"{entry.kind}/{entry.id}", entry.source, shown)
    return Group(*parts), passed_over


def rendering(name: str) -> Group:
    """Content as it is, readable from top to bottom.

    Args:
        name: `KIND/ID`, or a path.

    Raises:
        OffrecordError: If there is none, or it is at fault.
    """
    kind, path = locate(name)
    shown = _READERS[kind](path)
    parts = _outline(f"{kind}/{shown.stamp.partition('@')[0]}", str(path), shown)
    for heading, text in shown.blocks:
        parts += [Text(f"\n{heading}", "bold"), _indented(text)]
    return Group(*parts)


def _outline(name: str, source: str, shown: Shown) -> list[RenderableType]:
    head = Text.assemble((name, "bold"), f"  {source}")
    facts = {**shown.facts, "version": shown.stamp}
    if shown.language != ENGLISH:
        facts["language"] = shown.language
    return [head, *(_indented(f"{name}: {value}") for name, value in facts.items())]


def _indented(text: str) -> Padding:
    return Padding(Text(escaped(text, "\n")), (0, 0, 0, 2), expand=False)


def _scenario(path: Path) -> Shown:
    scenario = load_scenario(path)
    agents, survey = scenario.agents, scenario.instrument
    facts = {
        "title": scenario.title,
        "labels": " / ".join(scenario.labels),
        "sides": ", ".join(f"{one.id} ({one.role}) {one.side}" for one in agents),
        "leaning": scenario.leaning,
        **({"domain": scenario.domain} if scenario.domain else {}),
        "conditions": ", ".join(scenario.conditions),
        **(
            {"scripts": ", ".join(f"{r} {one.stamp}" for r, one in scripted.items())}
            if (scripted := scenario.lines)
            else {}
        ),
    }
    blocks = [("Setting", scenario.setting), ("Question", scenario.question)]
    for agent in agents:
        blocks.append((f"{agent.id}: {agent.name} ({agent.role})", agent.card))
        blocks.append(("Others read", agent.summary))
    for condition in scenario.conditions.values():
        for name, text in condition.sections.items():
            blocks.append((f"{condition.id}, as {name} reads it", text))
    for role, lines in scripted.items():
        for (side, round_), variants in lines.said.items():
            heading = f"Script of the {role}, round {round_}, {side}"
            blocks.append((heading, "\n".join(variants)))
    every = (*blocks, _survey(survey))
    return Shown(scenario.stamp, facts, every, scenario.language)


def _survey(instrument: Instrument) -> tuple[str, str]:
    points = [f"{point} = {text}" for point, text in instrument.anchors.items()]
    items = [
        f"{item.id}. {item.text} [{item.category}"
        f"{', reverse-keyed' if item.reverse else ''}]"
        for item in instrument.items
    ]
    heading = f"Survey {instrument.stamp}, {instrument.low} to {instrument.high}"
    return heading, "\n".join([*points, *items])


def _instrument(path: Path) -> Shown:
    instrument, faults = read_instrument(path)
    if faults:
        raise OffrecordError("\n".join(faults))
    categories = dict.fromkeys(item.category for item in instrument.items)
    facts = {
        "scale": f"{instrument.low} to {instrument.high}",
        "items": f"{len(instrument.items)} ({', '.join(categories) or 'none'})",
    }
    every = (_survey(instrument),)
    return Shown(instrument.stamp, facts, every, instrument.language)


def _channel(path: Path) -> Shown:
    channel = read_channel(path)
    silent = "no one" if channel.utterance else "no one is named"
    heard = ", ".join(channel.audience) or silent
    return _document(read_document(path), {"heard by": heard}, channel.language)


def _protocol(path: Path) -> Shown:
    file = path if path.is_file() else path / SHELVES["protocol"].file
    protocol = find_protocol(str(file))
    own = sorted(one.stem for one in (protocol.folder / "channels").glob("*.md"))
    facts = {"own channels": ", ".join(own)} if own else {}
    return _document(read_document(file), facts, protocol.language)


def _arm(path: Path) -> Shown:
    arm, document = read_arm(path)
    facts = {str(name): str(value) for name, value in document.front.items()}
    return _document(document, {**facts, "words": str(arm.words)})


def _document(
    document: Document, facts: Mapping[str, str], language: str = ENGLISH
) -> Shown:
    every = tuple(document.sections.items())
    return Shown(document.stamp, facts, every, language)


_READERS: Mapping[str, Callable[[Path], Shown]] = {
    "scenario": _scenario,
    "channel": _channel,
    "protocol": _protocol,
    "arm": _arm,
    "instrument": _instrument,
}
