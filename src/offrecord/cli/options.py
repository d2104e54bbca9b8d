"""The options of a design, shared by `run` and `plan`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from offrecord.records import OffrecordError

Command = TypeVar("Command", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A range of numbers: neither nan, which no limit stops, nor an infinity."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


class WithInspectOptions(click.Command):
    """A command that passes everything after `--` to `inspect eval-set`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take off everything after the first `--`."""
        if "--" in args:
            cut = args.index("--")
            args, ctx.obj = args[:cut], args[cut + 1 :]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            name = error.option_name
            raise click.UsageError(
                f"no option {name}: options of inspect eval-set go after --, as in: "
                f"offrecord {ctx.info_name} ... -- {name} VALUE"
            ) from None


_STORED: Final = (
    click.option(
        "--on",
        type=click.Path(path_type=Path),
        help="A study: take new samples on its stored debates or conversations.",
    ),
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        help="With --on and recorded conversations: turns to ask (default 200).",
    ),
    click.option(
        "--where",
        multiple=True,
        help="NAME=VALUE: of which of their turns; repeatable.",
    ),
)
"""What of a stored study is asked again."""


def design_options(command: Command) -> Command:
    """Add the design's options to a command; see `given_fields`."""
    options = [
        click.argument(
            "file", required=False, type=click.Path(path_type=Path, dir_okay=False)
        ),
        click.option("--model", "models", multiple=True, help="Model, repeatable."),
        click.option(
            "--role", "roles", multiple=True, help="partner=MODEL or partner=scripted."
        ),
        *_STORED,
        click.option(
            "--scenario",
            "scenarios",
            multiple=True,
            help="Id, folder, core (default), all or domain:NAME; repeatable.",
        ),
        click.option(
            "--condition",
            "conditions",
            multiple=True,
            help="Id, standard (default: no evidence, no doses) or all; repeatable.",
        ),
        click.option(
            "--factor",
            "factors",
            multiple=True,
            help="NAME=LEVEL,LEVEL: crossed with everything else.",
        ),
        click.option("--runs", type=int, help="Repeats of every cell (default 5)."),
        click.option("--rounds", type=int, help="Turns of each agent (default 5)."),
        click.option("--protocol", help="twin (default), paper, or a file."),
        click.option("--channels", help="A,B: the spoken one first."),
        click.option(
            "--shadows", type=int, help="Further samples per utterance (default 1)."
        ),
        click.option(
            "--elicit",
            help="ROLE,ROLE: who is asked for all outputs; the others only speak "
            "(default all).",
        ),
        click.option("--forms", help="utterance, or utterance,survey (default)."),
        click.option(
            "--seed",
            type=int,
            help="Seed for item order and for simulated and local models (default 0).",
        ),
        click.option(
            "--survey-format",
            type=click.Choice(["free", "schema"]),
            help="Ask for surveys as free JSON or under a JSON schema.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def given_fields(options: dict[str, Any]) -> dict[str, Any]:
    """The design fields that were given on the command line.

    Raises:
        OffrecordError: If a `NAME=VALUE` option has no `=`.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if "roles" in given:
        given["roles"] = dict(_pair("--role", text) for text in given["roles"])
    if "factors" in given:
        pairs = (_pair("--factor", text) for text in given["factors"])
        given["factors"] = {name: tuple(levels.split(",")) for name, levels in pairs}
    for name in ("channels", "elicit", "forms"):
        if name in given:
            given[name] = tuple(part.strip() for part in given[name].split(","))
    ask = {name: given.pop(name) for name in ("elicit", "forms") if name in given}
    if ask:
        given["ask"] = ask
    if "on" in given:
        given["on"] = str(given["on"].resolve())
    return given


def inspect_options() -> list[str]:
    """Everything after `--` in the current call."""
    return list(click.get_current_context().obj or ())


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise OffrecordError(f"{option} {text}: write NAME=VALUE")
    return name, value
