"""How a model is given its batches: here, one after another, or by many workers.

What a measure is does not depend on where its model runs, so measures make the batches
and keep what comes back, and whoever calls them says who reads the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Executor(Protocol):
    """Gives each batch to a function and hands on the results in the same order."""

    def __call__(
        self, do: Callable[[Batch], Result], batches: Iterable[Batch], /
    ) -> Iterator[Result]:
        """Results of batches, each as soon as it and all before it are there.

        Args:
            do: A model's method. Workers elsewhere get a copy of the model, which is
                loaded there when it is first needed.
            batches: What it is given.
        """


def in_process(
    do: Callable[[Batch], Result], batches: Iterable[Batch], /
) -> Iterator[Result]:
    """Do it here, one batch after another."""
    return map(do, batches)
