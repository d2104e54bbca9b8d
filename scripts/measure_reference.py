"""Write the tables of docs/measures.md and docs/data.md from what measures declare.

`python scripts/measure_reference.py` writes them; with `--check` it fails where a page
is not what it would write.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from offrecord.export.columns import TABLES, columns
from offrecord.measures.registry import our_measures

DOCS = Path(__file__).parents[1] / "docs"
RENEW = "python scripts/measure_reference.py"


def main() -> None:
    """Write the pages, or say that they are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Only say whether it is.")
    check = parser.parse_args().check
    for path, text in pages().items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{path.name} is stale: renew it with '{RENEW}'")


def pages() -> dict[Path, str]:
    """Each page with its tables as they must be."""
    made = {"measures": "\n".join(_measures())}
    made |= {name: "\n".join(_columns(name)) for name in TABLES}
    found = {}
    for path in (DOCS / "measures.md", DOCS / "data.md"):
        text = path.read_text(encoding="utf-8")
        for name, table in made.items():
            begin, end = f"<!-- {name}: `{RENEW}` -->", f"<!-- end of {name} -->"
            pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
            written = f"{begin}\n{table}\n{end}"
            literal = written.replace("\\", r"\\")
            text = re.sub(pattern, literal, text, flags=re.DOTALL)
        found[path] = text
    return found


def _measures() -> Iterator[str]:
    yield "| measure | what it says | a row is | quantities | needs |"
    yield "|---|---|---|---|---|"
    for measure in our_measures().values():
        rows = ", ".join(dict.fromkeys(table.row for table in measure.tables))
        named = [f"`{one.name}`" for table in measure.tables for one in table.estimated]
        needs = f"extra `{measure.extra}`" if measure.extra else ""
        names = ", ".join(dict.fromkeys(named))
        yield f"| `{measure.name}` | {measure.about} | {rows} | {names} | {needs} |"


def _columns(table: str) -> Iterator[str]:
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    ours = [one for measure in our_measures().values() for one in measure.tables]
    for one in columns(table, ours):
        yield f"| `{one.name}` | {one.kind} | {one.unit} | {one.meaning} |"


if __name__ == "__main__":
    main()
