"""An audit as people and pipelines read it: a paragraph, a table, and JUnit XML."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from offrecord.content.boundary.shown import escaped
from offrecord.report.numbers import interval, points, threshold
from offrecord.report.terminal import bare_table, print_whole, visible

Row = Mapping[str, Any]

VERDICTS: Final = ("pass", "fail", "inconclusive")
_MEASURES: Final[dict[str, str]] = {
    "audience_effect": "audience effect",
    "accommodation": "accommodating divergence",
    "baseline": "divergence without any context",
    "missing": "missing turns",
    "worst_scenario": "divergence in the worst scenario",
    "probe_divergence": "divergence of the probe",
    "against": "divergence above the earlier study's",
    "evidence_response": "evidence response",
}
_NAMED: Final = 3
"""Checks that the paragraph names; the table and JSON have all."""
# Percent, the truth on the threshold: the largest that `benchmarks/gate_errors.py` and,
# in unlike cells, `benchmarks/signed.py` have measured (docs/coverage.md), where a 95 %
# interval promises 2.5 on either side.
_WRONG_PASS: Final = 3.2
_FALSE_ALARM: Final = 3.2
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def paragraph(audit: Row) -> str:
    """The verdict, what failed, what is inconclusive, and the interim analyses.

    Args:
        audit: As `Audit.as_dict` gives it.
    """
    return " ".join(_sentences(audit))


def _sentences(audit: Row) -> Iterator[str]:
    checks: Sequence[Row] = audit["checks"]
    by = {one: [c for c in checks if c["verdict"] == one] for one in VERDICTS}
    yield f"Verdict: {audit['verdict']} (checks: {verdict_counts(checks)})."
    if not checks:
        yield "The study has nothing to judge: no run has turns of the target agent."
    if by["fail"]:
        yield f"Fail: {_listed(by['fail'], _found)}."
    if by["inconclusive"]:
        sized = _listed(by["inconclusive"], _sized)
        yield f"Inconclusive, with the sample size that decides: {sized}."
    if audit["shortfall"]:
        yield (
            f"This is not the whole study: {audit['shortfall']}, so there is no "
            "verdict yet; run the rest with 'offrecord run --out STUDY'."
        )
    if audit["doubt"]:
        yield f"Whatever the checks say, nothing is decided: {audit['doubt']}."
    if audit["note"]:
        yield f"Note: {audit['note']}."
    sampled = sum(check["low"] is not None for check in checks if check["level"])
    if sampled:
        scope = next(check["scope"] for check in checks if check["level"])
        yield f"Each {_interval_of(checks)} has a 95 % interval for {scope}."
    if sampled and not any(c["measure"] == "probe_divergence" for c in checks):
        yield (
            "As measured with the truth on the threshold, a gate that should "
            f"fail passes in up to {_WRONG_PASS:g} % of studies, however many checks "
            "there are; one that just passes has a false-alarm rate up to "
            f"{min(_FALSE_ALARM * sampled, 100):g} %."
        )
    yield _interim(audit, bool(sampled))


def verdict_counts(checks: Sequence[Row]) -> str:
    """How many checks have each verdict."""
    found = Counter(check["verdict"] for check in checks)
    counts = ", ".join(f"{one} {found[one]}" for one in VERDICTS if found[one])
    return f"{counts} of {len(checks)}" if checks else "none"


def _interval_of(checks: Sequence[Row]) -> str:
    bare = any(check["low"] is None or not check["level"] for check in checks)
    return "check that has bounds" if bare else "check"


def _interim(audit: Row, sampled: bool) -> str:
    gates = audit["gates"]
    said = f"This is interim analysis {audit['interim_analyses']} of this study"
    if gates > 1:
        said += f", under {gates} different gates"
    if audit["chances"] < 2 or not sampled:
        return said + "."
    return (
        f"{said}: every analysis of more runs and every other gate is one more chance "
        "to pass or fail by luck, so both rates above are up to "
        f"{audit['chances']} times as large; fix runs and gate before the first one."
    )


def _listed(checks: Sequence[Row], say: Any) -> str:  # noqa: ANN401  (a Row to str)
    lines = [say(check) for check in sorted(checks, key=_distance)[:_NAMED]]
    if len(checks) > _NAMED:
        lines.append(f"and {len(checks) - _NAMED} more")
    return "; ".join(lines)


def _distance(check: Row) -> float:
    """The worst first; what has no value before everything else."""
    value = check["value"]
    if value is None:
        return -math.inf
    room: float = check["threshold"] - value
    return -room if check["at_least"] else room


def measure_of(check: Row) -> str:
    """What a check judges, in words."""
    return _MEASURES.get(check["measure"], str(check["measure"]))


def group_of(check: Row) -> str:
    """Whom it judges: ` of` and the keys, or nothing."""
    group = ", ".join(
        escaped(str(value)) for key, value in check["group"].items() if key != "agent"
    )
    return f" of {group}" if group else ""


def _named(check: Row) -> str:
    about = f" ({escaped(check['about'])})" if check["about"] else ""
    return f"{measure_of(check)}{about}{group_of(check)}"


def _found(check: Row) -> str:
    counted = check["measure"] == "missing"
    shown = interval(check["low"], check["high"]) or " without an interval"
    value = points(check["value"])
    return f"{_named(check)} is {value}{'' if counted else shown}, {_limit(check)}"


def _limit(check: Row) -> str:
    least = "at least" if check["at_least"] else "at most"
    return f"{least} {threshold(check['threshold'])}"


def _sized(check: Row) -> str:
    return f"{_found(check)} ({escaped(check['sample_size'])})"


def print_audit(audit: Row, console: Console | None = None) -> None:
    """Print the checks as a table, then the paragraph.

    Args:
        audit: As `Audit.as_dict` gives it.
        console: Where to; standard output unless given.
    """
    console = console or Console()
    checks: Sequence[Row] = audit["checks"]
    if checks:
        print_whole(console, _table(checks))
    console.print(Text(paragraph(audit)))


def group_keys(checks: Sequence[Row]) -> list[str]:
    """What the groups of checks are told apart by, in order."""
    return list(dict.fromkeys(key for check in checks for key in check["group"]))


def grouped_table(keys: Sequence[str], title: str = "") -> Table:
    """An empty table that begins with a check's group and its name."""
    table = bare_table(Text(title) if title else None, apart=1)
    for key in keys:
        table.add_column(visible(key), overflow="fold")
    table.add_column("check")
    return table


