"""`offrecord guard serve`: a proxy that guards chat completions."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from offrecord.cli.options import FiniteRange


@click.command()
@click.option(
    "--config",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The guard.yaml.",
)
@click.option(
    "--upstream",
    required=True,
    metavar="URL",
    help="Base of chat completions, such as https://api.openai.com/v1.",
)
@click.option("--port", default=8017, show_default=True, help="0 for any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--ask",
    type=click.Choice(["beside", "after"]),
    default="beside",
    show_default=True,
    help="Ask beside each draft, or after one that takes the pressed side: fewer "
    "calls, and the agent waits.",
)
@click.option(
    "--upstream-timeout",
    type=FiniteRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds without a byte after which a draft has failed.",
)
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep conflicts, texts included, in this file that you alone can read.",
)
def serve(
    config: Path,
    upstream: str,
    port: int,
    host: str,
    ask: str,
    upstream_timeout: float,
    evidence: Path | None,
) -> None:
    """Serve an OpenAI-compatible proxy that guards chat completions.

    Point an agent's base URL at it. Keys pass through and are never logged. With the
    action 'log' and 'on_fault: open', messages pass as they come; else they wait, and
    streams are held back, until the verdict is in.
    """
    from offrecord.guard import serving
    from offrecord.guard.config import read_config
    from offrecord.guard.proxy import Proxy
    from offrecord.guard.upstream import Upstream

    server = Upstream(upstream, upstream_timeout)
    guarding = read_config(config).guard(
        server.ask, evidence=evidence, tracer=serving.tracer()
    )
    proxy = Proxy(guarding, server, beside=ask == "beside")
    log = logging.getLogger("offrecord.guard")
    log.setLevel(logging.INFO)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    serving.serve(proxy, host, port, click.echo)
