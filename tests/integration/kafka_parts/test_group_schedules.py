"""A leader that falls at any moment of a write at a real broker, or of its revert, and a person who writes meanwhile.

The operator runs in this process, on a clock of its own and with made-up metrics; the broker, the group and its member
are real. Whoever leads next has only the policy's status and what the broker shows.
"""

import asyncio
import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.api.group_config_notes import REVERT_ANNOTATION
from heartbeat_tuner.domain.errors import NotLeaderError
from heartbeat_tuner.domain.kafka_groups import Cluster, Group, GroupOverrides, UnreadableGroup
from sandbox.kafka import Kafka
from tests.integration.kafka_parts.test_group_alteration import Member
from tests.support import counters, manifests, worlds
from tests.support.fakes import FakePolicies
from tests.support.fences import TimedFence
from tests.support.stages import CONSUMER, MINUTE, ORDERS, Stage
from tests.unit.reconcile.at_broker.test_group_writer import fencing

pytestmark = pytest.mark.timeout(180)

GROUP: Final = "orders"
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
    """The real broker, seen by a leader that may fall."""

    def __init__(self, groups: KafkaGroups, admin: AdminClient) -> None:
        self._groups = groups
        self._admin = admin
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
        entry = ConfigEntry("consumer.session.timeout.ms", text, incremental_operation=action)
        resource = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(30)

    async def own(self) -> GroupOverrides:
        """Return what is set for the group itself."""
        await asyncio.sleep(SETTLES_S)
        group = (await self.describe("main", [GROUP]))[GROUP]
        assert isinstance(group, Group)
        assert group.config is not None
        return group.config.overrides


@pytest.fixture(scope="module")
def broker(kafka: Kafka) -> Iterator[FallingGroups]:
    """The broker with one group of the consumer protocol, and a member of it in this process."""
    kafka.create_topic(GROUP)
    access = KafkaAccess(kafka.bootstrap, alters_groups=True)
    groups = KafkaGroups({"main": access}, timeout=timedelta(seconds=20), fence=TimedFence())
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    with closing(groups), closing(Member(kafka, GROUP)):
        yield FallingGroups(groups, admin)


def operator(broker: FallingGroups) -> Stage:
    """Return an operator whose policy's group is the real one, in danger under a session of 20 s."""
    pod = dataclasses.replace(worlds.pods(1)[0], ip="127.0.0.1")
    body = manifests.policy(spec={"client": {"library": "java"}, "rollout": {"cooldown": "1s"}})
    stage = Stage(
        [body],
        now=worlds.java_settings(),
        answers={name: series[:1] for name, series in fencing().items()},
        workloads={CONSUMER: worlds.workload(worlds.java_settings(), running=[pod])},
    )
    stage.prometheus.convention = counters.JMX
    stage.policies = FallingPolicies(stage.store, [body])
    broker.fall = None
    broker.alterations.clear()
    broker.set(SHORT_MS)
    stage.groups = broker  # type: ignore[assignment]  # it answers likewise
    stage.restart()
    return stage


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
async def test_whoever_leads_next_writes_once_and_never_over_a_person(broker: FallingGroups, where: Fall) -> None:
    """What was begun is known as ours, or done again; what a person set in between stays.

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
