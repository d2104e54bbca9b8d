"""LLMAgora's files: sweeps of cases, read without building what is not needed.

A sweep is a folder with `manifest.json`, `status.json` and one folder per case, which
holds `config.json` and `debate_snapshot.json`. The receipts of every request, where
they stand, are most of a snapshot's bytes; they are skipped. Sources come from
strangers: no path may lead out of the folder, and a fault is one line, not a stop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from offrecord.content.boundary.files import leads_out, read_file
from offrecord.records import OffrecordError
from offrecord.transcript.facts import MOST_ROUNDS

_LARGEST: Final = 1_000_000_000  # bytes of a snapshot; its receipts are most of it

Decoded = TypeVar("Decoded")
Number = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Rounds = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Count = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class Entry(msgspec.Struct):
    """One case as the manifest lists it."""

    case_id: Name
    case_dir: Name
    repeat_number: Number


class _Manifest(msgspec.Struct):
    cases: list[Entry]


class _CaseStatus(msgspec.Struct):
    attempt_count: Count = 0
    last_started_at: str | None = None


class _Statuses(msgspec.Struct):
    cases: dict[str, _CaseStatus]


class Config(msgspec.Struct):
    """What was asked of one case."""

    scenario_id: str
    model: Name
    num_turns: Rounds
    incentive_direction: str | None = None
    incentive_type: str | None = None


class Interview(msgspec.Struct):
    """One answer before or after the debate."""

    response: str | None = None


class Interviews(msgspec.Struct):
    """Both agents' answers; either may be absent."""

    alpha: Interview | None = msgspec.field(name="Alpha", default=None)
    beta: Interview | None = msgspec.field(name="Beta", default=None)


class Outputs(msgspec.Struct):
    """The four outputs of one turn. A survey's bytes are kept as they stand."""

    public_utterance: str | None
    private_utterance: str | None
    public_survey: msgspec.Raw = msgspec.Raw(b"null")
    private_survey: msgspec.Raw = msgspec.Raw(b"null")


class TheirTurn(msgspec.Struct):
    """What they call a turn is our round: both agents speak once."""

    turn_num: int
    alpha: Outputs = msgspec.field(name="Alpha")
    beta: Outputs = msgspec.field(name="Beta")


class Snapshot(msgspec.Struct):
    """What came back from one case."""

    turns: list[TheirTurn]
    pre_interviews: Interviews | None = None
    post_interviews: Interviews | None = None


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """One case whose files could all be read."""

    folder: str
    """Relative to the source."""
    entry: Entry
    config: Config
    snapshot: Snapshot
    attempts: int
    """How many attempts were made until this one was kept."""
    started: str
    """When the kept one started, ISO 8601; empty where the status does not say."""

    @property
    def log(self) -> str:
        """The file that holds what came back, relative to the source."""
        return f"{self.folder}/debate_snapshot.json"


class Unreadable(Exception):
    """One thing to leave out: where, and why."""


class Source:
    """One sweep's folder or one that holds several."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OffrecordError(f"{folder}: no such folder")
        self._root = Path(os.path.realpath(folder))
        self.left_out: list[str] = []
        """A line for each thing that could not be read, filled while reading."""

    def cases(self) -> Iterator[CaseFiles]:
        """Every case that can be read; sweeps in sorted order."""
        for sweep in self._sweeps():
            if not (sweep / "manifest.json").exists():
                self.left_out.append(f"{sweep.name}: no manifest.json, so not a sweep")
                continue
            try:
                entries = self._read(sweep / "manifest.json", _Manifest).cases
            except Unreadable as fault:
                self.left_out.append(str(fault))
                continue
            yield from self._sweep(sweep, entries)

    def size(self, log: str) -> int:
        """The bytes of a file that a case names as its log."""
        return (self._root / log).stat().st_size

    def read(self, log: str, shape: type[Decoded]) -> Decoded:
        """Read a file that a case names as its log once more, in another shape.

        Raises:
            Unreadable: If it has not that shape.
        """
        return self._read(self._root / log, shape)

    def _sweep(self, sweep: Path, entries: list[Entry]) -> Iterator[CaseFiles]:
        try:
            statuses = self._read(sweep / "status.json", _Statuses).cases
        except Unreadable as fault:
            self.left_out.append(f"{fault}; each case counts as one attempt")
            statuses = {}
        for entry in entries:
            status = statuses.get(entry.case_id, _CaseStatus())
            try:
                yield self._case(sweep, entry, status)
            except Unreadable as fault:
                self.left_out.append(str(fault))
        listed = {Path(entry.case_dir).name for entry in entries}
        self.left_out += (
            f"{self._relative(folder)}: not in manifest.json"
            for folder in sorted(sweep.glob("cases/*"))
            if folder.name not in listed
        )

    def _case(self, sweep: Path, entry: Entry, status: _CaseStatus) -> CaseFiles:
        folder = sweep / entry.case_dir.lstrip("/")
        case = CaseFiles(
            folder=self._relative(folder),
            entry=entry,
            config=self._read(folder / "config.json", Config),
            snapshot=self._read(folder / "debate_snapshot.json", Snapshot),
            attempts=max(status.attempt_count, 1),
            started=status.last_started_at or "",
        )
        numbers = [turn.turn_num for turn in case.snapshot.turns]
        planned = list(range(1, case.config.num_turns + 1))
        if not numbers:
            raise Unreadable(f"{case.log}: holds no turn")
        if numbers != planned[: len(numbers)]:
            raise Unreadable(f"{case.log}: turns are not 1 to {len(planned)}, in order")
        return case

    def _sweeps(self) -> list[Path]:
        if (self._root / "manifest.json").exists():
            return [self._root]
        found = sorted(self._root.iterdir())
        return [p for p in found if p.is_dir() and not p.name.startswith(".")]

    def _read(self, path: Path, shape: type[Decoded]) -> Decoded:
        """Decode one file, building only what the shape names."""
        where = self._relative(path)
        try:
            if leads_out(path, self._root):
                raise Unreadable(
                    f"{where}: leads out of the source folder, not followed"
                )
            return msgspec.json.decode(read_file(path, _LARGEST), type=shape)
        except OffrecordError as error:
            raise Unreadable(str(error).replace(str(path), where)) from None
        except OSError as error:
            raise Unreadable(f"{where}: {error.strerror}") from None
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Unreadable(f"{where}: {error}") from None

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._root))
