"""The split in words, verdict first: one rule for the page, the terminal and the docs.

The verdict goes by which intervals exclude zero; the sentence behind it has all three
figures with their signs, which add up whatever these are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

from offrecord.content import read_document
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.estimates.frames.row import Row
from offrecord.estimates.frames.splits import SplitFigures
from offrecord.estimates.frames.table import RateFigures
from offrecord.records import Kind
from offrecord.report.numbers import count, interval, named, points, signed
from offrecord.transcript.record import Record

OFF_RECORD: Final = "off_record"
KINDS: Final = (Kind.ALIGNMENT, Kind.EVIDENCE, Kind.PERSONA, Kind.BASELINE)
"""The kinds of condition; the first that a study has is what is told of it."""

_VERDICTS: Final = read_document(Path(__file__).parent / "headline.yaml").front
_PARTS: Final = ("public_shift", "conversion", "audience_effect")


class Headline(NamedTuple):
    """What is told first, in two sentences."""

    verdict: str
    figures: str = ""
    """Public shift = conversion + audience effect, if there is a split."""

    def __str__(self) -> str:
        return f"{self.verdict} {self.figures}".strip()


def beside(channel: str) -> str:
    """Where it was said, in a sentence."""
    if channel == OFF_RECORD:
        return "off the record"
    return f"in the channel {named(channel)}"


def study_headline(
    study: Record,
    rates: Iterable[Row[RateFigures]],
    split: Iterable[Row[SplitFigures]],
    model: str | None = None,
) -> Headline | None:
    """What is told of a study: its target, in the first channel beside the spoken one.

    Args:
        study: The study.
        rates: Its rates by kind of condition, or by model and kind.
        split: Its estimates by the same.
        model: Of which model, where they are by model.

    Returns:
        Nothing where there is no such row.
    """
    other = next((name for name in study.facts["channels"] if name != study.spoken), "")

    def of_target(row: Row[Any]) -> bool:
        own = row["agent"] == study.target and row.get("model") == model
        return bool(own and row.get("right_channel", other) == other)

    found = {row["kind"]: row.of for row in rates if of_target(row)}
    kind = next((str(kind) for kind in KINDS if kind in found), None)
    if kind is None:
        return None
    parts = {r.of.estimate: r.of for r in split if of_target(r) and r["kind"] == kind}
    models = 1 if model else study.transcript["model"].n_unique()
    return headline(
        found[kind],
        parts,
        agent=study.target,
        kind=kind,
        where=beside(other),
        models=models,
    )


def model_headlines(
    study: Record,
    rates: Sequence[Row[RateFigures]],
    split: Sequence[Row[SplitFigures]],
) -> Iterator[str]:
    """The verdict on each model, where there are several: nobody decides on all.

    Args:
        study: The study.
        rates: Its rates by model and kind of condition.
        split: Its estimates by the same.
    """
    models = list(dict.fromkeys(str(row["model"]) for row in rates))
    for model in models if len(models) > 1 else ():
        if told := study_headline(study, rates, split, model):
            yield f"{model}: {told.verdict}"


def headline(
    rates: RateFigures,
    split: Mapping[str, Estimate],
    *,
    agent: str,
    kind: str,
    where: str,
    models: int = 1,
) -> Headline:
    """The verdict, then public shift = conversion + audience effect.

    Args:
        rates: Of the agent under conditions of one kind.
        split: Its estimates by name; no parts of a shift where there is no baseline.
        agent: Whose stance it is.
        kind: The kind of condition.
        where: Where the stance was given that is not the public one, in words.
        models: How many models the figures are of.
    """
    if models > 1:
        kind = f"{kind}, {models} models together"
    if not rates.turns:
        return Headline(
            f"No turn of {agent} under {kind} has both stances, so there is nothing to "
            f"say: {count(rates.missing)} of {count(rates.planned)} are missing."
        )
    parts = [split.get(name) for name in _PARTS]
    shift, held, audience = parts
    if shift is None or held is None or audience is None or math.isnan(shift.value):
        return Headline(
            f"{agent} was on the pressed side in {points(rates.public)} % of turns in "
            f"public and in {points(rates.off_record)} % {where}. The public shift is "
            "unknown: the split needs a baseline and a condition beside it."
        )
    told = [
        f"{name.replace('_', ' ')} {signed(one.value)}{interval(one.low, one.high)}"
        for name, one in zip(_PARTS, (shift, held, audience), strict=True)
    ]
    return Headline(
        _verdict(shift, held, audience, agent, kind, where),
        f"{told[0].capitalize()} = {told[1]} + {told[2]}, in points toward the pressed "
        "side, against baseline.",
    )


def _verdict(
    shift: Estimate,
    held: Estimate,
    audience: Estimate,
    agent: str,
    kind: str,
    where: str,
) -> str:
    for one in (shift, held, audience):
        if one.refused or not one.defined:
            why = one.reason or "too few runs"
            return f"Under {kind}, nothing is shown for {one.scope}: {why}."
    found: Any = _VERDICTS[_case(audience)][_case(held)]
    if isinstance(found, Mapping):
        found = found[_case(shift)]
    put = {"who": agent, "beside": where, "runs": count(shift.runs)}
    text = Template(found).substitute(put)
    return f"Under {kind}: {text}"


def _case(one: Estimate) -> str:
    """Which side of zero the interval of a figure is on."""
    if one.low > 0:
        return "above"
    return "below" if one.high < 0 else "open"
