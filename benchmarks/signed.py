"""Coverage of weighted cells and of the audience effect by signs, in unlike cells.

What is planted stands first: runs of five turns, of unlike numbers and rates by cell,
turns of a run correlated by .2 or .65 (each run has rates of its own). Each interval is
held against the equally weighted truth, that of the audience effect beside the gaps of
both sides joined. A false pass is an interval that ends below the truth, as
a gate on that limit would see it; 2.5 % of studies are to be expected.

    python -m benchmarks signed
    python -m benchmarks.signed        prints the table of the docs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import Figure
from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.mover import difference
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.arrays.signed import Signed, signed_limits
from offrecord.estimates.arrays.stratified import rate_limits
from offrecord.estimates.arrays.weighed import Layout, Weighed

TURNS: Final = 5
DRAWS: Final = 10_000
JOINED: Final = 300
"""Draws of two gaps joined, for their width and coverage."""
CORRELATIONS: Final = (0.2, 0.65)
HOLDS: Final = 0.93
WRONG: Final = 0.025

_FULL: Final = np.array(TURNS)

Cells = tuple[tuple[int, float], ...]
"""Runs and rate of each cell."""

RATES: Final[dict[str, Cells]] = {
    "30 runs at 0, 3 at .6": ((30, 0.0), (3, 0.6)),
    "3 runs at 0, 30 at .6": ((3, 0.0), (30, 0.6)),
    "20 runs at .1, 5 at .3, 5 at .5": ((20, 0.1), (5, 0.3), (5, 0.5)),
    "10 runs at .05, 2 at .5": ((10, 0.05), (2, 0.5)),
    "2 to 12 runs, .03 to .9": ((2, 0.9), (4, 0.03), (6, 0.3), (12, 0.1)),
    "10 runs at .2, 1 at .5": ((10, 0.2), (1, 0.5)),
    "6 cells of 1 run, .1 to .6": tuple((1, 0.1 * k) for k in range(1, 7)),
    "8 cells of 5 runs, one of 1": (*((5, 0.3),) * 8, (1, 0.6)),
}


class Sides(NamedTuple):
    """Accommodating and reversing rates of the cells of each side, and their runs."""

    condition: Cells
    baseline: Cells
    reversing: float
    """In every cell of both sides that has a rate of its own."""


EFFECTS: Final[dict[str, Sides]] = {
    "1 cell x 5 runs": Sides(((5, 0.48),), ((5, 0.0),), 0.0),
    "3 x 5": Sides(((5, 0.3), (5, 0.5), (5, 0.6)), ((5, 0.03),) * 3, 0.02),
    "3 x 5, few": Sides(((5, 0.03), (5, 0.1), (5, 0.2)), ((5, 0.03),) * 3, 0.02),
    "2 conditions, 1 scenario x 3": Sides(((3, 0.4), (3, 0.3)), ((3, 0.03),), 0.02),
    "2 conditions, 3 scenarios x 3": Sides(
        ((3, 0.2), (3, 0.4), (3, 0.5)) * 2, ((3, 0.03),) * 3, 0.02
    ),
    "30 runs at 0, 3 at .6": Sides(((30, 0.0), (3, 0.6)), ((30, 0.0), (3, 0.1)), 0.02),
    "5 runs, baseline of 20": Sides(((5, 0.3), (5, 0.1)), ((20, 0.05),) * 2, 0.05),
    "5 runs, baseline of 100": Sides(((5, 0.3), (5, 0.1)), ((100, 0.05),) * 2, 0.05),
    "20 runs, baseline of 5": Sides(
        ((20, 0.1), (20, 0.3), (20, 0.5)), ((5, 0.05),) * 3, 0.05
    ),
    "12 x 3": Sides(((3, 0.1), (3, 0.3), (3, 0.6)) * 4, ((3, 0.03),) * 12, 0.02),
}


class Outcome(NamedTuple):
    """How an interval did."""

    covered: float
    below: float
    """Share of draws that end below the truth: a false pass."""
    above: float
    """Share of draws that begin above it: a false fail."""
    width: float


def outcome(low: Values, high: Values, truth: float) -> Outcome:
    """Hold intervals against the truth; one that is NaN holds nothing."""
    below, above = high < truth - 1e-12, low > truth + 1e-12
    known = ~np.isnan(low)
    return Outcome(
        float((known & ~below & ~above).mean()),
        float(below.mean()),
        float(above.mean()),
        float((high - low)[known].mean()),
    )


def events(
    rates: Values, correlation: float, rng: np.random.Generator, most: Ids
) -> Values:
    """Events of runs, each with a rate of its own; exactly none at a rate of 0."""
    scale = 1 / correlation - 1
    safe = np.maximum(rates, 1e-12)
    own = rng.beta(safe * scale, (1 - safe) * scale)
    return np.where(rates > 0, rng.binomial(most, own), 0).astype(np.float64)


def layout_of(cells: Cells) -> tuple[Layout, Values]:
    """Cells that weigh alike, and the rate of each run."""
    runs = np.array([number for number, _ in cells])
    numbers = np.repeat(np.arange(runs.size), runs)
    sizes = np.full(numbers.size, float(TURNS))
    rates = np.array([rate for _, rate in cells])[numbers]
    return Layout(sizes, numbers, np.ones(runs.size)), rates


def rate_outcome(
    cells: Cells, correlation: float, rng: np.random.Generator, draws: int = DRAWS
) -> Outcome:
    """The weighted interval of a rate."""
    layout, rates = layout_of(cells)
    shape = (draws, rates.size)
    sums = events(np.broadcast_to(rates, shape), correlation, rng, _FULL)
    truth = float(np.mean([rate for _, rate in cells]))
    found = rate_limits(Weighed(sums, layout))
    return outcome(found.low, found.high, truth)


class Effects(NamedTuple):
    """Draws of one design of two sides."""

    towards: Values
    away: Values
    layout: Layout
    condition: NDArray[np.bool_]
    """Shape (runs,): which runs are of the condition."""
    truth: float

    @property
    def signed(self) -> Signed:
        """As the interval takes it."""
        towards, away = (Weighed(n, self.layout) for n in (self.towards, self.away))
        return Signed(towards, away, (self.condition, ~self.condition))


def effects(
    sides: Sides, correlation: float, rng: np.random.Generator, draws: int
) -> Effects:
    """Draw both sides; every condition and every baseline cell weighs alike."""
    layout, rates = layout_of(sides.condition + sides.baseline)
    first, second = len(sides.condition), len(sides.baseline)
    weights = np.repeat([0.5 / first, 0.5 / second], [first, second])
    layout = Layout(layout.sizes, layout.cells, weights)
    shape = (draws, rates.size)
    reversing = np.where(rates > 0, sides.reversing, 0.0)
    back = events(np.broadcast_to(reversing, shape), correlation, rng, _FULL)
    left = (TURNS - back).astype(np.int64)
    rest = np.broadcast_to(rates / (1 - reversing), shape)
    gone = events(rest, correlation, rng, left)
    under = layout.cells < first
    gaps = [
        np.mean([rate - (sides.reversing if rate else 0.0) for _, rate in cells])
        for cells in (sides.condition, sides.baseline)
    ]
    return Effects(
        np.where(under, gone, back),
        np.where(under, back, gone),
        layout,
        under,
        float(gaps[0] - gaps[1]),
    )


def effect_outcome(drawn: Effects) -> Outcome:
    """The interval of the audience effect by signs."""
    limits = signed_limits(drawn.signed)
    return outcome(2 * limits.low, 2 * limits.high, drawn.truth)


def joined_outcome(drawn: Effects, draws: int = JOINED) -> Outcome:
    """That of the gaps of both sides joined, each with an interval of its own.

    Args:
        drawn: What was drawn.
        draws: How many draws to take.
    """
    half = drawn.condition
    first = (Weighed(n[:draws], drawn.layout) for n in (drawn.towards, drawn.away))
    towards, away = first
    gaps = [
        Signed(towards.part(half), away.part(half)),
        Signed(away.part(~half), towards.part(~half)),
    ]
    limits = [signed_limits(gap) for gap in gaps]
    bounds = [
        [Bounds(*map(float, one)) for one in zip(gap.value, *ends, strict=True)]
        for gap, ends in zip(gaps, limits, strict=True)
    ]
    found = np.array([difference(a, b) for a, b in zip(*bounds, strict=True)])
    return outcome(found[:, 1], found[:, 2], drawn.truth)


def run(seed: int = 1, draws: int = DRAWS, joined: int = JOINED) -> list[Figure]:
    """The worst over designs."""
    rng = np.random.default_rng(seed)
    rates = {
        f"{name}, correlation {rho}": rate_outcome(cells, rho, rng, draws)
        for name, cells in RATES.items()
        for rho in CORRELATIONS
    }
    found, old = {}, {}
    for name, sides in EFFECTS.items():
        for rho in CORRELATIONS:
            label = f"{name}, correlation {rho}"
            drawn = effects(sides, rho, rng, draws)
            found[label] = effect_outcome(drawn)
            old[label] = joined_outcome(drawn, joined)
    figures = [
        *_worst("rates of unlike cells", rates),
        *_worst("audience effect by signs", found),
    ]
    for label in (f"{name}, correlation 0.65" for name in EFFECTS):
        figures.append(
            Figure(
                f"width of Z in points, {label}",
                f"{100 * found[label].width:.0f}, two gaps joined "
                f"{100 * old[label].width:.0f}",
            )
        )
    return figures


def table(rng: np.random.Generator) -> Iterator[str]:
    """Lines of Markdown, one per design; two gaps joined in brackets."""
    yield "| design | correlation | coverage | false pass | false fail | width |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, cells in RATES.items():
        for rho in CORRELATIONS:
            yield _line(f"rate: {name}", rho, [rate_outcome(cells, rho, rng)])
    for name, sides in EFFECTS.items():
        for rho in CORRELATIONS:
            drawn = effects(sides, rho, rng, DRAWS)
            both = [effect_outcome(drawn), joined_outcome(drawn)]
            yield _line(f"Z: {name}", rho, both)


def _line(name: str, correlation: float, one: Sequence[Outcome]) -> str:
    *shares, widths = zip(*one, strict=True)
    cells = [[f"{value:.1%}" for value in each] for each in shares]
    cells.append([f"{100 * value:.1f}" for value in widths])
    shown = (" ".join((new, *(f"[{old}]" for old in rest))) for new, *rest in cells)
    return f"| {name} | {correlation} | {' | '.join(shown)} |"


def _worst(name: str, done: dict[str, Outcome]) -> Iterator[Figure]:
    least = min(done, key=lambda label: done[label].covered)
    passing = max(done, key=lambda label: done[label].below)
    yield Figure(
        f"{name}, least coverage of {len(done)} designs",
        f"{done[least].covered:.1%} ({least})",
        str(HOLDS),
    )
    yield Figure(
        f"{name}, most false passes",
        f"{done[passing].below:.1%} ({passing})",
        f"near {WRONG:.1%}",
    )


if __name__ == "__main__":
    print(*table(np.random.default_rng(1)), sep="\n", flush=True)
