"""One run of a design with stand-in words: what its requests look like."""

from __future__ import annotations

from typing import Final

from offrecord.protocol.cases import Case
from offrecord.protocol.debate import Request, Script
from offrecord.protocol.design import Design
from offrecord.protocol.history import Spoken
from offrecord.protocol.script import cast_of, material_of, script_of

_SPOKEN_WORDS: Final = 44  # words of a published utterance, on average


def sample_script(design: Design, case: Case) -> Script:
    """The script of one run of a case, as the solver would make it."""
    asked = material_of(design, case.scenario)
    model = design.models[0] if design.models else "model"
    cast = cast_of(asked.scenario, model, design.roles)
    return script_of(design, case, asked, cast)


def sample_requests(script: Script) -> list[Request]:
    """Every request of a run in which each utterance has the usual length."""
    history, requests = script.given, list[Request]()
    for turn in script.turns:
        spoken, others = script.outputs(turn, history)
        requests += [spoken, *others]
        text = f"{spoken.frame.labels[0]} - " + "reason " * _SPOKEN_WORDS
        words = Spoken.through(
            spoken.channel, turn=turn.number, agent=turn.agent.id, text=text.strip()
        )
        history = history.add(words)
    return requests
