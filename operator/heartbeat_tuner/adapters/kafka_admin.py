"""Reading from Kafka clusters, through librdkafka's admin client.

All groups of a cluster are asked for at once; its bounds are read from a broker's configuration and kept for a while,
since they change only with a broker restart. The client blocks, so waits happen in worker threads: one for each
cluster, so that none waits for another that is down.
"""

import asyncio
import dataclasses
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

import structlog
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from heartbeat_tuner.adapters import kafka_access
from heartbeat_tuner.adapters.kafka_access import Access
from heartbeat_tuner.adapters.kafka_client import KafkaClient
from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.evidence import (
    DEFAULT_MAX_SESSION,
    DEFAULT_MIN_SESSION,
    Cluster,
    Group,
    GroupConfig,
    GroupState,
    Member,
    UnreadableGroup,
)

KEEP_BOUNDS_S: Final = 300.0

_BROKER_TIMES: Final = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")
_GROUP_TIMES: Final = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")

_Described = dict[str, Group | UnreadableGroup | None]

_STATES: Final[Mapping[ConsumerGroupState, GroupState]] = MappingProxyType(
    {
        ConsumerGroupState.EMPTY: GroupState.EMPTY,
        ConsumerGroupState.STABLE: GroupState.STABLE,
        ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
        ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
    }
)

_log = structlog.get_logger()


