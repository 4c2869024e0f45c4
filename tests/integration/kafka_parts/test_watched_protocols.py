"""What the group watcher calls an eviction in groups whose members keep their ids: on a real broker.

In one consumer of each kind the process stands still; in another the handler takes longer than the poll limit. Then the
broker restarts.
"""

import asyncio
import dataclasses
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.domain.errors import ClusterUnreachableError
from heartbeat_tuner.domain.kafka_groups import Group
from heartbeat_tuner.metrics.group_events import member_changes
from heartbeat_tuner.metrics.group_events.group_event import Doubt, GroupView, Rejoin, Timeouts
from heartbeat_tuner.metrics.group_events.member_changes import WatchedGroup
from sandbox.kafka import Kafka
from tests.support import worlds

pytestmark = pytest.mark.timeout(240)

KINDS: Final = ("consumer", "share")
SESSION: Final = timedelta(seconds=4)
POLL_LIMIT: Final = timedelta(seconds=7)
"""Of those whose handler is slow; the others have Kafka's default."""

DEFAULT_POLL_LIMIT: Final = timedelta(minutes=5)
PAUSE_S: Final = 7
"""Longer than a session."""

SLOW_S: Final = 16
"""One handler: longer than poll limit and session. Librdkafka stops beating then, and is removed a session later."""

BACK_S: Final = 4
RESTARTED_S: Final = 8
"""Two sessions: long enough for the coordinator to remove a member that the restart silenced."""

CONSUMER: Final = """
import sys, time
from confluent_kafka import Consumer, KafkaException, ShareConsumer
kind, bootstrap, group, limit_ms, slow_s = sys.argv[1:]
properties = {"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0, "max.poll.interval.ms": limit_ms}
consumer = ShareConsumer(properties) if kind == "share" else Consumer({**properties, "group.protocol": "consumer"})
consumer.subscribe([group])
slow_at_s = time.monotonic() + 9 if float(slow_s) else float("inf")
while True:
    try:
        consumer.poll(0.1)
    except KafkaException:
        pass  # so a share consumer says that it did not poll in time
    if time.monotonic() > slow_at_s:
        time.sleep(float(slow_s))
        slow_at_s = float("inf")
"""


class Watch:
    """Descriptions of groups with one consumer each, a second apart, and the members that they show back."""

    def __init__(self, groups: KafkaGroups, limits: Mapping[str, timedelta]) -> None:
        self.rejoins: dict[str, list[Rejoin]] = {name: [] for name in limits}
        self._groups, self._limits = groups, limits
        self._known = dict.fromkeys(limits, WatchedGroup())
        self._failed: set[str] = set()
        self._pod = dataclasses.replace(worlds.pod(0), ip="127.0.0.1", started=datetime.now(UTC))

    @property
    def joined(self) -> bool:
        """Whether each group has its member."""
        return all(known.ids for known in self._known.values())

    async def look(self, *, seconds: int) -> None:
        """Describe the groups for so long."""
        for _ in range(seconds):
            try:
                described = await self._groups.describe("main", list(self.rejoins))
            except ClusterUnreachableError:
                described = {}
            for name in self.rejoins:
                self._take(name, described.get(name))
            await asyncio.sleep(1.0)

    def _take(self, name: str, group: object) -> None:
        if not isinstance(group, Group):
            self._failed.add(name)
            return
        view = GroupView(datetime.now(UTC), group, (self._pod,), disturbed=name in self._failed)
        self._failed.discard(name)
        timeouts = Timeouts(SESSION, self._limits[name])
        self._known[name], events = member_changes.observe(self._known[name], view, timeouts=timeouts)
        self.rejoins[name] += [event for event in events if isinstance(event, Rejoin)]


@contextmanager
def consumer(kafka: Kafka, kind: str, name: str, *, slow_s: int = 0) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a consumer of a group of its own."""
    kafka.create_topic(name)
    kafka.configure_group(name, {f"{kind}.session.timeout.ms": "4000", f"{kind}.heartbeat.interval.ms": "1000"})
    limit = POLL_LIMIT if slow_s else DEFAULT_POLL_LIMIT
    settings = [str(limit // timedelta(milliseconds=1)), str(slow_s)]
    command = [sys.executable, "-c", CONSUMER, kind, kafka.bootstrap, name, *settings]
    with subprocess.Popen(command) as running:
        try:
            yield running
        finally:
            running.kill()


async def test_only_who_was_silent_for_a_session_is_called_evicted(tmp_path: Path) -> None:
    """Who did not poll may have left by itself, and a restarted broker removes nobody."""
    with Kafka(tmp_path) as kafka, ExitStack() as consumers:
        paused = {f"{kind}-paused": consumers.enter_context(consumer(kafka, kind, f"{kind}-paused")) for kind in KINDS}
        slow = {f"{kind}-slow": consumer(kafka, kind, f"{kind}-slow", slow_s=SLOW_S) for kind in KINDS}
        for each in slow.values():
            consumers.enter_context(each)
        await asyncio.sleep(6.0)  # a share group that is not there is not asked for again for half a minute
        access = {"main": KafkaAccess(kafka.bootstrap)}
        with closing(KafkaGroups(access, timeout=timedelta(seconds=5))) as groups:
            watch = Watch(groups, dict.fromkeys(paused, DEFAULT_POLL_LIMIT) | dict.fromkeys(slow, POLL_LIMIT))
            await watch.look(seconds=3)
            assert watch.joined
            for process in paused.values():
                process.send_signal(signal.SIGSTOP)
            await watch.look(seconds=PAUSE_S)
            for process in paused.values():
                process.send_signal(signal.SIGCONT)
            await watch.look(seconds=SLOW_S - PAUSE_S + BACK_S)
            kafka.stop()
            kafka.start()
            await watch.look(seconds=RESTARTED_S)
            assert watch.joined
    for name in paused:
        assert [rejoin.doubts for rejoin in watch.rejoins[name]] == [frozenset()], name
    for name in slow:
        assert watch.rejoins[name], name
        assert all(Doubt.POLL_LIMIT in rejoin.doubts for rejoin in watch.rejoins[name]), name
