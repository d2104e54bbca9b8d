"""A shield around a model: what its provider sends back holds no key of ours.

Inspect writes a provider's errors into its log, and a server may repeat in them the key
that it was sent. So secrets are taken out where the reply comes in, before Inspect sees
it: from errors whatever looks like one, from replies the environment's values alone,
since a reply is evidence.

Inspect has no hook that is handed a reply or an error before its log is: `ModelUsage`
comes after and without them. So the call of each opened model is wrapped in place.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import Model, ModelCall, ModelOutput

from offrecord.content.boundary.secrets import (
    all_redacted,
    planted,
    redacted,
    without_planted,
)
from offrecord.protocol.failures import watch_failures

_MARK = "_offrecord_shielded"


def shielded(model: Model) -> Model:
    """The same model, its replies and errors without secrets from now on.

    Args:
        model: As Inspect opens it; shielding it again changes nothing.
    """
    api: Any = model.api
    if getattr(api, _MARK, False):
        return model
    watch_failures(model)
    generate, secrets = api.generate, planted()

    @wraps(generate)
    async def guarded(*words: Any, **named: Any) -> Any:  # noqa: ANN401
        try:
            came = await generate(*words, **named)
        except Exception as error:
            _clean_error(error)
            _clean_open_calls()
            raise
        reply, call = came if isinstance(came, tuple) else (came, None)
        if isinstance(reply, Exception):
            _clean_error(reply)
            _clean_call(call)
            _clean_open_calls()
        elif isinstance(reply, ModelOutput):
            clean = _clean_output(reply, secrets)
            if clean is not reply:
                _clean_call(call)
                return (clean, call) if isinstance(came, tuple) else clean
        return came

    api.generate = guarded
    setattr(api, _MARK, True)
    return model


def _clean_output(output: ModelOutput, secrets: tuple[str, ...]) -> ModelOutput:
    """The output itself where there is nothing to take out, as nearly always."""
    if output.error is None and not secrets:
        return output
    written = output.model_dump_json()
    held = any(secret in written for secret in secrets)
    if not held and (output.error is None or redacted(output.error) == output.error):
        return output
    clean = ModelOutput.model_validate_json(without_planted(written))
    clean.error = redacted(clean.error) if clean.error else clean.error
    return clean


def _clean_call(call: ModelCall | None) -> None:
    if call is not None and call.response is not None:
        call.response = all_redacted(call.response)


def _clean_open_calls() -> None:
    """Clean what a provider noted of calls before it raised."""
    for event in transcript().events[-200:]:
        if isinstance(event, ModelEvent) and event.pending and event.call is not None:
            _clean_call(event.call)


def _clean_error(error: BaseException) -> None:
    """Take secrets out of an error and of all that it came from."""
    seen = set[int]()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        one.args = tuple(_clean_value(value) for value in one.args)
        for name, value in list(vars(one).items()):
            with suppress(AttributeError, TypeError):
                setattr(one, name, _clean_value(value))


def _clean_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str | dict | list):
        return all_redacted(value)
    if isinstance(value, bytes):
        return redacted(value.decode(errors="replace")).encode()
    return value
