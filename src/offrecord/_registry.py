"""What Inspect finds of offrecord: the tasks at once, heavy parts only when asked."""

from __future__ import annotations

from inspect_ai.model import ModelAPI, modelapi

from offrecord.measures.inspect.text_scorers import scorer_of
from offrecord.measures.registry import our_measures
from offrecord.task import debate, generate, pilot, study

__all__ = ["debate", "generate", "llamacpp", "pilot", "scripted", "simulated", "study"]

for _measure in our_measures().values():
    if any(table.row != "item" and table.estimated for table in _measure.tables):
        globals()[_measure.name] = scorer_of(_measure)


@modelapi(name="llamacpp")
def llamacpp() -> type[ModelAPI]:
    """The embedded model: llama.cpp in the process."""
    from offrecord.providers.llamacpp import LlamaCppAPI

    return LlamaCppAPI


@modelapi(name="simulated")
def simulated() -> type[ModelAPI]:
    """The simulated population: agents with known truth."""
    from offrecord.providers.simulated import SimulatedAPI

    return SimulatedAPI


@modelapi(name="scripted")
def scripted() -> type[ModelAPI]:
    """A seat that speaks written lines."""
    from offrecord.providers.scripted import ScriptedAPI

    return ScriptedAPI
