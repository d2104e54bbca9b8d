"""What a server sends in place of a reply, or beside half of one.

Servers that are compatible with one protocol fail in words of their own: an error under
the status of success, a reply that broke off, a text in parts. None of it may look like
an answer, and the words must stand in the log. So what a provider gives is read again
beside the raw response that it noted.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from copy import deepcopy
from functools import cache, wraps
from typing import Any, Final

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    Model,
    ModelCall,
    ModelOutput,
    RetryDecision,
    model_output_from_openai,
)

from offrecord.content import data_folder, read_document

SERVED_KEY: Final = "served_by"
"""The key in an output's metadata under which it says who served it."""

_TRIES: Final = 5
"""Of a request whose failures do not say whether asking again helps."""

_SERIALIZER: Final = r"(?s)Pydantic serializer warnings:.*field_name='content'"
"""What pydantic warns of where a content is of parts, which are read here."""

_SAID: Final = frozenset({"text", "output_text"})
"""Types of parts of a content that are said; the others are thought."""

_THOUGHT: Final = ("thought", "thinking", "reasoning")
"""Fields that mark a part as thought, whatever its type."""

_ERRORS: Final = ("error", "errors", "detail", "message")
"""Fields of a response that say why it holds no reply."""

_FIELDS: Final = ("text", "thinking", "reasoning", "content")
"""Fields of a part that hold its words."""

_SERVED: Final = ("provider", "system_fingerprint")
"""Fields of a response that say who or what served it, behind the name of its model."""

_response: Final = ContextVar[Mapping[str, Any]]("response")
"""The raw response to the request of this task, as soon as its provider has noted it:
one that it cannot read comes as an error alone."""


class ServerFailureError(Exception):
    """A failure that came under the status of success.

    Args:
        error: What the server says of it.
        tries: How often the request has been sent.
    """

    def __init__(self, error: object, tries: int) -> None:
        fields = error if isinstance(error, Mapping) else {"message": error}
        self.code = fields.get("code") or fields.get("type")
        told = str(fields.get("message") or error)
        super().__init__(f"{self.code}: {told}" if self.code else told)
        code = str(self.code)
        self.status_code = int(code) if code.isdecimal() else None
        self._tries = tries

    @property
    def retry(self) -> RetryDecision:
        """Whether to ask again: as after a response with this code as its status."""
        code = self.status_code
        if code == 429 or _matched("busy", str(self)):
            return RetryDecision.rate_limit()
        again = self._tries < _TRIES if code is None else code == 408 or code >= 500
        return RetryDecision.transient() if again else RetryDecision.no()


def watch_failures(model: Model) -> None:
    """Read what a model's provider gives beside what its server sent, from now on.

    Args:
        model: As Inspect opens it.
    """
    # Said once per reply by the type of a response whose content is a list.
    warnings.filterwarnings("ignore", _SERIALIZER, UserWarning)
    api: Any = model.api
    generate, should_retry = api.generate, api.should_retry
    note = getattr(api, "on_response", None)
    if note is not None:

        def noted(response: dict[str, Any]) -> None:
            _response.set(response)
            note(response)

        api.on_response = noted

    @wraps(generate)
    async def watched(input: Sequence[ChatMessage], *words: Any, **named: Any) -> Any:  # noqa: ANN401
        _response.set({})
        given: Any = None
        came: ModelOutput | Exception
        sent: Mapping[str, Any] | None
        try:
            given = await generate(input, *words, **named)
            came, call = given if isinstance(given, tuple) else (given, None)
            sent = call.response if isinstance(call, ModelCall) else None
        except Exception as error:
            came, call, sent = error, None, _response.get()
        read = await _read(came, sent or {}, input, model.name)
        failed = given is None or isinstance(read, ServerFailureError)
        if failed and isinstance(read, Exception):
            raise read
        return given if read is came else (read if call is None else (read, call))

    api.generate = watched
    api.should_retry = lambda error: (
        error.retry if isinstance(error, ServerFailureError) else should_retry(error)
    )


