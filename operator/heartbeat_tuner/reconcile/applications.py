"""From a decision to what is written for it: new values, or those before a change that did harm. Pure."""

import dataclasses
import math
from datetime import datetime, timedelta

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
    inputs, target, current = outcome.inputs, outcome.decision.to_apply, outcome.current
    policy, followed = inputs.policy, inputs.followed
    if target is None:
        return None
    if outcome.decision.reverts and policy.application is not None and followed is not None:
        return _reverting(policy, policy.application, followed, _later_than(policy, now))
    if current is None:
        return None
    names = policy.env_names.values()
    entries = inputs.workload.entries_after(policy, target)
    before = inputs.workload.kept_env.get(policy.workload.container, {})
    return Application(
        values=target,
        previous=current,
        at=_later_than(policy, now),
        workload_uid=inputs.workload.uid,
        container=policy.workload.container,
        entries={name: text for name, text in entries.items() if text and name in names},
        entries_before={name: text for name, text in before.items() if text and name in names},
        promise=_promise(outcome.decision.forecast),
        failed=policy.failed[-MOST_FAILED:],
        reason=outcome.decision.finding.reason.value,
    )


def _reverting(policy: Policy, last: Application, followed: FollowedChange, at: datetime) -> Application:
    """Return the write that takes a change back: the entries before it, so that the template is what it was."""
    failed = FailedValues(
        values=last.values,
        previous=last.previous,
        at=last.at,
        outcome=followed.outcome,
        message=followed.message,
        spec=policy.spec,
        promised_per_day=None if last.promise is None else last.promise.upper_per_day,
        observed_per_day=_observed(followed.effect),
    )
    before, names = last.entries_before or {}, policy.env_names.values()
    return dataclasses.replace(
        last,
        values=last.previous,
        previous=last.values,
        at=at,
        entries={name: text for name, text in before.items() if name in names},
        entries_before=last.entries,
        promise=None,
        reverts=last.at,
        failed=(*policy.failed, failed)[-MOST_FAILED:],
        reason=followed.outcome.value,
    )


def _observed(effect: Effect | None) -> float | None:
    """Return how many episodes a day there were at least under a change; None where none were counted."""
    if effect is None or not 0.0 < effect.after.lower < math.inf:
        return None
    return effect.after.lower


def _promise(forecast: Forecast | None) -> PromisedRate | None:
    """Return what a model says of the values that are written."""
    if forecast is None or forecast.new is None:
        return None
    is_trade = forecast.new.evictions_per_month > forecast.now.evictions_per_month
    return PromisedRate(forecast.new.evictions_upper / durations.MONTH_DAYS, is_trade)


def _later_than(policy: Policy, now: datetime) -> datetime:
    """Return the time of a write, to the second: the newest of two notes is found by it, whichever clock goes wrong."""
    intended = None if policy.intent is None else policy.intent.application
    earlier = [
        application.at + timedelta(seconds=1)
        for application in (policy.application, intended)
        if application is not None
    ]
    return max([now.replace(microsecond=0), *earlier])
