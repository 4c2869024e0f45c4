"""From an outcome to the points that Prometheus is given of one policy. Pure.

Beside `reporting`, which says the same in a status: there in words that stand still, here in numbers of this very pass.
What this pass could not find out has no point, whatever an earlier one found.

What rests on the same grounds as the status is made with it (`lasting`); the record's numbers are made in each pass
(`passing`).
"""

import functools
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from heartbeat_tuner.api.v1alpha1.status_v1alpha1 import Status
from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.profile.usable_model import USED
from heartbeat_tuner.domain import exposed
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.exposed import Bound, Family, MetricPoint, ValuesLabel
from heartbeat_tuner.domain.liveness import LivenessSettings, Setting
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.verdicts import Prediction
from heartbeat_tuner.domain.verifications import FollowedChange
from heartbeat_tuner.models.group_model import Fitted, Unfitted
from heartbeat_tuner.reconcile.outcomes import Decided, Result
from heartbeat_tuner.tails.model import TailModel

RARE: Final = 1e-6
"""The share of values that exceed what is shown of a tail."""

_CACHED_TAILS: Final = 40_000
"""Two quantities of 10,000 groups, and those of the fit before: a bound takes longer than all else here."""

_DAYS_PER_MONTH: Final = 30

_FAMILY_OF: Final = {
    Setting.SESSION_TIMEOUT: exposed.SESSION_TIMEOUT,
    Setting.HEARTBEAT_INTERVAL: exposed.HEARTBEAT_INTERVAL,
    Setting.FETCH_WAIT: exposed.FETCH_WAIT,
    Setting.MAX_POLL_INTERVAL: exposed.MAX_POLL_INTERVAL,
}

_Point = tuple[Family, tuple[str, ...], float | None]


def points(policy: Policy | None, outcome: Result, status: Status) -> tuple[MetricPoint, ...]:
    """Return what is known of one policy.

    Args:
        policy: what it asks for; None where it cannot be read.
        outcome: what became of it in this pass.
        status: its status after that.
    """
    return (*lasting(policy, outcome, status), *passing(outcome))


def lasting(policy: Policy | None, outcome: Result, status: Status) -> tuple[MetricPoint, ...]:
    """Return the points that stay while nothing happens: they are as good as the status; arguments as of `points`."""
    return _known(_lasting(policy, outcome, status))


def passing(outcome: Result) -> tuple[MetricPoint, ...]:
    """Return the points that are others in each pass: the record's."""
    if not isinstance(outcome, Decided) or isinstance(outcome.inputs.record, Unknown):
        return ()
    return _known(_seen(outcome.inputs.record))


def _known(points: Iterator[_Point]) -> tuple[MetricPoint, ...]:
    return tuple(
        MetricPoint(family, labels, float(number))
        for family, labels, number in points
        if number is not None and math.isfinite(number)
    )


def _lasting(policy: Policy | None, outcome: Result, status: Status) -> Iterator[_Point]:
    if policy is not None:
        yield from _of_policy(policy)
    if status.verdict is not None and status.reason is not None:
        yield exposed.DECISION, (status.verdict.value, status.reason.value), 1.0
    for condition in status.conditions:
        yield exposed.CONDITION, (condition.type.value, condition.status.value, condition.reason.value), 1.0
    if isinstance(outcome, Decided):
        yield from _of_decided(outcome)


def _of_policy(policy: Policy) -> Iterator[_Point]:
    workload = workload_parts.references(policy)[0]
    named = (policy.group_id, policy.cluster, workload.kind, workload.key.name, workload.container, policy.library)
    yield exposed.INFO, (*named, policy.mode.value), 1.0
    yield exposed.ALLOWED_EVICTIONS, (), policy.objective.max_false_evictions_per_month / _DAYS_PER_MONTH


