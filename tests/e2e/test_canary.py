"""New values go to two of eight pods first: a real group, real evictions, and the webhook that gives the values.

One group lives through both ends. With the first values its application crashes, so the two pods go back, and the six
others are not touched. Then the policy is edited, the next values pass, and all pods get them.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from heartbeat_tuner.api import model_documents
from heartbeat_tuner.metrics.measured import ABSENCE
from sandbox import consumers, scenario
from sandbox.environment import Sandbox
from sandbox.scenario import ConsumerSettings, Operator
from tests.e2e.operators import INTERVAL_S, Operators
from tests.e2e.teams import Team
from tests.support import fitted
from tests.support.webhooks import Replica

pytestmark = pytest.mark.timeout(420)

PODS: Final = 8
SHORT: Final = ConsumerSettings(session_timeout_ms=6_000, heartbeat_interval_ms=1_000, fetch_wait_ms=1_000)
BAD, GOOD = "20000", "25000"
"""Sessions in milliseconds: the bounds of the policy, since the model asks for more."""

VARIABLE: Final = "KAFKA_SESSION_TIMEOUT_MS"
TRIED: Final = "heartbeat-tuner.dev/canary-of"

Facts = dict[str, tuple[str, int, str]]
"""Uid, restarts and literal session of pods, by name."""


class Octet(Team):
    """Eight KafkaJS consumers that end at once with a session that they do not like."""

    def deploy_eight(self) -> None:
        """Deploy them, and wait until all are ready."""
        self.sandbox.kafka.create_topic(self.name, 2 * PODS)
        command = consumers.kafkajs_command()
        picky = ["sh", "-c", f'[ "${VARIABLE}" = {BAD} ] && exit 7; exec "$@"', "sh", *command]
        text = self.manifest(SHORT, replicas=PODS)
        assert json.dumps(command) in text
        self.apply(text.replace(json.dumps(command), json.dumps(picky)))
        self.await_available(self.name, timeout_s=180)

    def ask_for(self, longest_ms: str) -> None:
        """Ask for the session that the model likes best up to a bound, to be tried for ten seconds."""
        self.apply_policy_spec(
            mode="Apply",
            objective={"maxDetectionTime": "10m", "maxFalseEvictionsPerMonth": 10_000},
            bounds={"sessionTimeout": {"max": f"{int(longest_ms) // 1000}s"}},
            rollout={"cooldown": "1s", "horizon": "8760h", "canary": {"duration": "10s"}},
        )

    def facts(self) -> Facts:
        """Return what there is of pods that are not ending."""
        found: Facts = {}
        for pod in self.get("pods", labels=f"app={self.name}")["items"]:
            if "deletionTimestamp" in pod["metadata"]:
                continue
            container = pod["spec"]["containers"][0]
            env = {item["name"]: item.get("value", "") for item in container["env"]}
            statuses = pod["status"].get("containerStatuses") or [{"restartCount": 0}]
            found[pod["metadata"]["name"]] = pod["metadata"]["uid"], statuses[0]["restartCount"], env.get(VARIABLE, "")
        return found

    def tried(self) -> int:
        """Return how many pods say that they were given values by a canary."""
        pods = self.get("pods", labels=f"app={self.name}")["items"]
        return sum(TRIED in pod["metadata"].get("annotations", {}) for pod in pods)

    def canary(self) -> dict[str, Any]:
        """Return the note of the canary; empty where there is none."""
        found: dict[str, Any] = self.status().get("canary", {})
        return found

    def until(self, condition: Any, what: str, timeout_s: float) -> None:
        """Wait until something is so."""
        self._await(condition, what, timeout_s)


@pytest.fixture
def octet(sandbox: Sandbox, operators: Operators, webhook: Replica) -> Iterator[Octet]:
    """The group, a model of it, and the only operator that acts, which may evict pods."""
    assert webhook
    operators.stop()
    team = Octet(sandbox, "octet")
    team.create()
    now = datetime.now(UTC)
    absences = fitted.quantity(tail=fitted.tail(share=0.05, shape=0.3), largest_s=30.0)
    model = fitted.model(
        namespace=team.namespace,
        group=team.name,
        since=now.date() - timedelta(days=14),
        until=now.date() - timedelta(days=1),
        fitted_at=now,
        quantities={ABSENCE: absences},
    )
    team.apply(json.dumps(model_documents.document_of(model)))
    scenario.allow_evictions(sandbox)
    with Operator(sandbox, interval_s=INTERVAL_S, canaries=True):
        team.deploy_eight()
        yield team
        team.delete_policy()
    team.delete()


def test_two_of_eight_pods_have_new_values_first(octet: Octet) -> None:
    """Where these crash, the two pods go back and the six others stay; where they run, all follow."""
    before, template = octet.facts(), octet.get("deployments", octet.name)["spec"]["template"]
    assert len(before) == PODS
    octet.ask_for(BAD)
    octet.await_condition("Applied", "CanaryRunning", timeout_s=150)
    octet.until(lambda: bool(octet.status().get("reverted")), "the values to have failed", 120)
    octet.until(lambda: octet.canary().get("phase") == "Over", "its pods to be back", 60)
    octet.await_available(octet.name)
    (failed,) = octet.status()["reverted"]
    assert (failed["outcome"], failed["values"]["sessionTimeout"]) == ("RolloutFailed", "20s")
    assert "exit code 7" in failed["message"]
    after = octet.facts()
    stayed = {name: facts for name, facts in after.items() if name in before}
    assert stayed == {name: before[name] for name in stayed}
    assert len(stayed) >= PODS - 2
    assert {session for _, _, session in after.values()} == {""}
    assert octet.get("deployments", octet.name)["spec"]["template"] == template
    noted = octet.get("deployments", octet.name)["metadata"]["annotations"]["heartbeat-tuner.dev/failed"]
    assert json.loads(noted)["app"]["failed"] == octet.status()["reverted"]
    octet.await_condition("Applied", "FailedBefore", timeout_s=150)
    octet.await_condition("Verified", "Reverted", status="False")

    octet.ask_for(GOOD)
    octet.until(lambda: "readyTime" in octet.canary(), "two pods with the values", 120)
    with_values = [name for name, (_, _, session) in octet.facts().items() if session == GOOD]
    assert (len(with_values), octet.tried(), octet.env().get(VARIABLE)) == (2, 2, None)
    two = "2 of 8 pods run with sessionTimeout 6s → 25s"
    octet.until(
        lambda: two in scenario.condition(octet.policy(octet.name), "Verified")["message"], "that it says so", 30
    )
    octet.await_env({VARIABLE: GOOD}, timeout_s=90)
    octet.await_available(octet.name, timeout_s=120)
    assert {session for _, _, session in octet.facts().values()} == {GOOD}
    octet.until(lambda: not octet.canary(), "the end of the canary", 30)
    evictions = [
        operator_write
        for operator_write in octet.operator_writes("pods")
        if operator_write.subresource == "eviction" and not operator_write.refused
    ]
    assert len({eviction.name for eviction in evictions}) == len(evictions) <= 5
