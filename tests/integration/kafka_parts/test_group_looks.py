"""Two thousand groups at a real broker: what is left for a cycle to read, and how soon a new member is seen."""

import asyncio
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from datetime import timedelta

import pytest
from confluent_kafka import Consumer

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, UnreadableGroup
from heartbeat_tuner.reconcile.gather.cluster_looks import IN_A_CYCLE, LARGEST_LOT
from heartbeat_tuner.reconcile.gather.group_looks import GroupLooks
from sandbox.kafka import Kafka
from tests.support.fleets import commit_offsets

pytestmark = pytest.mark.timeout(240)

GROUPS = [f"looked-at-{number:04d}" for number in range(2 * IN_A_CYCLE)]
INTERVAL = timedelta(seconds=20)
MOST_CYCLES = 6
"""On a quiet machine two; on a busy one lots are late."""


@dataclasses.dataclass
class Counting:
    """Kafka, and how many groups were asked for at a time."""

    groups: KafkaGroups
    asked: list[int] = dataclasses.field(default_factory=list)

    @property
    def clusters(self) -> Collection[str]:
        """Their names."""
        return self.groups.clusters

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups."""
        self.asked.append(len(group_ids))
        return await self.groups.describe(cluster, group_ids, within=within)

    async def cluster(self, cluster: str) -> Cluster:
        """Return the cluster's bounds."""
        return await self.groups.cluster(cluster)


def joined(kafka: Kafka, group_id: str) -> Consumer:
    """Return a consumer that is a member of a group."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group_id, "log_level": 0})
    consumer.subscribe(["looked-at"])
    for _ in range(600):
        consumer.poll(0.1)
        if consumer.assignment():
            return consumer
    pytest.fail("the consumer was never assigned anything")


async def test_a_large_fleet_is_read_between_cycles(kafka: Kafka) -> None:
    """A cycle reads a part of it itself, and sees all the same what happened to the others."""
    kafka.create_topic("looked-at")
    await asyncio.to_thread(commit_offsets, kafka.bootstrap, "looked-at", GROUPS)
    with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=10))) as real:
        groups = Counting(real)
        looks = GroupLooks(groups, SystemClock(), interval=INTERVAL, sleep=asyncio.sleep)
        async with looks.running():
            first = (await looks.at("main").look(GROUPS)).groups
            assert {type(item.group) for item in first.values()} == {Group}
            assert groups.asked == [len(GROUPS)]
            consumer = await asyncio.to_thread(joined, kafka, GROUPS[-1])
            try:
                for _ in range(MOST_CYCLES):
                    groups.asked.clear()
                    await asyncio.sleep(INTERVAL.total_seconds())
                    lots = list(groups.asked)
                    last = (await looks.at("main").look(GROUPS)).groups
                    if all(item.at > first[group_id].at for group_id, item in last.items()):
                        break
            finally:
                await asyncio.to_thread(consumer.close)
    assert {type(item.group) for item in last.values()} == {Group}
    assert all(item.at > first[group_id].at for group_id, item in last.items())
    shown = last[GROUPS[-1]].group
    assert isinstance(shown, Group)
    assert len(shown.members) == 1
    assert 0 < max(lots) <= LARGEST_LOT
    assert max(groups.asked) == IN_A_CYCLE
