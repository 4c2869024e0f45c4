"""A group that was calm for weeks, as an operator in this process sees it on a clock of its own.

Nobody waits for weeks here, nor for the half hour that a record must be long. So a Prometheus of its own gets three
quarters of an hour of history of the team's pods by remote write, a fitted model stands for the weeks, and the
operator's first look is of 40 minutes ago. The broker, the group and its members are real, and so is what is written at
the broker. In the team's own Prometheus, such history would stand beside what is scraped, as another consumer.
"""

import asyncio
import dataclasses
import os
import signal
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kafka.kafka_access import KafkaAccess
from heartbeat_tuner.adapters.kafka.kafka_admin import KafkaGroups
from heartbeat_tuner.adapters.kafka.wire import coordinator_requests
from heartbeat_tuner.domain.evidence import Pod
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.metrics.conventions import known_conventions
from heartbeat_tuner.metrics.conventions.convention import Convention
from heartbeat_tuner.metrics.vocabulary import Quantity
from heartbeat_tuner.models.group_model import Fitted
from sandbox.binaries import Binaries
from sandbox.processes import wait_until
from sandbox.prometheus import Prometheus
from sandbox.request_log import Heartbeat
from tests.e2e.teams import Team
from tests.exporters import replay
from tests.exporters.recording import Recording, Series
from tests.golden import cases
from tests.support import sources, worlds
from tests.support.fences import TimedFence
from tests.support.stages import Stage

FIRST_LOOK: Final = timedelta(minutes=40)
HISTORY_S: Final = 2_700
SCRAPE_S: Final = 15
NEVER: Final = frozenset(
    {
        Quantity.POLL_AGE,
        Quantity.LOST_FOR_SILENCE,
        Quantity.LOST_FOR_POLLS,
        Quantity.EVICTIONS_SEEN,
        Quantity.DOUBTFUL_EVICTIONS,
    }
)
"""What a calm group never counts; of others it has counted the first join."""


