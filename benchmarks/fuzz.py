"""Coverage-guided fuzzing: the properties of `tests/test_fuzz.py`, for longer.

Atheris follows which code of ours an input reaches and changes what reaches more. Each
property runs in a process of its own, since the fuzzer ends its process at a fault.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

TARGETS: Final = (
    "test_a_stance_is_one_of_the_labels_or_none",
    "test_survey_answers_are_points_of_the_scale_or_none",
    "test_what_the_check_accepts_the_parser_reads_back",
    "test_a_scenario_folder_of_any_content_is_checked_to_its_end",
    "test_study_json_of_any_shape_is_read_or_named",
    "test_a_sweep_of_any_json_is_imported_or_left_out",
    "test_an_archive_of_any_content_is_imported_or_left_out",
    "test_nothing_that_is_printed_steers_a_terminal",
    "test_what_is_redacted_stays_so",
)
_SECONDS: Final = 60
_SLOWEST: Final = 30  # seconds for one input; more counts as a fault
_MEMORY: Final = 4000  # megabytes, likewise


def run(seconds: int = _SECONDS) -> Iterator[tuple[str, str, str]]:
    """Fuzz every property for some time.

    Args:
        seconds: For each.

    Yields:
        What was fuzzed; how many inputs, what they reached; the aim.
    """
    if importlib.util.find_spec("atheris") is None:
        yield "coverage-guided", "not installed: pip install atheris", "no fault"
        return
    for target in TARGETS:
        with TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.fuzz", target, str(seconds), folder],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
            name = target.removeprefix("test_").replace("_", " ")
            yield name, _figure(done, Path(folder)), "no fault"


def _figure(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    inputs = re.findall(r"^#(\d+)\t|Done (\d+) runs", done.stderr, re.MULTILINE)
    reached = re.findall(r"cov: (\d+)", done.stderr)
    count = int(next(filter(None, inputs[-1]))) if inputs else 0
    text = f"{count:,} inputs, {int(reached[-1]) if reached else 0:,} branches"
    if done.returncode == 0:
        return f"{text}, no fault"
    kept = Path(f"fuzz-{folder.name}")
    folder.rename(kept)
    folder.mkdir()
    (kept / "said.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    return f"{text}, A FAULT: see {kept}"


def _fuzz(target: str, seconds: str, folder: str) -> None:
    """Fuzz one property in this process, which ends with it."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["offrecord"]):
        tests: Any = importlib.import_module("tests.test_fuzz")
    limits = (f"-max_total_time={seconds}", f"-timeout={_SLOWEST}")
    more = (f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={folder}/", "-max_len=4096")
    atheris.Setup(
        [sys.argv[0], *limits, *more],
        getattr(tests, target).hypothesis.fuzz_one_input,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz(*sys.argv[1:])
