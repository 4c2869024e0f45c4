"""Which groups may beat more often, where all heartbeats of a Kafka cluster together have a budget?

A shorter H costs a group nothing, and its coordinator requests. One that goes from a period P to a shorter one Q saves
s (P - Q) a day, s being what a second of P costs it, and asks for N / Q - N / P requests a second more: s P Q / N saved
for each. The steps of all groups are taken in that order, the most saving first, as long as the budget lasts; the first
that does not fit ends it, so that a larger budget never takes anything away from anybody.

Nobody's H is raised for a budget's sake: what is set counts as spent, and so does what a record demands. What members
send is measured: a policy may declare anything, and the beats of a group that cannot be measured count for one a second
of each member at most. Where several namespaces have groups, none spends more than half of the budget in the others'
account.
"""

import dataclasses
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import numpy as np

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Period
from heartbeat_tuner.decision.optimize import tuning
from heartbeat_tuner.decision.optimize.questions import Question
from heartbeat_tuner.domain.evidence import Record, Unknown
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import ObjectKey, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.verdicts import Decision
from heartbeat_tuner.limits import allowed_values
from heartbeat_tuner.limits.allowed_values import Limit

LARGEST_SHARE: Final = 0.5
"""Of a budget: what one namespace of several may spend before it is counted no further."""

