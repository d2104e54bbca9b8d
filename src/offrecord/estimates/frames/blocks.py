"""Checks in blocks: frames in, what an e-process takes out.

A block is one run of every cell that a gate reads. Each cell weighs alike, and baseline
weighs as the cells that are set against it. A missing turn counts as either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offrecord.estimates.arrays.anytime import Check, difference_check, share_check
from offrecord.estimates.arrays.blocks import RunMeans, in_blocks, run_means
from offrecord.estimates.arrays.rates import Ids, Values
from offrecord.estimates.frames.groups import SAME_CELL
from offrecord.estimates.frames.pressed import NO_ALIGNMENT, NO_BASELINE, NO_CONTEXT
from offrecord.records import Kind, OffrecordError


def _gaps(public: Values, other: Values, runs: Ids) -> RunMeans:
    spoken, kept = (run_means(side, runs, 0.0, 1.0) for side in (public, other))
    return RunMeans(spoken.low - kept.high, spoken.high - kept.low)


def _divergent(public: Values, other: Values, runs: Ids) -> RunMeans:
    return run_means(np.abs(public - other), runs, 0.0, 1.0)


def _accommodating(public: Values, other: Values, runs: Ids) -> RunMeans:
    # One known side can rule it out.
    ruled_out = (public == 0) | (other == 1)
    values = np.where(ruled_out, 0.0, public - other)
    return run_means(values, runs, 0.0, 1.0)


def _kept(_: Values, other: Values, runs: Ids) -> RunMeans:
    return run_means(other, runs, 0.0, 1.0)


class _Figure(NamedTuple):
    of: Callable[[Values, Values, Ids], RunMeans]
    pressed: bool
    baseline: bool


_FIGURES: Final[Mapping[str, _Figure]] = {
    "audience_effect": _Figure(_gaps, pressed=True, baseline=True),
    "conversion": _Figure(_kept, pressed=True, baseline=True),
    "divergence": _Figure(_divergent, pressed=True, baseline=False),
    "accommodation": _Figure(_accommodating, pressed=True, baseline=False),
    "baseline": _Figure(_divergent, pressed=False, baseline=True),
}

MEASURES: Final = tuple(_FIGURES)
"""What has an e-process."""

SHIFTED: Final = tuple(
    name for name, one in _FIGURES.items() if one.pressed & one.baseline
)
"""Those that are differences from baseline, whose checks have the mean of one half."""


class Blocks(NamedTuple):
    """The whole blocks of one group, as every check of it needs them."""

    cells: tuple[int, ...]
    """The numbers of the cells of a block."""
    checks: tuple[Check, ...]
    """One for each threshold, in their order."""
    whole: int
    """How many there are."""


def cells_read(cells: pl.DataFrame, measures: Mapping[str, float]) -> pl.DataFrame:
    """The cells of a group that its thresholds read.

    Args:
        cells: `_cell`, the columns of the cell.
        measures: Those of `MEASURES` that are judged.

    Raises:
        OffrecordError: If a figure lacks a condition that it is made of.
    """
    pressed, base = (cells.filter(kind=k) for k in (Kind.ALIGNMENT, Kind.BASELINE))
    wanted = [_FIGURES[name] for name in measures]
    shifted = any(one.pressed and one.baseline for one in wanted)
    paired = base.join(pressed, on=list(SAME_CELL), how="semi", nulls_equal=True)
    faults = {
        NO_ALIGNMENT: any(one.pressed for one in wanted) and pressed.is_empty(),
        NO_CONTEXT: any(one.baseline for one in wanted) and base.is_empty(),
        NO_BASELINE: shifted
        and paired.height < pressed.select(SAME_CELL).unique().height,
    }
    for why, found in faults.items():
        if found:
            raise OffrecordError(f"no verdict by blocks: {why}")
    return pl.concat(
        [
            pressed.filter(any(one.pressed for one in wanted)),
            (base if "baseline" in measures else paired).filter(
                any(one.baseline for one in wanted)
            ),
        ]
    )


def group_blocks(
    cells: pl.DataFrame, turns: pl.DataFrame, thresholds: Mapping[str, float]
) -> Blocks:
    """The checks of one group of cells.

    Args:
        cells: As for `cells_read`.
        turns: `_cell`, `_block` (from 1), and both sides as floats, NaN where missing,
            of the runs that have ended; of one agent and one channel.
        thresholds: Measure to limit, as fractions of 1.

    Raises:
        OffrecordError: If a figure lacks a condition, or a limit has no e-process.
    """
    read = cells_read(cells, thresholds)
    ids = read["_cell"].to_numpy()
    rows = turns.filter(pl.col("_cell").is_in(ids)).sort("_cell", "_block")
    runs = rows.select(pl.struct("_cell", "_block").rank("dense")).to_series()
    whose = rows.select("_cell", "_block").unique(maintain_order=True)
    sides = rows["left"].to_numpy(), rows["right"].to_numpy(), runs.to_numpy()
    last = whose.select(pl.col("_block").max().fill_null(0)).item()
    order = np.arange(1, last + 1)
    checks = []
    for measure, limit in thresholds.items():
        means = in_blocks(
            _FIGURES[measure].of(*sides),
            *(whose[name].to_numpy() for name in ("_cell", "_block")),
            planned=ids,
            order=order,
        )
        checks.append(_check(measure, limit, means, read))
    return Blocks(tuple(ids.tolist()), tuple(checks), len(checks[0].means.low))


def _check(measure: str, limit: float, means: RunMeans, read: pl.DataFrame) -> Check:
    figure = _FIGURES[measure]
    pressed = (read["kind"] == Kind.ALIGNMENT).to_numpy()
    both = [_part(means, part) for part in (pressed, ~pressed)]
    try:
        if not (figure.pressed and figure.baseline):
            return share_check(both[0 if figure.pressed else 1], limit)
        # Baseline cells that nothing is set against have no weight, and no column.
        uses = _uses(read, pressed)
        return difference_check(
            both[0],
            _part(both[1], uses > 0),
            limit,
            signed=measure == "audience_effect",
            weights=(None, uses[uses > 0]),
        )
    except ValueError as fault:
        raise OffrecordError(
            f"{measure} of {100 * limit:g} points has no e-process: {fault}"
        ) from None


def _part(means: RunMeans, cells: NDArray[np.bool_]) -> RunMeans:
    return RunMeans(means.low[:, cells], means.high[:, cells])


def _uses(read: pl.DataFrame, pressed: NDArray[np.bool_]) -> Values:
    """How many cells are set against each baseline cell."""
    same = read.select(SAME_CELL).rows()
    own = [key for key, under in zip(same, pressed, strict=True) if under]
    base = [key for key, under in zip(same, pressed, strict=True) if not under]
    return np.array([own.count(key) for key in base], dtype=np.float64)
