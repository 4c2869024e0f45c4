"""What is read of Kafka clusters and their consumer groups, and what is written there."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOverrides, UnreadableGroup


class Groups(Protocol):
    """Kafka clusters, by the names of the operator's configuration."""

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        Args:
            cluster: its name.
            group_ids: each of them once.
            within: what was not answered by then is not read in time; None for as long as a whole fleet may take.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        ...

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's size and bounds.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        ...

    @property
    def clusters(self) -> Collection[str]:
        """The names of the operator's configuration."""
        ...


class GroupConfigs(Protocol):
    """The configurations of groups whose S and H are the broker's."""

    async def alter(
        self, cluster: str, group_id: str, *, kind: str, expected: GroupOverrides, wanted: GroupOverrides
    ) -> None:
        """Set what differs, in one request; None in `wanted` takes a value of the group's own away.

        Args:
            cluster: its name.
            group_id: of the group.
            kind: whose keys are written (`Group.kind`).
            expected: what is set for the group itself, as far as is known.
            wanted: what is to be set.

        Raises:
            GroupConfigChangedError: another value is set than expected; nothing was written.
            GroupConfigRefusedError: Kafka does not take the values, or the operator lacks the right; nothing was
                written.
            ClusterUnreachableError: no answer: it may have been written or not.
            NotLeaderError: the leadership is over; nothing was written.
        """
        ...
