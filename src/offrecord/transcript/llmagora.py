"""Import published runs in LLMAgora's format into the interchange.

The statuses count attempts without keeping the failed ones, so a kept run's rows carry
the number of the attempt that they are. Two cases of one cell and repeat are attempts
at one run. Interviews are kept, at round 0 and after the last one, in no pair and no
measure. What cannot be read is named in a line and left out; the rest is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from offrecord.content import data_folder, read_document
from offrecord.records import Cell, Ended, Form, OffrecordError, Status, schedule
from offrecord.transcript.llmagora_files import (
    Interviews,
    Snapshot,
    Source,
    Unreadable,
)
from offrecord.transcript.llmagora_names import PROTOCOL, TheirNames
from offrecord.transcript.llmagora_prompts import PromptFile, prompts_of
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.store import Imported

_INTERVIEWS: Final = 2  # one of each agent, before and again after


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The kept attempt of one case, its texts in the order of `_slots`."""

    cell: Cell
    repeat: int
    rounds: int
    whole: bool
    """Whether all rounds are there, so that the run ended by itself."""
    made: int
    """How many attempts the case took, this one included."""
    started: str
    uuid: str
    log: str
    texts: list[str | None]


def import_llmagora(source: Path, study: str) -> Imported:
    """Import one sweep, or a folder of several.

    Args:
        source: The sweep's folder or the one that holds the sweeps.
        study: The name that the rows carry.

    Raises:
        OffrecordError: If the source holds no run that can be read.
    """
    document = read_document(data_folder("llmagora.yaml"))
    names = document.validate(TheirNames)
    instrument = f"{names.instrument.id}@{document.version}:{document.hash}"
    reader = Source(source)
    kept = sorted(_attempts(reader, names), key=lambda a: (a.started, a.log))
    kept = _same_rounds(kept, reader.left_out)
    if not kept:
        reason = f" ({reader.left_out[0]})" if reader.left_out else ""
        raise OffrecordError(
            f"{source}: no LLMAgora run can be read here{reason}; "
            "name the folder of one sweep, or the one that holds the sweeps"
        )
    prompts = _prompts(reader, kept)
    attempts: Counter[str] = Counter()
    cases = _case_columns(kept, names, attempts)
    slots = _slots(names, kept[0].rounds, instrument)
    transcript = _rows(kept, cases, slots).with_columns(study=pl.lit(study))
    facts: dict[str, Any] = {
        "study": study,
        "source": PROTOCOL,
        "names": document.stamp,
        "protocol": PROTOCOL,
        "rounds": kept[0].rounds,
        "channels": list(names.channels),
        "spoken": list(names.channels)[:1],
        "seats": {
            scenario: dict(names.agents)
            for scenario in sorted({attempt.cell.scenario for attempt in kept})
        },
        "leaning": {
            scenario: names.scenarios[scenario].leaning
            for scenario in sorted({attempt.cell.scenario for attempt in kept})
        },
        "instruments": {instrument: names.instrument.model_dump(exclude={"id"})},
        "attempts": dict(attempts),
        "left_out": reader.left_out,
    }
    return Imported(
        transcript=transcript.select(
            pl.col(name).cast(dtype)
            if name in transcript.columns
            else pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in TRANSCRIPT_SCHEMA.items()
        ),
        facts=facts,
        left_out=tuple(reader.left_out),
        prompts=prompts,
    )


def _prompts(reader: Source, kept: list[_Attempt]) -> dict[str, Any]:
    """What a replay needs, from one run of each scenario and condition.

    The largest file is the one that holds receipts, if any does.
    """
    chosen: dict[tuple[str, str], _Attempt] = {}
    for attempt in sorted(kept, key=lambda a: reader.size(a.log), reverse=True):
        chosen.setdefault((attempt.cell.scenario, attempt.cell.condition), attempt)
    files, said = {}, {}
    for key, attempt in chosen.items():
        try:
            files[key] = reader.read(attempt.log, PromptFile)
        except Unreadable as fault:
            reader.left_out.append(f"{fault}; a replay of its cell is not possible")
            continue
        said[key] = {text for text in attempt.texts if text}
    return prompts_of(files, said)


def _attempts(reader: Source, names: TheirNames) -> Iterator[_Attempt]:
    """The cases whose scenario and condition are known."""
    for case in reader.cases():
        try:
            cell = names.cell(case.config)
        except ValueError as fault:
            reader.left_out.append(f"{case.folder}: {fault}")
            continue
        yield _Attempt(
            cell=cell,
            repeat=case.entry.repeat_number,
            rounds=case.config.num_turns,
            whole=len(case.snapshot.turns) == case.config.num_turns,
            made=case.attempts,
            started=case.started,
            uuid=case.entry.case_id,
            log=case.log,
            texts=_texts(case.snapshot),
        )


