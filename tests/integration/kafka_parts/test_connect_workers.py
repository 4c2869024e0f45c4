"""A real worker of Connect at a real broker: what the operator reads of its group, and when it calls it evicted."""

import asyncio
import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.kafka_groups import WORKERS, Group, GroupState
from heartbeat_tuner.metrics.group_events import member_changes
from heartbeat_tuner.metrics.group_events.group_event import Certainty, GroupView, Rejoin, Timeouts
from heartbeat_tuner.metrics.group_events.member_changes import WatchedGroup
from sandbox.kafka import Kafka
from sandbox.processes import Process
from tests.lab import rows
from tests.support import worlds
from tests.unmetered import bound_command

pytestmark = pytest.mark.timeout(240)

GROUP: Final = "workers"
POD: Final = worlds.pod(0)
ADDRESS: Final = "127.9.251.7"
SESSION: Final = timedelta(seconds=6)
GONE_S: Final = 2.0
"""So long it stays missing: who is back within a second of a description without it may have been made again."""


@pytest.fixture(scope="module")
def worker(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Run one worker, from an address of its own."""
    row = next(row for row in rows.ROWS if row.client == "connect")
    environment = {
        "PATH": os.environ["PATH"],
        "KAFKA_BROKERS": kafka.bootstrap,
        "KAFKA_GROUP_ID": GROUP,
        "KAFKA_CLIENT_ID": POD.name,
        "POD_IP": ADDRESS,
        "CONNECT_SESSION_TIMEOUT_MS": "6000",
        "CONNECT_HEARTBEAT_INTERVAL_MS": "2000",
    }
    log: Path = tmp_path_factory.mktemp("connect") / "worker.log"
    with Process("connect", bound_command.command(row), log=log, env=environment) as running:
        yield running


async def with_members(kafka: Kafka, count: int, *, within_s: float = 50) -> Group:
    """Return the group, as the operator's adapter describes it, once it has so many members.

    Until then it is not there, or librdkafka refuses it: neither keeps it from being asked for at the next look.
    """
    until_s = time.monotonic() + within_s
    with closing(KafkaGroups({"main": KafkaAccess(kafka.bootstrap)}, timeout=timedelta(seconds=30))) as groups:
        while time.monotonic() < until_s:
            group = (await groups.describe("main", [GROUP]))[GROUP]
            if isinstance(group, Group) and len(group.members) == count and not group.rebalancing:
                return group
            await asyncio.sleep(0.5)
    pytest.fail(f"the group has not {count} members after {within_s:g} s")


async def test_a_workers_group_is_described_with_its_host_and_client_id(kafka: Kafka, worker: Process) -> None:
    """Kafka's admin library refuses it; what its leader assigns are no partitions."""
    assert worker.alive()
    group = await with_members(kafka, 1)
    (member,) = group.members
    assert (group.kind, group.state, group.consumer_protocol) == (WORKERS, GroupState.STABLE, False)
    assert (member.host, member.client_id, member.partitions) == (ADDRESS, POD.name, 0)
    assert group.coordinator >= 0
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    with pytest.raises(KafkaException, match="_INVALID_ARG"):
        admin.describe_consumer_groups([GROUP])[GROUP].result(30)


async def test_a_worker_that_stood_still_is_seen_gone_and_back_under_another_id(kafka: Kafka, worker: Process) -> None:
    """That is a certain eviction by the operator's own count."""
    before = await with_members(kafka, 1)
    pod = dataclasses.replace(POD, ip=ADDRESS, started=datetime.now(UTC) - SESSION)
    watched, rejoins = WatchedGroup(), list[Rejoin]()

    def take(group: Group) -> None:
        nonlocal watched
        view = GroupView(datetime.now(UTC), group, (pod,))
        watched, events = member_changes.observe(watched, view, timeouts=Timeouts(SESSION, timedelta(minutes=1)))
        rejoins.extend(event for event in events if isinstance(event, Rejoin))

    take(before)
    worker.pause()
    try:
        take(await with_members(kafka, 0))
        await asyncio.sleep(GONE_S)
    finally:
        worker.resume()
    after = await with_members(kafka, 1)
    take(after)
    assert after.members[0].member_id != before.members[0].member_id
    assert [rejoin.certainty for rejoin in rejoins] == [Certainty.CERTAIN]
