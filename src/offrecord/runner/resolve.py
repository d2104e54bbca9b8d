"""Which design a call asks for: the file, the flags over it, and the study there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offrecord.protocol.design import Design, read_design
from offrecord.protocol.merge import grown_design, new_design
from offrecord.runner.options import refuse_secrets, split_options
from offrecord.transcript.folder import existing_design


def resolve_design(
    file: Path | None,
    flags: Mapping[str, Any],
    options: Sequence[str],
    out: Path | None,
) -> Design:
    """The design that a call asks for: file, flags, and the study there is.

    Args:
        file: The user's `study.yaml`; only read.
        flags: Design fields given on the command line.
        options: Options for `inspect eval-set`.
        out: The study's folder, if there is one.

    Raises:
        OffrecordError: If the design is wrong, or would change the study.
    """
    refuse_secrets(options)
    asking, _ = split_options(options)
    fields = _fields(file) if file else {}
    if asking:
        flags = {**flags, "options": asking}
    old = existing_design(out) if out else None
    if old is None:
        return new_design(fields, flags)
    return grown_design(old, {**fields, **flags})


def _fields(file: Path) -> dict[str, Any]:
    fields = read_design(file).model_dump(exclude_unset=True)
    if "scenarios" in fields:
        # Folders are named from where the file lies.
        fields["scenarios"] = tuple(
            str((file.parent / name).resolve()) if "/" in name else name
            for name in fields["scenarios"]
        )
    return fields


def calls_per_run(design: Design, agents: int = 2) -> int:
    """How many requests one whole run makes."""
    return design.rounds * agents * len(design.channels) * (2 + design.shadows)
