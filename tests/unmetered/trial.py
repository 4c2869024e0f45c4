"""One library without client metrics, in a group of its own: its processes stand still until a change cures that.

First come a scale step and a rollout, which are no evictions. Then processes stand still for longer than S = 6 s, one
after the other, until the policy's change is applied. Then they stand still again, which a larger S outlasts. The truth
is the broker's log.
"""

import dataclasses
import json
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final

from heartbeat_tuner.clients import catalogue, java
from heartbeat_tuner.domain.liveness import Setting
from sandbox import request_log, scenario
from sandbox.environment import Sandbox
from sandbox.request_log import JoinGroup, Record, RequestLog
from sandbox.scenario import Operator
from tests.e2e.operators import await_cycles
from tests.e2e.teams import Team
from tests.lab.rows import Row
from tests.unmetered import bound_command

SESSION: Final = timedelta(seconds=6)
INTERVAL: Final = timedelta(seconds=2)
PAUSE_S: Final = 10.0
BETWEEN_PAUSES_S: Final = 6.0
SETTLING_S: Final = 10.0
AFTER_CURE: Final = 3
"""Pauses that the applied values must outlast."""

OUTLASTED_S: Final = 7.0
"""So long these are: with the time since the last beat more than S was, and less than the least S that is applied."""

