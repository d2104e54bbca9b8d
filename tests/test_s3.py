"""Logs in an object store: shards, import, an interrupted write, over the S3 API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from offrecord.protocol.part import Part
from offrecord.records import OffrecordError
from offrecord.runner.addresses import (
    find_addresses,
    read_address,
    remove_address,
    write_address,
)
from offrecord.runner.logs import log_root
from offrecord.runner.run import run_study
from offrecord.runner.shards.run import (
    ShardFinished,
    import_logs,
    run_shard,
)
from tests.test_shards import QUIET, everything

BUCKET: Final = "s3://offrecord-test"
ASKED: Final[dict[str, Any]] = {
    "models": ("simulated/paper", "simulated/null"),
    "scenarios": ("promotion",),
    "conditions": ("baseline",),
    "runs": 2,
    "rounds": 1,
    "shadows": 0,
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on a free port of this machine, with one bucket."""
    moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir(BUCKET)
        yield endpoint
    moto.stop()


def shard(out: Path, root: str, part: Part, **flags: Any) -> ShardFinished:
    return run_shard(None, flags, QUIET, out, part, root)


@pytest.mark.usefixtures("server")
def test_a_file_is_there_whole_or_not_at_all() -> None:
    address = f"{BUCKET}/files/study.yaml"
    assert read_address(address) is None
    for data in (b"one", b"another"):
        write_address(address, data)
        assert read_address(address) == data
    assert find_addresses(f"{BUCKET}/files", "*.yaml") == [address]
    remove_address(address)
    remove_address(address)  # as if another machine had done it
    assert find_addresses(f"{BUCKET}/files", "*.yaml") == []
    # A bucket that is not there is a slip of the pen, and none is made.
    with pytest.raises(OffrecordError, match="s3://no-such-bucket/x: cannot be"):
        write_address("s3://no-such-bucket/x", b"")
    assert not fsspec.filesystem("s3").exists("no-such-bucket")


@pytest.fixture(scope="module")
def root(server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the logs of two shards lie, each run on a machine of its own."""
    assert server.startswith("http://127.0.0.1:")
    address, folder = f"{BUCKET}/study", tmp_path_factory.mktemp("machines")
    for number in (1, 2):
        done = shard(folder / str(number), address, Part(number, 2), **ASKED)
        assert done == ShardFinished(2, 2)
    assert not list(folder.glob("*/logs/**/*.eval"))
    return address


def test_shards_in_a_bucket_are_the_study_of_one_machine(
    root: str, tmp_path: Path
) -> None:
    whole = run_study(None, ASKED, QUIET, tmp_path / "whole").study
    study = import_logs(root, tmp_path / "study")
    assert everything(study) == everything(whole)
    assert log_root(tmp_path / "study", None) == root  # what is added goes there


def test_a_write_that_was_interrupted_loses_no_debate(
    root: str, tmp_path: Path
) -> None:
    broken, store = f"{BUCKET}/broken", fsspec.filesystem("s3")
    store.copy(f"{root}/1-of-2", f"{broken}/1-of-2", recursive=True)
    [first, second] = find_addresses(f"{broken}/1-of-2", "*.eval")
    kept = read_address(first)
    # What a machine leaves that dies while it sends a log: parts, and no log.
    remove_address(second)
    bucket, key = second.removeprefix("s3://").split("/", 1)
    store.call_s3("create_multipart_upload", Bucket=bucket, Key=key)
    assert find_addresses(f"{broken}/1-of-2", "*.eval") == [first]
    out = tmp_path / "study"
    assert import_logs(broken, out).ended_runs == 1
    done = shard(tmp_path / "again", broken, Part(1, 2), **ASKED)
    assert done == ShardFinished(2, 2)
    assert read_address(first) == kept
    assert import_logs(broken, out).ended_runs == 2
