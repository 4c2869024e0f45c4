"""What is read of Kafka clusters and their consumer groups."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from heartbeat_tuner.domain.kafka_groups import Cluster, Group, UnreadableGroup


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

    def configured(self, cluster: str) -> bool:
        """Whether the operator's configuration names this cluster."""
        ...
