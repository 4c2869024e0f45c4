"""The figures of `bench.quality`: what they are of, and how they are made of outcomes.

Their definitions stand in `bench.quality`.
"""

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np

from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Objective

OBJECTIVE: Final = Objective(max_detection_time=timedelta(minutes=30), max_false_evictions_per_month=1.0)
"""Of every group: one false eviction a month; how soon a death is noticed, the cost decides."""

_WORSE: Final = 1.02
_EVIDENCE: Final = 3
_WORTH_TUNING: Final = 0.05


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What settings come to, by the truth.

    Attributes:
        settings: which.
        net_per_day: stalled partition-seconds, less what no setting can change.
        gross_per_day: with it.
        evictions_per_month: false ones, of the whole group.
    """

    settings: LivenessSettings
    net_per_day: float
    gross_per_day: float
    evictions_per_month: float

    @property
    def within(self) -> bool:
        """Whether the objective is met."""
        return self.evictions_per_month <= OBJECTIVE.max_false_evictions_per_month


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a group is judged against.

    Attributes:
        default: with the library's defaults.
        oracle: of who knows the truth; the defaults where nothing meets the objective.
        feasible: whether anything does.
    """

    default: Outcome
    oracle: Outcome
    feasible: bool


@dataclasses.dataclass(frozen=True)
class Case:
    """One group after one window.

    Attributes:
        client: its library.
        kind: what is remarkable about it.
        reference: what it is judged against.
        rule: with the rule of thumb's values.
        tuned: with the tuner's.
        vouched: whether the tuner changed it, or said that it meets its objective.
        evictions: in its own record.
        verdict: the tuner's.
        reason: likewise.
    """

    client: str
    kind: str
    reference: Reference
    rule: Outcome
    tuned: Outcome
    vouched: bool
    evictions: int
    verdict: str
    reason: str


def figures(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the figures of one fleet after one window, as the module says."""
    ratios = [_ratio(item.tuned, item.reference.oracle) for item in cases]
    vouched = [item for item in cases if item.reference.feasible and item.vouched]
    worse = [item for item in cases if item.tuned.net_per_day > _WORSE * item.reference.default.net_per_day]
    by_client, by_kind = _parts(cases, "client"), _parts(cases, "kind")
    return {
        "captured_share": captured_share(cases),
        "oracle_median": statistics.median(ratios),
        "oracle_p90": float(np.quantile(ratios, 0.9)),
        "oracle_total": _sum(item.tuned for item in cases) / _sum(item.reference.oracle for item in cases),
        "rule_geomean": math.exp(statistics.fmean(math.log(_ratio(item.tuned, item.rule)) for item in cases)),
        "rule_evictions_ratio": _evictions(item.tuned for item in cases) / _evictions(item.rule for item in cases),
        "within_objective": sum(item.tuned.within for item in vouched) / max(len(vouched), 1),
        "made_worse": len(worse) / len(cases),
        "made_worse_without_evidence": sum(item.evictions < _EVIDENCE for item in worse) / len(cases),
        "per_client": _captured(by_client),
        "per_kind": _captured(by_kind),
        "oracle_saves": {name: _saved(some) for name, some in (by_client | by_kind).items()},
        "default_oracle_median": statistics.median(
            _ratio(item.reference.default, item.reference.oracle) for item in cases
        ),
        "rule_oracle_median": statistics.median(_ratio(item.rule, item.reference.oracle) for item in cases),
        "evictions_per_month": {
            "default": _evictions(item.reference.default for item in cases),
            "rule": _evictions(item.rule for item in cases),
            "tuned": _evictions(item.tuned for item in cases),
            "oracle": _evictions(item.reference.oracle for item in cases),
        },
        "feasible": sum(item.reference.feasible for item in cases),
        "vouched": len(vouched),
        "verdicts": dict(Counter(item.verdict for item in cases)),
        "reasons": dict(Counter(item.reason for item in cases)),
    }


def captured_share(cases: Iterable[Case]) -> float:
    """Return which part of what the oracle saves the tuner saves."""
    saved = possible = 0.0
    for item in cases:
        saved += item.reference.default.net_per_day - item.tuned.net_per_day
        possible += item.reference.default.net_per_day - item.reference.oracle.net_per_day
    return saved / possible


def _parts(cases: Sequence[Case], by: str) -> dict[str, list[Case]]:
    names = sorted({getattr(item, by) for item in cases})
    return {name: [item for item in cases if getattr(item, by) == name] for name in names}


def _captured(parts: Mapping[str, Sequence[Case]]) -> dict[str, float]:
    return {name: captured_share(some) for name, some in parts.items() if _saved(some) >= _WORTH_TUNING}


def _saved(cases: Sequence[Case]) -> float:
    """Return which part of the defaults' J the oracle saves."""
    return 1.0 - _sum(item.reference.oracle for item in cases) / _sum(item.reference.default for item in cases)


def _sum(outcomes: Iterable[Outcome]) -> float:
    return sum(outcome.net_per_day for outcome in outcomes)


def _evictions(outcomes: Iterable[Outcome]) -> float:
    return sum(outcome.evictions_per_month for outcome in outcomes)


def _ratio(outcome: Outcome, other: Outcome) -> float:
    return outcome.net_per_day / other.net_per_day
