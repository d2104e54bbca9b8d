"""Blocks of one run of each cell, in the order in which they were planned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from offrecord.estimates.arrays.rates import Ids, Values


class RunMeans(NamedTuple):
    """Means over the planned turns of runs; without missing turns the two are equal."""

    low: Values
    """Shape (..., blocks, cells): if every missing turn had its lowest value."""
    high: Values
    """The same if it had its highest."""


def run_means(values: Values, runs: Ids, least: float, most: float) -> RunMeans:
    """Means of runs over their planned turns, missing ones at either end.

    Args:
        values: Shape (planned turns,), NaN where missing.
        runs: Shape (planned turns,).
        least: The lowest value of a turn.
        most: The highest.

    Returns:
        Of shape (runs,) each, in ascending order of `np.unique(runs)`.
    """
    _, members, turns = np.unique(runs, return_inverse=True, return_counts=True)
    low, high = (
        np.bincount(members, np.where(np.isnan(values), end, values)) / turns
        for end in (least, most)
    )
    return RunMeans(low, high)


def in_blocks(
    means: RunMeans, cells: Ids, repeats: Ids, *, planned: Ids, order: Ids
) -> RunMeans:
    """Put runs into blocks, whatever the order in which they ended.

    The same runs give the same blocks, run one after another or in shards.

    Args:
        means: Of runs that have ended, shape (runs,) each; a run that gave nothing has
            the lowest and the highest value that there is.
        cells: Shape (runs,).
        repeats: Shape (runs,): the block of each.
        planned: Shape (cells,): all cells of a block, whether they have a run or not.
        order: Shape (blocks,): repeats in the order in which they were planned.

    Returns:
        Shape (blocks, cells) each, in the order of `planned`, up to the first block
        that lacks a run.

    Raises:
        ValueError: If a run is of no planned cell or repeat, or a cell has two runs of
            one repeat.
    """
    if not (np.isin(cells, planned).all() and np.isin(repeats, order).all()):
        raise ValueError("a run is of no planned cell and repeat")
    rows, columns = (
        {n: i for i, n in enumerate(ids.tolist())} for ids in (order, planned)
    )
    table = np.full((order.size, planned.size), -1)
    for run, (cell, repeat) in enumerate(
        zip(cells.tolist(), repeats.tolist(), strict=True)
    ):
        place = rows[repeat], columns[cell]
        if table[place] >= 0:
            raise ValueError(f"repeat {repeat} has two runs of cell {cell}")
        table[place] = run
    whole = (table >= 0).all(axis=1)
    ended = table[: order.size if whole.all() else int(np.argmin(whole))]
    return RunMeans(means.low[ended], means.high[ended])
