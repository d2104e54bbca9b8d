"""Rendering: from scenario, protocol, channel and history to the messages sent.

The order is fixed for the sake of prefix caches: what an agent's requests have in
common stands first (system, then the history, oldest first), what differs stands at
the end of the last message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from offrecord.content import fill, read_document
from offrecord.content.document import Front, Language
from offrecord.content.library import SHELVES, find
from offrecord.protocol.arms import WITHOUT, Arm
from offrecord.protocol.channel import Channel
from offrecord.protocol.history import HistoryPolicy, Spoken
from offrecord.records import ENGLISH, Form, OffrecordError
from offrecord.scenarios.front import Item
from offrecord.scenarios.model import Agent, Condition, Scenario

Message = tuple[str, str]
"""Who speaks to the model (`system`, `user` or `assistant`), and what."""

# What each section of a protocol must ask for, and what else it may.
_SYSTEM = {"setting", "question", "card", "context", "others"}
_LABELS = {"label_first", "label_second"}
_SURVEY = {"items", "low", "high", "codes", "audience"}
_NEEDED: Mapping[str, tuple[set[str], set[str]]] = {
    "system": (_SYSTEM, {*_LABELS, "arm"}),
    "context": ({"context"}, set()),
    "opening": (set(), set()),
    "heard": ({"text"}, {"name"}),
    "utterance": ({*_LABELS, "audience"}, set()),
    "survey": (_SURVEY, {"anchors", *_LABELS}),
    "own": ({"text"}, {"name"}),
    "other": ({"summary"}, {"name"}),
    "item": ({"id", "text"}, set()),
}
_DEFAULTS: Mapping[str, str] = {
    "own": "{text}",
    "other": "{name}: {summary}",
    "item": "{id}: {text}",
}

# Where the channels have the whole requests, less is asked of the protocol.
_SHORT: Mapping[str, set[str]] = {
    "utterance": {"audience"},
    "survey": {"audience", "items"},
}


class Anchors(Front):
    """How the points of a scale are spelled out."""

    each: str = "{point} means {wording}"
    between: str = ", "


_SPELLED: Final = Anchors()


class _ProtocolFront(Front):
    history: HistoryPolicy
    language: Language = ENGLISH
    anchors: Anchors = _SPELLED
    requests: Literal["protocol", "channels"] = "protocol"
    """Whether a request's words stand here, around a paragraph of the channel, or all
    in the channel's file, labels included."""


_BRACED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A set of templates, read from one file."""

    id: str
    system: str
    context: str
    opening: str
    heard: str
    utterance: str
    survey: str
    folder: Path
    stamp: str
    """`id@version:hash`."""
    own: str = _DEFAULTS["own"]
    """How an agent's own earlier words are laid out."""
    other: str = _DEFAULTS["other"]
    """How another agent is introduced."""
    item: str = _DEFAULTS["item"]
    """How one statement of a survey is laid out."""
    history: HistoryPolicy = HistoryPolicy.ALL
    anchors: Anchors = _SPELLED
    language: str = ENGLISH

    def request(self, form: Form) -> str:
        """The template of a form's request."""
        return self.survey if form is Form.SURVEY else self.utterance


