"""Reading from Kafka clusters, through librdkafka's admin client.

Groups are described in one request per cluster; a cluster's bounds are read from its brokers' configuration and kept
for a while, since they change only with a broker restart. The client blocks on futures, so waits happen in worker
threads.
"""

import asyncio
import dataclasses
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import structlog
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.evidence import (
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    Group,
    GroupConfig,
    Member,
    UnreadableGroup,
)

KEEP_BOUNDS_S: Final = 300.0
FUTURE_MARGIN_S: Final = 1.0
"""Wait so much longer than a request may take: librdkafka's own error says more than a wait that ends."""

_REBALANCING: Final = frozenset({ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING})

_log = structlog.get_logger()


class KafkaGroups:
    """The configured clusters.

    Args:
        bootstrap_servers: addresses by cluster name.
        timeout: for one request.
    """

    def __init__(self, bootstrap_servers: Mapping[str, str], *, timeout: timedelta) -> None:
        self._bootstrap_servers = dict(bootstrap_servers)
        self._timeout_s = timeout.total_seconds()
        self._clients: dict[str, AdminClient] = {}
        self._bounds: dict[str, tuple[float, Cluster]] = {}

    def configured(self, cluster: str) -> bool:
        """Whether the operator's configuration names this cluster."""
        return cluster in self._bootstrap_servers

    async def describe(self, cluster: str, group_ids: Sequence[str]) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        return await asyncio.to_thread(self._describe, cluster, list(group_ids))

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's size and bounds, not older than `KEEP_BOUNDS_S`.

        Raises:
            ClusterUnreachableError: the cluster did not answer.
        """
        kept = self._bounds.get(cluster)
        if kept is None or time.monotonic() - kept[0] > KEEP_BOUNDS_S:
            kept = (time.monotonic(), await asyncio.to_thread(self._read_cluster, cluster))
            self._bounds[cluster] = kept
        return kept[1]

    def _describe(self, cluster: str, group_ids: list[str]) -> dict[str, Group | UnreadableGroup | None]:
        try:
            client = self._client(cluster)  # kept to the end: `_unreachable` gives it up while answers are awaited
            # Whoever asks for a coordinator while connections break may crash librdkafka, up to 2.16 (its issue 4605).
            looked = client.describe_cluster(request_timeout=self._timeout_s)
            looked.result(timeout=self._timeout_s + FUTURE_MARGIN_S)
            futures = client.describe_consumer_groups(group_ids, request_timeout=self._timeout_s)
        except (KafkaException, TimeoutError) as error:
            raise self._unreachable(cluster, error) from error
        found = {group_id: self._group(cluster, group_id, future) for group_id, future in futures.items()}
        if found and all(isinstance(one, ClusterUnreachableError) for one in found.values()):
            raise next(one for one in found.values() if isinstance(one, ClusterUnreachableError))
        return self._with_config(
            cluster,
            {
                group_id: UnreadableGroup(str(one)) if isinstance(one, ClusterUnreachableError) else one
                for group_id, one in found.items()
            },
        )

    def _with_config(
        self, cluster: str, groups: dict[str, Group | UnreadableGroup | None]
    ) -> dict[str, Group | UnreadableGroup | None]:
        """Return the groups, those of the consumer protocol with what the broker prescribes to them."""
        asked = {
            group_id: ConfigResource(ResourceType.GROUP, group_id)
            for group_id, group in groups.items()
            if isinstance(group, Group) and group.consumer_protocol
        }
        if not asked:
            return groups
        try:
            described = self._client(cluster).describe_configs(list(asked.values()), request_timeout=self._timeout_s)
        except KafkaException as error:
            raise self._unreachable(cluster, error) from error
        configs = {group_id: self._config(cluster, group_id, described[one]) for group_id, one in asked.items()}
        return {
            group_id: dataclasses.replace(group, config=configs[group_id])
            if isinstance(group, Group) and group_id in configs
            else group
            for group_id, group in groups.items()
        }

    def _config(self, cluster: str, group_id: str, future: Any) -> GroupConfig | None:
        """Return what the broker prescribes; None where it may not be read."""
        try:
            config = future.result(timeout=self._timeout_s + FUTURE_MARGIN_S)
            session, interval = (
                timedelta(milliseconds=int(config[name].value))
                for name in ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")
            )
        except (KafkaException, TimeoutError, KeyError, TypeError) as error:
            _log.warning("group configuration cannot be read", cluster=cluster, group=group_id, error=str(error))
            return None
        return GroupConfig(session, interval)

    def _group(
        self, cluster: str, group_id: str, future: Any
    ) -> Group | UnreadableGroup | ClusterUnreachableError | None:
        try:
            found = future.result(timeout=self._timeout_s + FUTURE_MARGIN_S)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return None
            if error.args[0].code() > 0:  # the broker's answer for this group; librdkafka's own errors are negative
                return UnreadableGroup(f"Kafka cluster {cluster} does not describe {group_id}: {error.args[0].str()}")
            return self._unreachable(cluster, error)
        except TimeoutError as error:
            return self._unreachable(cluster, error)
        if found.state == ConsumerGroupState.DEAD:
            return None
        members = tuple(Member(one.member_id, one.host.removeprefix("/")) for one in found.members)
        return Group(
            found.group_id,
            found.state in _REBALANCING,
            members,
            consumer_protocol=found.type == ConsumerGroupType.CONSUMER,
        )

    def _read_cluster(self, cluster: str) -> Cluster:
        try:
            client = self._client(cluster)
            brokers = client.list_topics(timeout=self._timeout_s).brokers
            if not brokers:
                raise ClusterUnreachableError(f"Kafka cluster {cluster} names no broker")
            resource = ConfigResource(ResourceType.BROKER, str(min(brokers)))
            described = client.describe_configs([resource], request_timeout=self._timeout_s)
        except KafkaException as error:
            raise self._unreachable(cluster, error) from error
        try:
            config = described[resource].result(timeout=self._timeout_s + FUTURE_MARGIN_S)
            low, high = (
                timedelta(milliseconds=int(config[f"group.{side}.session.timeout.ms"].value)) for side in ("min", "max")
            )
        except TimeoutError as error:
            raise self._unreachable(cluster, error) from error
        except (KafkaException, KeyError, TypeError) as error:  # TypeError: the value is hidden from us
            _log.warning(
                "broker bounds cannot be read, Kafka's defaults are assumed", cluster=cluster, error=str(error)
            )
            return Cluster(len(brokers), DEFAULT_MIN_SESSION, DEFAULT_MAX_SESSION, bounds_assumed=True)
        return Cluster(len(brokers), low, high)

    def _client(self, cluster: str) -> AdminClient:
        if cluster not in self._clients:
            self._clients[cluster] = AdminClient(
                {
                    "bootstrap.servers": self._bootstrap_servers[cluster],
                    "client.id": "heartbeat-tuner",
                    "socket.timeout.ms": round(self._timeout_s * 1_000),
                    "log_level": 0,  # librdkafka would write every failed connection to stderr; conditions tell it once
                }
            )
        return self._clients[cluster]

    def _unreachable(self, cluster: str, error: KafkaException | TimeoutError) -> ClusterUnreachableError:
        """Return the error; the client is given up with its connections and what it remembers of coordinators."""
        self._clients.pop(cluster, None)
        cause = "timed out" if isinstance(error, TimeoutError) else error.args[0].str()
        return ClusterUnreachableError(
            f"Kafka cluster {cluster} ({self._bootstrap_servers[cluster]}) did not answer: {cause}"
        )
