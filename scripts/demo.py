"""The main job for real: the embedded model, a simulated study, recorded conversations.

Nothing here needs a network once packages and weights are installed. All studies are
written to `studies/` and can be looked at with `offrecord` and `inspect view`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

STUDIES = Path(__file__).parents[1] / "studies"
RECORDED = Path(__file__).parents[1] / "examples" / "deployed"
CELLS = [
    *("--scenario", "promotion"),
    *("--condition", "baseline", "--condition", "alignment-future"),
]
VERDICTS = frozenset({0, 1, 3})
SMALL_MODEL = (
    "So small a model shows that every stage works on real replies, and nothing about "
    "how models behave: it keeps the format, but hardly its role, and two runs a cell "
    "are chance."
)


def offrecord(*words: str, ends: frozenset[int] = frozenset({0})) -> None:
    """Run one command as a user would, and show it first.

    Args:
        words: The command's verb, arguments and options.
        ends: The exit codes that are no fault.
    """
    print(f"\n$ offrecord {' '.join(words)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "offrecord", *words], check=False)
    if done.returncode not in ends:
        sys.exit(done.returncode or 1)


def study(name: str) -> str:
    """A fresh folder for a study of this demo."""
    folder = STUDIES / name
    shutil.rmtree(folder, ignore_errors=True)
    here = Path.cwd()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


def main() -> None:
    """Run the studies and print their tables."""
    start = time.monotonic()
    embedded, simulated = study("demo"), study("demo-simulated")
    print("1. Real debates with the embedded model: two cells, two runs, two rounds.")
    offrecord(
        *("run", "--model", "llamacpp/qwen2.5-coder-0.5b", *CELLS),
        *("--runs", "2", "--rounds", "2", "--shadows", "0", "--out", embedded),
        # All cores, since this demo is the machine's only job; the default leaves one.
        *("--", "--display", "plain", "-M", f"threads={os.cpu_count()}"),
    )
    print(f"\n{SMALL_MODEL}")
    print("\nThe stored replies measured: no model is asked again.")
    offrecord("measure", embedded, "--measures", "stance,survey,similarity")
    print("\n2. The same on agents with known truth, planted with published rates.")
    offrecord(
        *("run", "--model", "simulated/paper", *CELLS),
        *("--out", simulated, "--", "--display", "plain"),
    )
    offrecord("measure", simulated, "--measures", "survey,attribution,markers")
    offrecord(
        *("estimate", simulated, "--by", "kind"),
        *("--contrast", "alignment-future:baseline"),
    )
    offrecord("estimate", simulated, "--card")
    print("\nA gate: 0 pass, 1 fail, 3 inconclusive. This one fails.")
    offrecord("audit", simulated, "--max-audience-effect", "10", ends=VERDICTS)
    offrecord("plan", "--model", "simulated/paper", *CELLS, "--detect", "20")
    print("\n3. Recorded conversations, and some of their turns asked again.")
    recorded, probed = study("demo-recorded"), study("demo-probed")
    offrecord(
        *("import", "transcripts", str(RECORDED / "chat.jsonl")),
        *("--map", str(RECORDED / "map.yaml"), "--out", recorded),
    )
    offrecord(
        *("run", "--on", recorded, "--model", "llamacpp/qwen2.5-coder-0.5b"),
        *("--sample", "4", "--shadows", "0", "--out", probed),
        *("--", "--display", "plain", "-M", f"threads={os.cpu_count()}"),
    )
    print("\n4. All as pages that need nothing else, and as tables and logs.")
    for folder in (embedded, simulated, probed):
        offrecord("report", folder)
    offrecord("export", "csv", simulated, "--out", study("demo-tables"))
    print(f"\nDone in {time.monotonic() - start:.0f} s. Look closer with:")
    print(f"  a browser on {embedded}/report.html and {simulated}/report.html")
    print(f"  .venv/bin/offrecord estimate {embedded} --by condition --json")
    print(f"  .venv/bin/inspect view --log-dir {embedded}/logs")


if __name__ == "__main__":
    main()
