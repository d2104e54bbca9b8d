"""How Inspect View shows debates: the columns of its list, their names and colours.

One configuration for live logs (`task.py`) and for exported ones (`exporting`). View
has columns for scores but none for metadata, so scenario, condition and end of a run
stand in the score `debate_summary`.
"""

from __future__ import annotations

from typing import Final

from inspect_ai.viewer import (
    SampleScoreView,
    ScoreColorScale,
    TaskSamplesColumn,
    TaskSamplesSort,
    TaskSamplesView,
    ViewerConfig,
)

from offrecord.measures.inspect.scorers import (
    SHARES,
    debate_summary,
    stance_divergence,
    survey_gap,
)
from offrecord.records import Ended

_SUMMARY = debate_summary.__name__
_DIVERGENCE = stance_divergence.__name__
_GAP = survey_gap.__name__
_HIDDEN: Final = (
    *("sampleUuid", "input", "target", "answer", "tokens", "duration"),
    *("error", "limit", "retries"),
)

LABELS: Final = {
    "scenario": "Scenario",
    "condition": "Condition",
    "ended": "How it ended",
    "public": "Public",
    "off_record": "Off record",
    _DIVERGENCE: "Divergence",
    "accommodating": "Accommodating",
    "reversing": "Reversing",
    _GAP: "Survey gap",
    "missing": "Missing",
}
"""Score to the head of its column, in the order of the columns. Shares of the target's
complete pairs, as fractions; the gap in scale points; missing counts pairs."""


def viewer_config() -> ViewerConfig:
    """Columns and colours of the list of samples.

    Shares are coloured by size alone: whether a divergence is good or bad is not for
    a colour to say. The content of a log is a model's, so View shows it as plain text.
    """
    columns = [
        TaskSamplesColumn(id="sampleStatus"),
        TaskSamplesColumn(id="sampleId"),
        *(_column(name) for name in ("scenario", "condition")),
        TaskSamplesColumn(id="epoch"),
        *(_column(name) for name in list(LABELS)[2:]),
        *(TaskSamplesColumn(id=name, visible=False) for name in _HIDDEN),
    ]
    share = ScoreColorScale(palette="neutral", min=0, max=1)
    return ViewerConfig(
        trust_content=False,
        sample_score_view=SampleScoreView(default="grid"),
        task_samples_view=TaskSamplesView(
            name="offrecord",
            columns=columns,
            sort=[
                TaskSamplesSort.score(_SUMMARY, "scenario"),
                TaskSamplesSort.score(_SUMMARY, "condition"),
                TaskSamplesSort(column="epoch"),
            ],
            multiline=False,
            score_labels=LABELS,
            score_color_scales={
                **dict.fromkeys((*SHARES, _DIVERGENCE), share),
                _GAP: ScoreColorScale(palette="neutral", min=0),
                "missing": ScoreColorScale(palette="good-low", min=0),
                "ended": {
                    str(end): "good" if end is Ended.COMPLETED else "warn"
                    for end in Ended
                },
            },
            color_scales_enabled=True,
        ),
    )


def _column(name: str) -> TaskSamplesColumn:
    if name in {_DIVERGENCE, _GAP}:
        return TaskSamplesColumn.score(name)
    return TaskSamplesColumn.score(_SUMMARY, name)
