"""What the operator reads of groups, against what clients really do to them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, ShareConsumer, TopicPartition
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupOverrides, GroupState
from sandbox.group_states import group_states
from sandbox.kafka import Kafka
from sandbox.processes import wait_until

pytestmark = pytest.mark.timeout(180)

PROTOCOLS = ("classic", "consumer")

Join: TypeAlias = Callable[..., Consumer]
"""Makes a consumer on a broker, in a group and by a protocol, with more properties; it reads the group's topic."""


@pytest.fixture
def join() -> Iterator[Join]:
    """Return a function that makes a consumer, closed after the test."""
    with ExitStack() as closes:

        def make(kafka: Kafka, group: str, protocol: str, **more: str) -> Consumer:
            base = {"bootstrap.servers": kafka.bootstrap, "group.id": group, "group.protocol": protocol, "log_level": 0}
            consumer = Consumer({**base, **{name.replace("_", "."): value for name, value in more.items()}})
            closes.callback(consumer.close)
            consumer.subscribe([group])
            return consumer

        yield make


async def described(kafka: Kafka, group_id: str) -> Group:
    """Return a group that must be there."""
    with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=30))) as groups:
        found = (await groups.describe("main", [group_id]))[group_id]
    assert isinstance(found, Group)
    return found


async def test_a_share_group_is_there_though_librdkafka_says_that_it_is_not(kafka: Kafka) -> None:
    """Its members are asked for by Kafka's own protocol, and what the broker prescribes to them is read."""
    kafka.create_topic("shared")
    kafka.configure_group("shared", {"share.session.timeout.ms": "46000", "share.record.lock.duration.ms": "20000"})
    consumer = ShareConsumer({"bootstrap.servers": kafka.bootstrap, "group.id": "shared", "log_level": 0})
    with closing(consumer):
        consumer.subscribe(["shared"])
        wait_until(lambda: "shared" in group_states(kafka.bootstrap), part="kafka", what="the share group")
        with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=30))) as groups:
            found = await groups.describe("main", ["shared", "nobody"])
    assert found["nobody"] is None
    group = found["shared"]
    assert isinstance(group, Group)
    assert (group.kind, group.state, group.consumer_protocol) == ("share", GroupState.STABLE, True)
    assert [(member.client_id, member.host) for member in group.members] == [("rdkafka", "127.0.0.1")]
    own = GroupOverrides(session_timeout=timedelta(seconds=46))
    assert group.config == GroupConfig(timedelta(seconds=46), timedelta(seconds=5), own, timedelta(seconds=20))


def await_assigned(*consumers: Consumer, each: int) -> None:
    """Poll until each consumer has so many partitions."""

    def assigned() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        return all(len(consumer.assignment()) == each for consumer in consumers)

    wait_until(assigned, part="kafka", what="an assignment", timeout_s=60)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_members_are_shown_with_their_names_and_their_partitions(kafka: Kafka, join: Join, protocol: str) -> None:
    """And a group whose members have all left is empty."""
    group = f"shown-{protocol}"
    kafka.create_topic(group, 4)
    static = join(kafka, group, protocol, client_id="static", group_instance_id="slot-0")
    dynamic = join(kafka, group, protocol, client_id="dynamic")
    await_assigned(static, dynamic, each=2)
    found = await described(kafka, group)
    assert found.consumer_protocol is (protocol == "consumer")
    assert (found.state, found.partitions) == (GroupState.STABLE, 4)
    assert {(member.client_id, member.instance_id, member.partitions, member.host) for member in found.members} == {
        ("static", "slot-0", 2, "127.0.0.1"),
        ("dynamic", None, 2, "127.0.0.1"),
    }


@pytest.mark.parametrize("asked", ["cooperative-sticky", "roundrobin"])
async def test_how_partitions_are_distributed_is_shown(kafka: Kafka, join: Join, asked: str) -> None:
    """By the members' own name for it: it tells who stands still in a rebalance."""
    group = f"assigned-{asked}"
    kafka.create_topic(group)
    await_assigned(join(kafka, group, "classic", partition_assignment_strategy=asked), each=1)
    assert (await described(kafka, group)).assignor == asked


@pytest.mark.parametrize(
    ("protocol", "state"), [("classic", GroupState.PREPARING_REBALANCE), ("consumer", GroupState.RECONCILING)]
)
async def test_a_group_that_waits_for_a_member_is_rebalancing(
    kafka: Kafka, join: Join, protocol: str, state: GroupState
) -> None:
    """A member that does not poll gives nothing up; what moves is not counted."""
    group = f"moving-{protocol}"
    kafka.create_topic(group, 4)
    first = join(kafka, group, protocol)
    await_assigned(first, each=4)
    second = join(kafka, group, protocol)
    seen: list[Group] = []
    for _ in range(200):
        second.poll(0.05)
        seen.append(await described(kafka, group))
        if seen[-1].rebalancing:
            break
    assert seen[-1].state is state
    assert seen[-1].partitions is None


async def test_an_empty_group_is_no_missing_one(kafka: Kafka) -> None:
    """A thousand that only have offsets, asked for at once, and one that nobody ever made."""
    topic, ids = "offsets-only", [f"offsets-only-{number}" for number in range(1_000)]
    kafka.create_topic(topic)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    offset = [TopicPartition(topic, 0, 0)]
    answers = [admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(item, offset)])[item] for item in ids]
    for answer in answers:
        answer.result(60)
    with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=30))) as groups:
        found = dict(await groups.describe("main", [*ids, "not-there"]))
    assert found.pop("not-there") is None
    assert {name: group.state for name, group in found.items() if isinstance(group, Group)} == dict.fromkeys(
        ids, GroupState.EMPTY
    )


async def test_member_ids_outlive_their_coordinator(tmp_path: Path, join: Join) -> None:
    """A coordinator that comes back, or another that takes over, reads members from its log: nobody was evicted."""
    with Kafka(tmp_path) as kafka:
        consumers = []
        for protocol in PROTOCOLS:
            kafka.create_topic(protocol)
            consumers.append(join(kafka, protocol, protocol))
            await_assigned(consumers[-1], each=1)
        before = {protocol: (await described(kafka, protocol)).members for protocol in PROTOCOLS}
        kafka.stop()
        kafka.start()
        for protocol in PROTOCOLS:
            after = (await described(kafka, protocol)).members
            assert [item.member_id for item in after] == [item.member_id for item in before[protocol]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_static_member_that_comes_back_has_another_id(kafka: Kafka, join: Join, protocol: str) -> None:
    """Its instance id stays, and its old member id is gone at once: no eviction, though it looks like one."""
    group = f"static-{protocol}"
    kafka.create_topic(group)
    gone = join(kafka, group, protocol, group_instance_id="slot-0")
    await_assigned(gone, each=1)
    (before,) = (await described(kafka, group)).members
    gone.close()
    back = join(kafka, group, protocol, group_instance_id="slot-0")
    await_assigned(back, each=1)
    (after,) = (await described(kafka, group)).members
    assert before.instance_id == after.instance_id == "slot-0"
    assert before.member_id != after.member_id