class CalmHistory(Recording):
    """What the pods of a team would have shown without a rebalance: beats every 5 s, and nothing else.

    Args:
        team: whose.
        library: of its consumers.
        convention: by which they are exported, and what the operator counts of them.
    """

    def __init__(self, team: Team, library: str, convention: Convention) -> None:
        super().__init__(Path(team.name), {"length_s": float(HISTORY_S)})
        self._team, self._library, self._convention = team, library, convention

    @property
    def series(self) -> list[Series]:  # made, and not read
        """All series."""
        times_s = range(0, HISTORY_S + 1, SCRAPE_S)
        values: dict[Quantity, Callable[[int], int]] = dict.fromkeys(self._convention.needed, lambda _at: 1)
        values |= {Quantity.HEARTBEATS: lambda at: at // 5}
        values |= dict.fromkeys(NEVER & values.keys(), lambda _at: 0)
        return [
            Series(
                {**self._labels(pod), "__name__": metric.names[0], **dict(metric.matchers)},
                tuple(at * 1000 for at in times_s),
                tuple(str(value(at)) for at in times_s),
            )
            for pod in self._team.pods()
            for quantity, value in values.items()
            for metric in [self._convention.by_quantity[quantity]]
        ]

    def _labels(self, pod: str) -> dict[str, str]:
        """Return the labels of all series; those of other conventions do not matter to one."""
        group = self._team.name
        thread = f"{group}-{uuid.uuid5(uuid.NAMESPACE_OID, pod)}-StreamThread-1-consumer"
        client_id = thread if self._library == "streams" else f"consumer-{group}-1"
        place = {"namespace": self._team.namespace, "pod": pod}
        return {**place, "client_id": client_id, "group_id": group, "group": group}


def pods(team: Team) -> list[Pod]:
    """Return the team's pods as if they were two hours old."""
    items = team.get("pods", labels=f"app={team.name}")["items"]
    old = datetime.now(UTC) - timedelta(hours=2)
    return [
        dataclasses.replace(
            worlds.pod(started=old),
            name=item["metadata"]["name"],
            uid=item["metadata"]["uid"],
            ip=item["status"]["podIP"],
            ready_since=old,
        )
        for item in items
    ]


def model(team: Team, library: str) -> Fitted:
    """Return what two weeks until yesterday say of the team's group, whose consumers are of a library."""
    now = datetime.now(UTC)
    found = dataclasses.replace(
        cases.model("java"),
        namespace=team.namespace,
        group=team.name,
        client=known_conventions.measured_as(library),
        since=now.date() - timedelta(days=14),
        until=now.date() - timedelta(days=1),
        fitted_at=now,
    )
    return Fitted(team.name, found)


def lowered(team: Team, library: str, convention: Convention) -> tuple[dict[str, Any], float]:
    """Let an operator see the calm group, and write what it decides.

    Args:
        team: with a policy in mode Apply, and nobody else who carries it out.
        library: of its consumers.
        convention: by which they are exported.

    Returns:
        The status that it leaves, and when the look began that wrote, in Unix seconds.
    """
    key = ObjectKey(team.namespace, team.name)
    stage = Stage(
        [team.policy(team.name)],
        workloads={key: worlds.workload(worlds.java_settings("45s", "3s"), running=pods(team))},
    )
    stage.models.stored = [model(team, library)]
    access = KafkaAccess(team.sandbox.kafka.bootstrap, alters_groups=True)
    kafka = KafkaGroups({"main": access}, timeout=timedelta(seconds=20), fence=TimedFence())
    with (
        closing(kafka),
        Prometheus(team.sandbox.run_dir / team.name, Binaries(), kubeconfig=None) as history,
        sources.reading(history.url, timeout_s=30) as metrics,
    ):
        replay.load(CalmHistory(team, library, convention), history.url, ends_at_s=time.time())
        stage.groups = kafka  # type: ignore[assignment]  # it answers as the fake does
        stage.prometheus = metrics  # type: ignore[assignment]  # likewise
        stage.restart()
        looked_s = asyncio.run(_looks(stage))
    return dict(stage.policies.status_of(key)), looked_s


async def _looks(stage: Stage) -> float:
    """Look 40 minutes ago, when the group's protocol is noted, and now."""
    stage.clock.time = datetime.now(UTC) - FIRST_LOOK
    await stage.cycle(timedelta(0))
    await stage.cycle(timedelta(minutes=1))
    stage.clock.time = datetime.now(UTC)
    looked_s = time.time()
    for _ in range(3):  # what was not read meanwhile is read in slices
        await stage.cycle(timedelta(seconds=1))
    return looked_s


def described(team: Team) -> tuple[bool, dict[str, tuple[str, int]]]:
    """Return whether a team's group stands still, and its members by their ids.

    Each member has its address, and how many partitions it has, or active tasks of Streams.
    """
    servers = {"bootstrap.servers": team.sandbox.kafka.bootstrap, "security.protocol": "PLAINTEXT"}
    asked = coordinator_requests.described(servers, [team.name], until_s=time.monotonic() + 30)[team.name]
    if asked.group is not None:  # librdkafka describes none of these
        return asked.group.state == "Stable", {
            member.member_id: (member.host, member.partitions) for member in asked.group.members
        }
    admin = AdminClient({**servers, "log_level": 0})  # held until it has answered
    group = admin.describe_consumer_groups([team.name])[team.name].result(30)
    return group.state is ConsumerGroupState.STABLE, {
        member.member_id: (member.host.removeprefix("/"), len(member.assignment.topic_partitions))
        for member in group.members
    }


def await_settled(team: Team) -> None:
    """Wait until each member has its one partition and the group stands still: while it moves, nothing is decided."""

    def settled() -> bool:
        is_stable, members = described(team)
        return is_stable and [count for _, count in members.values()] == [1] * len(team.pods())

    wait_until(settled, part=team.name, what="a group that stands still", timeout_s=60)


def detected_s(team: Team, pod: str) -> float:
    """Kill a pod's process; return how long after that other members have its partitions, in seconds.

    The container is started again, at the same address, and joins as another member.
    """
    (address,) = (item["status"]["podIP"] for item in team.get("pods")["items"] if item["metadata"]["name"] == pod)
    process_id = team.sandbox.node.container_pid(team.namespace, pod, "app")
    assert process_id is not None
    _, before = described(team)
    (killed,) = (member_id for member_id, (host, _) in before.items() if host == address)
    had = sum(count for _, count in before.values())
    began_s = time.monotonic()
    os.kill(process_id, signal.SIGKILL)

    def moved() -> bool:
        _, members = described(team)
        return sum(count for member_id, (_, count) in members.items() if member_id != killed) == had

    wait_until(moved, part=team.name, what="the partitions of the killed member", timeout_s=60, poll_s=0.05)
    return round(time.monotonic() - began_s, 1)


def longest_apart_s(heartbeats: list[Heartbeat]) -> float:
    """Return the longest time between two beats of one member."""
    by_member: dict[str, list[float]] = {}
    for beat in heartbeats:
        by_member.setdefault(beat.member_id, []).append(beat.arrival_s)
    return max(later - earlier for times in by_member.values() for earlier, later in pairwise(sorted(times)))
