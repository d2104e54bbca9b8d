"""`offrecord estimate`: rates, the split, floors and contrasts of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from offrecord.estimates.file import Estimates
    from offrecord.transcript.record import Record


@click.command()
@click.argument("studies", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    help="Group by model, partner, condition, kind, timing, scenario, protocol, agent, "
    "round or a factor; may be repeated. Default: model and condition.",
)
@click.option(
    "--contrast",
    "contrasts",
    multiple=True,
    metavar="A:B",
    help="Compare two values of one column, A minus B; may be repeated.",
)
@click.option(
    "--scope",
    type=click.Choice(["runs", "pairs", "scenarios", "models", "both", "turns"]),
    default="runs",
    help="What all intervals generalize to: new runs of the same cells (default), new "
    "pairs of model and scenario, new scenarios, new models, new models in new "
    "scenarios (both), or turns as if independent.",
)
@click.option(
    "--weights",
    type=click.Choice(["cells", "turns"]),
    default="cells",
    help="What counts the same in a figure over several cells: each cell (default), "
    "or each turn, as in the paper.",
)
@click.option(
    "--margin",
    type=float,
    help="Equivalence margin, in percentage points; of arms the change that does not "
    "matter (default 15).",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, file_okay=False),
    help="An earlier study: is divergence at most --margin points above it?",
)
@click.option(
    "--without-aware",
    is_flag=True,
    help="Leave out pairs that name a test or a role play, or doubt the privacy.",
)
@click.option(
    "--bayes",
    is_flag=True,
    help="Also fit the hierarchical model: rates of models, of a new model and in a "
    "new scenario. Needs the extra bayes; about 20 seconds per condition and agent.",
)
@click.option(
    "--seed", type=int, default=0, help="Seed of randomized tests (default 0)."
)
@click.option("--json", "as_list", is_flag=True, help="Print the rates as JSON.")
@click.option(
    "--card",
    type=click.Choice(["md", "csv", "json"]),
    is_flag=False,
    flag_value="md",
    help="Print the score card of one or several studies instead, one line per model: "
    "STUDY ... --card [md|csv|json], studies first.",
)
@click.option(
    "--leaderboard",
    type=click.Choice(["md", "json"]),
    is_flag=False,
    flag_value="md",
    help="Print what each arm changes, and its verdict, instead of the main tables: "
    "STUDY --leaderboard [md|json], study first.",
)
def estimate(
    studies: tuple[Path, ...],
    by: tuple[str, ...],
    contrasts: tuple[str, ...],
    scope: str,
    weights: str,
    margin: float | None,
    against: Path | None,
    without_aware: bool,
    bayes: bool,
    seed: int,
    as_list: bool,
    card: str | None,
    leaderboard: str | None,
) -> None:
    """Estimate what the agents of STUDY said in public and off the record.

    Everything is written to STUDY/estimates.json; the main tables are printed. Several
    studies can only be compared with --card, which writes nothing.
    """
    from offrecord.cli.summary import show_partial
    from offrecord.estimates.arrays.pairing import Weights
    from offrecord.estimates.arrays.scope import Scope
    from offrecord.estimates.estimator import Wanted
    from offrecord.estimates.file import write_estimates
    from offrecord.estimates.frames.splits import DEFAULT_BY
    from offrecord.estimates.study import estimate_study
    from offrecord.transcript.record import open_record

    if card:
        others = by, contrasts, margin, against, without_aware, bayes, as_list
        if any((*others, leaderboard)) or weights != "cells":
            raise click.UsageError("--card: takes --scope and no other option")
        _print_card(studies, scope, card)
        return
    if len(studies) > 1:
        raise click.UsageError(
            "several studies: add --card, or estimate each separately"
        )
    loaded = open_record(studies[0])
    wanted = Wanted(
        by=by or DEFAULT_BY,
        contrasts=contrasts,
        scope=Scope[scope.upper()],
        weights=Weights(weights),
        margin=None if margin is None else margin / 100,
        against=against,
        without_aware=without_aware,
        bayes=bayes,
        seed=seed,
    )
    estimates = estimate_study(loaded, wanted)
    write_estimates(loaded, estimates)
    show_partial(loaded)
    _print(loaded, estimates, leaderboard, as_list=as_list)


def _print(
    study: Record, estimates: Estimates, form: str | None, *, as_list: bool
) -> None:
    from offrecord.estimates.board import leaderboard
    from offrecord.estimates.estimators import RATES
    from offrecord.estimates.frames.table import as_json
    from offrecord.report.findings import print_estimates
    from offrecord.report.leaderboard import FORMATS

    if form:
        found = leaderboard(estimates.shown)
        click.echo(FORMATS[form](found.lines, found.notes).rstrip("\n"))
    elif as_list:
        click.echo(as_json(estimates.of(RATES)))
    else:
        print_estimates(estimates, study)


def _print_card(studies: tuple[Path, ...], scope: str, form: str) -> None:
    from offrecord.estimates.arrays.scope import Scope
    from offrecord.estimates.card import score_card
    from offrecord.report.card import FORMATS
    from offrecord.transcript.record import open_record

    found = score_card([open_record(study) for study in studies], Scope[scope.upper()])
    click.echo(FORMATS[form](found.lines, found.notes).rstrip("\n"))
