"""What the operator writes into a group's configuration, on a real broker: what Kafka refuses, and what it takes."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.errors import GroupConfigChangedError, GroupConfigRefusedError, NotLeaderError
from heartbeat_tuner.domain.kafka_groups import Group, GroupConfig, GroupOverrides
from sandbox.kafka import Kafka
from sandbox.processes import wait_until
from tests.support.fences import TimedFence

pytestmark = pytest.mark.timeout(120)

NOTHING = GroupOverrides()
S20 = GroupOverrides(timedelta(seconds=20))
S3_H1 = GroupOverrides(timedelta(seconds=3), timedelta(seconds=1))


class Member:
    """A librdkafka member of a group of the consumer protocol that counts what it is told of its partitions.

    Args:
        kafka: the broker.
        group_id: its group, and its topic.
    """

    def __init__(self, kafka: Kafka, group_id: str) -> None:
        self.callbacks = 0
        self._consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": group_id, "group.protocol": "consumer", "log_level": 0}
        )
        self._consumer.subscribe([group_id], on_assign=self._told, on_revoke=self._told, on_lost=self._told)
        wait_until(self._is_assigned, part="kafka", what="an assignment", timeout_s=60)

    def poll_for(self, seconds: float) -> None:
        """Poll for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._consumer.poll(0.05)

    def close(self) -> None:
        """Leave."""
        self._consumer.close()

    def _told(self, *_: object) -> None:
        self.callbacks += 1

    def _is_assigned(self) -> bool:
        self._consumer.poll(0.05)
        return bool(self._consumer.assignment())


@pytest.fixture
def fence() -> TimedFence:
    """An open fence."""
    return TimedFence()


@pytest.fixture
def groups(kafka: Kafka, fence: TimedFence) -> Iterator[KafkaGroups]:
    """The operator's view of the broker, with leave to write."""
    with closing(operator(kafka, fence)) as opened:
        yield opened


def operator(kafka: Kafka, fence: TimedFence, *, alters: bool = True) -> KafkaGroups:
    """Return an operator's view of a broker."""
    access = KafkaAccess(kafka.bootstrap, alters_groups=alters)
    return KafkaGroups({"main": access}, timeout=timedelta(seconds=20), fence=fence)


@pytest.fixture
def group(kafka: Kafka, request: pytest.FixtureRequest) -> Iterator[str]:
    """A group of the consumer protocol with one member, and no value of its own."""
    name = request.node.name.replace("[", "-").replace("]", "")
    kafka.create_topic(name)
    with closing(Member(kafka, name)):
        yield name


async def config(groups: KafkaGroups, group_id: str) -> GroupConfig:
    """Return a group's configuration as the operator reads it."""
    found = (await groups.describe("main", [group_id]))[group_id]
    assert isinstance(found, Group)
    assert found.config is not None
    return found.config


async def in_force(groups: KafkaGroups, group_id: str, wanted: GroupOverrides) -> GroupConfig:
    """Return a group's configuration once it shows what was written: a broker may still show what was before."""
    until = time.monotonic() + 10
    while (found := await config(groups, group_id)).overrides != wanted:
        assert time.monotonic() < until, found
    return found


async def test_values_are_set_together_and_taken_away_again(groups: KafkaGroups, group: str) -> None:
    """What stood before was the broker's own: so it stands again when the group's own values are deleted."""
    before = await config(groups, group)
    assert before == GroupConfig(timedelta(seconds=45), timedelta(seconds=5), NOTHING)
    await groups.alter("main", group, kind="consumer", expected=NOTHING, wanted=S3_H1)
    assert await in_force(groups, group, S3_H1) == GroupConfig(timedelta(seconds=3), timedelta(seconds=1), S3_H1)
    await groups.alter("main", group, kind="consumer", expected=S3_H1, wanted=NOTHING)
    assert await in_force(groups, group, NOTHING) == before


