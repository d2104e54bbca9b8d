"""Write docs/commands.md from the command line itself, so that it cannot be stale.

`python scripts/command_reference.py` writes the page; with `--check` it fails where
the page is not what it would write.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from offrecord.cli import cli

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
RENEW = "python scripts/command_reference.py"
HEAD = f"""<!-- Written by `{RENEW}`: do not edit. -->

# Commands

Every verb with its options, as `offrecord VERB --help` prints them. Give an option
marked "repeatable" once for each value.

| exit code | meaning |
|--:|---|
| 0 | done; `audit`, `content pilot`: pass |
| 1 | `run`: debates are not done, or say nothing; `audit`, `content pilot`: fail |
| 2 | an error in the input: one line says what is wrong and what to do |
| 3 | `audit`, `content pilot`: inconclusive |
| 130 | interrupted, as by Ctrl-C: the same command resumes |
"""


def main() -> None:
    """Write the page, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Only say whether it is.")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"docs/commands.md is stale: renew it with '{RENEW}'")


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([HEAD, *_commands(cli, "offrecord", depth=2)]).rstrip() + "\n"


def _commands(group: click.Group, path: str, depth: int) -> Iterator[str]:
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield from _command(command, f"{path} {name}", depth)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}", depth + 1)


def _command(command: click.Command, path: str, depth: int) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"{'#' * depth} {path}\n"
    yield f"```text\n{path} {usage}\n```\n"
    for paragraph in (command.help or "").replace("\f", "").split("\n\n"):
        yield " ".join(paragraph.split()) + "\n"
    options = [p for p in command.params if isinstance(p, click.Option)]
    rows = [_row(option, context) for option in options if not option.hidden]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    names, text = record or ("", "")
    words = " ".join(text.split())
    if option.multiple and "repeat" not in words:
        words += " Repeatable."
    # A pipe ends a cell of the table, in code too; in text < would begin a tag.
    names = names.replace("|", r"\|")
    return f"| `{names}` | {words.replace('|', '&#124;').replace('<', '&lt;')} |"


if __name__ == "__main__":
    main()
