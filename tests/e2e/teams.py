"""One team's namespace with a consumer group and its policy: what a test does with it, and what it sees of it."""

import itertools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sandbox import audit, scenario
from sandbox.environment import OPERATOR_USER, Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from sandbox.scenario import ConsumerSettings, JavaSettings, Tenant

POLL_S: Final = 0.3
"""Between two questions: two cores do everything."""

_numbers = itertools.count(1)


class Team(Tenant):
    """A tenant whose Deployment, ConfigMap, topic, group and policy all bear the name of its namespace.

    Args:
        sandbox: where it lives.
        purpose: begins its name, so that logs tell whose line it is.
    """

    sandbox: Sandbox

    def __init__(self, sandbox: Sandbox, purpose: str) -> None:
        super().__init__(sandbox, f"{purpose}-{next(_numbers)}")
        self.name = self.namespace

    def delete(self) -> None:
        """Delete the namespace with all that is in it, without waiting for its end."""
        self.sandbox.control_plane.delete_namespace(self.namespace)

    def deploy(self, settings: ConsumerSettings, *, replicas: int = 3) -> None:
        """Deploy the consumers and wait until all pods are ready; none are made with `replicas=0`."""
        self.sandbox.kafka.create_topic(self.name, scenario.PARTITIONS)
        self.apply(self.manifest(settings, replicas=replicas))
        self.await_available(self.name)

    def deploy_java(self, settings: JavaSettings) -> None:
        """Deploy two Java consumers and wait until their pods are ready."""
        self.deploy_java_consumers(self.name, settings)
        self.await_available(self.name)

    def pods(self) -> list[str]:
        """Return the names of the pods that run the Deployment's newest template, sorted."""
        items = self.get("pods", labels=f"app={self.name}")["items"]
        return sorted(item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"])

    def manifest(self, settings: ConsumerSettings, *, replicas: int = 3) -> str:
        """Return what `deploy` applies."""
        return self.consumer_manifest(self.name, settings).replace("replicas: 3", f"replicas: {replicas}")

    def apply_policy_spec(self, name: str = "", **changes: Any) -> None:
        """Apply a policy of the team's group with fields of its spec replaced."""
        policy = json.loads(json.dumps(policy_document(self.name)))
        policy["metadata"]["name"] = name or self.name
        policy["spec"].update(changes)
        self.apply(json.dumps(policy))

    def delete_policy(self) -> None:
        """Delete the team's policy."""
        self.kubectl("delete", "cgp", self.name, f"--namespace={self.namespace}")

    def status(self, name: str = "") -> dict[str, Any]:
        """Return the status of a policy; empty while it has none."""
        found: dict[str, Any] = self.policy(name or self.name).get("status", {})
        return found

    def await_condition(
        self, kind: str, reason: str, *, name: str = "", timeout_s: float = 60, status: str | None = None
    ) -> dict[str, str]:
        """Wait until a condition of a policy has a reason (and a status), and return it."""
        found: dict[str, str] = {}

        def shown() -> bool:
            found.update(scenario.condition(self.policy(name or self.name), kind))
            return found["reason"] == reason and status in {None, found["status"]}

        try:
            self._await(shown, f"{kind} to say {reason}", timeout_s)
        except SandboxError as error:
            raise AssertionError(f"{error} It is {found}.") from error
        return found

    def await_rolled_out(self, *, kind: str = "deployment", timeout_s: float = 120) -> None:
        """Wait until the tuner's values are written and in all pods; that these stay ready is not waited for."""
        self._await(lambda: "applied" in self.status(), "values that are written", timeout_s)
        wait = f"--timeout={timeout_s:.0f}s"
        self.kubectl("rollout", "status", f"{kind}/{self.name}", f"--namespace={self.namespace}", wait)

    def await_verdict(self, *verdicts: str, timeout_s: float = 120) -> None:
        """Wait for one of some verdicts of the team's policy."""
        names = " or ".join(verdicts)
        self._await(lambda: self.status().get("verdict") in verdicts, f"the verdict {names}", timeout_s)

    def env(self) -> dict[str, str]:
        """Return the literal environment entries of the Deployment's template."""
        container = self.get("deployments", self.name)["spec"]["template"]["spec"]["containers"][0]
        return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}

    def await_env(self, values: Mapping[str, str], *, timeout_s: float = 120) -> None:
        """Wait until the template sets these values."""
        self._await(lambda: values.items() <= self.env().items(), "values in the template", timeout_s)

    def events(self) -> list[tuple[str, str, str]]:
        """Return type, reason and message of the Events about the team's policy."""
        items = self.get("events")["items"]
        return [
            (item["type"], item["reason"], item["message"])
            for item in items
            if item["involvedObject"]["name"] == self.name
        ]

    def operator_writes(self, resource: str, *, since: datetime | None = None) -> list[audit.Write]:
        """Return the operator's writes to a resource of the team, refused ones too; they are logged a moment later."""
        return [
            write
            for write in audit.writes(self.sandbox.control_plane.audit_log, since=since, namespace=self.namespace)
            if (write.user, write.resource) == (OPERATOR_USER, resource)
        ]

    def _await(self, condition: Any, what: str, timeout_s: float) -> None:
        wait_until(condition, part=self.name, what=what, timeout_s=timeout_s, poll_s=POLL_S)


def policy_document(name: str) -> dict[str, Any]:
    """Return a policy of the group `name`, as a document to change."""
    return {
        "apiVersion": "heartbeat-tuner.dev/v1alpha1",
        "kind": "ConsumerGroupPolicy",
        "metadata": {"name": name},
        "spec": {
            "groupId": name,
            "clusterRef": "main",
            "workloadRef": {"name": name, "container": "app"},
            "client": {"library": "kafkajs"},
        },
    }
