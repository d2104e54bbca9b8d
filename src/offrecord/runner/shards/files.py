"""The files beside the logs of shards: what each was asked, and with which content.

They are how shards that know nothing of each other come to be one study: whoever starts
a shard or imports them all reads what is there, and refuses what does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from offrecord.protocol.design import Design, read_design
from offrecord.protocol.merge import grown_design
from offrecord.records import OffrecordError
from offrecord.runner.addresses import (
    find_addresses,
    read_address,
    remove_address,
    write_address,
)
from offrecord.runner.logs import shard_designs
from offrecord.transcript.designed import content_of
from offrecord.transcript.folder import DESIGN_FILE, save_design
from offrecord.transcript.store import STUDY_FILE, read_study_json, write_study_json

_KEPT: Final = (DESIGN_FILE, STUDY_FILE)


def known_design(out: Path, root: str) -> Design | None:
    """What was asked of a study so far, by its folder and by all of its shards.

    Raises:
        OffrecordError: If two of them are not parts of one study.
    """
    known = read_design(out / DESIGN_FILE) if (out / DESIGN_FILE).is_file() else None
    for address in shard_designs(root):
        found = _design_at(address)
        if known is None or found == known:
            known = found
            continue
        runs = max(known.runs, found.runs)
        try:
            known = grown_design(known, {**found.model_dump(), "runs": runs})
        except OffrecordError as fault:
            raise OffrecordError(f"{address}: {fault}") from None
    return known


def _design_at(address: str) -> Design:
    with TemporaryDirectory(prefix="offrecord-") as made:
        path = Path(made) / DESIGN_FILE
        path.write_bytes(read_address(address) or b"")
        return read_design(path)


def save_shard(study: Path, logs: str, design: Design) -> None:
    """Write a shard's design beside its logs, and check that its content is the same.

    Args:
        study: A folder for the task to read the design from.
        logs: The shard's own folder or address.
        design: The design, new or grown.
    """
    before = {name: read_address(f"{logs}/{name}") for name in _KEPT}
    for name, data in before.items():
        if data is not None:
            (study / name).write_bytes(data)
    facts = save_design(study, design, content_of(design))
    kept = {name: facts[name] for name in ("content", "design", "versions")}
    write_study_json(study, kept)
    for name in _KEPT:
        now = (study / name).read_bytes()
        if now != before[name]:
            write_address(f"{logs}/{name}", now)


def forget_shard(logs: str) -> None:
    """Take away the design of a shard that asked nothing, so that it can be mended."""
    if not find_addresses(logs, "*.eval"):
        for name in _KEPT:
            remove_address(f"{logs}/{name}")


def shard_content(designs: Sequence[str]) -> dict[str, str]:
    """The content that shards were run with, by the files beside their designs."""
    content: dict[str, str] = {}
    for address in designs:
        beside = address.removesuffix(DESIGN_FILE) + STUDY_FILE
        kept = read_address(beside)
        if kept is None:
            continue
        with TemporaryDirectory(prefix="offrecord-") as made:
            (Path(made) / STUDY_FILE).write_bytes(kept)
            for name, stamp in read_study_json(Path(made)).get("content", {}).items():
                if content.setdefault(name, stamp) != stamp:
                    raise OffrecordError(
                        f"{beside}: {name} is {stamp}, and another shard was run with "
                        f"{content[name]}: they are not parts of one study"
                    )
    return content
