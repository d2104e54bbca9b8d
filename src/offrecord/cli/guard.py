"""`offrecord guard`: try a guard on recorded traffic, calibrate one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offrecord.cli.options import FiniteRange
from offrecord.cli.serve import serve
from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.guard import Verdict
    from offrecord.guard.traffic import Found, Sent

CONFIG = click.option(
    "--config",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The guard.yaml.",
)


@click.group()
def guard() -> None:
    """Ask off the record before a message goes out."""


guard.add_command(serve)


@guard.command()
@click.argument("source", type=click.Path(path_type=Path))
@CONFIG
@click.option("--map", "map_", help="How SOURCE is read, over the guard's own 'map'.")
@click.option(
    "--model", help="Who is asked, as Inspect names it; without it no one is."
)
@click.option(
    "--json",
    "as_json",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a JSON object for each verdict: place, action, score, reason.",
)
def check(
    source: Path,
    config: Path,
    map_: str | None,
    model: str | None,
    as_json: Path | None,
) -> None:
    """Say what a guard would have done with the recorded messages in SOURCE.

    A dry run: no action is taken, and nothing that is said off the record is kept.
    Without --model no model is called, and the messages to ask about are counted.
    """
    import anyio

    from offrecord.cli.outputs import check_outputs
    from offrecord.guard.config import read_config
    from offrecord.guard.traffic import guard_traffic, sent_messages
    from offrecord.transcript.deployed import read_map
    from offrecord.transcript.store import write_output

    wanted = read_config(config)
    if wanted.decision is None:
        raise OffrecordError(f"{config}: give 'decision': free text is checked in code")
    name = map_ or wanted.map
    if name is None:
        raise OffrecordError(
            "give --map; 'offrecord import transcripts SOURCE --guess' prints one"
        )
    check_outputs({"--json": as_json}, config)
    how, _ = read_map(name)
    lines = list[str]()

    async def tell(sent: Sent, verdict: Verdict) -> None:
        lines.append(_line(sent, verdict))

    async def main() -> Found:
        dry = wanted.model_copy(
            update={"rule": wanted.rule.model_copy(update={"action": "log"})}
        )
        guarding = dry.guard(_asker(model))
        sent = sent_messages(source, how)
        return await guard_traffic(sent, guarding, tell, asks=model is not None)

    found = anyio.run(main)
    if as_json:
        write_output(as_json, "".join(f"{line}\n" for line in lines))
    _show(found, wanted.rule.action, wanted.rule.draws, asked=model is not None)


@guard.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--false-alarm",
    type=FiniteRange(0, 100, min_open=True, max_open=True),
    required=True,
    metavar="X",
    help="The rate of false alarms to hold, in percent.",
)
@click.option(
    "--per",
    type=click.Choice(["message", "debate"]),
    default="message",
    show_default=True,
    help="Whether that is of messages on the pressed side or of debates with any.",
)
@click.option("--model", help="Which model of the study, if it has several.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A guard.yaml whose decision, action, fault mode and wording stay.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What to write, where nothing is yet; by default guard.yaml.",
)
def calibrate(
    study: Path,
    false_alarm: float,
    per: Any,  # noqa: ANN401 - a choice
    model: str | None,
    config: Path | None,
    out: Path | None,
) -> None:
    """Choose draws and threshold of a guard on STUDY, and write its guard.yaml.

    STUDY was spoken in `plain`, with an arm that observes (guard_observe), one shadow,
    and conditions without pressure, evidence among them. The file states how often the
    guard alarms falsely and how much it detects, with intervals. No model is called.
    """
    from offrecord.cli.outputs import check_outputs
    from offrecord.guard.calibrate import calibrate as calibrated
    from offrecord.guard.config import GuardConfig, config_text, read_config
    from offrecord.transcript.record import open_record
    from offrecord.transcript.store import write_output

    place = out or Path("guard.yaml")
    if place.exists():
        raise OffrecordError(f"{place}: is there: name another file with --out")
    check_outputs({"--out": place})
    begun = GuardConfig() if config is None else read_config(config, anew=True)
    found = calibrated(open_record(study), begun, false_alarm / 100, per, model)
    for line in found.lines:
        click.echo(line)
    write_output(place, config_text(found.config))
    more = "" if found.config.decision else ": add 'decision' to it"
    click.echo(f"{place} is written{more}")


def _line(sent: Sent, verdict: Verdict) -> str:
    return json.dumps(
        {
            "conversation": sent.conversation,
            "place": sent.place,
            "action": verdict.action,
            "score": verdict.score,
            "reason": verdict.reason,
        }
    )


def _asker(model: str | None) -> Any:  # noqa: ANN401 - an `Ask`
    if model is None:
        return None
    from offrecord.guard.inspect_model import ask_inspect
    from offrecord.protocol.models import open_model

    return ask_inspect(open_model(model))


def _show(found: Found, action: str, draws: int, *, asked: bool) -> None:
    total = sum(found.reasons.values()) + found.would_ask
    click.echo(
        f"{total:,} messages of agents in {len(found.conversations):,} conversations"
    )
    for reason, count in found.reasons.most_common():
        also = f": {action}" if reason == "conflict" else ""
        click.echo(f"{count:>9,}  {reason}{also}")
    if asked:
        cost = found.cost
        click.echo(
            f"{cost.calls:,} calls: {cost.input_tokens:,} input tokens "
            f"({cost.cached_tokens:,} cached), {cost.output_tokens:,} output tokens"
        )
    else:
        click.echo(
            f"{found.would_ask:>9,}  to ask about: {found.would_ask * draws:,} calls "
            "with --model"
        )
    for why, count in found.left_out.most_common():
        click.echo(f"left out: {why}: {count:,}")
