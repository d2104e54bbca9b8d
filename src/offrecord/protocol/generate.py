"""Scenarios drafted by a model: understand a brief, propose, draft, revise.

One Inspect sample is one brief. Every prompt is a content file, the log has what was
asked and answered, and what came of it stands in the sample's store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, Model, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import span
from pydantic import Field

from offrecord.content import Document, data_folder, fill, read_document
from offrecord.content.boundary.files import read_text
from offrecord.content.document import Front
from offrecord.content.reply import said_and_thought
from offrecord.protocol.elicitation import received
from offrecord.records import OffrecordError
from offrecord.scenarios.drafts import (
    check_files,
    example,
    files_of,
    ideas_of,
    laid_out,
    overlap,
)
from offrecord.scenarios.load import builtin_ids, load_scenarios
from offrecord.scenarios.model import Scenario

FOLDERS: Final = "folders"
"""The key of a sample's store: id to the files of a scenario that passes its check."""
DROPPED: Final = "dropped"
"""The key beside it: a line for each decision of which nothing came."""


class _Understand(Front):
    longest_brief: int = Field(ge=1)


class _Propose(Front):
    spare: int = Field(ge=0)
    overlap: float = Field(gt=0, le=1)


class _Revise(Front):
    times: int = Field(ge=0)


def _step(name: str) -> Document:
    return read_document(data_folder("generate") / f"{name}.md")


def read_brief(path: Path) -> str:
    """The text of a brief.

    Raises:
        OffrecordError: If there is none, or it is empty or too long.
    """
    text, most = read_text(path).strip(), _step("understand").validate(_Understand)
    if not text:
        raise OffrecordError(f"{path}: is empty; say what scenarios are to be about")
    if len(text) > most.longest_brief:
        raise OffrecordError(
            f"{path}: {len(text):,} characters; a brief has {most.longest_brief:,} at "
            "most"
        )
    return text


def brief_dataset(brief: str) -> MemoryDataset:
    """The one sample of a brief."""
    return MemoryDataset([Sample(id="brief", input=brief)], name="offrecord generate")


@solver
def draft_scenarios(count: int) -> Solver:
    """Draft scenarios until as many pass their check, or the ideas are used up.

    Args:
        count: How many are wanted.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        drafting = _Drafting(get_model(), state.input_text, count)
        try:
            await drafting.all()
        finally:
            state.store.set(FOLDERS, drafting.folders)
            state.store.set(DROPPED, drafting.dropped)
        return state

    return solve


class _Drafting:
    """The four steps for one brief."""

    def __init__(self, model: Model, brief: str, count: int) -> None:
        self._model, self._brief, self._count = model, brief, count
        self._settings = _step("propose").validate(_Propose)
        self._known = [*load_scenarios(builtin_ids())]
        self.folders: dict[str, dict[str, str]] = {}
        self.dropped: list[str] = []

    async def all(self) -> None:
        understood = await self._ask("understand", brief=self._brief)
        number = self._count + self._settings.spare
        reply = await self._ask(
            "propose",
            understood=understood,
            number=str(number),
            taken=", ".join(builtin_ids()),
        )
        ideas = [*ideas_of(reply).items()][:number]
        if not ideas:
            self.dropped.append("the model proposed no decision as 'name: sentence'")
        for id_, idea in ideas:
            if len(self.folders) < self._count:
                await self._one(id_, idea, understood)

    async def _one(self, id_: str, idea: str, understood: str) -> None:
        if id_ in builtin_ids():
            self.dropped.append(f"{id_}: is the name of a built-in scenario")
            return
        shown = {"understood": understood, "idea": idea, "example": example()}
        files = files_of(await self._ask("draft", id_, **shown), id_)
        found, scenario = check_files(files, id_)
        for _ in range(_step("revise").validate(_Revise).times):
            faults = (*found.faults, *found.warnings)
            if not faults or not files:
                break
            listed = {"faults": "\n".join(faults), "files": laid_out(files)}
            revised = files_of(await self._ask("revise", id_, **listed), id_)
            again, other = check_files({**files, **revised}, id_)
            if other is not None or scenario is None:
                files, found, scenario = {**files, **revised}, again, other
        if scenario is None:
            more = f" (and {len(found.faults) - 1} more)" if found.faults[1:] else ""
            self.dropped.append(f"{id_}: {found.faults[0]}{more}")
        elif (like := self._like(scenario)) is not None:
            self.dropped.append(f"{id_}: shares most of its words with '{like}'")
        else:
            self.folders[id_] = dict(files)
            self._known.append(scenario)

    def _like(self, scenario: Scenario) -> str | None:
        """The scenario that another one nearly is, if any."""
        shares = ((overlap(scenario, one), one.id) for one in self._known)
        most, id_ = max(shares)
        return id_ if most >= self._settings.overlap else None

    async def _ask(self, step: str, about: str = "", **values: str) -> str:
        """What the model answers to one step, without its thinking."""
        document = _step(step)
        async with span(f"{step} {about}".strip(), type="elicitation"):
            output = await self._model.generate(
                [
                    ChatMessageSystem(content=document.section("system")),
                    ChatMessageUser(content=_filled(document, values)),
                ]
            )
        return said_and_thought(received(output.completion)).visible.strip()


def _filled(document: Document, values: Mapping[str, Any]) -> str:
    return fill(document.section("request"), values)
