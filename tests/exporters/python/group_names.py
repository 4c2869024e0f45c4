"""Stand-ins: what a broker knows of one group, under the names of three exporters that run beside groups.

None of the three can be had here, so this is ours: names, labels and values are as their sources and documentation have
them. GROUP_NAMES says whose names, KAFKA_BROKERS and KAFKA_GROUP_ID whom to ask, ADDRESS (host:port) where to serve.
The exporters ask when they are scraped, but the third, which asks once a minute; this one asks every five seconds.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.exporters.python.exposition import Exposition, serve

Partition = tuple[str, int]

_ASK_EVERY_S: Final = 5.0
_TIMEOUT_S: Final = 5.0
_NONE: Final = -1
"""The committed offset of a partition that has none."""

_STATES: Final = {
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.EMPTY: "Empty",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
}


@dataclass(frozen=True)
class Group:
    """What the broker says of a group.

    Attributes:
        name: its id.
        state: in the protocol's words.
        members: how many.
        idle_members: how many of them have no partition.
        coordinator: the broker's id.
        assignor: what the members agreed on.
        committed: the offset of each partition that has one, or had to have one.
        ends: the end of each of those partitions.
    """

    name: str
    state: str
    members: int
    idle_members: int
    coordinator: int
    assignor: str
    committed: Mapping[Partition, int]
    ends: Mapping[Partition, int]

    def lag(self, partition: Partition) -> int:
        """Return how far a partition is behind, -1 if nothing was ever committed."""
        committed = self.committed[partition]
        return _NONE if committed == _NONE else self.ends[partition] - committed

    def topics(self) -> dict[str, list[Partition]]:
        """Return the partitions by topic."""
        names = {topic for topic, _ in self.committed}
        return {name: [item for item in self.committed if item[0] == name] for name in sorted(names)}


def kafka_exporter(now: Exposition, group: Group) -> None:
    """Write danielqsj/kafka_exporter's names."""
    by_group = {"consumergroup": group.name}
    now.set("kafka_consumergroup_members", "gauge", by_group, group.members)
    for topic, partitions in group.topics().items():
        for partition in partitions:
            labels = {**by_group, "topic": topic, "partition": partition[1]}
            now.set("kafka_consumergroup_current_offset", "gauge", labels, group.committed[partition])
            now.set("kafka_consumergroup_lag", "gauge", labels, group.lag(partition))
        known = [partition for partition in partitions if group.committed[partition] != _NONE]
        labels = {**by_group, "topic": topic}
        # A partition without an offset lowers the sum by one, as there.
        offsets = sum(group.committed[partition] for partition in partitions)
        now.set("kafka_consumergroup_current_offset_sum", "gauge", labels, offsets)
        now.set("kafka_consumergroup_lag_sum", "gauge", labels, sum(map(group.lag, known)))


def kminion(now: Exposition, group: Group) -> None:
    """Write redpanda-data/kminion's names: the state is a label, and 1 means stable."""
    by_group = {"group_id": group.name}
    info = {"coordinator_id": group.coordinator, "protocol": group.assignor, "protocol_type": "consumer"}
    is_stable = float(group.state == "Stable")
    now.set("kminion_kafka_consumer_group_info", "gauge", {**by_group, **info, "state": group.state}, is_stable)
    now.set("kminion_kafka_consumer_group_members", "gauge", by_group, group.members)
    now.set("kminion_kafka_consumer_group_empty_members", "gauge", by_group, group.idle_members)
    for topic, partitions in group.topics().items():
        lags = {partition: max(0, group.lag(partition)) for partition in partitions}
        for (_, number), lag in lags.items():
            labels = {**by_group, "topic_name": topic, "partition_id": number}
            now.set("kminion_kafka_consumer_group_topic_partition_lag", "gauge", labels, lag)
        labels = {**by_group, "topic_name": topic}
        now.set("kminion_kafka_consumer_group_topic_lag", "gauge", labels, sum(lags.values()))


def otel_kafkametrics(now: Exposition, group: Group) -> None:
    """Write the names that the collector's kafkametrics receiver gets in Prometheus, where unit 1 is a ratio."""
    by_group = {"group": group.name}
    now.set("kafka_consumer_group_members", "gauge", by_group, group.members)
    for topic, partitions in group.topics().items():
        for partition in partitions:
            labels = {**by_group, "topic": topic, "partition": partition[1]}
            now.set("kafka_consumer_group_offset_ratio", "gauge", labels, group.committed[partition])
            now.set("kafka_consumer_group_lag_ratio", "gauge", labels, group.lag(partition))
        labels = {**by_group, "topic": topic}
        now.set("kafka_consumer_group_lag_sum_ratio", "gauge", labels, sum(map(group.lag, partitions)))


NAMES: Final[Mapping[str, Callable[[Exposition, Group], None]]] = {
    "kafka-exporter": kafka_exporter,
    "kminion": kminion,
    "otel-kafkametrics": otel_kafkametrics,
}


def ask(admin: AdminClient, group_id: str) -> Group | None:
    """Return what the broker says of a group; None while it does not say, or there is no such group."""
    try:
        found = admin.describe_consumer_groups([group_id], request_timeout=_TIMEOUT_S)[group_id].result(_TIMEOUT_S)
        if found.state == ConsumerGroupState.DEAD:
            return None
        asked = ConsumerGroupTopicPartitions(group_id)
        offsets = admin.list_consumer_group_offsets([asked])[group_id].result(_TIMEOUT_S).topic_partitions
        held = [partition for member in found.members for partition in member.assignment.topic_partitions]
        committed = {(item.topic, item.partition): _NONE for item in held}
        committed |= {(offset.topic, offset.partition): max(_NONE, offset.offset) for offset in offsets}
        latest = {TopicPartition(topic, number): OffsetSpec.latest() for topic, number in committed}
        ends = {
            (item.topic, item.partition): end.result(_TIMEOUT_S).offset
            for item, end in (admin.list_offsets(latest).items() if latest else ())
        }
    except (KafkaException, TimeoutError):
        return None
    return Group(
        name=group_id,
        state=_STATES.get(found.state, found.state.name),
        members=len(found.members),
        idle_members=sum(not member.assignment.topic_partitions for member in found.members),
        coordinator=found.coordinator.id,
        assignor=found.partition_assignor,
        committed=committed,
        ends=ends,
    )


def main() -> None:
    """Serve until ended."""
    admin = AdminClient({"bootstrap.servers": os.environ["KAFKA_BROKERS"], "log_level": 0})
    exposition, export = Exposition(), NAMES[os.environ["GROUP_NAMES"]]
    host, _, port = os.environ["ADDRESS"].rpartition(":")
    serve(exposition, host, int(port))
    while True:
        group, now = ask(admin, os.environ["KAFKA_GROUP_ID"]), Exposition()
        if group is not None:
            export(now, group)
        exposition.become(now)
        time.sleep(_ASK_EVERY_S)


if __name__ == "__main__":
    main()
