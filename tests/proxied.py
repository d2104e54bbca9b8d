"""A guard's proxy in front of a server of this machine, on a free port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from aiohttp import web

from offrecord.guard import Decision, Rule
from offrecord.guard.config import GuardConfig
from offrecord.guard.proxy import Proxy
from offrecord.guard.serving import application
from offrecord.guard.upstream import Upstream

DECISION = Decision(question="?", labels=("SEND", "WAIT"), pressed_side="SEND")
ASIDE = "no one in the discussion hears"
OPENLY = "states your own assessment openly"


def asked_aside(messages: list[dict[str, Any]]) -> bool:
    """Whether a request is the guard's."""
    return ASIDE in str(messages[-1]["content"])


class Served(NamedTuple):
    """A proxy that runs."""

    url: str
    proxy: Proxy


@contextmanager
def proxied(
    upstream: str,
    *,
    decision: Decision = DECISION,
    beside: bool = True,
    upstream_timeout: float = 30.0,
    tracer: Any = None,
    **rule: Any,
) -> Iterator[Served]:
    """Serve a proxy while the context is open."""
    server = Upstream(upstream, upstream_timeout)
    config = GuardConfig(decision=decision, rule=Rule(**{"timeout": 5, **rule}))
    proxy = Proxy(config.guard(server.ask, tracer=tracer), server, beside=beside)
    loop, at = asyncio.new_event_loop(), "127.0.0.1"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def on_loop(work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(30)

    runner = web.AppRunner(
        application(proxy),
        handler_cancellation=True,
        access_log=None,
        shutdown_timeout=1,
    )
    on_loop(runner.setup())
    on_loop(web.TCPSite(runner, at, 0).start())
    try:
        yield Served(f"http://{at}:{runner.addresses[0][1]}/v1", proxy)
    finally:
        on_loop(runner.cleanup())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def events(*chunks: bytes | str) -> bytes:
    """A stream of server-sent events."""
    spelled = [chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks]
    return b"".join(b"data: %b\n\n" % chunk for chunk in spelled)
