"""Verdicts on planted arms: how often each is named rightly, and what screening ranks.

Studies are drawn as pairs: six scenarios, 20 runs of each cell, five turns, with the
shares of docs/design/arms.md. States of a turn last with probability .35, so that turns
of a run correlate by .19. As in the simulated population, the state of a turn decides
all its channels; `apart` draws the hold-out from a state of its own, the worst case for
agreement. Each arm has a placebo of its own that is as no arm.

    python -m benchmarks arms
    python -m benchmarks.arms        prints the table of the docs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks import Figure
from offrecord.estimates.frames.arm_verdicts import ArmVerdictFigures, verdict_rows
from offrecord.estimates.frames.arms import QUANTITIES, groups
from offrecord.estimates.frames.weighing import How

SCENARIOS: Final = 6
RUNS: Final = 20
TURNS: Final = 5
PERSISTENCE: Final = 0.35
STUDIES: Final = 100


class Planted(NamedTuple):
    """Shares of turns on the pressed side, as fractions of 1; baseline has none."""

    public: float = 0.4
    off_record: float = 0.1
    evidence: float = 0.3
    holdout: float = 0.1
    missing: float = 0.0
    """Of public stances, in every condition."""
    verdict: str = "no effect shown"


NULL: Final = Planted()
ARMS: Final[Mapping[str, Planted]] = {
    "repairer": Planted(0.15, 0.1, verdict="repairs"),
    "privatizer": Planted(0.4, 0.35, holdout=0.35, verdict="privatizes"),
    "stubborn": Planted(0.15, 0.1, evidence=0.0, verdict="silences"),
    "mute": Planted(0.15, 0.1, missing=0.3, verdict="silences"),
    "channel_blind": Planted(0.4, 0.35),
    "null_arm": NULL,
}
NULLS: Final = {f"null_{number}": NULL for number in range(1, 7)}
_KINDS: Final = {"baseline": "none", "alignment": "future", "evidence": "none"}


def facts_of(arms: Mapping[str, Planted]) -> dict[str, dict[str, str]]:
    """What study.json would say of some arms and their placebos."""
    own = {name: {"stamp": f"{name}@1:x", "placebo_of": ""} for name in arms}
    return own | {
        f"{name}_placebo": {"stamp": f"{name}_placebo@1:x", "placebo_of": name}
        for name in arms
    }


def drawn(
    arms: Mapping[str, Planted],
    rng: np.random.Generator,
    *,
    runs: int = RUNS,
    base: float = 0.0,
    apart: bool = False,
    replay: bool = False,
) -> pl.DataFrame:
    """The turns of a study, each arm beside its placebo.

    Args:
        arms: What is planted.
        rng: Draws states and what is missing.
        runs: Of each cell.
        base: The share on the pressed side at baseline; every share is that much more.
        apart: Whether the hold-out has a state of its own.
        replay: Whether as a replay of stored histories.
    """
    levels = {**arms, **{f"{name}_placebo": NULL for name in arms}}
    parts = []
    for level, truth in levels.items():
        for kind in _KINDS:
            shape = SCENARIOS * runs, TURNS
            u = _uniforms(rng, shape)
            v = _uniforms(rng, shape) if apart else u
            public, other, held = _shares(truth, kind, base)
            lost = rng.random(shape) < truth.missing
            columns = {
                "left": np.where(lost, np.nan, u < public),
                "right": (u < other).astype(float),
                "holdout": (v < held).astype(float),
                "missing": lost.astype(float),
            }
            parts.append(_frame(level, kind, runs, columns))
    turns = pl.concat(parts)
    if replay:
        turns = turns.with_columns(factor_history=pl.lit("m"))
    return turns.with_columns(left_status=pl.lit("ok"), refused=pl.lit(0.0))


def _shares(truth: Planted, kind: str, base: float) -> tuple[float, float, float]:
    if kind == "baseline":
        return base, base, base
    if kind == "evidence":
        return (truth.evidence + base,) * 3
    return truth.public + base, truth.off_record + base, truth.holdout + base


def _uniforms(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Uniform numbers that a turn keeps from the one before, or draws anew."""
    fresh = rng.random(shape)
    for turn in range(1, shape[1]):
        kept = rng.random(shape[0]) < PERSISTENCE
        fresh[kept, turn] = fresh[kept, turn - 1]
    return fresh


def _frame(
    level: str, kind: str, runs: int, columns: Mapping[str, NDArray[np.float64]]
) -> pl.DataFrame:
    place = np.arange(SCENARIOS * runs * TURNS)
    run, scenario = place // TURNS, place // TURNS // runs
    fixed = {
        "model": "m",
        "partner": "m",
        "cast": "{}",
        "condition": kind,
        "kind": kind,
        "timing": _KINDS[kind],
        "protocol": "twin",
        "language": "en",
        "sampling": "{}",
        "factors": level,
        "factor_arm": level,
        "agent": "alpha",
        "right_channel": "off_record",
    }
    return pl.DataFrame(
        {
            "scenario": np.char.add("s", scenario.astype(str)),
            "run": np.char.add(f"{level} {kind} ", run.astype(str)),
            "repeat": run % runs,
            "round": place % TURNS + 1,
            **{name: values.ravel() for name, values in columns.items()},
        }
    ).with_columns(
        dose=pl.lit(None, pl.Float64),
        **{name: pl.lit(value) for name, value in fixed.items()},
    )


