"""The process of an eval set: Inspect's command line, its faults in one line.

Called as `python -m offrecord.runner.process eval-set ...`.
"""

from __future__ import annotations

import os
import runpy
import sys


def main() -> None:
    """Run Inspect's command line, and translate what ends it."""
    from offrecord.protocol.models import plain_error
    from offrecord.runner.progress import say, subscribe
    from offrecord.runner.todo import PROGRESS

    if PROGRESS in os.environ:
        subscribe()
    sys.argv[0] = "inspect"
    try:
        runpy.run_module("inspect_ai", run_name="__main__")
    except Exception as error:
        say(plain_error(getattr(error, "message", None) or error))
        sys.exit(2)


if __name__ == "__main__":
    main()
