"""Scenario and protocol folders from a user's own checkout of LLMAgora's prompts.

Nothing of theirs ships with us. Their templates become a protocol and two channels,
their scenarios become folders, and each prompt that these render is held against the
one that the checkout's templates give: word for word, blanks aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from offrecord.content import data_folder, read_document
from offrecord.content.library import find
from offrecord.content.writing import made_whole, write_files
from offrecord.protocol.channel import Channel, find_channel
from offrecord.protocol.prompts import Protocol, TurnView, find_protocol
from offrecord.records import Form, OffrecordError
from offrecord.scenarios.check import check_folder
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario
from offrecord.transcript.llmagora_checkout import (
    Catalog,
    PromptCatalog,
    TheirItem,
    TheirPrompts,
    TheirScenario,
    filled,
    marks_of,
    read_checkout_file,
    requests_of,
    split_question,
    system_prompt,
)
from offrecord.transcript.llmagora_names import PROTOCOL, NamedCondition, TheirNames
from offrecord.transcript.store import UnwritableError

_BREAKING: Final = re.compile(r"^##[ \t]|<!--", re.MULTILINE)

Files = dict[str, str]
"""Path in the folder that is made to its text."""


class _Checkout(msgspec.Struct):
    prompts: TheirPrompts
    scenarios: list[TheirScenario]
    names: TheirNames


def content_of_checkout(checkout: Path, out: Path) -> list[str]:
    """Make a folder of content from a checkout, whole or not at all.

    Args:
        checkout: The folder that holds `scenarios.json` and `prompts.json`, or `data`
            with both.
        out: A folder that does not exist yet, or is empty.

    Returns:
        A line for each scenario that was made, with what is to be looked at.

    Raises:
        OffrecordError: If a file is absent or of another format, a text cannot stand
            in a content file, or a prompt cannot be rebuilt word for word.
    """
    document = read_document(data_folder("llmagora.yaml"))
    theirs = _Checkout(
        prompts=read_checkout_file(checkout, "prompts.json", PromptCatalog).default,
        scenarios=read_checkout_file(checkout, "scenarios.json", Catalog).scenarios,
        names=document.validate(TheirNames),
    )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OffrecordError(f"{out}: is in the way; choose another folder")
    try:
        with made_whole(out) as whole:
            write_files(dict(_files(theirs)), whole)
            said = [*_checked(theirs, whole)]
    except OSError as error:
        raise UnwritableError(f"{out}: {error.strerror}") from None
    return said


def _files(theirs: _Checkout) -> Iterator[tuple[str, str]]:
    yield from _protocol(theirs.prompts)
    for scenario in theirs.scenarios:
        folder = f"scenarios/{_id(scenario)}"
        for name, text in _scenario(scenario, theirs):
            yield f"{folder}/{name}", text


def _id(scenario: TheirScenario) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", scenario.scenario_id.lower()).strip("-_")


def _protocol(prompts: TheirPrompts) -> Iterator[tuple[str, str]]:
    """Their templates as one protocol, and the whole requests as its channels."""
    own, heard, asked = marks_of(prompts.base_prompt)
    persona = {"question": "{setting}\n\n{question}", "persona": "{card}"}
    base = filled(prompts.base_prompt, "base_prompt", **persona, speaker_id="A")
    item = prompts.survey_question_prompt.replace("Q{question_number}", "{id}")
    sections = {
        "system": f"{base.strip()}\n\n{{context}}\n\n{{others}}\n\n{{arm}}",
        "context": filled(
            prompts.incentive_prompt, "incentive_prompt", incentive="{context}"
        ),
        "other": filled(
            prompts.perceived_prompt, "perceived_prompt", perceived_persona="{summary}"
        ),
        "own": f"{own}{{text}}",
        "heard": f"{heard}{{text}}",
        "item": item.replace("{question_text}", "{text}"),
        "utterance": f"{asked}{{audience}}",
        "survey": f"{asked}{{audience}}\n\n{{items}}",
    }
    front = {"id": PROTOCOL, "version": 1, "history": "all", "requests": "channels"}
    yield f"protocols/{PROTOCOL}/protocol.md", _markdown(front, sections)
    asked_of = requests_of(prompts, "{label_first}", "{label_second}")
    for channel, texts in asked_of.items():
        audience = ["participants", "record"] if channel == "public" else []
        front = {"id": channel, "version": 1, "audience": audience}
        place = f"protocols/{PROTOCOL}/channels/{channel}.md"
        yield place, _markdown(front, texts)


def _scenario(theirs: TheirScenario, checkout: _Checkout) -> Iterator[tuple[str, str]]:
    names = checkout.names
    known = names.scenarios.get(theirs.scenario_id)
    setting, question = split_question(theirs)
    first, second = theirs.decision_labels
    # Which side a role is on stands in no file of theirs.
    own = (known.target_side, known.pressed_side) if known else (second, first)
    front: dict[str, Any] = {
        "id": _id(theirs),
        "version": 1,
        "title": theirs.question.topic or theirs.scenario_id,
        "labels": [first, second],
        "leaning": known.leaning if known else "card",
    }
    yield "scenario.md", _markdown(front, {"setting": setting, "question": question})
    agents = dict(zip(names.agents, theirs.sides.items(), strict=False))
    for (agent, (name, side)), label in zip(agents.items(), own, strict=False):
        front = {"role": names.agents[agent], "name": name, "side": label}
        summary = " ".join(side.perceived_persona_base.split())
        texts = {"card": side.actual_persona, "summary": summary}
        yield f"agents/{agent}.md", _markdown(front, texts)
    for condition, named in names.conditions.items():
        front = {"kind": str(named.kind), "timing": str(named.timing)}
        views = _context(theirs, named)
        if views or named.direction is None:
            texts = {a: views[name] for a, (name, _) in agents.items() if name in views}
            yield f"conditions/{condition}.md", _markdown(front, texts)
    yield from _surveys(theirs, checkout)


def _surveys(theirs: TheirScenario, checkout: _Checkout) -> Iterator[tuple[str, str]]:
    """The scale with the items that all share, and the scenario's own ones."""
    shared, own = checkout.prompts.survey_questions, theirs.survey_questions
    listed = [
        (category, one.text if isinstance(one, TheirItem) else one)
        for group in (shared, own)
        for category, texts in group.items()
        for one in texts
    ]
    instrument = checkout.names.instrument
    count = sum(map(len, shared.values()))
    as_theirs = count == len(instrument.categories["deliberative"])
    heard = instrument.counterpart if as_theirs else []
    items = [
        {
            "id": f"Q{number}",
            "category": category,
            "text": text,
            **({"about": "counterpart"} if f"Q{number}" in heard else {}),
        }
        for number, (category, text) in enumerate(listed, 1)
    ]
    values = {v.score: v.label for v in checkout.prompts.survey_scale.values}
    scale = {
        "version": 1,
        "low": min(values),
        "high": max(values),
        "anchors": values,
        "answers": dict(values),
        "categories": read_document(find("instrument", "core")).front["categories"],
    }
    yield "scale.yaml", _dumped({**scale, "items": items[:count]})
    yield "survey.yaml", _dumped({"instrument": "scale.yaml", "items": items[count:]})