def find_protocol(name: str) -> Protocol:
    """Find a protocol by id, or by the path of its file or folder.

    Raises:
        OffrecordError: If there is none, or its file breaks the format.
    """
    path = find("protocol", name)
    path = path if path.suffix else path / SHELVES["protocol"].file
    document = read_document(path)
    document.only_sections(*_NEEDED)
    front = document.validate(_ProtocolFront)
    short = front.requests == "channels"
    left_out = {**_DEFAULTS, **({"opening": ""} if short else {})}
    text = {
        section: left_out[section]
        if section in left_out and section not in document.sections
        else document.section(section)
        for section in _NEEDED
    }
    for section, (required, also) in _NEEDED.items():
        asked = set(_BRACED.findall(text[section]))
        needed = _SHORT.get(section, required) if short else required
        unknown = asked - required - also
        faults = {"lacks": needed - asked, "asks for unknown": unknown}
        for what, wrong in faults.items():
            if wrong:
                raise OffrecordError(
                    f"{path}: section '## {section}' {what} {{{min(wrong)}}}"
                )
    return Protocol(
        id=document.id,
        history=front.history,
        anchors=front.anchors,
        language=front.language,
        folder=path.parent,
        stamp=document.stamp,
        **text,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """What one agent is shown at one turn, whatever is asked of it there."""

    protocol: Protocol
    scenario: Scenario
    condition: Condition
    agent: Agent
    visible: Sequence[Spoken]
    """What this agent may see of the history, oldest first."""
    labels: tuple[str, str]
    """The decision labels in the order to be shown."""
    arm: Arm = WITHOUT
    """Its text stands in the template's one place for it, in all channels."""

    def prefix(self) -> list[Message]:
        """What all requests of the turn have in common: system, then the history."""
        return [("system", self._system()), *self._conversation()]

    def ask(
        self,
        prefix: Sequence[Message],
        channel: Channel,
        form: Form,
        items: Sequence[Item] = (),
    ) -> list[Message]:
        """The messages of one request.

        Args:
            prefix: The turn's `prefix()`, rendered once for all its requests.
            channel: Who is told to be listening.
            form: Utterance or survey.
            items: The survey's items in the order to be shown.

        Returns:
            System, then user and assistant in turns, the last one from the user.
        """
        messages: list[Message] = []
        for sender, text in [*prefix, ("user", self._request(channel, form, items))]:
            if messages and messages[-1][0] == sender:
                # Many models refuse two messages of one sender in a row, and Inspect
                # would merge them under random ids.
                messages[-1] = (sender, f"{messages[-1][1]}\n\n{text}")
            else:
                messages.append((sender, text))
        return messages

    def _system(self) -> str:
        context = self.condition.contexts.get(self.agent.id, "")
        others = (  # without roles no one has a summary
            other
            for other in self.scenario.agents
            if other.id != self.agent.id and other.summary
        )
        return fill(
            self.protocol.system,
            {
                "setting": self.scenario.setting,
                "question": self.scenario.question,
                "label_first": self.labels[0],
                "label_second": self.labels[1],
                "card": self.agent.card,
                "context": context
                and fill(self.protocol.context, {"context": context}),
                "others": self.arm.others
                or "\n\n".join(
                    fill(self.protocol.other, {"name": o.name, "summary": o.summary})
                    for o in others
                ),
                "arm": self.arm.text,
            },
        )

    def _conversation(self) -> list[Message]:
        opening = self.protocol.opening
        conversation: list[Message] = [("user", opening)] if opening else []
        for words in self.visible:
            if words.agent == self.agent.id:
                own = fill(self.protocol.own, {"text": words.text})
                conversation.append(("assistant", own))
            else:
                name = self.arm.name or self.scenario.agent(words.agent).name
                heard = fill(self.protocol.heard, {"name": name, "text": words.text})
                conversation.append(("user", heard))
        return conversation

    def _request(self, channel: Channel, form: Form, items: Sequence[Item]) -> str:
        scale, anchors = self.scenario.instrument, self.protocol.anchors
        labels = {"label_first": self.labels[0], "label_second": self.labels[1]}
        audience = channel.paragraph(form, opening=not self.visible)
        for name, label in labels.items():
            audience = audience.replace(f"{{{name}}}", label)
        return fill(
            self.protocol.request(form),
            {
                **labels,
                "audience": audience,
                "low": str(scale.low),
                "high": str(scale.high),
                "anchors": anchors.between.join(
                    fill(anchors.each, {"point": str(point), "wording": wording})
                    for point, wording in scale.anchors.items()
                ),
                "items": "\n".join(
                    fill(self.protocol.item, {"id": item.id, "text": item.text})
                    for item in items
                ),
                "codes": ", ".join(item.id for item in items),
            },
        )
