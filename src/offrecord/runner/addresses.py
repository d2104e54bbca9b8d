"""Files under a log root: a folder, or any address that fsspec opens (s3://, gs://).

Inspect reads and writes logs at such addresses itself; these are the few files beside
them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import fsspec

from offrecord.records import OffrecordError, first_line
from offrecord.runner.options import refuse_secret
from offrecord.transcript.store import write_bytes

_OBJECT_STORES: Final = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})


def is_remote(root: str) -> bool:
    """Whether an address is none of a folder of this machine."""
    return "://" in root and not root.startswith("file://")


def local_root(root: str) -> str:
    """A folder as a full path; any other address as it is.

    Args:
        root: A folder, `file://` and a folder, or an address.

    Raises:
        OffrecordError: If the address holds a secret: it is written into the study.
    """
    refuse_secret("the address of the logs", root)
    if is_remote(root):
        return root.rstrip("/")
    return str(Path(root.removeprefix("file://")).resolve())


def read_address(address: str) -> bytes | None:
    """The content of a file, or nothing where there is none.

    Raises:
        OffrecordError: If the address cannot be reached.
    """
    try:
        system, path = _opened(address)
        data: bytes = system.cat_file(path)
    except FileNotFoundError:
        return None
    except Exception as error:  # every file system has its own
        raise _failed(address, error) from None
    return data


def write_address(address: str, data: bytes) -> None:
    """Write one file whole: a reader sees the old one or the new one.

    Raises:
        OffrecordError: If the address cannot be written.
    """
    if not is_remote(address):
        file = Path(address)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, data)
        return
    try:
        system, path = _opened(address)
        if not _is_object_store(system):  # it has no folders, and would make a bucket
            system.makedirs(system._parent(path), exist_ok=True)
        system.pipe_file(path, data)  # object stores put a file whole
    except Exception as error:
        raise _failed(address, error) from None


def remove_address(address: str) -> None:
    """Take one file away; it need not be there.

    Raises:
        OffrecordError: If the address cannot be written.
    """
    try:
        system, path = _opened(address)
        system.rm_file(path)
    except FileNotFoundError:
        return
    except Exception as error:
        raise _failed(address, error) from None


def find_addresses(root: str, pattern: str) -> list[str]:
    """The addresses under a root that fit a glob pattern, sorted.

    Raises:
        OffrecordError: If the root cannot be reached.
    """
    try:
        system, path = _opened(root)
        found = system.glob(f"{path}/{pattern}")
    except FileNotFoundError:
        return []
    except Exception as error:
        raise _failed(root, error) from None
    names = map(system.unstrip_protocol, found) if is_remote(root) else map(str, found)
    return sorted(names)


def _is_object_store(system: Any) -> bool:  # noqa: ANN401
    names = (
        system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)
    )
    return not _OBJECT_STORES.isdisjoint(names)


def _opened(address: str) -> tuple[Any, str]:
    system, path = fsspec.core.url_to_fs(address)
    system.invalidate_cache()  # others write there at the same time
    return system, path


def _failed(address: str, error: Exception) -> OffrecordError:
    return OffrecordError(f"{address}: cannot be reached ({first_line(error)})")
