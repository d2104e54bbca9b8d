"""The process of an eval set: Inspect's command line, its faults in one line.

Called as `python -m offrecord.runner.process eval-set ...`.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
from threading import Thread


def end_with(caller: int) -> None:
    """Wait until the caller is gone, then end as by Ctrl-C: nobody waits for more."""
    while os.getppid() == caller:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Run Inspect's command line, and translate what ends it."""
    if os.name == "posix":
        Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    from offrecord.protocol.models import plain_error
    from offrecord.runner.progress import say, subscribe
    from offrecord.runner.todo import PROGRESS

    if PROGRESS in os.environ:
        subscribe()
    sys.argv[0] = "inspect"
    sys.modules["__main__"].__package__ = ""  # what usage messages are named by
    try:
        runpy.run_module("inspect_ai", run_name="__main__")
    except Exception as error:
        say(plain_error(getattr(error, "message", None) or error))
        sys.exit(2)


if __name__ == "__main__":
    main()