def _dumped(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def _markdown(front: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    parts = [f"---\n{_dumped(front)}---\n"]
    for name, text in sections.items():
        if _BREAKING.search(text):
            raise OffrecordError(
                f"a text holds '## ' or '<!--', which would end it: {text[:60]!a}"
            )
        parts.append(f"## {name}\n\n{text.strip()}\n")
    return "\n".join(parts)


def _checked(theirs: _Checkout, folder: Path) -> Iterator[str]:
    """Read back what was made; a line for each scenario.

    Raises:
        OffrecordError: If a folder is at fault, or a prompt has other words.
    """
    protocol = find_protocol(str(folder / "protocols" / PROTOCOL))
    channels = [find_channel(name, protocol.folder) for name in theirs.names.channels]
    for one in theirs.scenarios:
        place = folder / "scenarios" / _id(one)
        faults = check_folder(place).faults
        if faults:
            where = faults[0].removeprefix(f"{place}/")
            raise OffrecordError(f"scenario '{one.scenario_id}': {where}")
        scenario = load_scenario(place)
        _compare(one, theirs, scenario, protocol, channels)
        line = f"scenarios/{_id(one)}: {len(scenario.conditions)} conditions"
        if one.scenario_id not in theirs.names.scenarios:
            target, partner = scenario.agents
            line += (
                f"; no file says who is on which side: '{target.name}' was put on "
                f"'{target.side}', '{partner.name}' on '{partner.side}': see agents/"
            )
        yield line


def _compare(
    theirs: TheirScenario,
    checkout: _Checkout,
    ours: Scenario,
    protocol: Protocol,
    channels: Sequence[Channel],
) -> None:
    """Hold every prompt that is rendered against that of their templates."""
    prompts, mark = checkout.prompts, marks_of(checkout.prompts.base_prompt)[2]
    wanted = requests_of(prompts, *theirs.decision_labels)
    for condition in ours.conditions.values():
        context = _context(theirs, checkout.names.conditions[condition.id])
        for place, agent in enumerate(ours.agents):
            view = TurnView(
                protocol=protocol,
                scenario=ours,
                condition=condition,
                agent=agent,
                visible=(),
                labels=ours.labels,
            )
            system = view.prefix()[0][1]
            _same(system, system_prompt(theirs, prompts, context, place), ours.id)
            for channel in channels:
                texts = wanted[channel.id]
                opening = texts.get("utterance.opening", texts["utterance"])
                asked = view.ask([], channel, Form.UTTERANCE)[0][1]
                _same(asked, f"{mark}{opening}", ours.id)


def _context(theirs: TheirScenario, named: NamedCondition) -> Mapping[str, str]:
    """What each side reads of the relation under a condition; nothing where none is."""
    modules = theirs.incentive_modules.get(named.direction or "", {})
    return modules[named.type].views if named.type in modules else {}


def _same(rendered: str, wanted: str, scenario: str) -> None:
    ours, theirs = rendered.split(), wanted.split()
    if ours != theirs:
        pairs = zip([*ours, ""], [*theirs, ""], strict=False)
        place = next(i for i, (a, b) in enumerate(pairs) if a != b)
        raise OffrecordError(
            f"scenario '{scenario}': a prompt cannot be rebuilt word for word, from "
            f"{' '.join(theirs[place : place + 5])!a} on"
        )
