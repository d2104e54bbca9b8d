"""What `run`, `import` and `measure` print when they are done."""

from __future__ import annotations

import click
import polars as pl

from offrecord.measures.parsed import pairs_of
from offrecord.protocol.probe import STORED
from offrecord.records import Form, Status
from offrecord.transcript.record import Record


def show_summary(study: Record) -> None:
    """Print the table of a study, and what could not be used of its source."""
    from offrecord.content.boundary.shown import escaped
    from offrecord.runner.costs import usage_line
    from offrecord.transcript.doubts import doubts
    from offrecord.transcript.ended import first_ended
    from offrecord.transcript.guesses import guessed_replies

    left_out = study.facts.get("left_out", [])
    if left_out:
        click.echo(f"offrecord: left out {len(left_out)}:", err=True)
        for line in left_out:
            click.echo(f"  {escaped(line)}", err=True)
    click.echo(f"offrecord: {_came_back(study.transcript)}", err=True)
    guessed = guessed_replies(study.transcript).height
    if guessed:
        said = first_ended(study.transcript).filter(form=Form.UTTERANCE).height
        click.echo(
            f"offrecord: {guessed} of {said} utterances contain thinking without a "
            "known end mark: only what follows their last label counts as spoken",
            err=True,
        )
    errors = study.transcript.filter(status=Status.ERROR)
    if errors.height:
        reason = str(errors["stop_reason"].fill_null("unknown").mode().sort()[0])
        click.echo(
            f"offrecord: {errors.height} requests came back as errors, most often: "
            f"{escaped(reason)}",
            err=True,
        )
    doubt = doubts(study.transcript)
    if doubt:
        click.echo(f"offrecord: warning: {doubt}", err=True)
    for model, used in study.usage.items():
        click.echo(f"offrecord: {escaped(model)}: {usage_line(used)}", err=True)
    _show_table(study)


def _show_table(study: Record) -> None:
    """Print what the study shows, and say it in words."""
    from rich.console import Console
    from rich.text import Text

    from offrecord.estimates.frames.groups import arms_apart
    from offrecord.estimates.frames.probed import probe_rows
    from offrecord.estimates.frames.splits import (
        DEFAULT_BY,
        estimate_rows,
        split_rows,
    )
    from offrecord.estimates.frames.table import estimate_table, rate_rows
    from offrecord.measures.probes import is_probe, probe_pairs
    from offrecord.report.headline import model_headlines, study_headline
    from offrecord.report.probe import print_probe
    from offrecord.report.terminal import print_summary

    if is_probe(study):
        found = [*probe_rows(probe_pairs(study), ())]
        print_probe(found, Console())
    elif study.ended_runs and not _spoken_alone(study):
        pairs = pairs_of(study)
        print_summary(estimate_table(pairs, arms_apart(pairs, DEFAULT_BY)))
        rows = split_rows(pairs, ["kind"])
        told = study_headline(study, rate_rows(rows), estimate_rows(rows))
        # Only where there are several has each model words of its own.
        several = pairs["model"].n_unique() > 1
        rows = split_rows(pairs, ["model", "kind"]) if several else []
        each = model_headlines(study, rate_rows(rows), estimate_rows(rows))
        for words in (told, *each) if told else ():
            Console().print(Text(f"\n{words}"))


def _spoken_alone(study: Record) -> bool:
    """Whether it was recorded elsewhere, where no one was asked off the record."""
    return bool(study.facts.get("recorded")) and len(study.facts["channels"]) < 2


def show_partial(study: Record) -> None:
    """Say of a study that is not complete how much of it there is."""
    from offrecord.transcript.designed import planned_of
    from offrecord.transcript.folder import DESIGN_FILE

    ended, planned = study.ended_runs, planned_of(study)
    if ended < planned:
        designed = (study.path / DESIGN_FILE).is_file()
        resume = f"; resume with: offrecord run --out {study.path}" if designed else ""
        click.echo(
            f"offrecord: a partial study: {ended} of {planned} planned runs have ended"
            f"{resume}",
            err=True,
        )


def said_nothing(study: Record) -> str:
    """What to say of a study in which no reply says anything; nothing of any other."""
    said = study.transcript.filter(pl.col("channel") != STORED)
    statuses = sorted(said["status"].unique())
    if not all(Status(status).silent for status in statuses):
        return ""
    failed = statuses == [Status.ERROR]
    then = "run the same command to resume" if failed else "begin a new study"
    return (
        f"no reply says anything ({', '.join(statuses)}), so there is nothing to "
        "measure: mend the key, the server or its settings (such as the token limit), "
        f"then {then}"
    )


def _came_back(transcript: pl.DataFrame) -> str:
    """How many replies have each status, and how often a request was sent again."""
    statuses = (
        transcript["status"]
        .value_counts(sort=True)
        .sort(pl.col("status") != Status.OK, maintain_order=True)
    )
    shares = ", ".join(f"{count} {status}" for status, count in statuses.iter_rows())
    again = transcript["transport_retries"].sum()
    open_ended = transcript.filter(status=Status.OK, stop_reason="unknown").height
    told = f"{transcript.height} replies: {shares}; {again} requests sent again"
    if open_ended:
        told += f"; {open_ended} did not say why they ended, and may be cut off"
    return told
