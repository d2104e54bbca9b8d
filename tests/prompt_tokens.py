"""The tokens of a conversation, as the server of an engine counts them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from offrecord.providers.engine import Engine


def prompt_tokens(engine: Engine, messages: Sequence[Mapping[str, str]]) -> list[int]:
    """The tokens of a conversation under the model's own template."""
    rendered = _ask(engine, "/apply-template", {"messages": list(messages)})
    content = {"content": rendered["prompt"], "add_special": True}
    answer = _ask(engine, "/tokenize", {**content, "parse_special": True})
    return [int(token) for token in answer["tokens"]]


def _ask(engine: Engine, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        engine._server.listening_address + path,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {engine._secret}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: dict[str, Any] = json.load(response)
    return answer
