"""`python -m benchmarks [NAME] [--seed N]`: run the benches, print one table.

The same table stands in docs/performance.md, where each bench that was run takes the
place of its earlier figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial

from rich.console import Console
from rich.table import Table

from benchmarks import (
    Figure,
    anytime,
    arms,
    bootstrap,
    coverage,
    critical_path,
    differences,
    faults,
    flags,
    fuzz,
    gate_errors,
    guard,
    importing,
    interruption,
    open_debates,
    persistence,
    prefix_cache,
    probe,
    processor_time,
    proxy,
    recovery,
    report,
    scale,
    scopes,
    shards,
    signed,
    similarity,
    tests_size,
)
from benchmarks.table import write_figures


def main() -> None:
    """Run all benches one after another, or the one that is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    names = (
        "importing",
        "critical_path",
        "open_debates",
        "processor_time",
        "prefix_cache",
        "recovery",
        "bootstrap",
        "coverage",
        "tests_size",
        "signed",
        "differences",
        "persistence",
        "gate_errors",
        "arms",
        "guard",
        "probe",
        "scopes",
        "anytime",
        "similarity",
        "shards",
        "flags",
        "report",
        "scale",
        "faults",
        "interruption",
        "proxy",
        "fuzz",
    )
    parser.add_argument("name", nargs="?", choices=names, help="all by default")
    parser.add_argument("--seed", type=int, default=1, help="of what is simulated (1)")
    given = parser.parse_args()
    benches: dict[str, Callable[[], Iterable[tuple[str, ...]]]] = {
        "importing": importing.run,
        "critical_path": critical_path.run,
        "open_debates": open_debates.run,
        "processor_time": processor_time.run,
        "prefix_cache": prefix_cache.run,
        "recovery": partial(recovery.run, given.seed),
        "bootstrap": bootstrap.run,
        "coverage": partial(coverage.run, given.seed),
        "tests_size": partial(tests_size.run, given.seed),
        "signed": partial(signed.run, given.seed),
        "differences": partial(differences.run, given.seed),
        "persistence": partial(persistence.run, given.seed),
        "gate_errors": partial(gate_errors.run, given.seed),
        "arms": partial(arms.run, given.seed),
        "guard": guard.run,
        "probe": partial(probe.run, given.seed),
        "scopes": partial(scopes.run, given.seed),
        "anytime": partial(anytime.run, given.seed),
        "similarity": similarity.run,
        "shards": shards.run,
        "flags": partial(flags.run, given.seed),
        "report": report.run,
        "scale": scale.run,
        "faults": partial(faults.run, given.seed),
        "interruption": partial(interruption.run, given.seed),
        "proxy": proxy.run,
        "fuzz": fuzz.run,
    }
    console = Console()
    figures: list[tuple[str, Figure]] = []
    for name in [given.name] if given.name else names:
        console.print(f"{name} ...", style="dim")
        try:
            found = [Figure(*figure) for figure in benches[name]()]
        except Exception as error:  # hours of other benches stand behind this one
            console.print_exception()
            found = [Figure("failed", f"{type(error).__name__}: {error}"[:200])]
        write_figures({name: found}, names)
        figures += [(name, figure) for figure in found]
    table = Table("bench", "figure", "value", "aim")
    for index, (name, figure) in enumerate(figures):
        first = index == 0 or figures[index - 1][0] != name
        last = index + 1 == len(figures) or figures[index + 1][0] != name
        table.add_row(name if first else "", *figure, end_section=last)
    console.print(table)


if __name__ == "__main__":
    main()
