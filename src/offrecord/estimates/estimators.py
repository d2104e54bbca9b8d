"""The table of estimators: what `estimates.json` holds.

Each estimator has a name, the type of its figures and the function that makes its
rows. The file, its schema and the views of a report are all made from this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from offrecord.estimates.against import against_rows
from offrecord.estimates.arrays.arms import MARGIN
from offrecord.estimates.arrays.scope import Scope
from offrecord.estimates.bayes.hierarchical import (
    HierarchicalFigures,
    hierarchical_rows,
)
from offrecord.estimates.comparable import compared
from offrecord.estimates.declared import contrast_estimates
from offrecord.estimates.described import cosine_spread, missing_rows, status_rows
from offrecord.estimates.estimator import (
    AgreementFigures,
    Estimator,
    MissingFigures,
    Source,
    SpreadFigures,
    StatusFigures,
)
from offrecord.estimates.frames.arm_verdicts import ArmVerdictFigures, verdict_rows
from offrecord.estimates.frames.arms import ArmFigures, arm_rows
from offrecord.estimates.frames.attribution import AttributionFigures
from offrecord.estimates.frames.contrasts import (
    ContrastFigures,
    UnpairedFigures,
)
from offrecord.estimates.frames.doses import DoseFigures, dose_rows
from offrecord.estimates.frames.effects import EffectFigures, effect_rows
from offrecord.estimates.frames.evidence import evidence_rows
from offrecord.estimates.frames.floors import FloorFigures, floor_rows
from offrecord.estimates.frames.ladder import LadderFigures, ladder_rows
from offrecord.estimates.frames.noninferiority import AgainstFigures
from offrecord.estimates.frames.observed import ObservedFigures, observed_rows
from offrecord.estimates.frames.probed import ProbeFigures
from offrecord.estimates.frames.replayed import (
    PairedFigures,
)
from offrecord.estimates.frames.row import Row, read_row
from offrecord.estimates.frames.rows import (
    GapFigures,
    HeterogeneityFigures,
    PersistenceFigures,
    RankFigures,
    ScenarioFigures,
    SurvivalFigures,
    channel_gap_rows,
    heterogeneity_rows,
    persistence_rows,
    rank_rows,
    scenario_rows,
    survival_rows,
)
from offrecord.estimates.frames.splits import (
    SplitFigures,
    estimate_rows,
)
from offrecord.estimates.frames.table import RateFigures, rate_rows
from offrecord.estimates.measured import (
    agreement_estimates,
    attribution_estimates,
    measured_rows,
)
from offrecord.estimates.probed import probe_estimates, probe_measure_rows
from offrecord.measures.declare import KEYS
from offrecord.measures.declare import Row as RowKind
from offrecord.measures.parsed import pairs_of, spoken_of
from offrecord.measures.probes import is_probe
from offrecord.measures.yielding import changes_of
from offrecord.protocol.channel import rungs
from offrecord.records import OffrecordError
from offrecord.transcript.record import open_record

F = TypeVar("F")
_Rows = Iterable[Row[F]]


def _flat(figures: type[F], rows: Iterable[Mapping[str, Any]]) -> _Rows[F]:
    return (read_row(row, figures) for row in rows)


def _scopes(source: Source, by: list[str]) -> _Rows[SplitFigures]:
    for scope in Scope:
        yield from estimate_rows(source.split((*by,), scope))


def _measured(
    source: Source, by: list[str], only: Sequence[RowKind] = tuple(KEYS)
) -> _Rows[SplitFigures]:
    if is_probe(source.study):  # whose turns do not weigh alike
        return []
    found = measured_rows(source.study, source.pairs, by, source.how, only)
    return _flat(SplitFigures, found)


def _hierarchical(source: Source, by: list[str]) -> _Rows[HierarchicalFigures]:
    wanted = source.wanted
    return hierarchical_rows(source.pairs, by, wanted.seed) if wanted.bayes else []


def _against(source: Source, by: list[str]) -> _Rows[AgainstFigures]:
    earlier, margin = source.wanted.against, source.wanted.margin
    if earlier is None:
        return []
    if margin is None:
        raise OffrecordError("--against: give --margin, above 0 points, as well")
    old = open_record(earlier)
    found = compared(source.study, old)
    return against_rows(source.pairs, pairs_of(old), by, margin, found, source.how)


RATES: Final = Estimator(
    "rates",
    (RateFigures,),
    lambda source, by: rate_rows(
        source.split((*by,), source.wanted.scope), source.wanted.weights
    ),
    by_round=True,
)
SPLIT: Final = Estimator(
    "split",
    (SplitFigures,),
    lambda source, by: estimate_rows(source.split((*by,), source.wanted.scope)),
    by_round=True,
)
EVIDENCE: Final = Estimator(
    "evidence",
    (SplitFigures,),
    lambda source, by: evidence_rows(source.pairs, by, source.how),
    by_round=True,
)
DOSES: Final = Estimator(
    "doses",
    (DoseFigures,),
    lambda source, by: dose_rows(source.pairs, by, source.rng, source.how),
    by_round=True,
)
LADDER: Final = Estimator(
    "ladder",
    (LadderFigures,),
    lambda source, by: ladder_rows(source.pairs, by, rungs(), source.how),
    by_round=True,
)
GAP: Final = Estimator(
    "gap",
    (GapFigures,),
    lambda source, by: channel_gap_rows(source.pairs, by, source.rng, source.how),
    by_round=True,
)
FLOOR: Final = Estimator(
    "floor",
    (FloorFigures,),
    lambda source, by: floor_rows(
        source.draws, source.study.spoken, by, source.rng, source.wanted.scope
    ),
    by_round=True,
)
MISSING: Final = Estimator(
    "missing",
    (MissingFigures,),
    lambda source, by: missing_rows(
        source.split((*by,), source.wanted.scope), source.wanted.weights
    ),
    by_round=True,
)
PERSISTENCE: Final = Estimator(
    "persistence",
    (PersistenceFigures,),
    lambda source, by: persistence_rows(source.pairs, by, source.wanted.scope),
)
FIRST_DIVERGENCE: Final = Estimator(
    "first_divergence",
    (SurvivalFigures,),
    lambda source, by: survival_rows(source.pairs, by, source.how),
)
HETEROGENEITY: Final = Estimator(
    "heterogeneity",
    (HeterogeneityFigures,),
    lambda source, by: heterogeneity_rows(source.pairs, by),
)
HIERARCHICAL: Final = Estimator("hierarchical", (HierarchicalFigures,), _hierarchical)
RANKS: Final = Estimator(
    "ranks",
    (RankFigures,),
    lambda source, by: rank_rows(source.pairs, by, source.wanted.weights),
)
SCENARIOS: Final = Estimator(
    "scenarios",
    (ScenarioFigures,),
    lambda source, by: scenario_rows(source.pairs, by, source.how),
)
CONTRASTS: Final = Estimator[ContrastFigures](
    "contrasts", (PairedFigures, UnpairedFigures), contrast_estimates, by_round=True
)
AGAINST: Final = Estimator("against", (AgainstFigures,), _against, by_round=True)
ARMS: Final = Estimator(
    "arms",
    (ArmFigures,),
    lambda source, by: (
        arm_rows(source.turns, source.arms, by, source.how) if source.arms else []
    ),
)
ARM_VERDICTS: Final = Estimator(
    "arm_verdicts",
    (ArmVerdictFigures,),
    lambda source, by: (
        verdict_rows(
            source.turns, source.arms, by, source.how, source.wanted.margin or MARGIN
        )
        if source.arms
        else []
    ),
)
EFFECT_TEST: Final = Estimator(
    "effect_test",
    (EffectFigures,),
    lambda source, by: effect_rows(
        source.split((*by,), source.wanted.scope), source.rng
    ),
    by_round=True,
)
PROBE_MEASURES: Final = Estimator(
    "probe_measures",
    (SplitFigures,),
    lambda source, by: probe_measure_rows(source.study, by, source.how.level),
)
MEASURES: Final = Estimator(
    "measures",
    (SplitFigures,),
    _measured,
)
PAIRS: Final = Estimator(
    "pairs",
    (SplitFigures,),
    lambda source, by: _measured(source, by, ["pair"]),
)
ATTRIBUTION: Final = Estimator(
    "attribution",
    (AttributionFigures,),
    lambda source, by: _flat(
        AttributionFigures,
        attribution_estimates(source.study, source.pairs, by),
    ),
)
AGREEMENT: Final = Estimator(
    "agreement",
    (AgreementFigures,),
    lambda source, _: _flat(AgreementFigures, agreement_estimates(source.study)),
)
SCOPES: Final = Estimator("scopes", (SplitFigures,), _scopes)
COSINE: Final = Estimator(
    "cosine",
    (SpreadFigures,),
    lambda source, _: _flat(SpreadFigures, cosine_spread(source.study)),
)
PROBE: Final = Estimator(
    "probe",
    (ProbeFigures,),
    lambda source, by: probe_estimates(source.study, by, source.how.level),
    by_round=True,
)
OBSERVED: Final = Estimator(
    "observed",
    (ObservedFigures,),
    lambda source, by: (
        observed_rows(spoken_of(source.study), changes_of(source.study), by, source.how)
        if source.study.facts.get("recorded")
        else []
    ),
    by_round=True,
)
STATUSES: Final = Estimator(
    "statuses",
    (StatusFigures,),
    lambda source, _: _flat(StatusFigures, status_rows(source.study)),
)

ESTIMATORS: Final[tuple[Estimator[Any], ...]] = (
    *(RATES, SPLIT, EVIDENCE, LADDER, GAP, FLOOR, MISSING, PERSISTENCE),
    *(FIRST_DIVERGENCE, HETEROGENEITY, HIERARCHICAL, RANKS, SCENARIOS, CONTRASTS),
    *(AGAINST, DOSES, MEASURES, ATTRIBUTION, AGREEMENT, EFFECT_TEST),
    *(ARMS, ARM_VERDICTS, OBSERVED, PROBE, PROBE_MEASURES),
)
"""What is estimated by the keys asked for, in the order in which it draws."""
