"""Rates, standard errors and the split: no text, only values and ids."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offrecord.estimates.frames.table import estimate

__all__ = ["estimate"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    # Loaded when first used: estimators of arrays need no polars.
    if name != "estimate":
        raise AttributeError(f"module 'offrecord.estimates' has no attribute '{name}'")
    return import_module("offrecord.estimates.frames.table").estimate
