"""Everything one decision rests on.

It is made in one place for each road to a decision: `reconcile.gather.gathering` for the operator, `from_metrics` for
who has metrics or a model alone. A new fact of a group is added here, filled in there, and used by one step.
"""

import dataclasses
from datetime import datetime

from heartbeat_tuner.clients import catalogue
from heartbeat_tuner.clients.client import Circumstances, Client, Period
from heartbeat_tuner.domain.evidence import Pod, Record, Unknown, Workload
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOwnership, Member
from heartbeat_tuner.domain.liveness import LivenessSettings
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange
from heartbeat_tuner.limits.allowed_values import Limit
from heartbeat_tuner.models.group_model import Fitted, Unfitted


@dataclasses.dataclass(frozen=True, slots=True)
class CanaryLook:
    """What a look shows of the members at a canary's pods: their record, and why the values are not in force, if so."""

    record: Record | Unknown
    contradiction: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionInput:
    """What is known of one group at one moment.

    Attributes:
        now: the moment of it.
        policy: what is asked for.
        workload: the pods, and what is set in them.
        group: as the coordinator describes it.
        cluster: what the brokers allow.
        record: what happened to the group; `Unwatched` where nobody asked for that.
        model: what weeks of history say of its delays, or why there is none that may be used.
        settled: the group when it last stood still with partitions, while these are being moved; None if it was never
            seen so.
        ownership: that a member of the group was seen in the workload's pods, for the status to note; None if not.
        strangers: members that are not of the workload, as seen lately, though the group may not show them now.
        peers: running pods of other policies of the group: their members are no strangers.
        canary: what is seen of the members at a canary's pods, which `record` leaves out; None where there is none.
        held: the least H that the budget of the cluster's heartbeats leaves to the group; None where it leaves any.
        followed: how far our last change is, and whether it helped; None before the first one.
        history: when members were evicted, for the status to note; None until the group was seen.
        looked_at: when the group was seen; None for `now`.
    """

    now: datetime
    policy: Policy
    workload: Workload
    group: Group
    cluster: Cluster
    record: Record | Unknown
    model: Fitted | Unfitted
    settled: Group | None = None
    held: Limit | None = None
    ownership: GroupOwnership | None = None
    strangers: tuple[Member, ...] = ()
    followed: FollowedChange | None = None
    history: EvictionHistory | None = None
    peers: tuple[Pod, ...] = ()
    canary: CanaryLook | None = None
    looked_at: datetime | None = None

    @property
    def seen_at(self) -> datetime:
        """When the group was seen: a look from before a write says nothing of what became of it."""
        return self.looked_at or self.now

    @property
    def client(self) -> Client:
        """The card of the group's client library, as it is in a group of this kind."""
        library, group = self.policy.library, self.group
        return catalogue.in_group(library, group.kind) if group.consumer_protocol else catalogue.client(library)

    @property
    def per_month(self) -> float:
        """How many live members may be removed in 30 days, by the policy."""
        return self.policy.objective.max_false_evictions_per_month

    def period(self, settings: LivenessSettings) -> Period:
        """Return the time between two heartbeats of a member with these settings."""
        return self.client.period(settings, Circumstances(brokers=self.cluster.brokers))