def verdicts(
    arms: Mapping[str, Planted], rng: np.random.Generator, **how: float
) -> dict[str, ArmVerdictFigures]:
    """The verdict on each arm of one drawn study."""
    turns = drawn(arms, rng, **how)  # type: ignore[arg-type]
    rows = verdict_rows(turns, facts_of(arms), ["model"], How())
    return {row.of.arm: row.of for row in rows}


def named(
    arms: Mapping[str, Planted], seed: int, studies: int, **how: float
) -> list[dict[str, str]]:
    """What the arms of some studies are called."""
    found = []
    for study in range(studies):
        rng = np.random.default_rng([seed, study])
        of = verdicts(arms, rng, **how)
        found.append({name: one.verdict for name, one in of.items()})
    return found


RANKED: Final[Mapping[str, Callable[[Planted], float]]] = {
    "audience_effect": lambda one: round(one.public - one.off_record, 6),
    "conversion": lambda one: one.off_record,
    "evidence_response": lambda one: one.evidence,
    "missing": lambda one: one.missing,
}
"""What arms are ranked by, and its planted value."""


def ordered(
    arms: Mapping[str, Planted], rng: np.random.Generator, runs: int, *, replay: bool
) -> dict[str, bool]:
    """Whether a study orders every two arms as planted that differ, by quantity."""
    turns = drawn(arms, rng, runs=runs, replay=replay)
    [(_, group)] = groups(turns, ["model"], How())
    right = {}
    for quantity in QUANTITIES:
        if quantity.name not in RANKED:
            continue
        planted = RANKED[quantity.name]
        moved = {}
        for name in arms:
            compared = group.compared(name, f"{name}_placebo", quantity)
            assert compared is not None
            moved[name] = compared.moved.difference.value
        right[quantity.name] = all(
            (moved[a] - moved[b]) * (planted(arms[a]) - planted(arms[b])) >= 0
            for a, b in combinations(arms, 2)
        )
    return right


SCREENED: Final = 13
"""Stored runs of a cell that are asked again: of each turn of the target two calls,
where a fresh debate takes four (public of both, off the record and hold-out of the
target)."""


def calls(runs: int, *, replay: bool) -> int:
    """Calls of one arm: three conditions of each scenario."""
    return SCENARIOS * len(_KINDS) * runs * TURNS * (2 if replay else 4)


def rank_rows(seed: int, studies: int) -> Iterator[tuple[str, int, int]]:
    """By quantity, the studies that are ordered as planted: fresh and screened."""
    seen: list[Counter[str]] = [Counter(), Counter()]
    for study in range(studies):
        for place, (runs, replay) in enumerate(((RUNS, False), (SCREENED, True))):
            rng = np.random.default_rng([seed, study, place])
            seen[place].update(
                name
                for name, right in ordered(ARMS, rng, runs, replay=replay).items()
                if right
            )
    for name in RANKED:
        yield name, seen[0][name], seen[1][name]


def run(seed: int = 1, studies: int = STUDIES) -> list[Figure]:
    """Arms named rightly, false repairs, and what screening ranks."""
    found = named(ARMS, seed, studies)
    figures = [
        Figure(
            f"{name}: {one.verdict}",
            f"{sum(of[name] == one.verdict for of in found)} of {studies} studies",
            "at least 90 %",
        )
        for name, one in ARMS.items()
    ]
    false = sum("repairs" in of.values() for of in named(NULLS, seed + 1, studies))
    figures.append(
        Figure(
            "null studies that name any arm a repair",
            f"{false} of {studies}",
            "at most 5 %",
        )
    )
    share = calls(SCREENED, replay=True) / calls(RUNS, replay=False)
    figures += [
        Figure(
            f"arms ordered as planted by {name}",
            f"fresh {fresh}, screening {screened} of {studies} studies",
            f"at {share:.0%} of the calls",
        )
        for name, fresh, screened in rank_rows(seed + 2, studies)
    ]
    return figures


def table(found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Lines of Markdown: what each planted arm was called."""
    words = [
        "repairs",
        "privatizes",
        "silences",
        "no effect shown",
        "inconclusive",
    ]
    yield f"| planted | {' | '.join(words)} |"
    yield f"|---{'|--:' * len(words)}|"
    for name in found[0]:
        seen = Counter(of[name] for of in found)
        yield f"| {name} | {' | '.join(str(seen[word]) for word in words)} |"


if __name__ == "__main__":
    designs: dict[str, dict[str, float]] = {
        "as planted": {},
        "hold-out drawn apart": {"apart": True},
        "baseline at 20, 20 runs": {"base": 0.2},
        "baseline at 20, 33 runs": {"base": 0.2, "runs": 33},
    }
    for what, how in designs.items():
        print(what)
        print(*table(named(ARMS, 1, STUDIES, **how)), sep="\n", flush=True)
    print("null")
    print(*table(named(NULLS, 2, STUDIES)), sep="\n", flush=True)
    print(*rank_rows(3, STUDIES), sep="\n", flush=True)
