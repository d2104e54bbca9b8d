"""What was asked, in words: prompts and survey items, where they are still known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from offrecord.protocol.cases import cases
from offrecord.protocol.sample import sample_requests, sample_script
from offrecord.records import Form, OffrecordError
from offrecord.report.numbers import named
from offrecord.scenarios.load import load_scenario
from offrecord.transcript.designed import content_of
from offrecord.transcript.folder import DESIGN_FILE
from offrecord.transcript.record import Record
from offrecord.transcript.store import PROMPTS_FILE, read_json

Prompts = list[tuple[str, str, str]]
"""The scenario, a title, and the text of each prompt."""


def study_prompts(study: Record) -> Prompts:
    """The prompts of a study.

    Those of a run study are rendered anew, and only if every content file is still the
    one that was recorded: each agent's first turn, with a stand-in for what it has
    heard. Those of an import are as they came with it.
    """
    if (study.path / PROMPTS_FILE).is_file():
        return _imported(read_json(study.path / PROMPTS_FILE))
    if not _content_is_known(study):
        return []
    design = study.design
    shown: Prompts = []
    for case in cases(design):
        first: dict[tuple[str, str], str] = {}
        for request in sample_requests(sample_script(design, case)):
            stamp = request.stamp
            if stamp.form == Form.UTTERANCE:
                parts = [f"[{who}]\n{text}" for who, text in request.messages]
                first.setdefault((stamp.agent, stamp.channel), "\n\n".join(parts))
        for (agent, channel), text in first.items():
            title = f"{case.id}: first turn of {agent}, {named(channel)}"
            shown.append((Path(case.scenario).name, title, text))
    return shown


def study_items(study: Record) -> dict[str, str]:
    """The wording of the survey items by id, where all scenarios share it."""
    if not _content_is_known(study):
        return {}
    texts: dict[str, set[str]] = {}
    for name in study.design.scenarios:
        for item in load_scenario(name).instrument.items:
            texts.setdefault(item.id, set()).add(item.text)
    return {item: text.pop() for item, text in texts.items() if len(text) == 1}


def _content_is_known(study: Record) -> bool:
    if not (study.path / DESIGN_FILE).is_file() or study.design.on:
        return False
    try:
        return content_of(study.design) == study.facts.get("content")
    except OffrecordError:
        return False


def _imported(prompts: dict[str, Any]) -> Prompts:
    systems = prompts.get("systems", {})
    if not isinstance(systems, dict):
        return []
    return [
        (scenario, f"{scenario}, {condition}: {agent}", str(text))
        for scenario, by_condition in systems.items()
        for condition, by_agent in by_condition.items()
        for agent, text in by_agent.items()
    ]