def keyed(check: Row, keys: Sequence[str]) -> list[Text]:
    """The first cells of a check's row in a `grouped_table`."""
    about = f" ({check['about']})" if check.get("about") else ""
    return [
        *(visible(str(check["group"].get(key, ""))) for key in keys),
        visible(measure_of(check) + about),
    ]


def _table(checks: Sequence[Row]) -> Table:
    keys = group_keys(checks)
    table = grouped_table(keys)
    least = any(check["at_least"] for check in checks)
    limit = "threshold" if least else "at most"
    for name in ("found", limit, "runs", "turns", "missing"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    sized = any(check["sample_size"] for check in checks)
    if sized:
        table.add_column("sample size", overflow="fold")
    for check in checks:
        counted = check["measure"] == "missing"
        shown = "" if counted else interval(check["low"], check["high"])
        table.add_row(
            *keyed(check, keys),
            Text(points(check["value"]) + shown),
            _limit(check) if least else threshold(check["threshold"]),
            *(str(check[name]) for name in ("runs", "turns", "missing")),
            check["verdict"],
            *([visible(check["sample_size"])] if sized else []),
        )
    return table


def junit(
    audit: Row, say: Callable[[Row], str] | None = None, text: str | None = None
) -> str:
    """The audit as JUnit XML: fail is a failure, inconclusive an error.

    Args:
        audit: As `Audit.as_dict` gives it.
        say: One check in words; by its interval unless given.
        text: What the audit found; its `paragraph` unless given.

    Returns:
        Well-formed XML 1.0, whatever models are named: what XML cannot hold stands as
        a visible escape.
    """
    checks: Sequence[Row] = audit["checks"]
    verdicts = [check["verdict"] for check in checks]
    lacking = audit.get("shortfall") or audit["doubt"]
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _clean(f"offrecord audit {audit['study']}"),
            "tests": str(len(checks) + 1),
            "failures": str(verdicts.count("fail")),
            "errors": str(verdicts.count("inconclusive") + bool(lacking)),
        },
    )
    for check in checks:
        group = " ".join(f"{key}={value}" for key, value in check["group"].items())
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": _clean(f"offrecord.{group}"), "name": check["measure"]},
        )
        if check["verdict"] != "pass":
            kind = "failure" if check["verdict"] == "fail" else "error"
            note = ElementTree.SubElement(
                case,
                kind,
                {"type": check["verdict"], "message": _clean((say or _found)(check))},
            )
            note.text = _clean(check.get("sample_size", ""))
    runs = ElementTree.SubElement(
        suite, "testcase", {"classname": "offrecord.study", "name": "runs"}
    )
    if lacking:
        ElementTree.SubElement(
            runs, "error", {"type": "inconclusive", "message": _clean(lacking)}
        )
    said = ElementTree.SubElement(suite, "system-out")
    said.text = _clean(paragraph(audit) if text is None else text)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _clean(text: str) -> str:
    return _NOT_XML.sub(
        lambda found: found.group().encode("unicode_escape").decode(), escaped(text)
    )
