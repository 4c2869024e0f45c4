"""Reading from Kafka clusters, through librdkafka's admin client.

Groups are read in `kafka_reading`'s order, as many as there is time for; a cluster's bounds are read from a broker's
configuration and kept for a while, since they change only with a broker restart. The client blocks, so waits happen in
worker threads: one for each cluster, so that none waits for another that is down. `kafka_answers` knows what is said.

A group that was not read in time is unknown, however lately it was read before: who its members are proves whose it is,
and a pod's address may be another's by now.
"""

import asyncio
import dataclasses
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.adapters.kafka import cluster_bounds, described_configs, group_alteration, kafka_access
from heartbeat_tuner.adapters.kafka.batched_groups import BatchedGroups
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_answers import ClusterAnswers, error_of
from heartbeat_tuner.adapters.kafka.kafka_client import KafkaClient
from heartbeat_tuner.adapters.kafka.kafka_reading import GroupReading, Reader
from heartbeat_tuner.adapters.kafka.undescribed_groups import UndescribedGroups
from heartbeat_tuner.domain.errors import ClusterUnreachableError, GroupConfigRefusedError, NotLeaderError
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupConfig, GroupOverrides, UnreadableGroup
from heartbeat_tuner.ports.leader_lease import Fence

KEEP_BOUNDS_S: Final = 300.0

READING_S: Final = 20.0
"""For all groups of one cluster at once: a third of the default interval, so that metrics and writes have theirs. A
healthy broker describes 10,000 groups in less."""

CONFIGS_S: Final = 5.0
"""After that for configurations of groups of the consumer protocol, or at a slow broker they would never be read."""

FEATURES_S: Final = 3.0
"""For the features that a cluster has turned on: no decision waits for them for longer."""

TELL_AGAIN_S: Final = 50.0
"""What the log was told is told again after so long at the earliest: groups are read in many lots a minute."""

RENEW_S: Final = 300.0
"""So long a request may have no answer until a new client asks again: librdkafka may look for none by then."""

RETIRED_S: Final = 1_800.0
"""So long a client is left the time to get its answers; well below `kafka_client.UNENDED_S`, as all of these."""

MOST_RETIRED: Final = 3

IDLE_S: Final = 900.0
"""Without a reading for so long, since another replica leads, no request is left open."""

_Described = dict[str, Group | UnreadableGroup | None]

_log = structlog.get_logger()


class KafkaGroups:
    """The configured clusters.

    Args:
        clusters: how each is reached, by name.
        timeout: for one request.
        fence: asked before each write; None where nothing is written.
    """

    def __init__(self, clusters: Mapping[str, KafkaAccess], *, timeout: timedelta, fence: Fence | None = None) -> None:
        self._fence = fence
        self._ended = threading.Event()
        self._clusters = {
            name: _Cluster(name, access, timeout_s=timeout.total_seconds(), ended=self._ended)
            for name, access in clusters.items()
        }
        self._threads = {name: ThreadPoolExecutor(1, thread_name_prefix=f"kafka-{name}") for name in clusters}
        self._rests: dict[str, asyncio.TimerHandle] = {}

    @property
    def clusters(self) -> Collection[str]:
        """The names of the operator's configuration."""
        return self._clusters.keys()

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as their coordinators describe them; None for one that does not exist.

        It takes no longer than `READING_S` and `CONFIGS_S`, after a request's time for the cluster to show itself: what
        was not read by then is an `UnreadableGroup`, and first in turn when it is asked for again.

        Args:
            cluster: its name.
            group_ids: each of them once.
            within: less time, for the groups and then for their configurations.

        Raises:
            ClusterUnreachableError: the cluster did not answer, or lets nobody in with what the files hold.
        """
        loop, threads, reader = asyncio.get_running_loop(), self._threads[cluster], self._clusters[cluster]
        if cluster in self._rests:
            self._rests.pop(cluster).cancel()
        try:
            within_s = READING_S if within is None else within.total_seconds()
            return await loop.run_in_executor(threads, reader.describe, list(group_ids), within_s)
        finally:
            if not self._ended.is_set():
                self._rests[cluster] = loop.call_later(IDLE_S, threads.submit, reader.rest)

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's size and bounds, not older than `KEEP_BOUNDS_S`.

        Raises:
            ClusterUnreachableError: the cluster did not answer, or lets nobody in with what the files hold.
        """
        work = self._clusters[cluster].size_and_bounds
        return await asyncio.get_running_loop().run_in_executor(self._threads[cluster], work)

    async def alter(
        self, cluster: str, group_id: str, *, kind: str, expected: GroupOverrides, wanted: GroupOverrides
    ) -> None:
        """Set what differs in a group's configuration, as `GroupConfigs.alter` has it."""
        if self._fence is None:
            raise NotLeaderError("nobody asked to lead, so nothing is written")
        work = self._clusters[cluster].alter
        loop, threads = asyncio.get_running_loop(), self._threads[cluster]
        # A write is waited for to its end: who gave up would not know that it was done.
        await asyncio.shield(loop.run_in_executor(threads, work, group_id, kind, expected, wanted, self._fence))

    def close(self) -> None:
        """Wait for no answer any more; connections end soon after, and before the process does."""
        self._ended.set()
        for rest in self._rests.values():
            rest.cancel()
        for name, threads in self._threads.items():
            threads.submit(self._clusters[name].rest)
            threads.shutdown(wait=False)


