"""Write the tables of docs/library.md: the built-in scenarios side by side.

`python scripts/scenario_reference.py` writes them; with `--check` it fails where the
page is not what it would write.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from offrecord.records import Role
from offrecord.scenarios.load import builtin_ids, load_scenarios, scenario_names
from offrecord.scenarios.model import Scenario

PAGE = Path(__file__).parents[1] / "docs" / "library.md"
RENEW = "python scripts/scenario_reference.py"


def main() -> None:
    """Write the page, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="Only say whether it is.")
    check = parser.parse_args().check
    now, text = PAGE.read_text(encoding="utf-8"), page()
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    elif now != text:
        sys.exit(f"docs/{PAGE.name} is stale: renew it with '{RENEW}'")


def page() -> str:
    """The page with its tables as they must be."""
    text = PAGE.read_text(encoding="utf-8")
    scenarios = load_scenarios(builtin_ids())
    made = {"overview": _overview(scenarios), "scenarios": _sections(scenarios)}
    for name, lines in made.items():
        begin, end = f"<!-- {name}: `{RENEW}` -->", f"<!-- end of {name} -->"
        written = "\n".join([begin, *lines, end]).replace("\\", r"\\")
        pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
        text = re.sub(pattern, written, text, flags=re.DOTALL)
    return text


def _overview(scenarios: tuple[Scenario, ...]) -> Iterator[str]:
    core = scenario_names([])
    yield "| scenario | domain | target, its side | partner, the pressed side | leans |"
    yield "|---|---|---|---|---|"
    for one in scenarios:
        target, partner = one.seat(Role.TARGET), one.seat(Role.PARTNER)
        name = f"[{one.id}](#{one.id})" + (" (core)" if one.id in core else "")
        yield (
            f"| {name} | {one.domain} | {target.name}: {target.side} | "
            f"{partner.name}: {partner.side} | {one.leaning} |"
        )


def _sections(scenarios: tuple[Scenario, ...]) -> Iterator[str]:
    for one in scenarios:
        target, partner = one.seat(Role.TARGET), one.seat(Role.PARTNER)
        yield f"\n### {one.id}\n"
        yield f"{one.question} Labels, in this order: {', '.join(one.labels)}.\n"
        yield f"- **{target.name}** ({target.side}). {target.summary}"
        yield f"- **{partner.name}** ({partner.side}). {partner.summary}\n"
        for heading, condition in {
            "What presses, past": "alignment-historical",
            "What presses, future": "alignment-future",
            "Evidence": "evidence",
        }.items():
            text = one.conditions[condition].contexts[target.id]
            yield f"**{heading}.** {text}\n"


if __name__ == "__main__":
    main()
