"""The examples of the documentation: found in its pages, run, and compared.

Three kinds of fenced block are examples. `console` is run as it stands: a line that
begins with `$ ` is a command, a backslash at its end goes on in the next line, and
`# exits N` is its exit code (0 by default). The lines below are its output, in which
`...` alone stands for any lines. `python` is run in the same folder; a `text` block
right below is what it prints. `bash` shows what costs money, a key or a download: its
commands are parsed and not run.

`python -m tests.docs_examples docs/PAGE.md` prints what each example really says, for
pasting into the page.
"""

from __future__ import annotations

import inspect
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import click

from offrecord.cli import cli, main
from offrecord.runner.options import split_options
from offrecord.task import debate, study

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"

_INCLUDED = re.compile(r'^--8<-- "(?P<path>[^"]+)"$', re.MULTILINE)
_EXITS = re.compile(r"\s+# exits (?P<code>\d+)$")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*$")
_OUTPUT_WIDTH = "100"


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Of its opening fence, counted from 1."""
    follows: bool
    """Whether it stands right below another block."""


class Command(NamedTuple):
    """A command of a `console` block, with what the page says about it."""

    words: str
    exits: int
    output: list[str]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in order, included files spelled out."""
    inside: tuple[str, str, int] | None = None
    held: list[str] = []
    closed = -2  # the line of the last fence that ended a block
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if inside is None and fence:
            inside = fence["language"], fence["indent"], number
            held = []
        elif inside is not None and line == inside[1] + "```":
            text = _INCLUDED.sub(_included, "\n".join(held))
            yield Block(inside[0], text, inside[2], inside[2] - closed <= 2)
            inside, closed = None, number
        elif inside is not None:
            held.append(line.removeprefix(inside[1]))


def _included(match: re.Match[str]) -> str:
    return (ROOT / match["path"]).read_text(encoding="utf-8").rstrip("\n")


def commands(block: Block) -> Iterator[Command]:
    """The commands of a `console` block, each with its output."""
    found: Command | None = None
    for line in re.sub(r"\\\n *", "", block.text).splitlines():
        if line.startswith("$ "):
            if found:
                yield found
            exits = _EXITS.search(line)
            words = _EXITS.sub("", line.removeprefix("$ "))
            found = Command(words, int(exits["code"]) if exits else 0, [])
        elif found:
            found.output.append(line)
    if found:
        yield found


class Session:
    """A reader who follows pages in one folder, where the examples lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {}
        shutil.copytree(ROOT / "examples", folder / "examples")

    def command(self, words: str) -> tuple[str, int]:
        """Run a command; its output, errors included, and its exit code."""
        if not words.startswith("offrecord "):
            done = subprocess.run(
                ["bash", "-c", words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            return done.stdout + done.stderr, done.returncode
        # In this process: a new one spends seconds on imports, for each command.
        said, code = io.StringIO(), 0
        with self._reading(said), patch.object(sys, "argv", shlex.split(words)):
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        return said.getvalue(), code

    def python(self, text: str) -> str:
        """Run a block of Python; what it prints. Names stay for the next block."""
        said = io.StringIO()
        with self._reading(said):
            exec(compile(text, "example", "exec"), self.names)
        return said.getvalue()

    def _reading(self, said: io.StringIO) -> _Reading:
        return _Reading(self.folder, said)


class _Reading:
    """Stand in a folder, with everything that is printed kept."""

    def __init__(self, folder: Path, said: io.StringIO) -> None:
        # Progress is not output: pages leave it out, as `...`.
        display = {"INSPECT_DISPLAY": "none", "COLUMNS": _OUTPUT_WIDTH}
        self._parts = (
            chdir(folder),
            redirect_stdout(said),
            redirect_stderr(said),
            patch.dict(os.environ, display),
        )

    def __enter__(self) -> None:
        for part in self._parts:
            part.__enter__()

    def __exit__(self, *error: object) -> None:
        for part in reversed(self._parts):
            part.__exit__(None, None, None)


def lines(output: str) -> list[str]:
    """Output as it is compared: without blanks at line ends, or outer empty lines."""
    return "\n".join(map(str.rstrip, output.splitlines())).strip("\n").splitlines()


def agree(shown: list[str], real: list[str]) -> bool:
    """Whether lines are what a page shows, where `...` alone stands for any lines."""
    parts = [r"(?:.*\n)*" if one == "..." else re.escape(one) + r"\n" for one in shown]
    text = "".join(line + "\n" for line in real)
    return re.fullmatch("".join(parts), text) is not None


def shell_commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a `bash` block, comments and settings left out."""
    for line in block.text.replace("\\\n", " ").splitlines():
        for part in re.split(r"\s&&\s|\s;\s|\s\|\s", line):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words:
                yield words


def parse(words: list[str]) -> None:
    """Parse a command line of ours without running it.

    Raises:
        click.ClickException: If a verb, an option or a value is unknown.
        OffrecordError: If an option behind `--` belongs before it.
    """
    command: click.Command = cli
    path, rest = "offrecord", words[1:]
    if rest in (["--version"], ["--help"]):
        return
    while isinstance(command, click.Group):
        name, rest = rest[0], rest[1:]
        found = command.get_command(click.Context(command), name)
        if found is None:
            raise click.UsageError(f"no command '{name}' in {' '.join(words)}")
        command, path = found, f"{path} {name}"
    with command.make_context(path, list(rest)) as context:
        split_options(context.obj or ())


def unknown_task_arguments(words: list[str]) -> set[str]:
    """Names behind `-T` that are no argument of the task of ours that is named."""
    following = itertools.pairwise(words)
    given = {value.partition("=")[0] for word, value in following if word == "-T"}
    task = study if "offrecord/study" in words else debate
    return given - set(inspect.signature(task).parameters)


def _show(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        for block in blocks(page):
            if block.language == "console":
                for command in commands(block):
                    output, code = session.command(command.words)
                    click.echo(f"--- line {block.line}: {command.words} ({code})")
                    click.echo("\n".join(lines(output)))
            elif block.language == "python":
                click.echo(f"--- line {block.line}: python")
                click.echo("\n".join(lines(session.python(block.text))))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        _show(Path(name))
