"""`offrecord plan`: what a design would ask, before you pay for a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from offrecord.cli.options import (
    FiniteRange,
    WithInspectOptions,
    design_options,
    given_fields,
    inspect_options,
)
from offrecord.records import OffrecordError

if TYPE_CHECKING:
    from offrecord.runner.asking import Until


@click.command(cls=WithInspectOptions)
@design_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="A study that already exists, to see what would be added.",
)
@click.option(
    "--detect",
    type=float,
    help="Difference in divergence from baseline to detect, in points.",
)
@click.option(
    "--until",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A gate.yaml: expected runs until its verdict, by run --until and by a fixed "
    "number.",
)
@click.option(
    "--off",
    type=FiniteRange(0, 100, min_open=True),
    help="With --until: points between each figure and its threshold (default 8).",
)
@click.option(
    "--rate", type=float, default=5.0, help="Divergence at baseline, % (default 5)."
)
@click.option(
    "--correlation", type=float, default=0.2, help="Within a run (default 0.2)."
)
@click.option(
    "--scenario-sd", type=float, help="Spread of the difference over scenarios, points."
)
@click.option(
    "--pilot",
    type=click.Path(path_type=Path, file_okay=False),
    help="A study from which to take the latency, and the spread of runs.",
)
@click.option(
    "--prices",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML or JSON: model to prices per million tokens.",
)
@click.option(
    "--latency",
    type=FiniteRange(min=0),
    help="Seconds that a call takes.",
)
@click.option("--prompts", is_flag=True, help="Print the prompts themselves.")
@click.option("--hashes", is_flag=True, help="Print hashes of content and prompts.")
def plan(
    file: Path | None,
    out: Path | None,
    detect: float | None,
    until: Path | None,
    off: float | None,
    rate: float,
    correlation: float,
    scenario_sd: float | None,
    pilot: Path | None,
    prices: Path | None,
    latency: float | None,
    prompts: bool,
    hashes: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Show runs, calls, cost and time of a design. Calls no model, and needs none."""
    from offrecord.runner.detect import Detect
    from offrecord.runner.plan import Shown, show_plan

    wanted = None
    if detect is not None:
        wanted = Detect(
            points=detect,
            rate=rate,
            correlation=correlation,
            scenario_sd=scenario_sd,
            pilot=pilot,
        )
    if off is not None and until is None:
        raise OffrecordError("--off belongs to --until")
    show_plan(
        file,
        given_fields(options),
        inspect_options(),
        out,
        Shown(
            prices=prices,
            latency=latency,
            pilot=pilot,
            detect=wanted,
            until=_until(until, off or 8.0, rate, correlation) if until else None,
            prompts=prompts,
            hashes=hashes,
        ),
    )


def _until(gate: Path, off: float, rate: float, correlation: float) -> Until:
    """A gate with what is taken for granted of runs, from points and percent."""
    from functools import partial

    from offrecord.audit.expected import expected_verdicts
    from offrecord.audit.gate import read_gate
    from offrecord.estimates.arrays.expected import Assumed
    from offrecord.runner.asking import Until

    if not (0 <= rate <= 100 and 0 <= correlation <= 1):
        raise OffrecordError(
            "--rate: a number from 0 to 100; --correlation: from 0 to 1"
        )
    assumed, wanted = Assumed(off / 100, rate / 100, correlation), read_gate(gate, {})
    verdicts = partial(expected_verdicts, gate=wanted, assumed=assumed)
    return Until(name=gate.name, assumed=assumed, verdicts=verdicts)
