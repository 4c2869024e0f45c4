"""May a model be used for a policy, and which?

A model is an old sight of a group. It is used only where it is of this group as it is now, and fresh; else the group
is decided on as if there were none, and the sentence says why. None of this moves while nothing happens: ages are told
as dates.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.measured import ABSENCE, POLL_GAP
from heartbeat_tuner.models.group_model import NO_MODEL, Fitted, GroupModel, QuantityModel, Unfitted, Unreadable
from heartbeat_tuner.tails.histogram import SCHEMA
from heartbeat_tuner.tails.model import Rejected, RejectionReason

MAX_AGE: Final = timedelta(days=7)
"""Counted from the end of the newest day that a model rests on: a value is then worth half."""

LEAST_DAYS: Final = 1.0
"""Who was not watched for a whole day may be seen at his best hour only."""

USED: Final = (ABSENCE, POLL_GAP)
"""What a decision looks up."""

_FEW: Final = frozenset({RejectionReason.NO_VALUES, RejectionReason.TOO_FEW_VALUES})
"""Too little for a tail: how rarely members were away is known all the same."""


def chosen(candidates: Sequence[Fitted | Unreadable], policy: Policy, *, now: datetime) -> Fitted | Unfitted:
    """Return the model to decide with, or why there is none.

    Of several that may be used, one of the policy's own cluster goes before one of no cluster, then the newest.

    Args:
        candidates: the models of the policy's namespace and group.
        policy: whose group it is.
        now: the moment of it.
    """
    refusals = [(candidate, _refusal(candidate, policy, now)) for candidate in candidates]
    usable = [fitted for fitted, refusal in refusals if not refusal and isinstance(fitted, Fitted)]
    if usable:
        return max(
            usable, key=lambda fitted: (*_rank(fitted, policy), fitted.model.until, fitted.model.fitted_at, fitted.name)
        )
    if not refusals:
        return NO_MODEL
    nearest, why = max(refusals, key=lambda pair: (*_rank(pair[0], policy), pair[0].name))
    return Unfitted(why, nearest.model.until if isinstance(nearest, Fitted) else None)


def _rank(fitted: Fitted | Unreadable, policy: Policy) -> tuple[bool, bool]:
    """Order models by how much they are this policy's."""
    cluster = fitted.model.cluster if isinstance(fitted, Fitted) else None
    return cluster in ("", policy.cluster), cluster == policy.cluster


def _refusal(unreadable: Fitted | Unreadable, policy: Policy, now: datetime) -> str:
    """Return why a model may not be used; empty if it may."""
    if isinstance(unreadable, Unreadable):
        return unreadable.message
    model, name = unreadable.model, f"ConsumerGroupModel {unreadable.name}"
    if model.cluster not in ("", policy.cluster):
        return f"{name} is of Kafka cluster {model.cluster}, the policy of {policy.cluster}"
    if model.schema != SCHEMA:
        return f"{name} is of histogram schema {model.schema}, and this version reads {SCHEMA}"
    if model.client != known_conventions.measured_as(policy.library):
        return (
            f"{name} was measured of {model.client} consumers, and this group's library is said to be "
            f"{policy.library}; correct the library, or fit the group again"
        )
    if not catalogue.client(policy.library).handles_messages:
        return (
            f"{name} is not used: the tasks of a worker that left wait for scheduled.rebalance.max.delay.ms, and what "
            f"that costs is not known"
        )
    return _untimely(model, name, now) or _unfounded(model, name)


def _untimely(model: GroupModel, name: str, now: datetime) -> str:
    ends = datetime(model.until.year, model.until.month, model.until.day, tzinfo=UTC) + timedelta(days=1)
    if ends > now + timedelta(days=1) or model.fitted_at > now + timedelta(days=1):
        newest = max(model.until, model.fitted_at.astimezone(UTC).date())
        return f"{name} is of a day that has not come yet, {newest}: a clock is wrong"
    if now - ends > MAX_AGE or now - model.fitted_at > MAX_AGE + timedelta(days=1):
        return f"{name} rests on days until {model.until}, more than {MAX_AGE.days} days ago: does the fit still run?"
    return ""


def _unfounded(model: GroupModel, name: str) -> str:
    for what, quantity_model in model.quantities.items():
        if not math.isfinite(quantity_model.group_days + quantity_model.member_days):
            return f"{name} does not say for how many days {what} was watched"
    watched = max((quantity.group_days for quantity in model.quantities.values()), default=0.0)
    if watched < LEAST_DAYS:
        return f"{name} rests on {watched:.2g} days, at least {LEAST_DAYS:g} is needed"
    used = {quantity: model.quantities[quantity] for quantity in USED if quantity in model.quantities}
    if not used:
        return f"{name} says nothing of absences and poll gaps"
    if all(_does_not_fit(quantity_model) for quantity_model in used.values()):
        why = "; ".join(
            f"{what}: {quantity_model.tail}"
            for what, quantity_model in used.items()
            if isinstance(quantity_model.tail, Rejected)
        )
        return f"{name} has no tail that fits ({why})"
    return ""


def _does_not_fit(quantity: QuantityModel) -> bool:
    """Whether what was seen of a quantity follows no law."""
    return quantity.law is None and not (isinstance(quantity.tail, Rejected) and quantity.tail.reason in _FEW)
