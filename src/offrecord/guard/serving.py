"""The server of a guard's proxy: one process, one port, no log of its own."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable
from typing import Final

from aiohttp import web

from offrecord.guard.guard import Tracer
from offrecord.guard.proxy import Proxy, Refused
from offrecord.guard.upstream import LARGEST
from offrecord.records import OffrecordError

_LOG: Final = logging.getLogger("offrecord.guard")
_PATHS: Final = ("/v1/chat/completions", "/chat/completions")


def application(proxy: Proxy) -> web.Application:
    """The proxy as an application of aiohttp, for a server of your own."""

    async def opened(app: web.Application) -> AsyncIterator[None]:  # noqa: ARG001
        async with proxy.upstream:
            yield
            await proxy.finish()
        counts = (f"{count:,} {reason}" for reason, count in proxy.seen.most_common())
        _LOG.info("messages: %s", ", ".join(counts) or "none")

    async def elsewhere(request: web.Request) -> web.Response:  # noqa: ARG001
        return Refused(404, "not_found", f"POST {_PATHS[0]} alone").response

    app = web.Application(client_max_size=LARGEST)
    app.cleanup_ctx.append(opened)
    app.add_routes([web.post(path, proxy.answer) for path in _PATHS])
    app.add_routes([web.route("*", "/{path:.*}", elsewhere)])
    return app


def serve(proxy: Proxy, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until the process is told to stop.

    Args:
        proxy: What answers.
        host: The address to listen at.
        port: 0 for any that is free.
        say: Is told where it listens, and what it does with streams.

    Raises:
        OffrecordError: If nothing can listen there.
    """
    try:
        listening = socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        raise OffrecordError(f"{host}:{port}: {error}") from None
    with listening:
        at = f"http://{host}:{listening.getsockname()[1]}/v1"
        say(f"{at} guards {proxy.upstream.url}")
        say(_manner(proxy))
        web.run_app(
            application(proxy),
            sock=listening,
            print=None,
            access_log=None,  # addresses may hold keys
            handler_cancellation=True,
            handle_signals=True,
        )


def tracer() -> Tracer | None:
    """OpenTelemetry's, where it is installed; without a provider it does nothing."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("offrecord.guard")


def _manner(proxy: Proxy) -> str:
    rule = proxy.guard.rule
    if not proxy.holds_back:
        return "log only: messages pass as they come, streams too; verdicts are logged"
    return (
        f"on a conflict: {rule.action}; where a check fails: {rule.on_fault}; "
        "messages, streams too, wait for their verdict"
    )
