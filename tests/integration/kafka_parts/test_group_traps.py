"""What surprises at a real broker when a group's session and interval are set: each trap as what the operator does."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.errors import GroupConfigRefusedError
from heartbeat_tuner.domain.kafka_groups import Group, GroupOverrides
from sandbox import network
from sandbox.consumers import confluent_python_command
from sandbox.kafka import Kafka
from sandbox.kafka_cluster import KAFKAS_BOUNDS, ControllerApart
from tests.integration.kafka_parts.test_group_alteration import NOTHING, Member, in_force, operator
from tests.support.fences import TimedFence

pytestmark = pytest.mark.timeout(180)

RUNNING: Final = GroupOverrides(timedelta(seconds=20), timedelta(seconds=6))
BELOW_IT: Final = GroupOverrides(timedelta(seconds=5), timedelta(seconds=1))
"""A session that is shorter than the interval before it; on a busy machine a beat may be seconds late."""


@contextmanager
def process_of(kafka: Kafka, group_id: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a member in a process of its own, which may be killed."""
    (port,) = network.free_ports(1)
    own = {"KAFKA_BROKERS": kafka.bootstrap, "KAFKA_GROUP_ID": group_id, "KAFKA_TOPIC": group_id}
    own |= {"KAFKA_GROUP_PROTOCOL": "consumer", "POD_IP": "127.0.0.1", "PROBE_PORT": str(port), "HOSTNAME": "apart"}
    with subprocess.Popen(confluent_python_command(), env={**os.environ, **own}) as process:
        try:
            yield process
        finally:
            process.kill()


async def members(groups: KafkaGroups, group_id: str) -> int:
    """Return how many members the broker describes."""
    found = (await groups.describe("main", [group_id]))[group_id]
    assert isinstance(found, Group)
    return len(found.members)


async def awaited(groups: KafkaGroups, group_id: str, count: int, *, within_s: float) -> float:
    """Wait until the group has so many members; return how long that took, in seconds."""
    began_s = time.monotonic()
    while await members(groups, group_id) != count:
        assert time.monotonic() - began_s < within_s, f"the group has not {count} members"
        await asyncio.sleep(0.05)
    return time.monotonic() - began_s


async def test_a_session_below_the_running_interval_fences_nobody_and_is_the_one_that_counts(kafka: Kafka) -> None:
    """Live members follow with the beat that was due; a member that is killed then is gone within the new session."""
    name = "below-the-interval"
    kafka.create_topic(name, 2)
    fence = TimedFence()
    with (
        closing(operator(kafka, fence)) as groups,
        closing(Member(kafka, name)) as here,
        process_of(kafka, name) as gone,
    ):
        await awaited(groups, name, 2, within_s=30)
        await groups.alter("main", name, kind="consumer", expected=NOTHING, wanted=RUNNING)
        here.poll_for(6.0)  # the beat before was up to 5 s ago
        callbacks = here.callbacks
        await in_force(groups, name, RUNNING)
        await groups.alter("main", name, kind="consumer", expected=RUNNING, wanted=BELOW_IT)
        here.poll_for(8.0)  # up to 6 s
        assert (here.callbacks, await members(groups, name)) == (callbacks, 2)

        gone.send_signal(signal.SIGKILL)
        took_s = await awaited(groups, name, 1, within_s=30)
        assert took_s <= 6.0  # the session and a second; it was 20 s before, and Kafka's own is 45 s


async def test_a_broker_that_restarts_after_a_shorter_session_fences_nobody(tmp_path: Path) -> None:
    """Half a second after the write no member can have heard of it; they beat at once when they are back."""
    name, fence = "restarted", TimedFence()
    with Kafka(tmp_path) as kafka:
        kafka.create_topic(name)
        with closing(Member(kafka, name)) as member:
            with closing(operator(kafka, fence)) as groups:
                await groups.alter("main", name, kind="consumer", expected=NOTHING, wanted=RUNNING)
                member.poll_for(6.0)
                await in_force(groups, name, RUNNING)
                await groups.alter("main", name, kind="consumer", expected=RUNNING, wanted=BELOW_IT)
            callbacks = member.callbacks
            member.poll_for(0.5)
            kafka.stop()
            kafka.start()
            member.poll_for(8.0)
            assert member.callbacks == callbacks


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerApart]:
    """Run a broker that allows short sessions, and a controller that nobody configured, in processes of their own."""
    with ControllerApart(tmp_path_factory.mktemp("apart"), bounds=KAFKAS_BOUNDS) as running:
        yield running


async def test_the_bounds_that_count_are_the_controllers(apart: ControllerApart) -> None:
    """The broker shows 1 s, and the controller refuses 20 s: validating alone shows that, and nothing is written."""
    name = "refused-by-the-controller"
    apart.broker.create_topic(name)
    fence = TimedFence()
    with closing(operator(apart.broker, fence)) as groups, closing(Member(apart.broker, name)):
        cluster = await groups.cluster("main")
        bounds = cluster.consumer
        assert cluster.group_version == 1
        assert bounds is not None
        assert bounds.min_session == timedelta(seconds=1)
        with pytest.raises(GroupConfigRefusedError, match="45000 to 60000") as refused:
            await groups.alter(
                "main", name, kind="consumer", expected=NOTHING, wanted=GroupOverrides(timedelta(seconds=20))
            )
        assert "the controllers' count" in str(refused.value)
        allowed = GroupOverrides(timedelta(seconds=50))
        await groups.alter("main", name, kind="consumer", expected=NOTHING, wanted=allowed)
        await in_force(groups, name, allowed)
