"""One namespace takes nobody's heartbeats: what members send counts, not what a policy declares, and half at most.

Each of two Kafka clusters of the operator has a budget, which a calm group and a loud one share. Their members are real
consumers of this process; what they export is told for them.
"""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Self

import pytest
from confluent_kafka import Consumer

from heartbeat_tuner.api import model_documents
from sandbox import scenario
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.network import LOOPBACK
from sandbox.processes import wait_until
from sandbox.scenario import ConsumerSettings, Operator
from tests.e2e.operators import Operators, await_cycles
from tests.support import fitted, written
from tests.support.fleets import Fleet, PodMetrics, Scrapes

pytestmark = pytest.mark.timeout(240)

INTERVAL_S: Final = 0.5
SCRAPES: Final = Scrapes(every_s=0.5, reach_s=120.0, from_start=True)
SETTINGS: Final = ConsumerSettings(session_timeout_ms=45_000, heartbeat_interval_ms=3_000, fetch_wait_ms=500)
USUAL_S, LOUD_S = 3.0, 0.05
"""Seconds between two heartbeats: of most, and of the one that really sends them all the time."""

BUDGETS: Final = MappingProxyType({"main": 1.6, "direct": 3.0})
"""Requests a second. A calm group has one member, which would beat once a second: with a loud one as measured there is
room for that, in `main` 1.6 - 1/3, in `direct` half of 3. What is declared would leave half of 1.6.
"""

CLUSTERS: Final = tuple(BUDGETS)
DECLARED: Final = "50ms"
"""The shortest interval that is believed of a policy: with a shorter one its settings are `SettingUnreadable`."""


class Members:
    """One consumer for each group, polled by a thread; a context manager.

    Args:
        bootstrap: of the broker.
        groups: the topic of each group, by its id.
    """

    def __init__(self, bootstrap: str, groups: Mapping[str, str]) -> None:
        self._consumers = [
            Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0}) for group in groups
        ]
        for consumer, topic in zip(self._consumers, groups.values(), strict=True):
            consumer.subscribe([topic])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for consumer in self._consumers:
            consumer.close()

    def _poll(self) -> None:
        while not self._over.is_set():
            for consumer in self._consumers:
                consumer.poll(0.05)


def policy(fleet: Fleet, cluster: str, **client: Any) -> dict[str, Any]:
    """Return a policy of the fleet's Deployment for a cluster."""
    name = group_of(fleet, cluster)
    return {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupPolicy",
        "metadata": {"name": name},
        "spec": {
            "groupId": name,
            "clusterRef": cluster,
            "workloadRef": {"name": name, "container": "app"},
            "client": {"library": "kafkajs", **client},
        },
    }


def group_of(fleet: Fleet, cluster: str) -> str:
    """Return which of the fleet's groups a cluster has."""
    return fleet.names[CLUSTERS.index(cluster)]


def model(fleet: Fleet, group: str) -> dict[str, Any]:
    """Return a model by which the group does better with a shorter heartbeat interval."""
    now = datetime.now(UTC)
    return model_documents.document_of(
        fitted.model(
            namespace=fleet.namespace,
            group=group,
            since=now.date() - timedelta(days=14),
            until=now.date() - timedelta(days=1),
            fitted_at=now,
        )
    )


def declare(loud: Fleet) -> None:
    """Make policies that say how often members beat, of containers whose variables say nothing of it."""
    unset = {item: {"name": f"NO_{item.upper()}"} for item in ("sessionTimeout", "heartbeatInterval", "fetchWait")}
    declared = {"sessionTimeout": "45s", "heartbeatInterval": DECLARED, "fetchWait": "500ms"}
    for cluster in CLUSTERS:
        loud.apply(json.dumps(policy(loud, cluster, env=unset, current=declared)))


@pytest.fixture(scope="module")
def fleets(sandbox: Sandbox, operators: Operators) -> Iterator[Sequence[Fleet]]:
    """The calm namespace and the loud one; no other operator runs."""
    operators.stop()
    with contextlib.ExitStack() as made:
        fleets = [made.enter_context(Fleet(sandbox, name, len(CLUSTERS))) for name in ("calm", "loud")]
        for fleet in fleets:
            fleet.deploy(SETTINGS)
            made.callback(fleet.kubectl, "delete", "namespace", fleet.namespace, "--wait=false")
        groups = {name: fleet.namespace for fleet in fleets for name in fleet.names}
        made.enter_context(Members(sandbox.kafka.bootstrap, groups))
        yield fleets


@pytest.mark.row("B6")
def test_nobody_takes_a_budget_of_heartbeats_by_declaring_or_sending_them(
    sandbox: Sandbox, fleets: Sequence[Fleet]
) -> None:
    """Twenty beats a second are declared, and twenty are sent: the calm have theirs all the same."""
    calm, loud = fleets
    for cluster in CLUSTERS:
        calm.apply(json.dumps(model(calm, group_of(calm, cluster))))
    declare(loud)
    beats_s = dict.fromkeys([*calm.names, *loud.names], USUAL_S) | {group_of(loud, "direct"): LOUD_S}
    with (
        PodMetrics(fleets, storms=lambda _: False, scrapes=SCRAPES, beats_s=beats_s) as metrics,
        Operator(
            sandbox,
            interval_s=INTERVAL_S,
            prometheus_url=f"http://{LOOPBACK}:{metrics.port}",
            grants=scenario.EVERY_GROUP,  # the members are not in pods
            heartbeat_budgets=BUDGETS,
        ) as operator,
    ):
        wait_until(
            lambda: all("verdict" in policy.get("status", {}) for policy in loud.policies().values()),
            part=loud.namespace,
            what="a first look",
        )
        await_cycles(operator, 3)
        for cluster in CLUSTERS:
            calm.apply(json.dumps(policy(calm, cluster)))
        try:
            wait_until(  # pods have to run for a minute before values are recommended
                lambda: {_interval(policy) for policy in calm.policies().values()} == {"3s → 1s"},
                part=calm.namespace,
                what="shorter intervals that are recommended",
                timeout_s=120,
            )
        except SandboxError as error:
            report = "\n".join(map(written.conditions, calm.policies().values()))
            raise AssertionError(f"{error}\n{report}") from error
        await_cycles(operator, 2)
        current = {name: policy["status"]["current"]["heartbeatInterval"] for name, policy in loud.policies().items()}
        assert current == dict.fromkeys(loud.names, DECLARED)
        for item in calm.policies().values():
            assert _interval(item) == "3s → 1s", written.conditions(item)
            assert "have a budget" not in scenario.condition(item, "Recommended")["message"]


def _interval(policy: dict[str, Any]) -> str:
    return str(policy.get("status", {}).get("summary", {}).get("heartbeatInterval", ""))
