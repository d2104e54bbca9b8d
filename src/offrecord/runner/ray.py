"""Ray, imported only when asked for: a connection, and batches read by its workers.

Runs and measures are both given to its workers.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from offrecord.measures.executor import Batch, Result
from offrecord.records import OffrecordError, first_line

if TYPE_CHECKING:
    import pyarrow

_BLOCK: Final = 8  # batches that a worker takes at once


def start_ray(address: str | None) -> Any:  # noqa: ANN401  # typing it would import it
    """Ray, connected to a cluster.

    Args:
        address: As Ray takes it; by default the cluster that the environment names, or
            else this machine alone.

    Raises:
        OffrecordError: If it is not installed, or there is no cluster at the address.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report home
    try:
        import ray
    except ImportError:
        raise OffrecordError(
            "--executor ray needs Ray: pip install 'offrecord[ray]'"
        ) from None
    try:
        ray.init(address=address, logging_level=logging.ERROR, ignore_reinit_error=True)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise OffrecordError(
            f"--address {address}: no Ray cluster ({first_line(error)})"
        ) from None
    return ray


class OnRay:
    """Batches given to a model on every worker of a cluster, as a Ray Data stage.

    Each worker loads the model once. The batches are those that one machine would
    read, so that results do not depend on how many workers there are.
    """

    def __init__(self, address: str | None) -> None:
        """Name a cluster (see `start_ray`); it is connected to when first needed."""
        self._address = address

    def __call__(
        self, do: Callable[[Batch], Result], batches: Iterable[Batch], /
    ) -> Iterator[Result]:
        """Results of batches in their order, each as soon as those before it are there.

        Args:
            do: A method of a model whose copy can be sent.
            batches: What it is given.

        Raises:
            OffrecordError: If Ray is not to be had, or `do` failed on a worker.
        """
        # Texts go as bytes: Arrow's own strings hold no lone surrogates.
        waiting = [pickle.dumps(batch) for batch in batches]
        if not waiting:
            return
        ray = start_ray(self._address)
        ready: dict[int, bytes] = {}
        following = 0
        try:
            for rows in _staged(ray, do, waiting).iter_batches(batch_format="pyarrow"):
                places, results = (column.to_pylist() for column in rows.columns)
                ready.update(zip(places, results, strict=True))
                while following in ready:
                    result = pickle.loads(ready.pop(following))
                    if isinstance(result, OffrecordError):
                        raise result
                    yield result
                    following += 1
        except ray.exceptions.RayError as error:
            raise OffrecordError(f"Ray: {first_line(error)}") from None


def _worker(do: Callable[[Any], Any]) -> type:
    """What runs on the cluster: a model, and the batches of a block.

    The model travels with the class: as an argument it would lie in the memory of one
    machine, and a worker that is started again could not be made without that.
    """

    class Worker:
        def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
            results = [_done(do, batch) for batch in rows["batch"].to_pylist()]
            return _table(rows["place"].to_pylist(), results)

    return Worker


def _staged(ray: Any, do: Callable[[Any], Any], waiting: list[bytes]) -> Any:  # noqa: ANN401
    data: Any = importlib.import_module("ray.data")
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    blocks = [
        _table(range(start, start + len(some)), some)
        for start in range(0, len(waiting), _BLOCK)
        for some in [waiting[start : start + _BLOCK]]
    ]
    there = ray.cluster_resources()
    kind = "GPU" if there.get("GPU") else "CPU"
    workers = max(min(int(there.get(kind, 1)), len(blocks)), 1)
    return data.from_arrow(blocks).map_batches(
        _worker(do),
        batch_size=None,
        batch_format="pyarrow",
        compute=data.ActorPoolStrategy(size=workers),
        **({"num_gpus": 1} if kind == "GPU" else {"num_cpus": 1}),
    )


def _done(do: Callable[[Any], Any], batch: bytes) -> bytes:
    """A result, or what is to be raised where the batches come from."""
    try:
        return pickle.dumps(do(pickle.loads(batch)))
    except OffrecordError as error:
        return pickle.dumps(error)
    except Exception as error:  # of whichever library the model is
        return pickle.dumps(OffrecordError(f"on a worker of Ray: {first_line(error)}"))


def _table(places: Iterable[int], batches: list[bytes]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.table(
        {
            "place": pyarrow.array(places, pyarrow.int64()),
            "batch": pyarrow.array(batches, pyarrow.large_binary()),
        }
    )
