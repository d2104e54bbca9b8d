"""What a verdict by blocks takes of a design, before it is run."""

from __future__ import annotations

import numpy as np

from offrecord.audit.gate import Gate
from offrecord.audit.judgement import judge_design
from offrecord.estimates.arrays.expected import Assumed, Expected, expected_blocks
from offrecord.protocol.design import Design


def expected_verdicts(
    design: Design, gate: Gate, assumed: Assumed, seed: int = 0
) -> tuple[Expected, Expected]:
    """The blocks to a verdict if every figure is below its threshold, and above.

    Args:
        design: The design; without a model it is planned for one.
        gate: What may be how large.
        assumed: How figures and runs are.
        seed: Of the simulated studies.

    Raises:
        OffrecordError: As `judge_design`.
    """
    models = design.models or ("any",)
    groups = judge_design(design.model_copy(update={"models": models}), gate).groups
    rng = np.random.default_rng(seed)
    # Groups of a gate have the same cells but for what they are grouped by.
    checks = max((one.blocks.checks for one in groups), key=lambda c: c[0].signs.size)
    below, above = (
        expected_blocks(checks, design.rounds, side, assumed, rng, len(groups))
        for side in (-1, 1)
    )
    return below, above