class KafkaGroups:
    """The configured clusters.

    Args:
        clusters: how each is reached, by name.
        timeout: for one request.
    """

    def __init__(self, clusters: Mapping[str, Access], *, timeout: timedelta) -> None:
        self._clusters = {
            name: _Cluster(name, access, timeout_s=timeout.total_seconds()) for name, access in clusters.items()
        }
        self._threads = {name: ThreadPoolExecutor(1, thread_name_prefix=f"kafka-{name}") for name in clusters}

    def configured(self, cluster: str) -> bool:
        """Whether the operator's configuration names this cluster."""
        return cluster in self._clusters

    async def describe(self, cluster: str, group_ids: Sequence[str]) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        Raises:
            ClusterUnreachableError: the cluster did not answer, or lets nobody in with what the files hold.
        """
        work = self._clusters[cluster].describe
        return await asyncio.get_running_loop().run_in_executor(self._threads[cluster], work, list(group_ids))

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's size and bounds, not older than `KEEP_BOUNDS_S`.

        Raises:
            ClusterUnreachableError: likewise.
        """
        work = self._clusters[cluster].size_and_bounds
        return await asyncio.get_running_loop().run_in_executor(self._threads[cluster], work)

    def close(self) -> None:
        """Wait for no answer any more."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)


class _Cluster:
    """One cluster; its methods block, and are called by one thread at a time."""

    def __init__(self, name: str, access: Access, *, timeout_s: float) -> None:
        self._name = name
        self._access = access
        self._timeout_s = timeout_s
        self._client: KafkaClient | None = None
        self._bounds: tuple[float, Cluster] | None = None

    def describe(self, group_ids: list[str]) -> _Described:
        """Return the groups, those of the consumer protocol with what the broker prescribes to them."""
        client = self._connected()
        try:
            # Whoever asks for a coordinator while connections break may crash librdkafka, up to 2.16 (its issue 4605).
            self._nodes(client)
            # All at once: librdkafka makes requests for each group anyway, and smaller portions are no quicker.
            futures = client.admin.describe_consumer_groups(group_ids, request_timeout=self._timeout_s)
            client.wait(futures.values())
            errors = {group_id: _error(future) for group_id, future in futures.items()}
            if all(error is not None and _silent(error) for error in errors.values()):
                raise client.silence()
            groups = {
                group_id: self._group(future.result()) if error is None else self._not_described(group_id, error)
                for (group_id, future), error in zip(futures.items(), errors.values(), strict=True)
            }
            return self._with_configs(client, groups)
        except ClusterUnreachableError:
            self._client = None  # with its connections and what it remembers of coordinators
            raise

    def size_and_bounds(self) -> Cluster:
        """Return how many brokers there are, and between which times sessions must be."""
        if self._bounds is None or time.monotonic() - self._bounds[0] > KEEP_BOUNDS_S:
            client = self._connected()
            try:
                self._bounds = (time.monotonic(), self._read_bounds(client))
            except ClusterUnreachableError:
                self._client = None
                raise
        return self._bounds[1]

    def _connected(self) -> KafkaClient:
        """Return the client, a new one if a file changed."""
        keys = kafka_access.read(self._name, self._access)
        if self._client is not None and self._client.keys == keys:
            self._client.forget_errors()
            return self._client
        if self._client is not None:
            _log.info("mounted files changed, connecting anew", cluster=self._name)
        self._client = KafkaClient(self._name, self._access, keys, timeout_s=self._timeout_s)
        return self._client

    def _nodes(self, client: KafkaClient) -> list[int]:
        """Return the ids of the brokers, from one that answers.

        Raises:
            ClusterUnreachableError: none does.
        """
        future = client.admin.describe_cluster(request_timeout=self._timeout_s)
        client.wait([future], let_in=False)
        if _error(future) is not None:
            raise client.silence()
        return [node.id for node in future.result().nodes]

    def _group(self, found: Any) -> Group | None:
        if found.state == ConsumerGroupState.DEAD:
            return None
        by_broker = found.type == ConsumerGroupType.CONSUMER
        # librdkafka knows the states of classic groups; those that only the consumer protocol has are unknown to it.
        members = tuple(
            Member(
                one.member_id,
                one.host.removeprefix("/"),
                client_id=one.client_id,
                instance_id=one.group_instance_id,
                partitions=len(one.assignment.topic_partitions),
            )
            for one in found.members
        )
        state = _STATES.get(found.state, GroupState.RECONCILING if by_broker else GroupState.UNKNOWN)
        assignor = found.partition_assignor or ""
        return Group(found.group_id, state, members, consumer_protocol=by_broker, assignor=assignor)

    def _not_described(self, group_id: str, error: KafkaError) -> UnreadableGroup | None:
        """Return why a group cannot be seen; None if it is not there."""
        group = f"group {group_id}"
        match error.code():
            case KafkaError.GROUP_ID_NOT_FOUND:
                return None
            case KafkaError.GROUP_AUTHORIZATION_FAILED:
                return UnreadableGroup(self._lacks("Describe", group, _group_option(group_id)))
            case KafkaError.TOPIC_AUTHORIZATION_FAILED:  # a group of the consumer protocol is shown with its topics
                return UnreadableGroup(self._lacks("Describe", f"the topics of {group}", "--topic TOPIC"))
        words = "no answer from its coordinator" if _silent(error) else error.str()
        return UnreadableGroup(f"Kafka cluster {self._name} does not describe {group}: {words}")

    def _with_configs(self, client: KafkaClient, groups: _Described) -> _Described:
        """Return the groups, those of the consumer protocol with what the broker prescribes to them."""
        asked = {
            group_id: ConfigResource(ResourceType.GROUP, group_id)
            for group_id, group in groups.items()
            if isinstance(group, Group) and group.consumer_protocol
        }
        if not asked:
            return groups
        futures = client.admin.describe_configs(list(asked.values()), request_timeout=self._timeout_s)
        client.wait(futures.values())
        configs: dict[str, GroupConfig] = {}
        unread: list[str] = []
        for group_id, resource in asked.items():
            found = self._times(futures[resource], _GROUP_TIMES, f"group {group_id}", _group_option(group_id))
            if isinstance(found, str):
                unread.append(found)
            else:
                configs[group_id] = GroupConfig(*found)
        if unread:
            _log.warning("group configurations not read", cluster=self._name, groups=len(unread), first=unread[0])
        return {
            group_id: dataclasses.replace(group, config=configs.get(group_id)) if isinstance(group, Group) else group
            for group_id, group in groups.items()
        }

    def _read_bounds(self, client: KafkaClient) -> Cluster:
        nodes = self._nodes(client)
        if not nodes:
            raise ClusterUnreachableError(f"Kafka cluster {self._name} names no broker")
        resource = ConfigResource(ResourceType.BROKER, str(min(nodes)))
        future = client.admin.describe_configs([resource], request_timeout=self._timeout_s)[resource]
        client.wait([future])
        error = _error(future)
        if error is not None and _silent(error):
            raise client.silence()
        found = self._times(future, _BROKER_TIMES, "the cluster", "--cluster")
        if isinstance(found, str):
            _log.warning("broker bounds not read, Kafka's defaults are assumed", cluster=self._name, error=found)
            return Cluster(len(nodes), DEFAULT_MIN_SESSION, DEFAULT_MAX_SESSION, bounds_assumed=True)
        return Cluster(len(nodes), *found)

    def _times(
        self, future: Future[Any], names: tuple[str, str], on: str, option: str
    ) -> tuple[timedelta, timedelta] | str:
        """Return two times of a configuration, or why they cannot be read."""
        error = _error(future)
        if error is not None:
            denied = error.code() in {KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
            return self._lacks("DescribeConfigs", on, option) if denied else f"the configuration of {on}: {error.str()}"
        config = future.result()
        try:
            first, second = (timedelta(milliseconds=int(config[name].value)) for name in names)
        except (KeyError, TypeError):  # TypeError: the value is hidden from us
            return f"the configuration of {on} does not show {' and '.join(names)}"
        return first, second

    def _lacks(self, operation: str, on: str, option: str) -> str:
        """Return what to grant, as Kafka's own tool is told; OPERATOR is whom the operator logs in as."""
        return (
            f"Kafka cluster {self._name} does not give the operator the right {operation} on {on}; grant it: "
            f"kafka-acls --add --allow-principal User:OPERATOR --operation {operation} {option}"
        )


def _group_option(group_id: str) -> str:
    return f"--group {shlex.quote(group_id)}"


def _error(future: Future[Any]) -> KafkaError | None:
    """Return the error of a request that has been answered; None if it went well."""
    exception = future.exception()
    if exception is None:
        return None
    if not isinstance(exception, KafkaException):
        raise exception
    return exception.args[0]


def _silent(error: KafkaError) -> bool:
    """Whether nobody answered: the broker's own errors are positive, librdkafka's are negative."""
    return bool(error.code() < 0)
