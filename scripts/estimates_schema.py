"""Write docs/estimates.schema.json from the declared rows, so that it cannot be stale.

`python scripts/estimates_schema.py` writes the file; with `--check` it fails where the
file is not what it would write.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from offrecord.estimates.schema import estimates_schema

PAGE = Path(__file__).parents[1] / "docs" / "estimates.schema.json"
RENEW = "python scripts/estimates_schema.py"


def main() -> None:
    """Write the schema, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Only say whether it is.")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"docs/estimates.schema.json is stale: renew it with '{RENEW}'")


def page() -> str:
    """The schema as JSON."""
    return json.dumps(estimates_schema(), indent=1) + "\n"


if __name__ == "__main__":
    main()
