"""A row of estimates: the keys of its group beside figures of a declared type.

The type is a frozen dataclass or a named tuple. Figures that belong together are a
named tuple within it (a value with its bounds, a test); a row shows them side by side,
as a file and a table do, so the declaration alone says what a file holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import polars as pl

from offrecord.estimates.frames.groups import group_keys, grouped, pooled
from offrecord.estimates.frames.scopes import clustered

F = TypeVar("F")
F_co = TypeVar("F_co", covariant=True)


class Figure(NamedTuple):
    """Where a figure stands in its type, and what it is."""

    path: tuple[str, ...]
    kind: Any
    """Its type, as it was declared."""


def _declared(figures: Any) -> Mapping[str, Figure]:  # noqa: ANN401
    found, own = dict[str, Figure](), dict[str, Figure]()
    for name, kind in _fields(figures).items():
        plain, prefix = _unmarked(name, kind)
        if not _is_named_tuple(plain):
            found[name] = own[name] = Figure((name,), kind)
            continue
        for flat, one in declared(plain).items():
            found[prefix + flat] = Figure((name, *one.path), one.kind)
    return found | own  # where both have a reason, the row's own


declared: Callable[[Any], Mapping[str, Figure]] = cache(_declared)
"""The figures of a declared type by the names under which a row shows them."""


@dataclass(frozen=True, eq=False)
class Row(Mapping[str, Any], Generic[F_co]):
    """What is estimated of one group; as a mapping, keys and figures side by side."""

    group: Mapping[str, Any]
    """The keys: what the group has in common, such as its model."""
    of: F_co
    """The figures, fractions of 1; NaN with a `reason` where undefined."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        if name in self.group:
            return self.group[name]
        value: Any = self.of
        for part in declared(self.of.__class__)[name].path:
            value = getattr(value, part)
        return value

    def __iter__(self) -> Iterator[str]:
        yield from self.group
        yield from (
            name for name in declared(self.of.__class__) if name not in self.group
        )

    def __len__(self) -> int:
        return len({*self.group, *declared(self.of.__class__)})


def shown(row: Row[F]) -> Row[F]:
    """A row as it is shown: without an interval that is refused, and its error."""
    of: Any = row.of
    if not getattr(of, "refused", False):
        return row
    hidden: dict[str, Any] = dict.fromkeys(
        _LIMITS & declared(type(of)).keys(), math.nan
    )
    if "bounds" in _fields(type(of)):
        hidden = {"bounds": of.bounds.bare}
    return Row(row.group, replace(of, **hidden))


_LIMITS: Final = {"low", "high", "ci_low", "ci_high", "se"}


def read_row(stored: Mapping[str, Any], figures: type[F_co]) -> Row[F_co]:
    """A row from keys and figures that stand side by side, as in a file.

    Args:
        stored: The row; an undefined number is None or NaN.
        figures: The type of its figures.

    Raises:
        KeyError: If a figure is absent, which it names.
        TypeError: If one is of another type.
    """
    names = declared(figures)
    group = {name: value for name, value in stored.items() if name not in names}
    return Row(group, _built(stored, figures))


def _built(stored: Mapping[str, Any], figures: Any, prefix: str = "") -> Any:  # noqa: ANN401
    found = {}
    for name, kind in _fields(figures).items():
        plain, inner = _unmarked(name, kind)
        if _is_named_tuple(plain):
            found[name] = _built(stored, plain, prefix + inner)
        else:
            found[name] = _typed(prefix + name, stored[prefix + name], kind)
    return figures(**found)


def _typed(name: str, value: Any, kind: Any) -> Any:  # noqa: ANN401
    if kind is float:
        value = math.nan if value is None else value + 0.0
    elif isinstance(value, list):
        value = tuple(value)
    wanted = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if not isinstance(value, tuple(get_origin(one) or one for one in wanted)):
        raise TypeError(f"{name}: {value!r:.40} is no {kind}")
    return value


def _fields(figures: Any) -> dict[str, Any]:  # noqa: ANN401
    return get_type_hints(figures, include_extras=True)


def _unmarked(name: str, kind: Any) -> tuple[Any, str]:  # noqa: ANN401
    """A type, and what its own figures are prefixed with."""
    if get_origin(kind) is Annotated:
        return get_args(kind)[0], f"{name}_"
    return kind, ""


def _is_named_tuple(kind: Any) -> bool:  # noqa: ANN401
    return isinstance(kind, type) and issubclass(kind, tuple)


def group_rows(
    pairs: pl.DataFrame,
    by: Sequence[str],
    figures: Callable[[pl.DataFrame], Iterable[F_co]],
    without: Sequence[str] = (),
) -> list[Row[F_co]]:
    """The rows of every group of pairs, baseline first.

    Args:
        pairs: Rows as `stance_pairs` gives them.
        by: Keys to group by; the agent is always one, and so is the channel where a
            study compares several with the spoken one.
        figures: Gives the figures of one group, whose rows `clustered` has numbered.
        without: What the figures themselves tell apart, so that it is no key.

    Raises:
        OffrecordError: If a key is unknown.
    """
    keys = [key for key in group_keys(pairs, by) if key not in without]
    return [
        Row(named, one)
        for named, group in grouped(pooled(clustered(pairs), keys), keys)
        for one in figures(group)
    ]
