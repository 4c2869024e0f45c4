"""What the demo and the end-to-end tests put into a sandbox: consumers with given settings, policies, the operator.

The operator runs as it would in a pod: its own process, its own identity, and the rights of
`manifests/operator-role.yaml` only.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, Final, Self

import yaml

from sandbox import consumers, network, reads
from sandbox.environment import OPERATOR_USER, Environment
from sandbox.forked_commands import OwnCommand
from sandbox.processes import Process, wait_until

CHECKOUT: Final = Path(__file__).parents[1]
PARTITIONS: Final = 6

LEASE_NAMESPACE: Final = "default"
"""Where `install` puts the operator's Role, and so where its replicas have their lease."""

_MANIFESTS: Final = Path(__file__).parent / "manifests"

_LED: Final = re.compile(r"^heartbeat_tuner_leader (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class ConsumerSettings:
    """KafkaJS' three settings, in its own unit."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    fetch_wait_ms: int


STORMING: Final = ConsumerSettings(session_timeout_ms=1_000, heartbeat_interval_ms=333, fetch_wait_ms=5_000)
"""The source article's settings: a beat every 5 s under a session of 1 s."""

HEALTHY: Final = ConsumerSettings(session_timeout_ms=30_000, heartbeat_interval_ms=1_000, fetch_wait_ms=1_000)


@dataclass(frozen=True)
class JavaSettings:
    """The Java consumer's settings in its own unit, and how long it handles each record."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    handler_ms: int = 0


EVERY_GROUP: Final = ({"namespaces": ("*",), "groups": ("*",)},)
"""What an operator is granted whose policies' groups have no members, or none in pods."""


class Tenant:
    """One namespace in which consumers and policies live."""

    def __init__(self, sandbox: Environment, namespace: str) -> None:
        self.sandbox = sandbox
        self.namespace = namespace

    def create(self) -> None:
        """Create the namespace."""
        self.sandbox.control_plane.create_namespace(self.namespace)

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator."""
        return self.sandbox.control_plane.kubectl(*args, stdin=stdin)

    def get(self, kind: reads.Kind, name: str = "", *, labels: str = "", fields: str = "") -> dict[str, Any]:
        """Return an object of this namespace, or those that the selectors choose (`sandbox.reads`)."""
        return reads.read(self.sandbox.control_plane, self.namespace, kind, name, labels=labels, fields=fields)

    def apply(self, manifest: str) -> None:
        """Apply a manifest in this namespace."""
        self.kubectl("apply", f"--namespace={self.namespace}", "--filename=-", stdin=manifest)

    def patch(self, what: str, name: str, patch: dict[str, Any]) -> None:
        """Merge `patch` into an object."""
        self.kubectl("patch", what, name, f"--namespace={self.namespace}", "--type=merge", "-p", json.dumps(patch))

    def deploy_consumers(self, name: str, settings: ConsumerSettings) -> None:
        """Run three KafkaJS consumers as Deployment, group and topic `name`."""
        self.sandbox.kafka.create_topic(name, PARTITIONS)
        self.apply(self.consumer_manifest(name, settings))

    def consumer_manifest(self, name: str, settings: ConsumerSettings) -> str:
        """Return the manifest of `deploy_consumers`."""
        return _render(
            "consumer.yaml",
            name=name,
            command=json.dumps(consumers.kafkajs_command()),
            bootstrap=self.sandbox.kafka.bootstrap,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            fetch_wait_ms=settings.fetch_wait_ms,
        )

    def deploy_java_consumers(self, name: str, settings: JavaSettings, *, replicas: int = 2) -> None:
        """Run Java consumers as Deployment, group and topic `name`; each takes some 90 MB and a second of a core."""
        self.sandbox.kafka.create_topic(name, PARTITIONS)
        self.apply(self.java_consumer_manifest(name, settings, replicas=replicas))

    def java_consumer_manifest(self, name: str, settings: JavaSettings, *, replicas: int = 2) -> str:
        """Return the manifest of `deploy_java_consumers`."""
        return _render(
            "java-consumer.yaml",
            name=name,
            replicas=replicas,
            command=json.dumps(consumers.java_command()),
            bootstrap=self.sandbox.kafka.bootstrap,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.max_poll_interval_ms,
            handler_ms=settings.handler_ms,
        )

    def await_available(self, name: str, *, timeout_s: float = 120) -> None:
        """Wait until all pods of a Deployment are ready and none is left of an older template."""
        wait_until(lambda: self._is_rolled_out(name), part=name, what="its pods", timeout_s=timeout_s, poll_s=0.3)

    def apply_policy(self, name: str, *, mode: str, library: str = "kafkajs") -> None:
        """Apply a policy for the consumers `name`."""
        self.apply(policy_manifest(name, mode=mode, library=library))

    def policy(self, name: str) -> dict[str, Any]:
        """Return a policy."""
        return self.get("consumergrouppolicies", name)

    def _is_rolled_out(self, name: str) -> bool:
        deployment = self.get("deployments", name)
        status, replicas = deployment.get("status", {}), deployment["spec"]["replicas"]
        pods = self.get("pods", labels=f"app={name}")["items"]
        return bool(
            status.get("observedGeneration") == deployment["metadata"]["generation"]
            and status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == replicas
            and len(pods) == replicas
        )


def condition(policy: dict[str, Any], kind: str) -> dict[str, str]:
    """Return a condition of a policy; empty strings while it is not there."""
    found = [condition for condition in policy.get("status", {}).get("conditions", ()) if condition["type"] == kind]
    return found[0] if found else {"status": "", "reason": "", "message": ""}


def policy_manifest(name: str, *, mode: str, library: str = "kafkajs") -> str:
    """Return the manifest of a policy for the consumers `name`, whose client library it names."""
    return _render("policy.yaml", name=name, mode=mode, library=library)


def install(sandbox: Environment) -> None:
    """Install the CustomResourceDefinition and the operator's rights."""
    kubectl = sandbox.control_plane.kubectl
    files = (CHECKOUT / "crds", _MANIFESTS / "operator-role.yaml", _MANIFESTS / "operator-binding.yaml")
    kubectl("apply", *(f"--filename={file}" for file in files))
    sandbox.control_plane.await_definitions()


def allow_evictions(sandbox: Environment, user: str = OPERATOR_USER) -> None:
    """Give an operator the right that the chart gives with `operator.evictions`."""
    name, kubectl = "heartbeat-tuner-evictions", sandbox.control_plane.kubectl
    for what in (
        ("clusterrole", name, "--verb=create", "--resource=pods/eviction"),
        ("clusterrolebinding", name, f"--clusterrole={name}", f"--user={user}"),
    ):
        manifest = kubectl("create", *what, "--dry-run=client", "--output=yaml")
        kubectl("apply", "--filename=-", stdin=manifest)


@dataclass(frozen=True)
class LeaseTimes:
    """The times of the operator's leader election, in the notation of its configuration; its own defaults."""

    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"


class Operator:
    """One replica of the operator as a process with its own identity; a context manager.

    Args:
        sandbox: where it works.
        interval_s: time between two cycles; a production default would make a demo long.
        user: who it is to the API server; replicas that run side by side have one each.
        api_url: where it reaches the API server; None is the sandbox's own, a test gives a fault proxy's.
        prometheus_url: where it reads metrics; None likewise.
        bootstrap: where it asks about groups of cluster `main`; None likewise. Cluster `direct` is the sandbox's own.
        source_timeout_s: how long it waits for Prometheus and for the broker.
        lease_times: of its leader election.
        max_rollouts: how many Deployments it may be rolling out at once.
        grants: which groups policies may name without a member in their workloads' pods.
        profile: where it writes a profile of its main thread when it ends; None if it is not profiled.
        heartbeat_budgets: requests a second that the heartbeats of a Kafka cluster's groups may take, by its name.
        shards: into how many parts policies are divided.
        canaries: whether it may evict pods for canaries; `allow_evictions` gives it the right.
        alters_groups: whether it may write into groups' configurations at the broker of cluster `main`.
        lease_namespace: where its lease is: operators with different ones are different installations.
        namespaces: where it looks after policies; everywhere if empty.
    """

    def __init__(  # noqa: PLR0913 - what tests make different, one at a time
        self,
        sandbox: Environment,
        *,
        interval_s: float,
        user: str = OPERATOR_USER,
        api_url: str | None = None,
        prometheus_url: str | None = None,
        bootstrap: str | None = None,
        source_timeout_s: float = 5.0,
        lease_times: LeaseTimes = LeaseTimes(),
        max_rollouts: int = 5,
        grants: Sequence[Mapping[str, Sequence[str]]] = (),
        profile: Path | None = None,
        heartbeat_budgets: Mapping[str, float] = MappingProxyType({}),
        shards: int = 1,
        canaries: bool = False,
        alters_groups: bool = False,
        lease_namespace: str = LEASE_NAMESPACE,
        namespaces: Sequence[str] = (),
    ) -> None:
        self.metrics_port, self._probe_port = network.free_ports(2)
        self.user = user
        granted = [{name: list(some) for name, some in grant.items()} for grant in grants]
        clusters: dict[str, dict[str, object]] = {
            "main": {"bootstrapServers": bootstrap or sandbox.kafka.bootstrap, "grants": granted},
            "direct": {"bootstrapServers": sandbox.kafka.bootstrap, "grants": granted},
        }
        clusters["main"]["alterGroups"] = alters_groups
        for name, per_s in heartbeat_budgets.items():
            clusters[name]["heartbeatBudget"] = per_s
        config = sandbox.run_dir / f"{user}.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "prometheus": {
                        "url": prometheus_url or sandbox.prometheus.url,
                        "timeout": f"{source_timeout_s:g}s",
                    },
                    "kafka": {"clusters": clusters, "timeout": f"{source_timeout_s:g}s"},
                    "http": {
                        "address": network.LOOPBACK,
                        "port": self.metrics_port,
                        "probePort": self._probe_port,
                    },
                    "kubernetes": {"namespaces": list(namespaces)},
                    "interval": f"{interval_s:g}s",
                    "rollout": {"maxConcurrent": max_rollouts, "canaries": canaries},
                    "shards": shards,
                    "leaderElection": {
                        "namespace": lease_namespace,
                        "leaseDuration": lease_times.lease_duration,
                        "renewDeadline": lease_times.renew_deadline,
                        "retryPeriod": lease_times.retry_period,
                    },
                }
            )
        )
        kubeconfig = sandbox.control_plane.kubeconfig_for(user)
        if api_url is not None:
            document = kubeconfig.read_text().replace(sandbox.control_plane.url, api_url)
            kubeconfig = sandbox.run_dir / f"{user}.kubeconfig"
            kubeconfig.touch(mode=0o600)
            kubeconfig.write_text(document)
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self.log = sandbox.run_dir / "logs" / f"{user}.log"
        self.process: Process = OwnCommand(user, ["run", "--config", config], log=self.log, env=environment)
        if profile is not None:
            profiled = [sys.executable, "-m", "cProfile", "-o", str(profile), *self.process.argv[1:]]
            self.process = Process(user, profiled, log=self.log, env=environment)

    def __enter__(self) -> Self:
        self.process.start()
        try:
            wait_until(
                lambda: self.answers("/readyz"), part=self.user, what="the API server's answer", process=self.process
            )
        except BaseException:
            self.process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def leads(self) -> bool:
        """Whether it says that it leads."""
        return self.led() > 0

    def led(self) -> int:
        """How many shards it says that it leads; without shards 1 or 0."""
        found = _LED.search(self.page("/metrics"))
        return int(float(found[1])) if found else 0

    def answers(self, path: str, *, timeout_s: float = network.PAGE_TIMEOUT_S) -> bool:
        """Whether a probe succeeds."""
        return bool(self.page(path, timeout_s=timeout_s))

    def page(self, path: str, *, timeout_s: float = network.PAGE_TIMEOUT_S) -> str:
        """Return what its metrics or a probe says; empty when it is not well, or does not say it in time."""
        port = self.metrics_port if path == "/metrics" else self._probe_port
        return network.page(port, path, timeout_s=timeout_s)


def _render(manifest: str, **values: object) -> str:
    return Template((_MANIFESTS / manifest).read_text()).substitute(values)
