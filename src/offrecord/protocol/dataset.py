"""The dataset adapter: each case of a design as one Inspect sample.

A sample carries everything that tells what was asked: the case, and the versions and
hashes of all content. Repeats are Inspect epochs, the model is the eval's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from importlib.metadata import version
from typing import Any, Final

from inspect_ai.dataset import MemoryDataset, Sample

from offrecord.protocol.arms import Arm
from offrecord.protocol.cases import Case, cases
from offrecord.protocol.design import Design
from offrecord.protocol.history import History, Spoken
from offrecord.protocol.part import held_once
from offrecord.protocol.script import Material, material_of
from offrecord.scenarios.model import Instrument

METADATA_KEY: Final = "offrecord"
"""The key of a sample's metadata under which its case stands."""


COUNTERPART: Final = "counterpart"
"""What an item is about that means nothing before the counterpart has spoken."""


def debate_dataset(design: Design) -> MemoryDataset:
    """The cases of a design as samples, in the design's order.

    Raises:
        OffrecordError: If the design asks for what is not to be had.
    """
    load = cache(partial(material_of, design))
    return MemoryDataset(
        [
            sample_of(
                design,
                case,
                asked := load(case.scenario),
                name=case.id,
                keying=_keying(asked.scenario.instrument),
                content=asked.stamps(case, surveys=design.ask.surveys),
            )
            for case in cases(design)
        ],
        name="offrecord",
    )


def sample_of(
    design: Design, case: Case, asked: Material, *, name: str, **more: object
) -> Sample:
    """One case as a sample, with everything that tells what was asked.

    Args:
        design: What all samples share.
        case: The case.
        asked: What it is asked with.
        name: The sample's id.
        more: What stands beside it in the metadata: `content` at least.
    """
    scenario = asked.scenario
    return Sample(
        id=name,
        input=scenario.question or scenario.id,
        metadata={
            METADATA_KEY: {
                "scenario": case.scenario,
                "condition": case.condition,
                "factors": dict(case.factors),
                "arm": asdict(case.arm),
                "leaning": scenario.leaning,
                "rounds": design.rounds,
                "shadows": design.shadows,
                "ask": asdict(design.ask),
                "seed": design.seed,
                "structured": design.structured,
                "channels": [channel.id for channel in asked.channels],
                "spoken": [asked.channels[0].id],
                "seats": {
                    agent: str(scenario.agent(agent).role)
                    for agent in design.order or [a.id for a in scenario.agents]
                },
                "version": version("offrecord"),
                **more,
            }
        },
    )


def part_dataset(
    whole: MemoryDataset, runs: Iterable[tuple[str, int]]
) -> MemoryDataset:
    """A part of a dataset, each repeat a sample of its own, since parts cut cells.

    Args:
        whole: The dataset of the whole design.
        runs: Sample id and repeat of each run of the part.
    """
    known = {sample.id: sample for sample in whole}
    return MemoryDataset(
        [_once(known[name], name, repeat) for name, repeat in runs], name=whole.name
    )


def _once(sample: Sample, name: str, repeat: int) -> Sample:
    stored = (sample.metadata or {})[METADATA_KEY]
    return sample.model_copy(
        update={
            "id": held_once(name, repeat),
            # The sample of a replay knows already which repeat its stored run was.
            "metadata": {METADATA_KEY: {"repeat": repeat, **stored}},
        }
    )


def repeat_of(metadata: dict[str, Any], epoch: int) -> int:
    """Which repeat of its cell a sample is: of a part it says so, or else its epoch."""
    repeat: int = metadata[METADATA_KEY].get("repeat", epoch)
    return repeat


def _keying(instrument: Instrument) -> dict[str, Any]:
    """The items of each category, those that count against it or need a counterpart."""
    categories: dict[str, list[str]] = {}
    reverse: dict[str, list[str]] = {}
    for item in instrument.items:
        categories.setdefault(item.category, []).append(item.id)
        against = reverse.setdefault(item.category, [])
        if item.reverse:
            against.append(item.id)
    heard = [item.id for item in instrument.items if item.about == COUNTERPART]
    keying = {"categories": categories, "reverse": reverse, COUNTERPART: heard}
    words = {str(point): word for point, word in instrument.answers.items()}
    return {**keying, **({"answers": words} if words else {})}


def given_of(metadata: Mapping[str, Any]) -> History:
    """What was said before, where a sample is one of a replay."""
    names = ("turn", "agent", "channel", "audience", "text", "model")
    said = (dict(zip(names, one, strict=True)) for one in _held(metadata, "history"))
    return History(
        tuple(Spoken(**{**one, "audience": tuple(one["audience"])}) for one in said)
    )


def _held(metadata: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401
    return metadata[METADATA_KEY].get(name, ())


def case_of(metadata: dict[str, Any]) -> Case:
    """Read the case back from a sample's metadata.

    Raises:
        KeyError: If the sample is not one of ours.
    """
    value = metadata[METADATA_KEY]
    return Case(
        scenario=value["scenario"],
        condition=value["condition"],
        factors=value["factors"],
        arm=Arm.from_dict(value["arm"]),
    )
