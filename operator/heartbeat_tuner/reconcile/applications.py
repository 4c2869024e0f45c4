"""From a decision to what is written for it: new values, or those before a change that did harm. Pure."""

import dataclasses
import math
from datetime import datetime, timedelta

from heartbeat_tuner.decision import workload_parts
from heartbeat_tuner.decision.at_broker import last_write
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.policies import Application, Policy
from heartbeat_tuner.domain.verdicts import Forecast
from heartbeat_tuner.domain.verifications import MOST_FAILED, Effect, FailedValues, FollowedChange, PromisedRate
from heartbeat_tuner.reconcile.outcomes import Decided


def application_for(outcome: Decided, now: datetime) -> Application | None:
    """Return what is to be written; None if nothing is.

    Args:
        outcome: with the decision.
        now: the time.
    """
    inputs, target = outcome.inputs, outcome.decision.to_apply
    policy, followed = inputs.policy, inputs.followed
    workload, last = workload_parts.written_next(policy, inputs.workload), workload_parts.last_of(policy)
    if target is None:
        return None
    if outcome.decision.reverts and last is not None and followed is not None:
        return _reverting(policy, last, followed, _later_than(policy, now))
    if workload.current is None:
        return None
    names, current = policy.env_names.values(), workload.current.settings
    entries = workload.entries_after(policy, target)
    before = workload.kept_env.get(policy.workload.container, {})
    newest = policy.application if outcome.decision.goes_on else None
    has_landed = followed is not None and followed.landed is not None
    return Application(
        values=target,
        previous=current,
        at=_later_than(policy, now),
        workload_uid=workload.uid,
        container=policy.workload.container,
        entries={name: text for name, text in entries.items() if text and name in names},
        entries_before={name: text for name, text in before.items() if text and name in names},
        promise=promised_rate(outcome.decision.forecast) if newest is None else newest.promise,
        failed=policy.failed[-MOST_FAILED:],
        reason=outcome.decision.finding.reason.value if newest is None else newest.reason,
        # What has landed as a whole is over: a workload that comes later is a change of its own.
        begun=None if newest is None or has_landed else newest.change,
        # Before the first of our changes: of a change of several workloads, before its first one's.
        baseline=(last_write.baseline(policy, inputs.group, current) if newest is None else newest.baseline) or current,
    )


def _reverting(policy: Policy, last: Application, followed: FollowedChange, at: datetime) -> Application:
    """Return the write that takes a change back: the entries before it, so that the template is what it was.

    Of a change of several workloads the first that goes back notes why; the others go back for the same.
    """
    before, names = last.entries_before or {}, policy.env_names.values()
    failed, reason, newest = policy.failed, followed.outcome.value, policy.application
    if newest is not None and newest.reverts is not None:
        reason = newest.reason or reason
    else:
        failed = (*failed, _failed(policy, last, followed))[-MOST_FAILED:]
    return dataclasses.replace(
        last,
        values=last.previous,
        previous=last.values,
        at=at,
        entries={name: text for name, text in before.items() if name in names},
        entries_before=last.entries,
        promise=None,
        reverts=last.at,
        failed=failed,
        reason=reason,
    )


def _failed(policy: Policy, last: Application, followed: FollowedChange) -> FailedValues:
    """Return what is remembered of values that are taken back."""
    return FailedValues(
        values=last.values,
        previous=last.previous,
        at=last.at,
        outcome=followed.outcome,
        message=followed.message,
        spec=policy.spec,
        promised_per_day=None if last.promise is None else last.promise.upper_per_day,
        observed_per_day=_observed(followed.effect),
    )


def _observed(effect: Effect | None) -> float | None:
    """Return how many episodes a day there were at least under a change; None where none were counted."""
    if effect is None or not 0.0 < effect.after.lower < math.inf:
        return None
    return effect.after.lower


def promised_rate(forecast: Forecast | None) -> PromisedRate | None:
    """Return what a model says of the values that are written.

    Args:
        forecast: of them; None where no model was asked.
    """
    if forecast is None or forecast.new is None:
        return None
    is_trade = forecast.new.evictions_per_month > forecast.now.evictions_per_month
    return PromisedRate(
        forecast.new.evictions_upper / durations.MONTH_DAYS,
        is_trade,
        stalled_before=_finite(forecast.now.stalled_per_eviction),
        stalled_after=_finite(forecast.new.stalled_per_eviction),
    )


def _finite(seconds: float | None) -> float | None:
    """Return partition-seconds that can be noted."""
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _later_than(policy: Policy, now: datetime) -> datetime:
    """Return the time of a write, to the second: the newest of two notes is found by it, whichever clock goes wrong."""
    intended = None if policy.intent is None else policy.intent.application
    earlier = [
        application.at + timedelta(seconds=1)
        for application in (policy.application, intended)
        if application is not None
    ]
    return max([now.replace(microsecond=0), *earlier])
