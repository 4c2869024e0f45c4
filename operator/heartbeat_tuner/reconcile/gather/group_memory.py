"""What no single look at a policy's group can show, remembered from cycle to cycle.

Member ids that changed, members of others, the group as it was when its partitions were assigned, and how long nobody
has read it.
"""

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from heartbeat_tuner.domain.evidence import Pod, Workload
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.domain.verdicts import Finding
from heartbeat_tuner.domain.verifications import EvictionHistory, FollowedChange
from heartbeat_tuner.reconcile import following, group_history
from heartbeat_tuner.reconcile.following import Witnesses
from heartbeat_tuner.reconcile.gather import foreign_members, member_ids, policy_workloads, unread
from heartbeat_tuner.reconcile.gather.foreign_members import ForeignMembers
from heartbeat_tuner.reconcile.gather.kafka_looks import ReadCluster
from heartbeat_tuner.reconcile.gather.member_ids import Ledger
from heartbeat_tuner.reconcile.gather.unread import LastRead
from heartbeat_tuner.reconcile.group_history import FollowMemory, GroupLook
from heartbeat_tuner.reconcile.series.reading_plan import RECORD_WINDOW

STRANGERS_KEPT: Final = timedelta(minutes=15)
"""How long a foreign member is remembered after it was last seen; if it still disturbs the group, it shows by then."""


@dataclasses.dataclass(slots=True)
class GroupMemory:
    """What is remembered of one policy's group.

    Attributes:
        ledger: its members' ids.
        strangers: members that are not of the workload.
        settled: the group when it was last seen with all partitions assigned; None if it never was.
        last_read: when it was read last; None before the first cycle that tried.
        following: what is remembered of our last change to it.
        config: what the broker was seen to prescribe to it last; None for a classic group.
        config_since: when that was seen first: what happened before may have happened under other values.
    """

    ledger: Ledger = dataclasses.field(default_factory=Ledger)
    strangers: ForeignMembers = dataclasses.field(default_factory=ForeignMembers)
    settled: Group | None = None
    last_read: LastRead | None = None
    following: FollowMemory = dataclasses.field(default_factory=FollowMemory)
    config: GroupConfig | None = None
    config_since: datetime | None = None

    @classmethod
    def since(cls, unseen: datetime | None) -> "GroupMemory":
        """Return the memory of a leader that has not looked yet.

        Args:
            unseen: since when nobody looked; None where that is not known.
        """
        return cls(following=FollowMemory(unknown_since=unseen))

    def see(self, workload: Workload, group: Group, peers: Sequence[Pod], *, at: datetime) -> None:
        """Take in one more look at the group's members, and at what the broker prescribes to them.

        Args:
            workload: of the policy.
            group: as it was seen.
            peers: pods of other policies of the group.
            at: the moment of the look.
        """
        pods = policy_workloads.as_of(workload, at).pods
        self.ledger = member_ids.observe(self.ledger, pods, group.members, now=at, keep_since=at - RECORD_WINDOW)
        self.strangers = foreign_members.observe(
            self.strangers, (*workload.pods, *peers), group.members, now=at, keep_since=at - STRANGERS_KEPT
        )
        if group.partitions:
            self.settled = group
        if group.config is not None and not group.config.fences_as(self.config):
            self.config, self.config_since = group.config, at

    def follow(self, look: GroupLook, witnesses: Witnesses) -> tuple[FollowedChange | None, EvictionHistory | None]:
        """Return how far our last change is after a look at the group, and when its members were evicted."""
        followed, history, self.following = following.follow(look, self.following, witnesses)
        return followed, history

    def unseen(self, now: datetime, kafka: ReadCluster) -> None:
        """Note that nothing could be seen of the group, perhaps since its brokers did not answer."""
        self.following = group_history.unseen(self.following, now, is_outage=isinstance(kafka, Finding))

    def is_passed_over(self, policy: Policy, now: datetime) -> bool:
        """Note that this cycle did not reach a policy's group; return whether its status stands all the same."""
        self.last_read = unread.missed(self.last_read, now=now)
        return unread.keeps(policy, self.last_read, now=now)
