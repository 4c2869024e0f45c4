"""What is known of a group besides its model: how it rebalances, how many members and partitions it has."""

import dataclasses
from typing import Final

from heartbeat_tuner.clients.client import Period
from heartbeat_tuner.domain.evidence import Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.domain.policies import STATEFUL_SET, Policy
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.domain.sentences import Reading, say
from heartbeat_tuner.metrics.measured import ABSENCE
from heartbeat_tuner.models.failure_profile import Rebalancing
from heartbeat_tuner.models.group_model import GroupModel, QuantityModel, Unfitted

COOPERATIVE_ASSIGNORS: Final = ("cooperative-sticky",)
"""Assignors of groups in which only the partitions that move stand still; of others nobody may be sure."""

LEAST_DAYS: Final = 1e-6
"""A tenth of a second: rates over fewer days could be infinite."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What of a group is known without statistics.

    Attributes:
        client: the library, as policies call it.
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


def facts(policy: Policy, workload: Workload, group: Group, period: Period | None) -> Facts | Unknown:
    """Return what is known of a group at a moment, or why that is too little.

    Who does not say how he rebalances is taken for eager, which costs most.

    Args:
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
        client=policy.library,
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
    """Return a quantity that was watched for a tenth of a second at least, or not at all: less says nothing."""
    watched = (quantity.member_days, quantity.group_days)
    member_days, group_days = (days if days >= LEAST_DAYS else 0.0 for days in watched)
    return dataclasses.replace(quantity, member_days=member_days, group_days=group_days)
