"""The bench on markers: its figure by hand, and that it sees no turn of its group."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from benchmarks.flags import auc, unseen_scores


def test_the_auc_is_the_share_of_pairs_in_order() -> None:
    # 1s at 3 and 1, 0s at 2 and 1: of four pairs two in order, one tied, one not.
    outcomes = np.array([1.0, 1.0, 0.0, 0.0])
    scores = np.array([3.0, 1.0, 2.0, 1.0])
    assert auc(outcomes, scores, np.ones(4)) == (2 + 0.5) / 4
    # The turn at 3 counts twice: of six pairs four in order, one tied, one not.
    assert auc(outcomes, scores, np.array([2.0, 1, 1, 1])) == pytest.approx(4.5 / 6)
    assert math.isnan(auc(np.ones(4), scores, np.ones(4)))


def test_a_group_is_scored_by_what_the_others_show() -> None:
    turns = pl.DataFrame({"model": ["a", "a", "b", "b"], "divergent": [1, 1, 0, 0]})

    def share(seen: pl.DataFrame, unseen: pl.DataFrame) -> np.ndarray:
        return np.full(unseen.height, float(np.mean(seen["divergent"].to_numpy())))

    assert unseen_scores(turns, "model", share).tolist() == [0, 0, 1, 1]