def _of_decided(outcome: Decided) -> Iterator[_Point]:
    inputs, decision = outcome.inputs, outcome.decision
    if outcome.current is not None:
        yield from _settings(ValuesLabel.SET, outcome.current)
    if decision.target is not None:
        yield from _settings(ValuesLabel.RECOMMENDED, decision.target)
    blocking = outcome.failure or (None if outcome.application is not None else decision.hold)
    if blocking is not None:
        yield exposed.BLOCKED, (blocking.reason.value,), 1.0
    if decision.forecast is not None:
        yield from _expected(ValuesLabel.SET, decision.forecast.now)
        if decision.forecast.new is not None:
            yield from _expected(ValuesLabel.RECOMMENDED, decision.forecast.new)
    yield from _model(inputs.model)
    if outcome.last_application is not None:
        yield from _change(outcome.last_application, inputs.followed)


def _change(last: Application, followed: FollowedChange | None) -> Iterator[_Point]:
    """Yield when the last change was written, and landed; what is followed may still be the change before it."""
    yield exposed.APPLIED_AT, (), last.at.timestamp()
    if followed is not None and followed.at == last.at and followed.landed is not None:
        yield exposed.LANDED_AT, (), followed.landed.timestamp()
    if last.reverts is not None:
        yield exposed.REVERTED_AT, (), last.at.timestamp()


def _settings(values: ValuesLabel, settings: LivenessSettings) -> Iterator[_Point]:
    for setting, family in _FAMILY_OF.items():
        value = settings.by_setting.get(setting)
        yield family, (values.value,), _s(value)


def _expected(values: ValuesLabel, prediction: Prediction) -> Iterator[_Point]:
    labels = (values.value,)
    yield exposed.EXPECTED_EVICTIONS, labels, prediction.evictions_per_month / _DAYS_PER_MONTH
    yield exposed.EXPECTED_EVICTIONS_UPPER, labels, prediction.evictions_upper / _DAYS_PER_MONTH
    yield exposed.EXPECTED_STALL, labels, prediction.net_per_day
    yield exposed.EXPECTED_DETECTION, labels, prediction.detection_s


def _seen(record: Record) -> Iterator[_Point]:
    yield exposed.RECORD_END, (), record.until.timestamp()
    yield exposed.RECORD_LENGTH, (), _s(record.span)
    yield exposed.RECORD_EVICTIONS, (), record.evictions
    yield exposed.RECORD_POLL_GAP_EVICTIONS, (), record.poll_gap_evictions
    yield exposed.RECORD_REBALANCES, (), record.rebalances
    yield exposed.RECORD_REBALANCING, (), record.rebalancing_share
    yield exposed.RECORD_BEAT_PERIOD, (), _s(record.beat_period)
    yield exposed.RECORD_SILENCE, (), _s(record.longest_silence)
    yield exposed.RECORD_POLL_GAP, (), _s(record.longest_poll_gap)
    yield exposed.UNOBSERVED_PODS, (), len(record.unobserved_pods)


def _model(fitted: Fitted | Unfitted) -> Iterator[_Point]:
    if isinstance(fitted, Unfitted):
        yield exposed.MODEL_USED, (), 0.0
        yield exposed.MODEL_END, (), None if fitted.until is None else _end_of(fitted.until)
        return
    yield exposed.MODEL_USED, (), 1.0
    yield exposed.MODEL_END, (), _end_of(fitted.model.until)
    yield exposed.MODEL_FITTED, (), fitted.model.fitted_at.timestamp()
    for name in USED:
        quantity = fitted.model.quantities.get(name)
        if quantity is None:
            continue
        yield exposed.DELAY_LARGEST, (name,), quantity.largest_s
        if quantity.law is not None:
            likely_s, upper_s = _rare(quantity.law[0])
            yield exposed.DELAY, (name, Bound.LIKELY.value), likely_s
            yield exposed.DELAY, (name, Bound.UPPER.value), upper_s


@functools.lru_cache(maxsize=_CACHED_TAILS)
def _rare(tail: TailModel) -> tuple[float | None, float | None]:
    """Return what is exceeded by a share `RARE` of values, and at most; None where the tail begins beyond it."""
    if tail.share < RARE:
        return None, None
    return tail.quantile_s(RARE), tail.quantile_upper_s(RARE)


def _end_of(day: date) -> float:
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)).timestamp()


def _s(value: timedelta | None) -> float | None:
    return None if value is None else value.total_seconds()