class _Cluster:
    """One cluster; its methods block, and are called by one thread at a time."""

    def __init__(self, name: str, access: KafkaAccess, *, timeout_s: float, ended: threading.Event) -> None:
        self._name = name
        self._answers = ClusterAnswers(name)
        self._access = access
        self._timeout_s = timeout_s
        self._reader = Reader(timeout_s=timeout_s, ended=ended)
        self._client: KafkaClient | None = None
        self._retired: list[KafkaClient] = []
        self._bounds: tuple[float, Cluster] | None = None
        self._told_s = float("-inf")
        self._batched = BatchedGroups(name)
        self._undescribed = UndescribedGroups(self._answers)

    def describe(self, group_ids: list[str], within_s: float) -> _Described:
        """Return the groups, with what the broker prescribes to them where S and H are its."""
        client = self._connected()
        try:
            # Why nobody is let in is known soon, and only here.
            self._nodes(client)
            until_s = time.monotonic() + within_s
            batched = self._batched.described(client.keys, group_ids, within_s=min(self._timeout_s, within_s))
            alone = [group_id for group_id in group_ids if group_id not in batched]
            left_s = until_s - time.monotonic()
            reading = self._reader.read(client, alone, self._answers.understood, within_s=left_s)
            self._batched.ask_again(reading.answered)
            if not (batched or reading.answered):
                raise client.silence()
            answered = self._undescribed.filled_in(
                client.keys.properties, reading.answered, within_s=min(self._timeout_s, within_s)
            )
            configured = self._with_configs(client, {**batched, **answered}, within_s=min(CONFIGS_S, within_s))
        except ClusterUnreachableError:
            if not client.waiting:  # with its connections, and what it remembers of coordinators
                self._retire()
            raise
        return self._with_unread(configured, reading, group_ids)

    def rest(self) -> None:
        """End all connections; the next reading makes new ones."""
        self._batched.close()
        self._retire()
        for client in self._retired:
            client.close()
        self._retired = []

    def size_and_bounds(self) -> Cluster:
        """Return how many brokers there are, and between which times sessions must be."""
        if self._bounds is None or time.monotonic() - self._bounds[0] > KEEP_BOUNDS_S:
            client = self._connected()
            try:
                self._bounds = (time.monotonic(), self._read_bounds(client))
            except ClusterUnreachableError:
                if not client.waiting:
                    self._retire()
                raise
        return dataclasses.replace(self._bounds[1], describes_batches=self._batched.serves)

    def _connected(self) -> KafkaClient:
        """Return the client, a new one if a file changed, or a request was never answered."""
        keys = kafka_access.read(self._name, self._access)
        if self._client is not None:
            self._client.forget()
            if self._client.keys != keys:
                _log.info("mounted files changed, connecting again", cluster=self._name)
                self._retire()
            elif self._client.waits_for_s > RENEW_S:
                self._retire()
        self._close_retired()
        if self._client is None:
            self._client = KafkaClient(self._name, self._access, keys, timeout_s=self._timeout_s)
        return self._client

    def _retire(self) -> None:
        """Part from the client; it is closed when it has all its answers, or has waited for them long enough."""
        if self._client is not None:
            self._retired.append(self._client)
            self._client = None
            self._close_retired()

    def _close_retired(self) -> None:
        for place, client in enumerate(self._retired[::-1]):
            client.forget()
            if client.settled or client.waits_for_s > RETIRED_S or place >= MOST_RETIRED:
                client.close()
                self._retired.remove(client)

    def _nodes(self, client: KafkaClient) -> list[int]:
        """Return the ids of the brokers, from one that answers.

        Raises:
            ClusterUnreachableError: none does.
        """
        future = client.admin.describe_cluster(request_timeout=self._timeout_s)
        client.wait([future], let_in=False)
        if error_of(future) is not None:
            raise client.silence()
        return [node.id for node in future.result().nodes]

    def _with_unread(
        self, groups: Mapping[str, Group | UnreadableGroup | None], reading: GroupReading[Any], group_ids: list[str]
    ) -> _Described:
        """Return the groups, and why there is nothing to say of those that are missing."""
        late = [group_id for group_id in group_ids if group_id not in groups and group_id not in reading.silent]
        why = "no answer from its coordinator"
        silent = {group_id: self._answers.no_answer(group_id, why) for group_id in reading.silent}
        return dict(groups) | silent | {group_id: self._answers.unread(group_id) for group_id in late}

    def _with_configs(
        self, client: KafkaClient, groups: Mapping[str, Group | UnreadableGroup | None], *, within_s: float
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups, with what the broker prescribes to them where S and H are its.

        Where that was not read in time the group is left out: without it, what its client is set to would be taken for
        what is in force.
        """
        wanted = {
            name: group.kind for name, group in groups.items() if isinstance(group, Group) and group.consumer_protocol
        }
        within_s = min(within_s, self._timeout_s)
        configs = described_configs.read(client, self._answers, wanted, within_s=within_s)
        unread = [text for text in configs.values() if isinstance(text, str)]
        if unread and time.monotonic() - self._told_s > TELL_AGAIN_S:
            self._told_s = time.monotonic()
            _log.warning("group configurations not read", cluster=self._name, groups=len(unread), first=unread[0])
        late = [group_id for group_id in wanted if group_id not in configs]
        self._reader.put_first(late)
        left_out = set(late)
        return {
            group_id: dataclasses.replace(group, config=config)
            if isinstance(group, Group) and isinstance(config := configs.get(group_id), GroupConfig)
            else group
            for group_id, group in groups.items()
            if group_id not in left_out
        }

    def _read_bounds(self, client: KafkaClient) -> Cluster:
        nodes = self._nodes(client)
        if not nodes:
            raise ClusterUnreachableError(f"Kafka cluster {self._name} names no broker")
        read = cluster_bounds.read(client, self._answers, nodes, timeout_s=self._timeout_s)
        level = cluster_bounds.group_version(client.keys.properties, within_s=min(FEATURES_S, self._timeout_s))
        return dataclasses.replace(read, alters_groups=self._access.alters_groups, group_version=level)

    def alter(self, group_id: str, kind: str, expected: GroupOverrides, wanted: GroupOverrides, fence: Fence) -> None:
        """Write into a group's configuration."""
        if not self._access.alters_groups:
            raise GroupConfigRefusedError(f"kafka.clusters.{self._name}.alterGroups is not set")
        client, times = self._connected(), (expected, wanted)
        group_alteration.alter(
            client, self._answers, group_id, *times, kind=kind, timeout_s=self._timeout_s, fence=fence
        )
