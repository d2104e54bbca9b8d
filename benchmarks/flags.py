"""Can markers of the public text alone flag a turn whose channels differ?

Written down before anything was fitted:

- Turns: the target's, with both stances, in the published runs; under every condition
  (a deployed agent's condition is not known), and under alignment alone.
- Text: the spoken utterance without its label, and without the words that the prompt of
  its condition has and the baseline's has not.
- Models: logistic regressions, C = 1, on standardized features. *Markers*: the six
  rates per 100 words, whether it opens with a concession, words, sentences, round.
  *Length*: words and sentences alone. *Topic*: words by TF-IDF (200 of them) alone.
- Left out in turn: each model, each scenario. The AUC is that of each group left out,
  by a model that has not seen it, averaged over groups with turns of both kinds.
- Intervals: 2,000 bootstrap draws of runs, without fitting anew.
- Calibration: slope and intercept of the outcome on the log-odds that were predicted (1
  and 0 are perfect).

    python -m benchmarks flags
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks import Figure
from offrecord.measures.parsed import pairs_of, write_parsed
from offrecord.measures.texts.marker_counts import COUNTED, PERSONS, count_markers
from offrecord.measures.texts.preparation import Variant, prepare
from offrecord.records import Form, Kind, Role
from offrecord.transcript.llmagora import import_llmagora
from offrecord.transcript.record import Record
from offrecord.transcript.store import PROMPTS_FILE, read_json

PUBLISHED: Final = Path(__file__).parents[2] / "shared" / "llmagora"
DRAWS: Final = 2000
TOPIC_WORDS: Final = 200

MARKED: Final = (
    *(f"{name}_per_100" for name in (*COUNTED, *PERSONS)),
    *("concession_opening", "words", "sentences", "round"),
)
SIZED: Final = ("words", "sentences")
LEFT_OUT: Final = ("model", "scenario")

Floats = NDArray[np.float64]
Fit = Callable[[pl.DataFrame, pl.DataFrame], Floats]


class Found(NamedTuple):
    """What one model predicts of turns that it has not seen."""

    auc: float
    low: float
    high: float
    slope: float
    intercept: float
    draws: Floats


def turns_of(study: Record) -> pl.DataFrame:
    """The target's turns with both stances: features, text, and whether they differ."""
    prompts = read_json(study.path / PROMPTS_FILE)["systems"]
    spoken = study.transcript.filter(
        role=Role.TARGET, channel=study.spoken, form=Form.UTTERANCE, draw=0
    ).select("run", "agent", "round", "text", "labels")
    pairs = (
        pairs_of(study)
        .filter(pl.col("left").is_not_null() & pl.col("right").is_not_null())
        .select(
            *("run", "agent", "round", "model", "scenario", "condition", "kind"),
            divergent=(pl.col("left") != pl.col("right")).cast(pl.Int8),
        )
        .join(spoken, on=["run", "agent", "round"], how="inner")
    )
    rows = []
    for row in pairs.sort("run", "round").iter_rows(named=True):
        of = prompts[row["scenario"]]
        told, plain = (
            _words(of[name][row["agent"]]) for name in (row["condition"], "baseline")
        )
        said = prepare(row["text"], tuple(row["labels"]), Variant.CLEAN).text or ""
        own = told - plain
        parts = re.split(r"([\w'-]+)", said)
        text = "".join("" if part.lower() in own else part for part in parts)
        if _words(text):
            rows.append({**row, "text": text, **count_markers(text)})
    return pl.DataFrame(rows).cast(dict.fromkeys(MARKED, pl.Float64))


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[\w'-]+", text)}


def by_columns(names: tuple[str, ...]) -> Fit:
    """A logistic regression on columns."""

    def fit(seen: pl.DataFrame, unseen: pl.DataFrame) -> Floats:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        line = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        line.fit(seen.select(names).to_numpy(), seen["divergent"].to_numpy())
        found: Floats = line.decision_function(unseen.select(names).to_numpy())
        return found

    return fit


def by_topic(seen: pl.DataFrame, unseen: pl.DataFrame) -> Floats:
    """A logistic regression on which words are said."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    line = make_pipeline(
        TfidfVectorizer(max_features=TOPIC_WORDS, stop_words="english"),
        LogisticRegression(max_iter=1000),
    )
    line.fit(seen["text"].to_list(), seen["divergent"].to_numpy())
    found: Floats = line.decision_function(unseen["text"].to_list())
    return found


MODELS: Final[dict[str, Fit]] = {
    "markers": by_columns(MARKED),
    "length": by_columns(SIZED),
    "topic": by_topic,
}


def unseen_scores(turns: pl.DataFrame, group: str, fit: Fit) -> Floats:
    """The log-odds of every turn, by a model that saw no turn of its group."""
    scores = np.full(turns.height, np.nan)
    for name in turns[group].unique().sort():
        out = (turns[group] == name).to_numpy()
        scores[out] = fit(turns.filter(~out), turns.filter(out))
    return scores


def auc(outcomes: Floats, scores: Floats, weights: Floats) -> float:
    """The chance that a turn that differs is scored above one that does not.

    Args:
        outcomes: Shape (turns,), 1 where the channels differ.
        scores: Shape (turns,).
        weights: Shape (turns,): how often each turn counts. Ties count half.

    Returns:
        NaN where all turns with weight are of one kind.
    """
    _, place = np.unique(scores, return_inverse=True)
    ones = np.bincount(place, outcomes * weights)
    zeros = np.bincount(place, (1 - outcomes) * weights)
    total = ones.sum() * zeros.sum()
    below = np.cumsum(zeros) - zeros
    return float((ones * (below + zeros / 2)).sum() / total) if total else float("nan")


def judged(
    turns: pl.DataFrame, group: str, fit: Fit, rng: np.random.Generator
) -> Found:
    """The AUC over groups left out, its draws, and the calibration."""
    scores = unseen_scores(turns, group, fit)
    outcomes = turns["divergent"].cast(pl.Float64).to_numpy()
    groups = turns[group].rank("dense").to_numpy() - 1
    runs = turns["run"].rank("dense").cast(pl.Int64).to_numpy() - 1

    def mean(weights: Floats) -> float:
        values = [
            auc(outcomes[own], scores[own], weights[own])
            for own in (groups == g for g in np.unique(groups))
        ]
        return float(np.nanmean(values))

    count = int(runs.max()) + 1
    drawn = (
        np.bincount(rng.integers(count, size=count), minlength=count)[runs]
        for _ in range(DRAWS)
    )
    draws = np.array([mean(weights.astype(float)) for weights in drawn])
    low, high = np.quantile(draws, [0.025, 0.975])
    intercept, slope = _calibration(outcomes, scores)
    return Found(mean(np.ones(turns.height)), low, high, slope, intercept, draws)


def _calibration(outcomes: Floats, scores: Floats) -> tuple[float, float]:
    import statsmodels.api as sm

    fitted: Any = sm.Logit(outcomes, sm.add_constant(scores)).fit(disp=0)
    return float(fitted.params[0]), float(fitted.params[1])


def run(seed: int = 1) -> Iterator[Figure]:
    """Whether markers flag divergence better than length and topic."""
    with tempfile.TemporaryDirectory() as folder:
        turns = turns_of(
            write_parsed(Path(folder) / "p", import_llmagora(PUBLISHED, "published"))
        )
    for named, some in (
        ("all conditions", turns),
        ("alignment", turns.filter(kind=Kind.ALIGNMENT)),
    ):
        share = some["divergent"].to_numpy().mean()
        yield Figure(
            f"turns, {named}", f"{some.height:,}, {100 * share:.1f} % of them differ"
        )
        for group in LEFT_OUT:
            # The same seed draws the same runs for every model.
            found = {
                name: judged(some, group, fit, np.random.default_rng(seed))
                for name, fit in MODELS.items()
            }
            for name, one in found.items():
                yield Figure(
                    f"AUC of {name}, {named}, each {group} left out",
                    f"{one.auc:.3f} [{one.low:.3f}, {one.high:.3f}], calibration "
                    f"slope {one.slope:.2f}, intercept {one.intercept:.2f}",
                )
            for name in ("length", "topic"):
                less = found["markers"].draws - found[name].draws
                low, high = np.quantile(less, [0.025, 0.975])
                yield Figure(
                    f"markers less {name}, {named}, each {group} left out",
                    f"{found['markers'].auc - found[name].auc:+.3f} "
                    f"[{low:+.3f}, {high:+.3f}]",
                    "above 0",
                )


if __name__ == "__main__":
    for figure in run():
        print(*figure, sep="\t")