def _same_rounds(kept: list[_Attempt], left_out: list[str]) -> list[_Attempt]:
    """One study plans one number of rounds: leave out what asks for another."""
    rounds = Counter(attempt.rounds for attempt in kept)
    usual = max(rounds, key=rounds.__getitem__, default=0)
    left_out += (
        f"{attempt.log}: asks for {attempt.rounds} rounds, most for {usual}"
        for attempt in kept
        if attempt.rounds != usual
    )
    return [attempt for attempt in kept if attempt.rounds == usual]


def _texts(snapshot: Snapshot) -> list[str | None]:
    """The raw replies of a case, in the order of `_slots`."""
    texts = _interviews(snapshot.pre_interviews)
    for turn in snapshot.turns:
        for agent in (turn.alpha, turn.beta):
            texts += (
                agent.public_utterance,
                _survey(agent.public_survey),
                agent.private_utterance,
                _survey(agent.private_survey),
            )
    return texts + _interviews(snapshot.post_interviews)


def _interviews(both: Interviews | None) -> list[str | None]:
    pair = (both.alpha, both.beta) if both else (None, None)
    return [interview.response if interview else None for interview in pair]


def _survey(raw: msgspec.Raw) -> str | None:
    """The survey as JSON on one line, nothing in it changed; a string as it is."""
    text = bytes(raw)
    try:
        if text[:1] == b"{":
            return msgspec.json.format(text, indent=-1).decode()
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return text.decode(errors="replace")
    return value if value is None or isinstance(value, str) else text.decode()


def _slots(names: TheirNames, rounds: int, instrument: str) -> pl.DataFrame:
    """What a whole run consists of, in the order of `_texts`: one row per output."""
    agents = list(names.agents)

    def interviews(round_: int, turn: int) -> Iterator[tuple[object, ...]]:
        for agent in agents:
            yield round_, turn, agent, "interview", [], Form.INTERVIEW

    rows = list(interviews(0, 0))
    for turn, round_, agent in schedule(agents, rounds):
        for channel, audience in names.channels.items():
            for form in (Form.UTTERANCE, Form.SURVEY):
                rows.append((round_, turn, agent, channel, audience, form))
    rows.extend(interviews(rounds + 1, rounds * len(agents) + 1))
    columns = ("round", "turn", "agent", "channel", "audience", "form")
    schema = {name: TRANSCRIPT_SCHEMA[name] for name in columns}
    survey = pl.col("form") == Form.SURVEY
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        role=pl.col("agent").replace_strict(names.agents),
        instrument=pl.when(survey).then(pl.lit(instrument)),
        structured=pl.when(survey).then(True),
        constrained=pl.lit(False),
        draw=pl.lit(0),
    )


def _case_columns(
    kept: list[_Attempt], names: TheirNames, attempts: Counter[str]
) -> pl.DataFrame:
    """What is the same in all rows of a case; counts the attempts at each run."""
    rows = []
    for attempt in kept:
        cell, scenario = attempt.cell, names.scenarios[attempt.cell.scenario]
        run = cell.run(attempt.repeat)
        attempts[run] += attempt.made
        rows.append(
            {
                **cell.as_row(),
                "run": run,
                "repeat": attempt.repeat,
                "agent_model": cell.model,
                "labels": list(scenario.labels),
                "target_side": scenario.target_side,
                "pressed_side": scenario.pressed_side,
                "attempt": attempts[run],
                "ended": str(Ended.COMPLETED) if attempt.whole else None,
                "uuid": attempt.uuid,
                "log": attempt.log,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _rows(
    kept: list[_Attempt], cases: pl.DataFrame, slots: pl.DataFrame
) -> pl.DataFrame:
    """Lay the texts of every case beside its columns and their slots'."""
    last = slots.height - _INTERVIEWS
    lengths = [len(attempt.texts) for attempt in kept]
    places = [
        index if index < length - _INTERVIEWS else last + index - length + _INTERVIEWS
        for length in lengths
        for index in range(length)
    ]
    rows = pl.concat(
        [
            pl.DataFrame({"text": [t for attempt in kept for t in attempt.texts]}),
            cases[np.repeat(np.arange(len(kept)), lengths)],
            slots[places],
        ],
        how="horizontal",
    )
    side = pl.when(pl.col("role") == "target").then("target_side")
    silent = pl.col("text").fill_null("").str.strip_chars() == ""
    return rows.filter(
        (pl.col("form") != Form.INTERVIEW) | pl.col("text").is_not_null()
    ).with_columns(
        side=side.otherwise("pressed_side"),
        status=pl.when(silent).then(pl.lit(Status.EMPTY)).otherwise(pl.lit(Status.OK)),
    )
