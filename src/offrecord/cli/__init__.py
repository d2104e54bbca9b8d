"""The command line: each verb parses, calls one function and translates errors.

A verb's module is imported when the verb is called, so that `offrecord --help` needs
neither Inspect nor polars.
"""

from __future__ import annotations

import codecs
import importlib
import io
import os
import sys
import traceback
import unicodedata
from contextlib import suppress
from typing import Final, NoReturn

import click

from offrecord.records import OffrecordError

_VERBS: Final = {
    "run": "Run the debates in a design, or add to a study.",
    "plan": "Show runs, calls, cost and time of a design; call no model.",
    "import": "Make a study from published runs or Inspect logs.",
    "status": "Show which runs are missing, and what a study cost.",
    "measure": "Measure stances, surveys, similarity, attribution and more.",
    "estimate": "Estimate rates, direction and the split, with intervals.",
    "report": "Write one page: results, figures and every turn.",
    "audit": "Judge a study by thresholds; the exit code is the verdict.",
    "guard": "Ask off the record before a message goes out: check, calibrate, serve.",
    "export": "Write a study as Inspect logs or as tidy tables.",
    "content": "List, show, copy, create, check, pilot and draft content.",
    "models": "List and fetch embedded models.",
}

_JUDGING: Final = (["audit"], ["content"], ["run"])
"""Verbs that end with 1 for what they found: a crash must not look like that."""


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _VERBS:
            return None
        name = "import_" if cmd_name == "import" else cmd_name
        module = importlib.import_module(f"offrecord.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="offrecord")
@click.pass_context
def cli(ctx: click.Context, /) -> None:
    """Measure what LLM agents say in public against what they say off the record."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line. Faults of input end it with one line and exit code 2.

    So does what nobody foresaw, with its traceback, where 1 is a verdict.
    """
    codecs.register_error("offrecord", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(OSError):  # what was a file and is a pipe by now
                stream.reconfigure(errors="offrecord")
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        _say(error.format_message())
        sys.exit(2)
    except OffrecordError as error:
        _say(str(error))
        sys.exit(2)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            _end_quietly()
        _say(f"{error.filename or 'file'}: {error.strerror or error}")
        sys.exit(2)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException:  # polars panics with what is no Exception
        if sys.argv[1:2] not in _JUDGING:
            raise
        traceback.print_exc()
        sys.exit(2)


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a terminal cannot show: dashes as hyphens, all else as its escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, end = codecs.backslashreplace_errors(error)
    dash = unicodedata.category(error.object[error.start]) == "Pd"
    return ("-", error.start + 1) if dash else (text, end)


def _end_quietly() -> NoReturn:
    # The reader of our output is gone, as in `offrecord estimate S | head`.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(141)


def _say(message: str) -> None:
    from offrecord.content.boundary.secrets import redacted
    from offrecord.content.boundary.shown import escaped

    click.echo(f"offrecord: {escaped(redacted(' '.join(message.split())))}", err=True)
