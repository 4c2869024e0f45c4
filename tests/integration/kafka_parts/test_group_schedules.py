"""A leader that falls at any moment of a write at a real broker, or of its revert, and a person who writes meanwhile.

The operator runs in this process, on a clock of its own and with made-up metrics; the broker, the group and its member
are real: one with librdkafka in a group of the consumer protocol, and an application of Kafka Streams in one of its
own. The next leader has only the policy's status and what the broker shows.
"""

import asyncio
import dataclasses
import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.api.group_config_notes import REVERT_ANNOTATION
from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOverrides, UnreadableGroup
from heartbeat_tuner.metrics.raw.samples import Series
from sandbox import network
from sandbox.consumers import streams_command
from sandbox.kafka import Kafka
from sandbox.processes import Process, wait_until
from tests.integration.kafka_parts.test_group_alteration import Member
from tests.support import counters, manifests, worlds
from tests.support.consumer_protocol import fencing
from tests.support.fakes import FakePolicies
from tests.support.fences import TimedFence
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage

pytestmark = pytest.mark.timeout(180)

SHORT_MS, THEIRS_MS = 20_000, 30_000
SHORT, THEIRS, LONG = (GroupOverrides(timedelta(seconds=seconds)) for seconds in (20, 30, 45))
SETTLES_S: Final = 0.15
"""A broker may show for a moment what was set before; the operator allows it a minute of its own clock."""

UNTIL_DANGER: Final = 20
"""Cycles of a minute until one member was fenced three times."""


@dataclasses.dataclass(frozen=True)
class Fall:
    """Where a leader falls.

    Attributes:
        reverts: in the revert, and not in the change.
        at: in the note before, in the write at the broker, or in the status after it.
        done: whether that is done all the same.
        person: whether a person sets another value before the next leader looks.
    """

    reverts: bool
    at: str
    done: bool
    person: bool

    def __str__(self) -> str:
        """Return a test's name."""
        words = ("revert" if self.reverts else "change", self.at, "done" if self.done else "not-done")
        return "-".join([*words, *(["person"] if self.person else [])])


FALLS: Final = [
    Fall(*each) for each in itertools.product((False, True), ("note", "write", "status"), (False, True), (False, True))
]
AT_BROKER: Final = [fall for fall in FALLS if fall.at == "write"]
"""The moments that the broker has a part in: what is noted before and after is the same for groups of all kinds."""