def _tries(asked: Sequence[ChatMessage]) -> int:
    """How often a request has been sent so far."""
    calls = [event for event in transcript().events if isinstance(event, ModelEvent)]
    return sum(bool(call.input) and call.input[-1].id == asked[-1].id for call in calls)


async def _read(
    came: ModelOutput | Exception,
    sent: Mapping[str, Any],
    asked: Sequence[ChatMessage],
    model: str,
) -> ModelOutput | Exception:
    """What came beside its raw response; the same object where that adds nothing."""
    choices = [c for c in sent.get("choices") or () if isinstance(c, Mapping)]
    status = getattr(came, "status_code", None)
    if sent and not choices and status is None:
        told = next((sent[name] for name in _ERRORS if sent.get(name)), None)
        if sent.get("error") or isinstance(came, Exception):
            tries = _tries(asked) if told else _TRIES  # silence is not asked again
            came = ServerFailureError(told or "no choices", tries)
    if isinstance(came, Exception) and status != 429:
        words = str(came)
        if _matched("overflow", words):
            return ModelOutput.from_content(model, words, stop_reason="model_length")
    listed = any(isinstance(_message(one).get("content"), list) for one in choices)
    if listed or (choices and isinstance(came, Exception) and status is None):
        came = await _joined({**sent, "model": sent.get("model") or model}, came)
    if isinstance(came, ModelOutput) and came.choices and choices:
        _name_end(came, choices[0], sent.get("error"))
        served = [str(sent[name]) for name in _SERVED if sent.get(name)]
        if served:
            came.metadata = {**(came.metadata or {}), SERVED_KEY: "/".join(served)}
    return came


def _message(choice: Mapping[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, dict) else {}


async def _joined(
    sent: Mapping[str, Any], came: ModelOutput | Exception
) -> ModelOutput | Exception:
    """The output of a response whose content is a list of parts."""
    plain = deepcopy(dict(sent))
    for message in map(_message, plain["choices"]):
        parts = message.get("content")
        if isinstance(parts, list):
            message["content"] = _words([part for part in parts if _is_said(part)])
            thought = _words([part for part in parts if not _is_said(part)])
            if thought:
                message["reasoning_content"] = thought
    try:
        return await model_output_from_openai(plain)
    except Exception as error:  # a response that no client can read
        return came if isinstance(came, Exception) else error


def _is_said(part: object) -> bool:
    if not isinstance(part, Mapping):
        return True
    thought = any(part.get(name) for name in _THOUGHT)
    return part.get("type", "text") in _SAID and not thought


def _words(part: object) -> str:
    if isinstance(part, list):
        return "".join(map(_words, part))
    if isinstance(part, Mapping):
        return "".join(_words(part[name]) for name in _FIELDS if name in part)
    return part if isinstance(part, str) else ""


def _name_end(output: ModelOutput, choice: Mapping[str, Any], error: object) -> None:
    """Say why a reply ended where the server has its own words for it."""
    reason, error = choice.get("finish_reason"), choice.get("error") or error
    end = "error" if error else None
    if end is None and output.stop_reason == "unknown" and isinstance(reason, str):
        end = next((end for end in _rules()["ends"] if _ends(end, reason)), None)
    if end == "error":
        why = ServerFailureError(error, 1) if error else f"finish_reason: {reason}"
        output.error = f"the reply broke off ({why})"
        output.choices[0].stop_reason = "unknown"
    elif end:
        output.choices[0].stop_reason = end  # type: ignore[assignment]


@cache
def _rules() -> Mapping[str, Any]:
    return read_document(data_folder("parsing") / "failures.yaml").front


def _matched(rule: str, words: str) -> bool:
    return bool(re.search("|".join(_rules()[rule]), words, re.IGNORECASE))


def _ends(end: str, reason: str) -> bool:
    pattern = "|".join(_rules()["ends"][end])
    return bool(re.fullmatch(pattern, reason, re.IGNORECASE))