async def test_nothing_is_written_over_a_value_that_somebody_set(kafka: Kafka, groups: KafkaGroups, group: str) -> None:
    """Both values are named: the one found, and the one expected."""
    kafka.configure_group(group, {"consumer.session.timeout.ms": "30000"})
    await in_force(groups, group, GroupOverrides(timedelta(seconds=30)))
    with pytest.raises(GroupConfigChangedError, match="has sessionTimeout 30s at the broker, and no value of its own"):
        await groups.alter("main", group, kind="consumer", expected=NOTHING, wanted=S20)
    assert (await config(groups, group)).session_timeout == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("session_s", "interval_s", "why"),
    [(61, None, "1000 to 60000"), (20, 16, "200 to 15000"), (4, None, "must be greater than")],
    ids=["session-beyond", "interval-beyond", "session-below-interval"],
)
async def test_what_kafka_does_not_take_is_refused_whole(
    groups: KafkaGroups, group: str, session_s: int, interval_s: int | None, why: str
) -> None:
    """By the request that only validates: its answer names the range, ours the properties and where they belong."""
    interval = None if interval_s is None else timedelta(seconds=interval_s)
    wanted = GroupOverrides(timedelta(seconds=session_s), interval)
    with pytest.raises(GroupConfigRefusedError, match=why) as refused:
        await groups.alter("main", group, kind="consumer", expected=NOTHING, wanted=wanted)
    assert "group.consumer.{min,max}.session.timeout.ms" in str(refused.value)
    assert "the controllers' count" in str(refused.value)
    assert (await config(groups, group)).overrides == NOTHING


async def test_nobody_writes_without_leadership_or_leave(
    kafka: Kafka, groups: KafkaGroups, group: str, fence: TimedFence
) -> None:
    """The fence is asked by the write itself; who may only read is told which field says so."""
    for left_s, error in ((0.0, NotLeaderError), (0.5, GroupConfigRefusedError)):
        fence.left_s = left_s
        with pytest.raises(error):
            await groups.alter("main", group, kind="consumer", expected=NOTHING, wanted=S20)
    fence.left_s = 30.0
    with closing(operator(kafka, fence, alters=False)) as reader:
        with pytest.raises(GroupConfigRefusedError, match=r"kafka\.clusters\.main\.alterGroups"):
            await reader.alter("main", group, kind="consumer", expected=NOTHING, wanted=S20)
        assert not (await reader.cluster("main")).alters_groups
    assert (await config(groups, group)).overrides == NOTHING


async def test_a_change_is_in_force_at_the_next_beat_without_a_rebalance(kafka: Kafka, groups: KafkaGroups) -> None:
    """The member beats on under a tenth of its session, stays in the group, and is told nothing of partitions."""
    kafka.create_topic("altered-live")
    member = Member(kafka, "altered-live")
    callbacks = member.callbacks
    await groups.alter("main", "altered-live", kind="consumer", expected=NOTHING, wanted=S3_H1)
    member.poll_for(6.0)  # the beat before the change was up to 5 s ago
    assert member.callbacks == callbacks
    found = (await groups.describe("main", ["altered-live"]))["altered-live"]
    assert isinstance(found, Group)
    assert len(found.members) == 1
    member.close()


async def test_what_is_described_need_not_be_in_force(tmp_path: Path, fence: TimedFence) -> None:
    """A broker that starts again with narrower bounds shows values that it does not use, and takes no other beside.

    Here a new session is refused since the stored interval is outside today's bounds; both in one request are taken.
    """
    name = "outside-bounds"
    with Kafka(tmp_path) as kafka:
        kafka.create_topic(name)
        with closing(Member(kafka, name)), closing(operator(kafka, fence)) as groups:
            await groups.alter("main", name, kind="consumer", expected=NOTHING, wanted=S3_H1)
            await in_force(groups, name, S3_H1)
    narrow = {
        "group.consumer.min.session.timeout.ms": "10000",
        "group.consumer.min.heartbeat.interval.ms": "3000",
    }
    kafka.reconfigure(narrow)
    with kafka, closing(Member(kafka, name)), closing(operator(kafka, fence)) as groups:
        assert (await config(groups, name)).overrides == S3_H1
        bounds = (await groups.cluster("main")).consumer
        assert bounds is not None
        assert (bounds.min_session, bounds.min_interval) == (timedelta(seconds=10), timedelta(seconds=3))
        alone = GroupOverrides(timedelta(seconds=20), S3_H1.heartbeat_interval)
        with pytest.raises(GroupConfigRefusedError, match="3000 to 15000"):
            await groups.alter("main", name, kind="consumer", expected=S3_H1, wanted=alone)
        both = GroupOverrides(timedelta(seconds=20), timedelta(seconds=5))
        await groups.alter("main", name, kind="consumer", expected=S3_H1, wanted=both)
        await in_force(groups, name, both)
