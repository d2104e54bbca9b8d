"""What the model of each agent was given, as far as a record says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from offrecord.transcript.deployed.entry import Fault
from offrecord.transcript.deployed.mapping import Map
from offrecord.transcript.deployed.messages import TOOL, Message


def with_prompts(
    found: Iterable[Message | Fault], how: Map, key_of: Callable[[str], int]
) -> Iterator[tuple[Message | Fault, Mapping[str, Any]]]:
    """Messages of one entry, those of agents with what is known of their prompts.

    A call of a model lists what it was given. Of a conversation that is one entry it is
    known whether something in it before is lost: a call of a tool, or what cannot be
    read. Of messages that stand each in an entry of its own, nothing is known.

    Args:
        found: The messages of an entry in order, and what is none.
        how: The map.
        key_of: The digest of a text as it is stored.

    Yields:
        The message, and its columns of `ASKED_SCHEMA`.
    """
    whole, senders, texts = bool(how.messages or how.heard), [], list[int]()
    calls = bool(how.heard)
    for one in found:
        if isinstance(one, Fault):
            whole = False
            yield one, {}
            continue
        whole = whole and one.sender != TOOL
        if one.heard:
            senders.append(one.sender)
            texts.append(key_of(one.text))
        if one.heard or not one.is_agent:
            yield one, {}
            continue
        if not calls:
            yield one, {"whole": whole}
            continue
        listed = {"senders": senders, "texts": texts} if texts else {}
        yield one, {"whole": whole and bool(texts), **listed}
