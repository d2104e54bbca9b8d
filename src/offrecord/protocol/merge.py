"""Growing a study: what a second call may add, and what would make it another study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from offrecord.protocol.cases import spelled_conditions
from offrecord.protocol.design import FIXED, Design, make_design
from offrecord.protocol.factors import DEFAULTS
from offrecord.records import Form, OffrecordError
from offrecord.scenarios.load import scenario_names

_GROW: Final = ("models", "scenarios", "conditions", "contrasts")


def new_design(file: Mapping[str, Any], flags: Mapping[str, Any]) -> Design:
    """The design of a new study: a file's fields, then the flags over them.

    Args:
        file: The fields of the user's own `study.yaml`, or nothing.
        flags: The options given, by field name.

    Returns:
        A design with scenarios, conditions, spoken channel and survey format spelled
        out, so that neither a later version's defaults nor a later file change it.

    Raises:
        OffrecordError: If a field is wrong.
    """
    made = make_design({**file, **flags}, "study.yaml" if file else "options")
    design = _of_models(made)
    fixed: dict[str, Any] = {
        "spoken": design.spoken or design.channels[:1],
        "survey_format": "schema" if design.structured else "free",
    }
    if design.on and design.scripted:
        raise OffrecordError("--role: a replay has the words of its stored partner")
    if design.on:
        fixed["ask"] = replace(design.ask, forms=(Form.UTTERANCE,))
    else:
        fixed["scenarios"] = scenario_names(design.scenarios)
    return _spelled(design.model_copy(update=fixed))


def _of_models(design: Design) -> Design:
    """A design in which nothing but its lines is asked of a scripted seat."""
    elicit = tuple(role for role in design.ask.elicit if role not in design.scripted)
    return design.model_copy(update={"ask": replace(design.ask, elicit=elicit)})


def _spelled(design: Design) -> Design:
    """A design with the conditions of every scenario spelled out; a replay has none."""
    if design.on:
        return design
    return design.model_copy(update={"conditions": spelled_conditions(design)})


def grown_design(old: Design, wanted: Mapping[str, Any]) -> Design:
    """The design of a study after more was asked of it.

    Models, scenarios, conditions and factor levels are added to what there is, runs
    may only rise, and everything else must be as it was.

    Args:
        old: The study's design so far.
        wanted: The fields now given, by flags or by the user's file.

    Raises:
        OffrecordError: Naming the first field whose change needs a new study.
    """
    asked = _of_models(make_design({**old.model_dump(), **wanted}, "options"))
    for name in (*FIXED, *(("models",) if old.sample else ())):
        before, now = getattr(old, name), getattr(asked, name)
        if name in wanted and now != before:
            raise OffrecordError(
                f"this study was made with {name} {_shown(before)}, not {_shown(now)}: "
                "make a new study with another --out"
            )
    if asked.runs < old.runs:
        raise OffrecordError(
            f"this study has {old.runs} runs of every cell: --runs {asked.runs} would "
            "drop some (raise it, or make a new study with another --out)"
        )
    grown: dict[str, Any] = {"runs": asked.runs}
    for name in _GROW:
        before, more = getattr(old, name), getattr(asked, name)
        if name == "scenarios":
            more = scenario_names(more)
        # A replay that names none asks all: there is nothing to add to all.
        grown[name] = before and tuple(dict.fromkeys((*before, *more)))
    grown["factors"] = _grown_factors(old, asked)
    return _spelled(make_design({**old.model_dump(), **grown}, "options"))


def _grown_factors(old: Design, asked: Design) -> dict[str, tuple[str, ...]]:
    # A factor that is new had its default level in all cells that there are.
    known = {**{name: (level,) for name, level in DEFAULTS.items()}, **old.factors}
    if set(old.factors) - set(asked.factors) or set(asked.factors) - set(known):
        raise OffrecordError(
            f"this study varies {_shown(sorted(old.factors))}, not "
            f"{_shown(sorted(asked.factors))}: make a new study with another --out"
        )
    return {
        name: tuple(dict.fromkeys((*known[name], *levels)))
        for name, levels in asked.factors.items()
    }


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value) or "none"
    if isinstance(value, Mapping):
        return ",".join(f"{k}={v}" for k, v in value.items()) or "none"
    return str(value)
