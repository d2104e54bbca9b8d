"""Drafts of scenarios as a model writes them: files out of one reply, and their check.

What a model writes is a stranger's: only the names of a scenario's own files are taken,
of a bounded size, and nothing is read but by the check that reads everyone's folders.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from offrecord.content import data_folder
from offrecord.content.writing import write_files
from offrecord.scenarios.check import Finding, check_folder
from offrecord.scenarios.load import load_scenario
from offrecord.scenarios.model import Scenario

Files = Mapping[str, str]
"""Path inside a scenario's folder to its text."""

_HEAD: Final = re.compile(r"^[ \t]*={3,}[ \t]*`?([^\s`=]+)`?[ \t]*={3,}[ \t]*$", re.M)
_NAME: Final = re.compile(
    r"scenario\.md|survey\.yaml|(?:agents|conditions|scripts)/[a-z0-9][a-z0-9_-]*\.md"
)
_FENCE: Final = re.compile(r"\A\s*```\w*[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL)
_IDEA: Final = re.compile(
    r"^[ \t]*(?:[-*]|\d+[.)])?[ \t]*[*`]*([a-z][a-z0-9]*(?:-[a-z0-9]+)*)[*`]*:"
    r"[ \t]*(\S.*)$",
    re.M,
)
_LONGEST: Final = 100_000  # characters of a draft
_WORD: Final = re.compile(r"[^\W\d_]{4,}")


def ideas_of(reply: str) -> dict[str, str]:
    """The decisions that a reply proposes: short name to sentence."""
    return {name: f"{name}: {said.strip()}" for name, said in _IDEA.findall(reply)}


def files_of(reply: str, id_: str) -> dict[str, str]:
    """The files of a draft; other names are passed over.

    Args:
        reply: What a model wrote.
        id_: The id that the scenario is given.
    """
    heads = list(_HEAD.finditer(reply[:_LONGEST]))
    files: dict[str, str] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        end = following.start() if following else _LONGEST
        text = reply[head.end() : end].strip()
        fenced = _FENCE.match(text)
        if _NAME.fullmatch(head[1]):
            files[head[1]] = (fenced[1] if fenced else text).strip() + "\n"
    if scenario := files.get("scenario.md"):
        bare = re.sub(r"(?m)^id:.*\n", "", scenario, count=1)
        files["scenario.md"] = re.sub(r"\A---[ \t]*\n", f"---\nid: {id_}\n", bare)
    return files


def laid_out(files: Files) -> str:
    """Files as one text, as a model is shown them and writes them."""
    return "\n\n".join(
        f"=== {name} ===\n{text.strip()}" for name, text in files.items()
    )


def example() -> str:
    """The skeleton of a scenario, laid out."""
    folder = data_folder("skeletons") / "scenario"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return laid_out(
        {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in paths}
    )


def check_files(files: Files, id_: str) -> tuple[Finding, Scenario | None]:
    """The check of a draft, its places without the folder, and what it loads as."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / id_
        folder.mkdir()
        write_files(files, folder)
        found = check_folder(folder)
        scenario = None if found.faults else load_scenario(folder)
        own = f"{folder}/"
        said = (
            tuple(one.replace(own, "") for one in each)
            for each in (found.faults, found.warnings)
        )
    faults, warnings = said
    return Finding(faults=faults, warnings=warnings, summary=found.summary), scenario


def overlap(first: Scenario, second: Scenario) -> float:
    """The part of their words of four letters or more that two scenarios share.

    Returns:
        Of the words in both, the share in the smaller of the two, from 0 to 1.
    """
    one, two = (_words(scenario) for scenario in (first, second))
    return len(one & two) / max(min(len(one), len(two)), 1)


def _words(scenario: Scenario) -> set[str]:
    texts: Iterable[str] = (
        scenario.setting,
        scenario.question,
        *(agent.card for agent in scenario.agents),
    )
    return set(_WORD.findall(" ".join(texts).casefold()))
