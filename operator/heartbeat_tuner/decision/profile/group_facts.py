"""What is known of a group besides its model: how it rebalances, how many members and partitions it has."""

import dataclasses
import math
from collections.abc import Callable
from typing import Final

from heartbeat_tuner.clients.client import Client, Period
from heartbeat_tuner.domain.evidence import Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import STATEFUL_SET, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, Sentence, say
from heartbeat_tuner.metrics.measured import ABSENCE, CRASH_DOWNTIME, EVICTION, UNPLANNED_REBALANCE
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel, Unfitted
from heartbeat_tuner.tails.model import Z_95

COOPERATIVE_ASSIGNORS: Final = ("cooperative-sticky",)
"""Assignors of groups in which only the partitions that move stand still; of others nobody may be sure."""

_UNEXPLAINED: Final = 3.0
"""So many times more rebalances than anything explains are no chance."""

_ENOUGH_REBALANCES: Final = 10
_OUTAGES_A_DAY: Final = 0.5
"""Rebalances that brokers and people make now and then: one in two days, which is many."""

LEAST_DAYS: Final = 1e-6
"""A tenth of a second: rates over fewer days could be infinite."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What of a group is known without statistics.

    Attributes:
        client: the library, by the name of its card in a group of this kind.
        rebalancing: how its partitions are moved.
        members: how many there are, above 0.
        partitions: how many they share.
        static: whether members have a `group.instance.id`.
        surge: whether a new pod is started before the old one is closed.
        at_once: whether a rollout stops all members before a new one is ready.
        period_s: between heartbeats while the group was watched, in seconds; None: at the library's defaults.
    """

    client: str
    rebalancing: Rebalancing
    members: int
    partitions: int
    static: bool
    surge: bool = True
    at_once: bool = False
    period_s: float | None = None


def facts(client: Client, policy: Policy, workload: Workload, group: Group, period: Period | None) -> Facts | Unknown:
    """Return what is known of a group at a moment, or why that is too little.

    Who does not say how he rebalances is taken for eager, which costs most.

    Args:
        client: the card of its library, as it is in a group of this kind.
        policy: of the group.
        workload: its pods.
        group: as it last stood still.
        period: between two heartbeats; None where nobody knows what is set.
    """
    if not group.partitions:
        return Unknown(
            Reason.TOO_LITTLE_DATA,
            say(
                "group {group} is {state} with {members} members and has no partitions assigned that could be counted",
                group=group.group_id,
                state=group.state.value,
                members=Reading(len(group.members)),
            ),
        )
    return Facts(
        client=client.name,
        rebalancing=_rebalancing(group),
        members=len(group.members),
        partitions=group.partitions,
        static=all(member.instance_id is not None for member in group.members),
        # A workload may be known by its name and kind alone.
        surge=all(ref.kind != STATEFUL_SET for ref in (*workload.parts, policy.workload)) and not workload.at_once,
        at_once=workload.at_once,
        period_s=None if period is None else period.usual.total_seconds(),
    )


def unfit(model: GroupModel) -> Unfitted | None:
    """Return why a model does not do for a profile; None if it does."""
    absences = model.quantities.get(ABSENCE)
    if absences is not None and watched_days(absences).member_days > 0:
        return None
    return Unfitted(no_tail(model.group, absences))


def unexplained_rebalances(model: GroupModel, facts: Facts, evictions_per_day: Callable[[], float]) -> Sentence | None:
    """Return that a group rebalances unplanned far more often than what its model knows explains; None if it does not.

    Each crash and each eviction makes two rebalances: somebody leaves, somebody comes. Evictions are those that were
    counted, or that the model expects itself: a group whose handlers are slow loses members that poll too late, and
    few clients count these. Where there are many more rebalances, members are removed and no metric shows it, and a
    law of absences that was fitted without them promises too much.

    Args:
        model: of the group.
        facts: the group as it is now.
        evictions_per_day: returns how many the model expects at most with the values that are set, infinite if nobody
            knows; asked only where there are many rebalances, for each cycle asks it of each group.
    """
    shown = model.quantities.get(UNPLANNED_REBALANCE)
    if shown is None or shown.rate is None or not 1.0 <= shown.group_days < math.inf:
        return None
    least = (shown.values - Z_95 * math.sqrt(shown.values)) / shown.group_days
    if shown.values < _ENOUGH_REBALANCES or least <= _UNEXPLAINED * _OUTAGES_A_DAY:
        return None
    crashes, evictions = (facts.members * _upper_rate(model, name) for name in (CRASH_DOWNTIME, EVICTION))
    explained = 2.0 * (crashes + max(evictions, evictions_per_day())) + _OUTAGES_A_DAY
    if least <= _UNEXPLAINED * explained:
        return None
    return say(
        "group {group} rebalanced {rebalances:.3g} times a day without a plan, and crashes and evictions, counted or "
        "expected, explain {explained:.3g}: members are removed and no metric shows it, so nothing is promised",
        group=model.group,
        rebalances=shown.values / shown.group_days,
        explained=explained,
    )


def _upper_rate(model: GroupModel, name: str) -> float:
    """Return how often a quantity happens to a member in a day at most; 0 where the model does not know it."""
    quantity = model.quantities.get(name)
    return 0.0 if quantity is None or quantity.rate is None else quantity.rate.upper


def _rebalancing(group: Group) -> Rebalancing:
    if group.consumer_protocol:
        return Rebalancing.CONSUMER
    return Rebalancing.COOPERATIVE if group.assignor in COOPERATIVE_ASSIGNORS else Rebalancing.EAGER


def no_tail(group: str, absences: QuantityModel | None) -> str:
    """Return why a model without a tail of absences does not do."""
    if absences is None:
        return f"the model of group {group} says nothing of absences: nothing showed them while it was watched"
    return f"the model of group {group} has absences, but no time in which members were watched"


def watched_days(quantity: QuantityModel) -> QuantityModel:
    """Return a quantity that was watched for a tenth of a second at least, or not at all: less says nothing.

    What is no number of days is unknown, and says nothing either.
    """
    watched = (quantity.member_days, quantity.group_days)
    member_days, group_days = (days if LEAST_DAYS <= days < math.inf else 0.0 for days in watched)
    return dataclasses.replace(quantity, member_days=member_days, group_days=group_days)


def largest_s(absences: QuantityModel) -> float | None:
    """Return the longest absence seen, in seconds: 0 where members were watched and none was absent; else unknown.

    Where no metric shows absences there is no exposure, and no question either (`group_facts.unfit`).
    """
    return 0.0 if absences.largest_s is None and not absences.values else absences.largest_s