LEAST_EVICTIONS: Final = 3
"""So many are above the objective."""

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_MANIFEST: Final = Path(__file__).parent / "consumer.yaml"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of one library.

    Attributes:
        evictions_true: by the broker's log, until the change was in force. Who joins again too late in a rebalance is
            removed as well, as kafka-go sometimes is.
        evictions_seen: that the group watcher called certain until then.
        doubtful: that it called doubtful, in the whole trial.
        false_alarms: called certain before any process stood still, or after the cure, beyond those of the log.
        cured: whether a change was applied, and nobody evicted after it.
        leaves_early: whether a member may have left by itself in the time of a trial, as Connect's workers may after a
            minute: then some evictions are doubtful.
    """

    evictions_true: int
    evictions_seen: int
    doubtful: int
    false_alarms: int
    cured: bool
    leaves_early: bool = False

    @property
    def seen(self) -> bool:
        """Whether there were evictions, they were seen, and nothing else was called one."""
        called = self.evictions_seen + (self.doubtful if self.leaves_early else 0)
        missed = abs(called - self.evictions_true)
        return self.evictions_true >= LEAST_EVICTIONS and missed <= 1 and not self.false_alarms

    @property
    def ok(self) -> bool:
        """Whether they were cured as well."""
        return self.seen and self.cured


class Trial:
    """Two consumers under a session of 6 s, with a policy in mode Apply; only the operator is scraped.

    Args:
        sandbox: where they run; its Prometheus scrapes the operator.
        row: their library.
        purpose: begins the name of the group.
    """

    def __init__(self, sandbox: Sandbox, row: Row, *, purpose: str = "unmetered") -> None:
        self.team = Team(sandbox, f"{purpose}-{row.client}")
        self.row = row
        self._log = RequestLog(sandbox.kafka.request_log)

    def deploy(self, *, mode: str = "Apply", more: Mapping[str, str] = NOTHING, command: Sequence[str] = ()) -> None:
        """Start the consumers and create the policy.

        Args:
            mode: of the policy.
            more: variables of the consumers.
            command: their program; empty for the library's in the laboratory.

        Raises:
            SandboxError: they cannot be installed, or are not available in time.
        """
        team, client = self.team, catalogue.client(self.row.client)
        team.create()
        team.sandbox.kafka.create_topic(team.name, scenario.PARTITIONS)
        values = {
            client.env_preset[setting]: client.format.render(value)
            for setting, value in ((Setting.SESSION_TIMEOUT, SESSION), (Setting.HEARTBEAT_INTERVAL, INTERVAL))
        }
        manifest = Template(_MANIFEST.read_text()).substitute(
            name=team.name,
            command=json.dumps(command or bound_command.command(self.row)),
            bootstrap=team.sandbox.kafka.bootstrap,
            settings=json.dumps({**values, **more}),
        )
        team.apply(manifest)
        team.await_available(team.name)
        team.apply_policy(team.name, mode=mode, library=self.row.client)

    def run(self, operator: Operator, *, most_pauses: int) -> Outcome:
        """Do all of it, in some five minutes.

        Args:
            operator: at work in the sandbox.
            most_pauses: before a change that is not applied is given up.

        Raises:
            SandboxError: pods were not available in time.
        """
        self._roll_and_scale()
        await_cycles(operator, 3)
        time.sleep(SETTLING_S)
        began_s, early = time.time(), self.counted("certain")
        changed = self._pause_until_applied(most_pauses)
        time.sleep(SETTLING_S)
        cured_s, seen = time.time(), self.counted("certain")
        for number in range(AFTER_CURE if changed else 0):
            self._pause(number, OUTLASTED_S)
        time.sleep(SETTLING_S)
        records, ended_s = self._log.read_new(), time.time()
        before = removed(records, self.team.name, 0.0, began_s)
        after = removed(records, self.team.name, cured_s, ended_s)
        late = self.counted("certain") - seen - len(after)
        return Outcome(
            evictions_true=len(removed(records, self.team.name, 0.0, cured_s)),
            evictions_seen=seen,
            doubtful=self.counted("doubtful"),
            false_alarms=max(0, early - len(before)) + max(0, late),
            cured=changed and not after,
            leaves_early=self.row.client == java.CONNECT.name,
        )

    def counted(self, certainty: str) -> int:
        """Return what the group watcher counted of all pods that the team had; 0 as well where it counts nothing."""
        selector = f'namespace="{self.team.namespace}",certainty="{certainty}"'
        query = f"sum(max_over_time(heartbeat_tuner_group_evictions_total{{{selector}}}[20m]))"
        url = f"{self.team.sandbox.prometheus.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - the sandbox's own Prometheus
            series = json.load(answer)["data"]["result"]
        return int(float(series[0]["value"][1])) if series else 0

    def _roll_and_scale(self) -> None:
        team, namespace = self.team, f"--namespace={self.team.namespace}"
        for replicas in (3, 2):
            team.kubectl("scale", "deployment", team.name, namespace, f"--replicas={replicas}")
            team.await_available(team.name)
        team.kubectl("rollout", "restart", "deployment", team.name, namespace)
        team.await_available(team.name)
        time.sleep(SETTLING_S)

    def _pause_until_applied(self, most_pauses: int) -> bool:
        """Return whether a change was applied; its rollout has ended then."""
        for number in range(most_pauses):
            self._pause(number)
            if "applied" in self.team.status():
                self.team.await_rolled_out()
                self.team.await_available(self.team.name)
                return True
        return False

    def _pause(self, number: int, seconds: float = PAUSE_S) -> None:
        """Let the process of one pod stand still for longer than its session was at first."""
        with self.team.sandbox.node.paused(self.team.namespace, self.team.pods()[number % 2]):
            time.sleep(seconds)
        time.sleep(BETWEEN_PAUSES_S)


def removed(records: Sequence[Record], group_id: str, since_s: float, until_s: float) -> list[str]:
    """Return the members that the coordinator removed in a window: their clients joined under new ids, without leaving.

    Who was silent for its session asks to join at once, so no heartbeat of it is refused.
    """
    left = request_log.left(records, group_id, 0.0, until_s)
    joins = [
        record
        for record in records
        if isinstance(record, JoinGroup) and (record.group_id, record.error_code) == (group_id, request_log.NONE)
    ]
    ids: dict[str, str] = {}
    gone: list[str] = []
    for join in sorted(joins, key=lambda join: join.arrival_s):
        before = ids.get(join.client_id, join.member_id)
        if before != join.member_id and before not in left and since_s <= join.arrival_s < until_s:
            gone.append(before)
        ids[join.client_id] = join.member_id
    return gone
