"""What a design names, looked at before the first call: its files and contrasts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from offrecord.content.library import find
from offrecord.protocol.arms import channel_warning
from offrecord.protocol.cases import cases, design_arms
from offrecord.protocol.design import Design
from offrecord.records import (
    ARM,
    NO_ARM,
    OffrecordError,
    Role,
    contrastable,
    split_contrast,
)
from offrecord.scenarios.load import builtin_ids, load_scenario, scenario_folder


def content_files(design: Design) -> Iterator[Path]:
    """The user's files whose text a design sends: scenarios and arms.

    Raises:
        OffrecordError: If a scenario has no folder.
    """
    for name in () if design.on else design.scenarios:
        if name not in builtin_ids():
            folder = scenario_folder(name)
            yield from (path for path in sorted(folder.rglob("*")) if path.is_file())
    for level in design.factors.get(ARM, ()):
        if level != NO_ARM and (file := find("arm", level)).is_file():
            yield file


def warn_of(design: Design) -> Iterator[str]:
    """What to know of a design before its first call, one line each.

    Raises:
        OffrecordError: If an arm is not to be had.
    """
    for level, arm in design_arms(design).items():
        said = channel_warning(level, arm)
        if said and not design.ask.holdout:
            yield f"warning: {said}"


def check_contrasts(design: Design) -> None:
    """Refuse a declared contrast of what the design will not have.

    Raises:
        OffrecordError: If no column has both of its levels.
    """
    levels: dict[str, set[str]] = {
        "model": set(design.models),
        "partner": {design.roles.get(Role.PARTNER, model) for model in design.models},
        "protocol": {design.protocol},
        **{name: {*values} for name, values in design.factors.items()},
    }
    for case in cases(design) if design.contrasts else ():
        scenario = load_scenario(case.scenario)
        condition = scenario.conditions[case.condition]
        for name, level in {
            "scenario": scenario.id,
            "condition": condition.id,
            "kind": condition.kind,
            "timing": condition.timing,
        }.items():
            levels.setdefault(name, set()).add(str(level))
    for text in design.contrasts:
        if split_contrast(text, levels) is None:
            raise OffrecordError(
                f"contrasts: '{text}' needs A:B, two levels of one column of the "
                f"design ({contrastable(levels) or 'none has two'})"
            )
