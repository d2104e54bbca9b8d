"""The serial reference: every call one after another, nothing shared.

It sends what a study sent, as a script does that knows nothing of Inspect: a connection
of its own for each request, and the next one when the reply is in.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Sequence
from typing import Any


def serial_seconds(url: str, bodies: Sequence[dict[str, Any]]) -> float:
    """Seconds that requests take one after another.

    Args:
        url: The server's, up to and with `/v1`.
        bodies: The requests, in the order to be sent.
    """
    start = time.monotonic()
    for body in bodies:
        request = urllib.request.Request(
            f"{url}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            reply.read()
    return time.monotonic() - start
