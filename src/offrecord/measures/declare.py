"""A measure declares itself: its tables, its quantities, and the function to take it.

All else follows from the declaration: the verb, storage and staleness, estimates, a
section of the report, the transcript browser, exports, a scorer, a row of the docs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from offrecord.measures.options import Options
from offrecord.measures.pairings import PAIR_KEY
from offrecord.records import digest
from offrecord.transcript.record import Record
from offrecord.transcript.schema import ROW_KEY, TRANSCRIPT_SCHEMA

Row = Literal["text", "item", "pair"]
Schema = Mapping[str, Any]
"""Column to polars type."""

KEYS: Final[Mapping[Row, Schema]] = {
    "text": {name: TRANSCRIPT_SCHEMA[name] for name in ROW_KEY},
    "item": {
        name: TRANSCRIPT_SCHEMA[name]
        for name in ("run", "attempt", "turn", "agent", "channel")
    },
    "pair": PAIR_KEY,
}
"""What names a row of each kind: an output; a survey beside that of the spoken channel;
two outputs that a pairing compares. A table's own `extra_key` comes on top."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One thing that a table says of each of its rows."""

    column: str
    """Where it stands; in a table of items, `public` and `other` hold both sides."""
    title: str
    """What it is, in a few words."""
    unit: str = ""
    kind: Literal["share", "mean", "note"] = "mean"
    """A share of rows, a mean, or a note that is shown and exported, not estimated."""
    low: float = -math.inf
    """What it cannot fall below; a table that says otherwise is refused."""
    high: float = math.inf
    contrast: Literal["channels"] | None = "channels"
    """Whether the spoken channel and a silent one are set against each other."""
    counts: tuple[str, ...] = ()
    """The codes that count as 1, where the column holds codes: a share."""
    called: str = ""
    """Its name in estimates and scores; by default the column's."""
    shown: bool = True
    """Whether the transcript browser shows it."""
    exported: bool = True
    """Whether exports have it, under its table's name and its own."""

    @property
    def name(self) -> str:
        """Its name in estimates and scores."""
        return self.called or self.column

    @property
    def value(self) -> pl.Expr:
        """It as a number, from its column."""
        column = pl.col(self.column)
        number = column.is_in(list(self.counts)) if self.counts else column
        return number.cast(pl.Float64)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a measure: `measures/NAME.parquet` in a study."""

    name: str
    row: Row
    columns: Schema
    """Column to type, beside the key of a row."""
    extra_key: tuple[str, ...] = ()
    """Columns that tell rows of one text or pair apart: rater, source, variant, item.
    Text unless `columns` says otherwise."""
    quantities: tuple[Quantity, ...] = ()
    sides: bool = False
    """Whether exported pairs have its quantities of both texts."""

    @property
    def file(self) -> str:
        """Where it stands in a study."""
        return f"measures/{self.name}.parquet"

    @property
    def key(self) -> list[str]:
        """What names a row."""
        return [*KEYS[self.row], *self.extra_key]

    @property
    def schema(self) -> dict[str, Any]:
        """Every column with its type."""
        extra = [name for name in self.extra_key if name not in self.columns]
        own = {**dict.fromkeys(extra, pl.String), **self.columns}
        return {**KEYS[self.row], **own}

    @property
    def estimated(self) -> list[Quantity]:
        """The quantities that have estimates and scores."""
        return [one for one in self.quantities if one.kind != "note"]

    @property
    def exported(self) -> dict[str, Quantity]:
        """The quantities that exports have, by their column there."""
        own = [one for one in self.quantities if one.exported]
        return {f"{self.prefix}_{one.name}": one for one in own}

    @property
    def prefix(self) -> str:
        """What heads its columns in exports."""
        return self.name.replace("-", "_")

    def filled(
        self, keys: pl.DataFrame, values: Sequence[Mapping[str, Any]], **same: object
    ) -> pl.DataFrame:
        """Its rows.

        Args:
            keys: Rows with the key of each row, and with whatever else it takes over.
            values: Beside them: the columns that are known of each; others are null.
            same: Columns that are the same in every row.
        """
        taken = [name for name in self.schema if name in keys.columns]
        own = {n: k for n, k in self.schema.items() if n not in taken and n not in same}
        rows = [{name: row.get(name) for name in own} for row in values]
        both = [keys.select(taken), pl.DataFrame(rows, schema=own)]
        constant = [pl.lit(v, self.schema[n]).alias(n) for n, v in same.items()]
        whole = pl.concat(both, how="horizontal").with_columns(constant)
        return whole.select(*self.schema).cast(pl.Schema(self.schema))


@dataclass(frozen=True)
class Rows:
    """What measures read: the texts of a study, or those of one debate in a log."""

    texts: pl.DataFrame
    """Every output that came back, of every attempt and draw (`TRANSCRIPT_SCHEMA`); of
    one debate, those columns of it that are known."""
    make_pairs: Callable[[], pl.DataFrame]
    cache: Path
    """A folder for what models said."""
    study: Record | None = None
    """The study; None for a debate in a log."""

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Every planned pair of the pairings asked for (`PAIR_SCHEMA`)."""
        return self.make_pairs()

    @property
    def record(self) -> Record:
        """The study, of a measure that takes no single debate."""
        assert self.study is not None, "this measure takes whole studies"
        return self.study


Made = tuple[Table, pl.DataFrame] | str
"""A table to store, or a line that says what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure; `offrecord.measures.registry` lists those that there are."""

    name: str
    about: str
    """What it says, in one line."""
    version: str
    """Of its code and its data: a table by another one is taken anew."""
    tables: tuple[Table, ...]
    take: Callable[[Rows, Options], Iterator[Made]]
    """Takes it: each table, stored as it comes, and lines. What cannot be taken at all
    is an OffrecordError; a value that is missing is null, with a reason."""
    title: str = ""
    """The heading of its section in the report; by default its name."""
    reading: str = ""
    """How to read it there."""
    options: tuple[str, ...] = ()
    """The fields of `Options` that change it."""
    extra: str = ""
    """The extra of the package that it needs."""
    identity: Callable[[Options, Mapping[str, Any]], str] | None = None
    """What else it hangs on beside the texts: options, and the content of study.json.
    """
    estimate: str = ""
    """`module:function` that estimates it, where the shared estimator does not serve:
    given a record, pairs and keys, it gives rows like the shared ones."""

    def stamp(self, options: Options, facts: Mapping[str, Any]) -> str:
        """A hash of all that its tables hang on beside the texts."""
        given = {name: _mark(getattr(options, name)) for name in self.options}
        more = self.identity(options, facts) if self.identity else ""
        planned = [facts.get(name) for name in ("rounds", "channels", "shadows", "ask")]
        return digest([self.version, given, more, planned])


def _mark(value: object) -> object:
    """An option's value; of a folder, such as that of a model, also what is in it."""
    if isinstance(value, str) and Path(value).is_dir():
        files = sorted(path for path in Path(value).rglob("*") if path.is_file())
        return [(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return str(value)
