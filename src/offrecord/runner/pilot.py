"""Running a pilot: the single turns of a scenario, through Inspect, and what came back.

The logs stand in a folder of their own for each wording of the scenario, so the same
call resumes, one with more calls asks for the rest alone, an edited text begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from offrecord.measures.tables import stated
from offrecord.protocol.dataset import METADATA_KEY
from offrecord.protocol.pilot import Answer, pilot_requests, pilot_stamp
from offrecord.protocol.solver import STORE_KEY
from offrecord.records import OffrecordError
from offrecord.runner.evalset import INTERRUPTED, nothing_ran, task_set
from offrecord.runner.options import split_options
from offrecord.runner.preflight import open_models
from offrecord.runner.todo import ToDo
from offrecord.scenarios.model import Scenario
from offrecord.transcript.store import make_folder

TASK: Final = "offrecord/pilot"


def rounds_of(scenario: Scenario, models: Sequence[str], calls: int) -> int:
    """How many rounds of all requests a number of calls pays for.

    Args:
        scenario: The scenario.
        models: Who is asked.
        calls: Calls at most, over all models.

    Raises:
        OffrecordError: If they are too few for one.
    """
    one = calls_of_round(scenario, models)
    if calls < one:
        raise OffrecordError(f"--calls {calls}: one round of this pilot takes {one}")
    return calls // one


def calls_of_round(scenario: Scenario, models: Sequence[str]) -> int:
    """Calls of one round of all requests, over all models."""
    return sum(one.calls for one in pilot_requests(scenario)) * len(models)


def ask_pilot(
    scenario: Scenario,
    name: str,
    models: Sequence[str],
    rounds: int,
    out: Path,
    options: Sequence[str],
) -> list[Answer]:
    """Ask whatever of a pilot the logs of its folder do not have.

    Args:
        scenario: The scenario.
        name: Its id or folder.
        models: Who is asked.
        rounds: Of all requests.
        out: The pilot's folder.
        options: For `inspect eval-set`.

    Returns:
        The calls that came back, of these models and rounds.

    Raises:
        OffrecordError: If nothing came back, or a model cannot be opened.
    """
    asked, others = split_options(options)
    open_models(models, models, options)
    requests = pilot_requests(scenario)
    pairs = sum(request.draws for request in requests) * rounds * len(models)
    stamp = pilot_stamp(scenario)
    logs = out / stamp
    make_folder(logs)
    done = len({(a.model, a.request, a.draw) for a in _answers(logs, models, rounds)})
    calls = calls_of_round(scenario, models) * rounds
    code = 0
    if done < pairs:
        code = task_set(
            TASK,
            (
                f"scenario={Path(name).resolve() if Path(name).is_dir() else name}",
                f"stamp={stamp}",
            ),
            models,
            ("--epochs", str(rounds), *asked, *others),
            logs=str(logs),
            todo=ToDo(pairs, done, calls * (pairs - done) // pairs),
            watched=logs,
        )
    found = list(_answers(logs, models, rounds))
    if not found:
        raise nothing_ran(code)
    missing = pairs - len({(one.model, one.request, one.draw) for one in found})
    if code == INTERRUPTED or missing:
        click.echo(
            f"offrecord: {missing} of {pairs} pairs are missing: run the same "
            "command to resume",
            err=True,
        )
    return found


def _answers(logs: Path, models: Sequence[str], rounds: int) -> Iterator[Answer]:
    """The calls of the logs in a folder, each pair once."""
    seen = set[tuple[str, str, int]]()
    for info in list_eval_logs(str(logs)):
        log: EvalLog = read_eval_log(info)
        for sample in log.samples or ():
            held: dict[str, Any] = sample.metadata[METADATA_KEY]
            draw = (sample.epoch - 1) * held["draws"] + held["draw"]
            key = (log.eval.model, held["request"], draw)
            kept = sample.store.get(STORE_KEY)
            wanted = log.eval.model in models and sample.epoch <= rounds
            if kept is None or key in seen or not wanted:
                continue
            seen.add(key)
            for output in kept["outputs"]:
                one = stated(output["text"], kept["labels"], output["status"])
                yield Answer(*key, output["channel"], one.label if one else None)
