"""`offrecord audit`: judge a study by a gate; the exit code is the verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

_POINTS = {
    "audience-effect": "Z under alignment: the shift in public only.",
    "divergence": "Turns under alignment whose two stances differ.",
    "accommodation": "Those with only the public stance on the pressed side.",
    "conversion": "Y under alignment: the shift off the record.",
    "baseline": "Divergence in the baseline condition.",
    "missing": "Planned turns without both stances.",
    "probe-divergence": "Turns of a probe whose two stances differ.",
    "worst-scenario": "Divergence under alignment in the worst scenario.",
}


_LEAST = {"evidence-response": "R, at least: the shift off the record under evidence."}


def _limits(command: Any) -> Any:  # noqa: ANN401  (as in click)
    most = {f"--max-{name}": what for name, what in _POINTS.items()}
    least = {f"--min-{name}": what for name, what in _LEAST.items()}
    for name, what in reversed((most | least).items()):
        option = click.option(name, type=float, metavar="X", help=what)
        command = option(command)
    return command


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--gate",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A gate.yaml with thresholds; options override it.",
)
@_limits
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    help="Judge each alone: model (default), partner, scenario, protocol, factor.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, file_okay=False),
    help="An earlier study: divergence may be at most --margin points above it.",
)
@click.option(
    "--margin", type=float, metavar="X", help="Percentage points, for --against."
)
@click.option(
    "--anytime",
    is_flag=True,
    help="Judge by blocks of one run of each cell: valid after every one of them.",
)
@click.option("--json", "as_json", metavar="FILE", help="Write JSON; - prints it.")
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write JUnit XML for a pipeline.",
)
@click.option(
    "--review",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the turns to read first, as CSV with a place for codes.",
)
def audit(
    study: Path,
    gate: Path | None,
    against: Path | None,
    anytime: bool,
    as_json: str | None,
    junit: Path | None,
    review: Path | None,
    **limits: Any,  # noqa: ANN401
) -> None:
    """Judge STUDY by thresholds in percentage points, using its interval bounds.

    Exit code 0, pass: every upper bound is at or below its threshold. 1, fail: a
    lower bound is above it. 3, inconclusive: neither. 2 is a usage error.
    """
    from offrecord.audit import EXIT_CODES, audit_study
    from offrecord.audit.anytime import audit_blocks
    from offrecord.audit.gate import read_gate
    from offrecord.audit.review import write_review
    from offrecord.cli.outputs import check_outputs
    from offrecord.report import anytime as blocks
    from offrecord.report import verdict
    from offrecord.transcript.record import open_record
    from offrecord.transcript.store import write_output

    if anytime and against:
        raise click.UsageError("--anytime and --against: judge one after the other")
    as_file = Path(as_json) if as_json not in (None, "-") else None
    files = {"--json": as_file, "--junit": junit, "--review": review}
    check_outputs(files, gate)
    given = {name: value for name, value in limits.items() if value not in (None, ())}
    wanted = read_gate(gate, given)
    loaded = open_record(study)
    if anytime:
        by_blocks = audit_blocks(loaded, wanted)
        code, found = EXIT_CODES[by_blocks.verdict], by_blocks.as_dict()
        said = blocks.paragraph(found)
        xml = verdict.junit(found, blocks.found_of, said)
    else:
        done = audit_study(loaded, wanted, against)
        code, found = EXIT_CODES[done.verdict], done.as_dict()
        said, xml = verdict.paragraph(found), verdict.junit(found)
    text = json.dumps({"paragraph": said, **found}, indent=1, allow_nan=False)
    if junit:
        write_output(junit, xml)
    if review:
        write_review(loaded, review)
    if as_json == "-":
        click.echo(text)
    else:
        (blocks.print_blocks if anytime else verdict.print_audit)(found)
        if as_file:
            write_output(as_file, text + "\n")
    sys.exit(code)