LEAST_UNMEASURED_S: Final = 1.0
"""Seconds between two beats of a member, where none were measured: no interval below is ever chosen."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """A group that would do better with a shorter interval.

    Attributes:
        key: whose it is.
        members: how many beat.
        intervals: H from the one that is set to the one that is wished for, falling.
        periods_s: the seconds between two heartbeats that go with each, falling.
    """

    key: ObjectKey
    members: int
    intervals: Sequence[timedelta]
    periods_s: Sequence[float]

    @property
    def more_per_s(self) -> float:
        """How many heartbeats a second the whole wish takes beyond those of now."""
        return self.members / self.periods_s[-1] - self.members / self.periods_s[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """The heartbeats of one Kafka cluster's groups.

    Attributes:
        by_namespace: what nobody asks about, by namespace: those of now, and those that a record demands.
        wishes: one for each group that would beat more often because it is cheaper.
    """

    by_namespace: Mapping[str, float]
    wishes: Sequence[Wish]

    def counted(self, per_s: float) -> float:
        """Return how many count as spent: of several namespaces none for more than its share of a budget."""
        most = per_s * LARGEST_SHARE if len(self.by_namespace) > 1 else math.inf
        return sum(min(spent, most) for spent in self.by_namespace.values())

    def exceeds(self, per_s: float) -> bool:
        """Whether a budget does not do for all."""
        return self.counted(per_s) + sum(wish.more_per_s for wish in self.wishes) > per_s


@dataclasses.dataclass(frozen=True, slots=True)
class Beating:
    """A group that was decided on, as far as its heartbeats go.

    Attributes:
        policy: of the group.
        members: how many beat.
        current: what is set; None while the pods differ.
        record: what was measured.
        period: between two heartbeats of a member, by the settings.
        decision: on the group by itself.
    """

    policy: Policy
    members: int
    current: LivenessSettings | None
    record: Record | Unknown
    period: Callable[[LivenessSettings], Period]
    decision: Decision

    def period_s(self, settings: LivenessSettings) -> float:
        """Return the usual seconds between two heartbeats of a member."""
        return self.period(settings).usual.total_seconds()


def demand(groups: Iterable[Beating]) -> Demand:
    """Return what the groups of one Kafka cluster want, each decided on by itself."""
    spent, wishes = defaultdict[str, float](float), []
    for group in groups:
        members, now = group.members, _in_force(group)
        if now is None or not members:
            continue
        decision = group.decision
        namespace, target = group.policy.key.namespace, decision.target or now
        set_s, wanted_s = group.period_s(now), group.period_s(target)
        measured_s = _measured_s(group, set_s)
        if decision.finding.reason is Reason.CHEAPER and wanted_s < set_s:
            wishes.append(_wish(group, now, target))
            spent[namespace] += members / measured_s
        else:
            demanded_s = measured_s if decision.target is None else max(wanted_s, LEAST_UNMEASURED_S)
            spent[namespace] += members / min(measured_s, demanded_s)
    return Demand(dict(spent), wishes)


def slope(question: Question, target: LivenessSettings) -> float:
    """Return what each second between heartbeats costs a group with `target`, in stalled partition-seconds a day.

    From what is set to `target`, everything else as there; 0 where nothing is known.
    """
    allowed, cost_cache = tuning.rules_and_costs(question)
    now = question.current
    rarer = dataclasses.replace(target, heartbeat_interval=now.heartbeat_interval, fetch_wait=now.fetch_wait)
    apart_s = (allowed.period(rarer).usual - allowed.period(target).usual).total_seconds()
    if not apart_s > 0:
        return 0.0
    with np.errstate(all="ignore"):
        per_second = (cost_cache.at(rarer).net_per_day - cost_cache.at(target).net_per_day) / apart_s
    return per_second if math.isfinite(per_second) else 0.0


def _measured_s(group: Beating, set_s: float) -> float:
    """Return the seconds between two beats of a member: as measured, else as set, but for no more than one a second."""
    record = group.record
    # While pods are being replaced the beats of those that go say nothing of those that come.
    if group.current is None or isinstance(record, Unknown) or not record.beat_period:
        return max(set_s, LEAST_UNMEASURED_S)
    return record.beat_period.total_seconds()


def limits(
    demand: Demand, slopes: Mapping[ObjectKey, float], per_s: float, *, cluster: str, shards: int = 1
) -> dict[ObjectKey, Limit]:
    """Return the least H that a budget leaves to each group that would have a shorter one.

    Args:
        demand: the groups of the cluster.
        slopes: what each second between heartbeats costs a group that wishes, in stalled partition-seconds a day.
        per_s: the budget, in heartbeats a second.
        cluster: its name.
        shards: into how many the fleet, and with it the cluster's budget, is divided.
    """
    whose = "" if shards == 1 else f" in this shard, one of {shards}"
    name = f"the heartbeats of Kafka cluster {cluster} have a budget of {per_s:g} requests a second{whose}"
    intervals = least_intervals(demand.wishes, slopes, per_s - demand.counted(per_s))
    return {key: Limit(least, name) for key, least in intervals.items()}


def least_intervals(
    wishes: Sequence[Wish], slopes: Mapping[ObjectKey, float], left_per_s: float
) -> dict[ObjectKey, timedelta]:
    """Return the least H of each group whose wish is not granted whole.

    Args:
        wishes: one for each group; their order does not matter.
        slopes: by group; what is below nothing is nothing.
        left_per_s: heartbeats a second that may come on top of what is spent; there may be less than none.
    """
    steps = []
    for wish in wishes:
        slope, members = max(slopes.get(wish.key, 0.0), 0.0), wish.members
        for place, (longer_s, shorter_s) in enumerate(itertools.pairwise(wish.periods_s), 1):
            saved = slope * longer_s * shorter_s / members
            steps.append((-saved, wish.key, place, members / shorter_s - members / longer_s))
    taken = dict.fromkeys((wish.key for wish in wishes), 0)
    for _, key, place, more_per_s in sorted(steps):
        left_per_s -= more_per_s
        if left_per_s < 0:
            break
        taken[key] = place
    return {wish.key: wish.intervals[taken[wish.key]] for wish in wishes if taken[wish.key] + 1 < len(wish.intervals)}


def _in_force(group: Beating) -> LivenessSettings | None:
    """Return what the members run with; while they are being replaced, what they will."""
    if group.current is not None:
        return group.current
    return None if group.policy.application is None else group.policy.application.values


def _wish(group: Beating, now: LivenessSettings, target: LivenessSettings) -> Wish:
    client, wanted = catalogue.client(group.policy.library), target.heartbeat_interval
    between = [step for step in reversed(allowed_values.INTERVALS) if wanted < step < now.heartbeat_interval]
    steps = [(now, group.period_s(now))]
    least_s = group.period_s(target)
    for liveness_settings in (allowed_values.with_interval(now, client, interval) for interval in between):
        period_s = group.period_s(liveness_settings)
        if least_s < period_s < steps[-1][1]:  # where a beat waits for the fetch, a shorter H may change nothing
            steps.append((liveness_settings, period_s))
    steps.append((target, least_s))
    return Wish(
        group.policy.key,
        group.members,
        tuple(values.heartbeat_interval for values, _ in steps),
        tuple(period_s for _, period_s in steps),
    )
