"""Ray: shards and model stages on two local nodes give what one machine gives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from offrecord.measures.parsed import pairs_of
from offrecord.records import OffrecordError
from offrecord.runner.ray import OnRay
from offrecord.transcript.record import open_record

ray: Any = pytest.importorskip(
    "ray", reason="needs the extra: pip install 'offrecord[ray]'"
)

SMALL: Final = {
    "num_cpus": 1,
    "include_dashboard": False,
    "object_store_memory": 80 * 2**20,
}
CALL: Final = (sys.executable, "-m", "offrecord", "run")
ASKED: Final = (
    *("--model", "simulated/paper", "--scenario", "promotion", "--runs", "3"),
    *("--condition", "baseline", "--condition", "alignment-future"),
    *("--rounds", "1", "--shadows", "0"),
)
# One run at a time, of about two seconds, so that a node can be killed between two.
SLOW: Final = ("-M", "latency=1", "--max-samples", "1", "--display", "none")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 8}
    cluster: Any = Cluster(
        initialize_head=True, head_node_args={**SMALL, "_system_config": quick}
    )
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def kill(node: Any) -> None:
    """End everything that runs on a node at once, as a loss of power does."""
    (raylet,) = (one.process for one in node.all_processes["raylet"])
    tree = psutil.Process(raylet.pid)
    for process in [tree, *tree.children(recursive=True)]:
        process.kill()


def begun(out: Path) -> list[Path]:
    return list(out.glob("logs/*-of-2/*.eval"))


def test_a_study_survives_the_loss_of_a_node(cluster: Any, tmp_path: Path) -> None:
    out, alone = tmp_path / "ray", tmp_path / "alone"
    node = cluster.add_node(**SMALL)
    call = [*CALL, *ASKED]
    where = ["--executor", "ray", "--address", cluster.address, "--out", str(out)]
    with subprocess.Popen(
        [*call, *where, "--", *SLOW],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as running:
        while len(begun(out)) < 2 and running.poll() is None:
            time.sleep(0.1)
        time.sleep(3)  # into the second of three runs of each shard
        kill(node)
        said = running.communicate()[1]
    assert running.returncode == 0, said
    # One shard of the two was begun again.
    assert len(begun(out)) > 2, said
    subprocess.run([*call, "--out", str(alone), "--", *SLOW[-2:]], check=True)
    one, other = open_record(out), open_record(alone)
    assert one.ended_runs == other.ended_runs == 6
    assert one.design.model_copy(update={"options": ()}) == other.design
    assert pairs_of(one).drop("attempts").equals(pairs_of(other).drop("attempts"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--executor ray --shard 1/2", "the executor makes the shards itself"),
        ("--address 10.0.0.1:6379", "belong to --executor ray"),
        ("--shards 2", "belong to --executor ray"),
        ("--executor ray --shards 0", "0 is not in the range"),
        ("--executor slurm", "'slurm' is not"),
    ],
)
def test_a_wrong_executor_gets_one_line_and_exit_code_2(
    words: str, message: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*CALL, *ASKED, *words.split(), "--out", str(tmp_path / "new")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_batches_come_back_in_order_from_models_loaded_once(
    cluster: Any, tmp_path: Path
) -> None:
    class Model:  # of this function, so that workers get its code as well
        loaded = False

        def read(self, batch: list[str]) -> str:
            if not self.loaded:
                (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").touch()
                self.loaded = True
            return "".join(reversed(batch))

    batches = [[str(number), "\ud83d", "a\0"] for number in range(50)]
    found = list(OnRay(cluster.address)(Model().read, batches))
    assert found == ["".join(reversed(batch)) for batch in batches]
    loads = [path.name for path in tmp_path.iterdir()]
    workers = {name.partition("-")[0] for name in loads}
    assert len(loads) == len(workers) <= ray.cluster_resources()["CPU"]
    assert str(os.getpid()) not in workers


def test_what_fails_on_a_worker_is_one_line(cluster: Any) -> None:
    def fail(batch: object) -> None:
        raise OffrecordError(f"no such model for {batch}")

    with pytest.raises(OffrecordError, match=r"^no such model for 1$"):
        list(OnRay(cluster.address)(fail, [1]))
    with pytest.raises(OffrecordError, match=r"^on a worker of Ray: .* by zero$"):
        list(OnRay(cluster.address)((1).__floordiv__, [1, 0]))


def test_entailment_on_a_cluster_is_that_of_one_machine(
    cluster: Any, tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    from offrecord.measures.texts.nli import NLI_FILE, load_nli, read_pairs
    from tests.tiny_nli import make_tiny_nli

    make_tiny_nli(tmp_path / "model")
    folder = str(tmp_path / "model")
    probes = [(p["premise"], p["hypothesis"]) for p in NLI_FILE.front["probes"]]
    pairs = [(f"{a} {n}", b) for a, b in probes for n in range(40)]
    here = read_pairs(load_nli(folder), pairs, tmp_path / "here")
    there = read_pairs(
        load_nli(folder, through=OnRay(cluster.address)), pairs, tmp_path / "there"
    )
    assert (here.probabilities == there.probabilities).all()
    assert (here.tokens == there.tokens).all()
    assert here.probabilities.std() > 0
