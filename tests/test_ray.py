"""Ray: shards and model stages on two local nodes give what one machine gives."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from offrecord import load_study

pytest.importorskip("ray", reason="needs the extra: pip install 'offrecord[ray]'")

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
    one, other = load_study(out), load_study(alone)
    assert one.ended_runs == other.ended_runs == 6
    assert one.design.model_copy(update={"options": ()}) == other.design
    assert one.pairs.drop("attempts").equals(other.pairs.drop("attempts"))


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
