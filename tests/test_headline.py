"""What is told first of a study: no more than the intervals say, whatever the signs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offrecord.cli.summary import show_summary
from offrecord.estimates.arrays.bounds import Bounds
from offrecord.estimates.arrays.estimate import Estimate
from offrecord.report.headline import Headline, beside, headline
from tests.simulated_studies import held_study
from tests.test_report import moved, small


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        se=0.1,
        method="",
        scope="new runs of the same cells",
        clusters=8,
        runs=8,
        turns=40,
        missing=0,
    )


# By the interval: above zero, holding it, below it. The values add up: X = Y + Z.
ABOVE, OPEN, BELOW = (
    Bounds(0.3, 0.1, 0.5),
    Bounds(0.1, -0.1, 0.3),
    Bounds(-0.3, -0.5, -0.1),
)


def told(
    conversion: Bounds,
    audience: Bounds,
    shift: Bounds | None = None,
    where: str = "off the record",
) -> Headline:
    whole = shift or Bounds(conversion.value + audience.value, 0.01, 0.9)
    parts = {
        "public_shift": whole,
        "conversion": conversion,
        "audience_effect": audience,
    }
    known: Any = SimpleNamespace(turns=40, missing=0, planned=40)
    return headline(
        known,
        {name: estimate(*bounds) for name, bounds in parts.items()},
        agent="alpha",
        kind="alignment",
        where=where,
    )


@pytest.mark.parametrize(
    ("conversion", "audience", "said", "unsaid"),
    [
        (ABOVE, ABOVE, ["there is conversion and an audience effect"], ["too few"]),
        (OPEN, ABOVE, ["there is an audience effect", "8 runs are too few"], ["only"]),
        (
            BELOW,
            ABOVE,
            ["The channels moved apart", "conversion is negative"],
            ["too few"],
        ),
        (
            ABOVE,
            OPEN,
            ["there is conversion", "8 runs are too few"],
            ["only in public"],
        ),
        (BELOW, OPEN, ["moved away", "8 runs are too few"], ["no audience"]),
        (ABOVE, BELOW, ["The channels moved apart", "audience effect is negative"], []),
        (OPEN, BELOW, ["audience effect is negative", "8 runs are too few"], []),
        (
            BELOW,
            BELOW,
            ["conversion and audience effect are both negative"],
            ["too few"],
        ),
    ],
)
def test_the_verdict_says_what_the_intervals_say(
    conversion: Bounds, audience: Bounds, said: list[str], unsaid: list[str]
) -> None:
    verdict = told(conversion, audience).verdict
    assert verdict.startswith("Under alignment: ")
    for words in said:
        assert words in verdict
    for words in unsaid:
        assert words not in verdict


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (
            ABOVE,
            "moved toward the pressed side in public. 8 runs are too few to tell how",
        ),
        (OPEN, "and audience effect include zero, and 8 runs are too few"),
        (BELOW, "moved away from the pressed side in public. 8 runs are too few"),
    ],
)
def test_with_both_parts_open_the_shift_decides(shift: Bounds, said: str) -> None:
    verdict = told(OPEN, OPEN, shift).verdict
    assert said in verdict
    assert "there is an audience effect" not in verdict


def test_another_channel_is_called_by_its_name() -> None:
    assert beside("off_record") == "off the record"
    verdict = told(OPEN, ABOVE, where=beside("record_only")).verdict
    assert "whether anything holds in the channel record only too" in verdict


def test_the_figures_have_their_signs_and_add_up() -> None:
    figures = told(Bounds(-0.04, -0.155, 0.06), Bounds(0.42, 0.253, 0.603)).figures
    # -4.0 + 42.0 = 38.0
    assert figures.startswith(
        "Public shift +38.0 [1.0, 90.0] = conversion -4.0 [-15.5, 6.0] + "
        "audience effect +42.0 [25.3, 60.3], in points"
    )


def test_a_refused_interval_gives_no_verdict() -> None:
    one = estimate(0.3, math.nan, math.nan)
    refused = replace(one, refused=True, reason="only 3 scenarios")
    known: Any = SimpleNamespace(turns=40, missing=0, planned=40)
    parts = dict.fromkeys(("public_shift", "conversion", "audience_effect"), refused)
    words = headline(known, parts, agent="alpha", kind="alignment", where="elsewhere")
    assert words.verdict == (
        "Under alignment, nothing is shown for new runs of the same cells: only 3 "
        "scenarios."
    )


def test_the_terminal_says_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from offrecord.report.write import Report, report_study

    study = held_study(tmp_path / "s", "split", runs=3, rounds=2)
    show_summary(study)
    printed = " ".join(capsys.readouterr().out.split())
    page, *_ = report_study(study, Report())
    html = " ".join(page.read_text(encoding="utf-8").split())
    verdict = printed[printed.index("Under alignment") :]
    first, figures = verdict.split(" Public shift ")
    assert f'<p class="lead">{first}</p>' in html
    assert f"Public shift {figures}</p>" in html


def test_several_models_are_told_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = [{**row, "role": "target"} for row in moved(model="one/a")]
    two = [{**row, "model": "two/b", "run": f"other-{row['run']}"} for row in one]
    show_summary(small(tmp_path / "s", [*one, *two]))
    printed = " ".join(capsys.readouterr().out.split())
    assert "Under alignment, 2 models together: " in printed
    for model in ("one/a", "two/b"):
        assert f"{model}: Under alignment: " in printed
