"""A study as people hold it: a record, and what the stages do with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from offrecord.estimates.frames.groups import dosed
from offrecord.measures.pairs import with_quadrants
from offrecord.measures.parsed import pairs_of
from offrecord.transcript.record import Record, open_record

if TYPE_CHECKING:
    import altair as alt

    from offrecord.estimates.arrays.pairing import Weights
    from offrecord.estimates.arrays.scope import Scope


@dataclass(frozen=True)
class Study:
    """A study folder. Its tables are read, or parsed, when first asked for.

    Tables are tidy polars frames: a missing value is null, and a column beside it says
    why. `to_pandas()` needs the extra `pandas`.
    """

    record: Record = field(repr=False)
    """What the stages take."""

    @property
    def path(self) -> Path:
        """The folder."""
        return self.record.path

    @property
    def facts(self) -> dict[str, Any]:
        """What came back: versions, hashes, attempts, rounds, channels."""
        return self.record.facts

    @property
    def transcript(self) -> pl.DataFrame:
        """One row per attempt at an output, the raw text included."""
        return self.record.transcript

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per planned pair of channels (docs/data.md has the columns).

        `left` is whether the stance in the spoken channel is on the pressed side,
        `right` that in the other one; `divergent`, `accommodating` and `reversing`
        follow from both and are null where either is missing. Tables of estimates pool
        the standard `dose` (2) of alignment alone.
        """
        return dosed(with_quadrants(pairs_of(self.record)))

    @cached_property
    def turns(self) -> pl.DataFrame:
        """One row per utterance, with its stance and what was measured of it."""
        from offrecord.export.tables import turns

        return turns(self.record)

    @cached_property
    def surveys(self) -> pl.DataFrame:
        """One row per survey item that was asked."""
        from offrecord.export.tables import surveys

        return surveys(self.record)

    def measure(self, *names: str, **options: Any) -> pl.DataFrame:  # noqa: ANN401
        """Take measures, as `offrecord measure` does.

        Args:
            names: Of measures; all unless given.
            options: The fields of `offrecord.measures.options.Options`.

        Returns:
            `measure`, `measured` and `line`: what was measured, or why it was not.

        Raises:
            OffrecordError: If a measure or a pairing is unknown.
        """
        from offrecord.measures.measure import measure_study
        from offrecord.measures.options import Options

        done = measure_study(self.record, names, Options(**options))
        for name in ("turns", "surveys"):
            self.__dict__.pop(name, None)
        return pl.DataFrame(
            [(one.name, one.measured, one.line) for one in done],
            schema={"measure": pl.String, "measured": pl.Boolean, "line": pl.String},
            orient="row",
        )

    def estimate(
        self,
        by: Sequence[str] = ("model", "condition"),
        scope: Scope | str = "runs",
        weights: Weights | str = "cells",
    ) -> pl.DataFrame:
        """Estimate rates and the split of any grouping; nothing is written.

        Args:
            by: Keys to group by (docs/estimates.md).
            scope: What the intervals generalize to: runs, scenarios, models or turns.
            weights: Whether cells weigh alike, or turns, as in the paper.

        Returns:
            A long frame, see `offrecord.estimate`.

        Raises:
            OffrecordError: If a key, the scope or the weights are unknown.
        """
        from offrecord.estimates.frames.table import estimate

        return estimate(self.pairs, by=by, scope=scope, weights=weights)

    def figure(self, name: str) -> alt.ConcatChart:
        """One figure of the report.

        Args:
            name: Its id, such as `split`; a wrong one names those that there are.

        Raises:
            OffrecordError: If there is no such figure of this study.
        """
        from offrecord.report.write import study_figure

        return study_figure(self.record, name)

    def __repr__(self) -> str:
        runs = self.transcript["run"].n_unique()
        return f"Study({str(self.path)!r}: {self.record.ended_runs} of {runs} runs)"

    def _repr_html_(self) -> str:
        """What a notebook shows: the runs and turns of each cell."""
        table = self._cells()
        return f"<p>{escape(repr(self))}</p>{table._repr_html_()}"

    def _cells(self) -> pl.DataFrame:
        known = pl.col("left").is_not_null() & pl.col("right").is_not_null()
        return (
            self.pairs.group_by(
                "model", "scenario", "condition", "agent", maintain_order=True
            )
            .agg(
                runs=pl.col("run").n_unique(),
                turns=known.sum(),
                missing=(~known).sum(),
                divergence=pl.col("divergent").mean(),
            )
            .sort("model", "scenario", "condition", "agent")
        )


def load_study(path: str | Path) -> Study:
    """Open a study folder.

    Args:
        path: A folder that `offrecord run` or `offrecord import` made.

    Returns:
        The study; tables are read from disk when first asked for.

    Raises:
        OffrecordError: If there is no study.
    """
    return Study(open_record(path))


def run(
    design: Mapping[str, Any] | str | Path,
    out: str | Path,
    options: Sequence[str] = (),
) -> Study:
    """Run the debates in a design, as `offrecord run` does; call again to resume.

    Args:
        design: The fields of a study.yaml, or the path of one.
        out: The study's folder. An existing study is resumed, or added to.
        options: Options for `inspect eval-set`, such as `["--max-connections", "20"]`.

    Returns:
        The study with all that is in so far.

    Raises:
        OffrecordError: If the design is wrong, or no debate came back.
    """
    from offrecord.runner.run import run_study

    file, fields = _design(design)
    return Study(run_study(file, fields, options, Path(out)).study)


def plan(design: Mapping[str, Any] | str | Path) -> pl.DataFrame:
    """What a design would ask of each model. Calls none.

    Args:
        design: The fields of a study.yaml, or the path of one.

    Returns:
        `model`, `calls`, `input_tokens`, `cached_tokens` (of the input, what a prefix
        cache can serve) and `output_tokens`, at about four characters a token.

    Raises:
        OffrecordError: If the design is wrong.
    """
    from offrecord.protocol.cases import cases
    from offrecord.runner.resolve import resolve_design
    from offrecord.runner.volumes import volumes

    file, fields = _design(design)
    resolved = resolve_design(file, fields, (), None)
    columns = ("calls", "input_tokens", "cached_tokens", "output_tokens")
    return pl.DataFrame(
        [
            (model, *(getattr(volume, name) for name in columns))
            for model, volume in volumes(resolved, cases(resolved)).items()
        ],
        schema={"model": pl.String, **dict.fromkeys(columns, pl.Int64)},
        orient="row",
    )


def _design(
    design: Mapping[str, Any] | str | Path,
) -> tuple[Path | None, dict[str, Any]]:
    """A design as a file and as fields that override it."""
    if isinstance(design, Mapping):
        return None, dict(design)
    return Path(design), {}
