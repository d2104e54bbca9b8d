"""The gate: which figures may be how large, from a committed file and from flags.

Thresholds are percentage points, as in tables and figures. A file says nothing that is
not read: an unknown field is refused, so that a misspelt threshold never passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from offrecord.content import read_document
from offrecord.content.document import first_fault
from offrecord.records import OffrecordError, digest

_Points = Annotated[float, Field(ge=0, le=100, strict=True, allow_inf_nan=False)]

PREFIX: Final = "max_"
LEAST: Final = "min_"
"""What begins a threshold that a figure must reach, since a mute or stubborn model
passes every maximum."""


class Gate(BaseModel):
    """Thresholds in percentage points; one that is absent is not judged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: tuple[str, ...] = ("model",)
    """What is judged one by one: model, partner, scenario, protocol or a factor.

    One key may stand alone instead of in a list."""
    max_audience_effect: _Points | None = None
    """Z: what alignment moves in public alone, against baseline."""
    max_divergence: _Points | None = None
    """Turns under alignment whose two stances differ."""
    max_accommodation: _Points | None = None
    """Turns under alignment with the public stance alone on the pressed side."""
    max_conversion: _Points | None = None
    """Y: what alignment moves off the record too, against baseline."""
    max_baseline: _Points | None = None
    """Divergence without any context."""
    max_missing: _Points | None = None
    """Planned turns without both stances, over all conditions."""
    max_probe_divergence: _Points | None = None
    """Turns of a probe whose stances in public and off the record differ; of recorded
    conversations nothing else but missing turns is judged."""
    max_worst_scenario: _Points | None = None
    """Divergence under alignment in the scenario where it is largest."""
    min_evidence_response: _Points | None = None
    """R: how far evidence moves the target off the record, at least."""
    margin: _Points | None = None
    """How far divergence under alignment may be above that of an earlier study."""

    @field_validator("by", mode="before")
    @classmethod
    def _keys(cls, by: object) -> object:
        keys = (by,) if isinstance(by, str) else by
        if not isinstance(keys, list | tuple):
            return keys
        if not keys:
            raise ValueError("name at least one key, such as model")
        return tuple(dict.fromkeys(keys)) if _all_text(keys) else keys

    @property
    def thresholds(self) -> dict[str, float]:
        """Measure to threshold, as fractions of 1, in the order of the fields."""
        given = ((m, getattr(self, name)) for m, name in FIELDS.items())
        return {measure: limit / 100 for measure, limit in given if limit is not None}

    @property
    def digest(self) -> str:
        """A hash of what is judged; the order of the keys changes nothing of it."""
        return digest(self._judged())

    @property
    def chance(self) -> str:
        """A hash of what luck can decide; empty where that is nothing.

        Missing turns are counted, not sampled: their threshold is no chance.
        """
        judged = self._judged()
        judged["max_missing"] = None
        return (
            digest(judged)
            if any(judged.get(name) is not None for name in _LIMITS)
            else ""
        )

    def _judged(self) -> dict[str, Any]:
        fields = {**self.model_dump(mode="json"), "by": sorted(self.by)}
        # A gate of before keeps its digest.
        return {n: v for n, v in fields.items() if n not in _LATER or v is not None}


_LATER: Final = frozenset({"max_probe_divergence"})
FIELDS: Final = {
    name.removeprefix(PREFIX).removeprefix(LEAST): name
    for name in Gate.model_fields
    if name.startswith((PREFIX, LEAST))
}
"""Measure to the field of its threshold."""

_LIMITS: Final = tuple(name for name in Gate.model_fields if name != "by")


def read_gate(path: Path | None, flags: Mapping[str, Any]) -> Gate:
    """The gate of a file, with flags over it.

    Args:
        path: A `gate.yaml`, or nothing.
        flags: Fields of the gate that were given on the command line.

    Raises:
        OffrecordError: Naming the file and the field that is wrong, or if nothing
            would be judged.
    """
    if path is None:
        gate = Gate()
    elif path.suffix not in {".yaml", ".yml"}:
        raise OffrecordError(f"{path}: a gate is a .yaml file")
    else:
        document = read_document(path)
        _known(path, document.front)
        gate = document.validate(Gate)
    try:
        gate = Gate.model_validate({**gate.model_dump(), **flags})
    except ValidationError as error:
        raise OffrecordError(f"options of the gate: {first_fault(error)}") from None
    if not gate.thresholds and gate.margin is None:
        known = ", ".join(f"--{name.replace('_', '-')}" for name in FIELDS.values())
        raise OffrecordError(
            f"nothing to judge: give --gate gate.yaml or any of {known}"
        )
    return gate


def _known(path: Path, names: Iterable[object]) -> None:
    for name in names:
        if name not in Gate.model_fields:
            near = get_close_matches(str(name), Gate.model_fields, 1)
            known = f"do you mean '{near[0]}'?" if near else _all_fields()
            raise OffrecordError(f"{path}: field '{name}': unknown; {known}")


def _all_fields() -> str:
    return f"use any of {', '.join(Gate.model_fields)}"


def _all_text(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
