"""Requests as Inspect's messages, one object for what the prompts of a run share.

Inspect keeps a copy of every message that a model is sent. It compares, copies and logs
a message once, however many prompts it stands in, as long as it is the same object.
"""

from __future__ import annotations

import re
from typing import Final

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema, JSONType

from offrecord.content.letters import storable
from offrecord.content.reply import is_error_page
from offrecord.protocol.debate import Reply, Request
from offrecord.records import FRAME_KEY, LINE_KEY, RECORD_KEY, STAMP_KEY

_KINDS: Final = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


_TAG: Final = re.compile(r"<[^<>]*>")
_SAID: Final = 200
_HALF: Final = re.compile(
    r"(?<!\\)\\ud(?:[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    r"|(?<!\\ud[89ab][0-9a-f]{2}\\ud)[c-f][0-9a-f]{2})"
)
"""The escape of a surrogate that stands alone."""


class Prompts:
    """The prompts of one run."""

    def __init__(self) -> None:
        self._common: dict[tuple[int, str, str], ChatMessage] = {}

    def messages(self, request: Request) -> list[ChatMessage]:
        """The messages of a request: those in common, and its own one with its stamp.

        Args:
            request: What is asked. Its last message comes from the user.
        """
        *common, (_, asked) = request.messages
        stamped = {
            STAMP_KEY: request.stamp.as_dict(),
            FRAME_KEY: request.frame.as_dict(),
            "audience": list(request.channel.audience),
            "prompt_hash": request.prompt_hash,
            "history_hash": request.history_hash,
            **({} if request.line is None else {LINE_KEY: request.line}),
            **({RECORD_KEY: dict(request.record)} if request.record else {}),
        }
        return [
            *(self._at(place, *message) for place, message in enumerate(common)),
            ChatMessageUser(content=asked, metadata=stamped),
        ]

    def _at(self, place: int, sender: str, text: str) -> ChatMessage:
        key = (place, sender, text)  # one place of a prompt, since ids differ within it
        if key not in self._common:
            self._common[key] = _KINDS[sender](content=text)
        return self._common[key]


def reply_of(output: ModelOutput, error: str | None = None) -> Reply:
    """What a model's output is as a reply, live and read from a log.

    Args:
        output: As Inspect gives it.
        error: What a log notes beside it.
    """
    if not output.choices or error:
        said = error or output.error or "no reply"
        return Reply(text="", stop_reason="unknown", error=said)
    text = received(output.completion)
    # of a reply that broke off; beside another end it is a filter's explanation
    broken = output.error if output.stop_reason == "unknown" else None
    if is_error_page(text):
        words = " ".join(_TAG.sub(" ", text).split())
        broken = f"the text is a server's error: {words[:_SAID]}"
    return Reply(text=text, stop_reason=str(output.stop_reason), error=broken)


def received(text: str) -> str:
    """A text as the debate has it.

    Inspect's logs hold half a surrogate pair, which no file can, as its escape.
    """
    return storable(_HALF.sub("", text) if "\\ud" in text else text)


def config_of(request: Request) -> GenerateConfig:
    """What a request sets: the schema of a structured survey, and nothing else."""
    if not request.points:
        return GenerateConfig()
    frame = request.frame
    worded = isinstance(request.points[0], str)
    kind: JSONType = "string" if worded else "integer"
    return GenerateConfig(
        response_schema=ResponseSchema(
            name="survey",
            json_schema=JSONSchema(
                type="object",
                properties={
                    item: JSONSchema(type=kind, enum=[*request.points])
                    for item in frame.items
                },
                required=list(frame.items),
                additionalProperties=False,
            ),
        )
    )