class FallingPolicies(FakePolicies):
    """The API server, written to by a leader that may fall."""

    fall: Fall | None = None

    async def write_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Store a status; a leader that falls here may have stored it."""
        falls = self.fall is not None and self._moment(status) == (self.fall.reverts, self.fall.at)
        if falls and self.fall is not None and not self.fall.done:
            raise NotLeaderError("it fell before")
        stored = await super().write_status(body, status)
        if falls:
            self._store.show(stored)  # the next leader lists what is there
            raise NotLeaderError("it fell after")
        return stored

    def _moment(self, status: Mapping[str, Any]) -> tuple[bool, str] | None:
        """Return which write a status is about, and whether it is its note or its end; None where it is neither."""
        before, after = self.status_of(ORDERS).get("groupConfig", {}), status.get("groupConfig", {})
        if not after or (before.get("changeTime"), before.get("answered")) == (after["changeTime"], after["answered"]):
            return None
        return "revertedChangeTime" in after, "status" if after["answered"] else "note"


class FallingGroups:
    """The real broker, seen by a leader that may fall.

    Args:
        groups: the operator's view of it.
        admin: a person's.
        kind: of the group, which its keys begin with and its name ends with.
    """

    def __init__(self, groups: KafkaGroups, admin: AdminClient, kind: str) -> None:
        self._groups = groups
        self._admin = admin
        self.kind = kind
        self.group = f"orders-{kind}"
        self.fall: Fall | None = None
        self.alterations: list[GroupOverrides] = []

    @property
    def clusters(self) -> Collection[str]:
        """Names of the clusters."""
        return self._groups.clusters

    async def describe(
        self, cluster: str, group_ids: Sequence[str], *, within: timedelta | None = None
    ) -> Mapping[str, Group | UnreadableGroup | None]:
        """Return the groups as the broker describes them."""
        return await self._groups.describe(cluster, group_ids, within=within)

    async def cluster(self, cluster: str) -> Cluster:
        """Return what the broker accepts."""
        return await self._groups.cluster(cluster)

    async def alter(
        self, cluster: str, group_id: str, *, kind: str, expected: GroupOverrides, wanted: GroupOverrides
    ) -> None:
        """Write; a leader that falls here may have written."""
        fall = self.fall
        falls = fall is not None and (fall.reverts, fall.at) == (bool(self.alterations), "write")
        if fall is not None and falls and not fall.done:
            raise NotLeaderError("it fell before")
        await self._groups.alter(cluster, group_id, kind=kind, expected=expected, wanted=wanted)
        self.alterations.append(wanted)
        await asyncio.sleep(SETTLES_S)
        if falls:
            raise NotLeaderError("it fell after")

    def set(self, session_ms: int | None) -> None:
        """Set the group's session as a person does; None deletes it."""
        action = AlterConfigOpType.DELETE if session_ms is None else AlterConfigOpType.SET
        text = None if session_ms is None else str(session_ms)
        entry = ConfigEntry(f"{self.kind}.session.timeout.ms", text, incremental_operation=action)
        resource = ConfigResource(ResourceType.GROUP, self.group, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(30)

    async def own(self) -> GroupOverrides:
        """Return what is set for the group itself."""
        await asyncio.sleep(SETTLES_S)
        group = (await self.describe("main", [self.group]))[self.group]
        assert isinstance(group, Group)
        assert group.config is not None
        return group.config.overrides


@pytest.fixture(scope="module")
def modern(kafka: Kafka) -> Iterator[FallingGroups]:
    """The broker with a group of the consumer protocol, and a member of it in this process."""
    with seen(kafka, "consumer") as falling, closing(Member(kafka, falling.group)):
        yield falling


@pytest.fixture(scope="module")
def threads(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FallingGroups]:
    """The broker with a group of Kafka Streams' own protocol, and an application of one thread."""
    folder = tmp_path_factory.mktemp("application")
    with seen(kafka, "streams") as falling, application(kafka, falling.group, folder):
        yield falling


@contextmanager
def seen(kafka: Kafka, kind: str) -> Iterator[FallingGroups]:
    """Return the broker, with the topic of a group of a kind that is not there yet."""
    access = KafkaAccess(kafka.bootstrap, alters_groups=True)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    with closing(KafkaGroups({"main": access}, timeout=timedelta(seconds=20), fence=TimedFence())) as groups:
        falling = FallingGroups(groups, admin, kind)
        kafka.create_topic(falling.group)
        yield falling


@contextmanager
def application(kafka: Kafka, group: str, folder: Path) -> Iterator[None]:
    """Run an application of Kafka Streams in a group of its own protocol, in a folder for its state."""
    metrics_port, probe_port = network.free_ports(2)
    env = {
        "PATH": os.environ["PATH"],
        "KAFKA_BROKERS": kafka.bootstrap,
        "KAFKA_GROUP_ID": group,
        "KAFKA_TOPIC": group,
        "KAFKA_GROUP_PROTOCOL": "streams",
        "POD_IP": network.LOOPBACK,
        "PROBE_PORT": str(probe_port),
    }
    command = streams_command(address=network.LOOPBACK, metrics_port=metrics_port)
    with Process("streams", command, log=folder / "streams.log", env=env, cwd=folder) as process:
        wait_until(lambda: bool(network.page(probe_port, "/readyz")), part="streams", what="its group", process=process)
        yield


def operator(broker: FallingGroups) -> Stage:
    """Return an operator whose policy's group is the real one, in danger under a session of 20 s."""
    pod = dataclasses.replace(worlds.pods(1)[0], ip=network.LOOPBACK)
    library = "streams" if broker.kind == "streams" else "java"
    spec = {"groupId": broker.group, "client": {"library": library}, "rollout": {"cooldown": "1s"}}
    body = manifests.policy(spec=spec)
    stage = Stage(
        [body],
        now=worlds.java_settings(),
        answers={name: [of_group(series[0], broker.group)] for name, series in fencing().items()},
        workloads={CONSUMER: worlds.workload(worlds.java_settings(), running=[pod])},
    )
    stage.prometheus.convention = counters.JMX
    stage.policies = FallingPolicies(stage.store, [body])
    broker.fall = None
    broker.alterations.clear()
    broker.set(SHORT_MS)
    stage.groups = broker  # type: ignore[assignment]  # it answers as the fake does
    stage.restart()
    return stage


def of_group(series: Series, group: str) -> Series:
    """Return a series as a consumer of another group has it."""
    labels = {**series.labels, "group_id": group, "client_id": f"consumer-{group}-1"}
    return dataclasses.replace(series, labels=labels)


async def lead(stage: Stage, count: int) -> bool:
    """Run cycles; whether the leader fell in one of them."""
    try:
        for _ in range(count):
            await stage.cycle(MINUTE)
    except NotLeaderError:
        return True
    return False


def fall(stage: Stage, broker: FallingGroups, where: Fall | None) -> None:
    """Have the leader fall somewhere from now on, or nowhere."""
    assert isinstance(stage.policies, FallingPolicies)
    broker.fall = stage.policies.fall = where


@pytest.mark.parametrize("where", FALLS, ids=str)
async def test_the_next_leader_writes_once_and_never_over_a_person(modern: FallingGroups, where: Fall) -> None:
    """What was begun is known as ours, or done again; what a person set in between stays."""
    await led_after_a_fall(modern, where)


@pytest.mark.parametrize("where", AT_BROKER, ids=str)
async def test_the_same_of_a_group_of_streams(threads: FallingGroups, where: Fall) -> None:
    """Its keys are others, and it is described by requests of our own."""
    await led_after_a_fall(threads, where)


async def led_after_a_fall(broker: FallingGroups, where: Fall) -> None:
    """Have a leader fall, and perhaps a person write; then let another one lead, and look at what is set.

    Only where nothing was noted yet there was no write of ours: then the person's value is what the group begins with.
    """
    stage = operator(broker)
    await asyncio.sleep(SETTLES_S)
    if where.reverts:
        assert not await lead(stage, UNTIL_DANGER)
        assert broker.alterations == [LONG]
        stage.policies.annotate(
            ORDERS, REVERT_ANNOTATION, stage.policies.status_of(ORDERS)["groupConfig"]["changeTime"]
        )
    fall(stage, broker, where)
    assert await lead(stage, UNTIL_DANGER)
    if where.person:
        broker.set(THEIRS_MS)
        await asyncio.sleep(SETTLES_S)
    fall(stage, broker, None)
    stage.restart()
    assert not await lead(stage, UNTIL_DANGER)

    is_first = (where.reverts, where.at, where.done) == (False, "note", False)
    status = stage.policies.status_of(ORDERS)["groupConfig"]
    if where.person and not is_first:
        assert await broker.own() == THEIRS
        assert stage.condition("Applied") == ("False", "GroupConfigForeign")
    elif where.reverts:
        assert await broker.own() == SHORT
        assert broker.alterations == [LONG, SHORT]
        assert stage.condition("Applied") == ("False", "TakenBack")
        assert status["answered"]
    else:
        assert await broker.own() == LONG
        assert broker.alterations == [LONG]
        assert stage.condition("Applied") == ("True", "Applied")
        assert status["answered"]
        assert status["previous"] == {"sessionTimeout": "30s" if where.person else "20s"}
    assert stage.workloads.writes == []
