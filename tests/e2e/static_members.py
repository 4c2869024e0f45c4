"""A team whose pods get static ids from the webhook; what befalls it stands in the records of broker and API server."""

import contextlib
import dataclasses
import itertools
import json
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from sandbox import consumers
from sandbox.environment import Sandbox
from sandbox.node import ProcessNode
from sandbox.processes import Process, wait_until
from sandbox.producer import Trickle
from sandbox.scenario import JavaSettings
from tests.e2e.group_record import GroupRecord, await_log
from tests.e2e.teams import Team
from tests.support import pod_lives
from tests.support.pod_lives import Life
from tests.support.webhooks import Replica, registered

SETTINGS: Final = JavaSettings(session_timeout_ms=20_000, heartbeat_interval_ms=2_000, max_poll_interval_ms=300_000)
"""A pod that is replaced is back well within its session, though a Java starts slowly here."""

SESSION_S: Final = SETTINGS.session_timeout_ms / 1000

DEFAULT_SESSION_S: Final = 45.0
"""What both libraries, and the broker for them, have when nobody says otherwise."""

COMMIT_S: Final = 1.0
"""Between two commits of a consumer, with which it is known what it consumes."""

PRODUCE_S: Final = 0.05
"""Between two messages; their partitions take turns."""

PARTITIONS: Final = 12
"""More than there are ever members, so that none is without."""

TOLERATION_S: Final = 5
"""How long a pod stays on a node that is lost; Kubernetes' default is five minutes."""

_LIBRARIES: Final = {"java": "java", "confluent-kafka-python": "python"}

_FATAL: Final = re.compile(
    r"\b(fenced|unreleased|rejected this static consumer|still used by another member)", re.IGNORECASE
)
"""The names of the errors FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID, and what the broker says with them."""

_WATCHED_S: Final = 4 * 3600
"""Longer than any campaign, and than the API server lets a watch last that names no time."""

_number = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Kind:
    """Of which consumers a crew is.

    Attributes:
        library: java or confluent-kafka-python.
        protocol: classic or consumer, as the clients' setting `group.protocol` names it.
    """

    library: str = "java"
    protocol: str = "classic"

    def __str__(self) -> str:
        return f"{self.protocol}-{_LIBRARIES[self.library]}"


class Crew(Team):
    """A team of consumers whose rollouts are counted.

    Args:
        sandbox: where it lives.
        purpose: begins its name.
        pods: how many there are at first.
        kind: of which consumers.
        session_s: their session timeout.
    """

    def __init__(
        self, sandbox: Sandbox, purpose: str, *, pods: int, kind: Kind = Kind(), session_s: float = SESSION_S
    ) -> None:
        super().__init__(sandbox, purpose)
        self.size = pods
        self._settings = dataclasses.replace(SETTINGS, session_timeout_ms=int(session_s * 1000))
        self._kind = kind
        self.group = GroupRecord(sandbox.kafka.request_log, sandbox.kafka.bootstrap, self.name)
        self._trickle = Trickle(sandbox.kafka.bootstrap, self.name, PRODUCE_S)
        self._watch = PodWatch(self)
        self._running = contextlib.ExitStack()

    def create(self) -> None:
        """Create the namespace and the topic; from here on the pods are watched, and there is something to consume."""
        super().create()
        self.sandbox.kafka.create_topic(self.name, PARTITIONS)
        if self._kind.protocol == "consumer":
            session, heartbeat = self._settings.session_timeout_ms, self._settings.heartbeat_interval_ms
            values = {"consumer.session.timeout.ms": str(session), "consumer.heartbeat.interval.ms": str(heartbeat)}
            self.sandbox.kafka.configure_group(self.name, values)
        self._running.enter_context(self._trickle)
        self._watch.start()
        self._running.callback(self._watch.stop)

    def delete(self) -> None:
        """Delete the namespace with all that is in it, without waiting for its end."""
        self._running.close()
        super().delete()

    def enrol(self, webhook: Replica) -> None:
        """Give the crew a policy with static ids, and wait until the webhook knows it.

        The library matters here for the name of the variable alone, which is the same for confluent-kafka and Java.
        """
        self.apply_policy_spec(client={"library": "java"}, staticMembership="Enabled")
        self._await_enrolled(webhook)

    def deploy_crew(self) -> None:
        """Deploy the consumers and wait until all have joined."""
        self.apply(self._manifest())
        self.await_available(self.name)
        self.await_members()

    def roll(self, *, surge: int) -> None:
        """Replace all pods one after the other, and wait until that is done."""
        self.set_surge(surge)
        self.restart()
        self.await_available(self.name, timeout_s=300)

    def set_surge(self, surge: int) -> None:
        """Have rollouts add so many pods at a time; with none they take one away first."""
        rolling = {"maxSurge": surge, "maxUnavailable": 0 if surge else 1}
        self.patch("deployment", self.name, {"spec": {"strategy": {"rollingUpdate": rolling}}})

    def restart(self) -> None:
        """Begin a rollout."""
        self._rollout("restart")

    def undo(self) -> None:
        """Begin to go back to the template before."""
        self._rollout("undo")

    def scale(self, size: int) -> None:
        """Have another number of pods; come back at once."""
        self.size = size
        self.kubectl("scale", f"--namespace={self.namespace}", f"deployment/{self.name}", f"--replicas={size}")

    def kill_container(self) -> None:
        """Kill the process of one of the pods."""
        pid = self.sandbox.node.container_pid(self.namespace, self.pods()[0], "app")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    def kill_pod(self) -> str:
        """Take one of the pods away by force, its process with it; return its static id."""
        pod = self.get("pods", self.pods()[0])
        name = pod["metadata"]["name"]
        self.kubectl("delete", "pod", name, f"--namespace={self.namespace}", "--force", "--grace-period=0")
        return pod_lives.instance_id(pod)

    def pods_on(self, node: ProcessNode) -> list[str]:
        """Return the names of the pods on a node, Terminating ones too."""
        items = self.get("pods", labels=f"app={self.name}", fields=f"spec.nodeName={node.name}")["items"]
        return sorted(item["metadata"]["name"] for item in items)

    def leaving(self) -> list[str]:
        """Return the names of the pods that are Terminating."""
        items = self.get("pods", labels=f"app={self.name}")["items"]
        return sorted(item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"])

    def await_ready(self, *, timeout_s: float) -> None:
        """Wait until as many pods as wanted are ready, whatever else there is."""

        def ready() -> bool:
            status: Mapping[str, Any] = self.get("deployments", self.name).get("status", {})
            return int(status.get("readyReplicas", 0)) == self.size == int(status.get("replicas", 0))

        self._await(ready, "its pods to be ready", timeout_s)

    def await_midway(self) -> None:
        """Wait until a rollout has replaced a pod, with others left, and works on the next."""

        def midway() -> bool:
            found = self.get("deployments", self.name)
            status: Mapping[str, Any] = found["status"]
            is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return bool(is_seen and 2 <= status.get("updatedReplicas", 0) < self.size)

        self._await(midway, "the middle of the rollout", 120)

    def await_members(self, *, timeout_s: float = 60) -> None:
        """Wait until the group has as many members as there are pods, none of them without partitions."""

        def complete() -> bool:
            found = self.group.assignment()
            owned = [part for parts in found.values() for part in parts]
            return len(found) == self.size and all(found.values()) and len(set(owned)) == len(owned) == PARTITIONS

        self._await(complete, "all its members", timeout_s)

    def await_consumed(self, since_s: float, *, timeout_s: float) -> None:
        """Wait until all partitions are consumed on, by their committed offsets, after a moment."""
        assert self.group.partitions() == PARTITIONS
        self._await(lambda: self.group.progressed_since(since_s), "all its partitions to be consumed", timeout_s)

    def await_protocol(self) -> None:
        """Wait until the operator has seen which protocol the group speaks."""
        wanted = self._kind.protocol.capitalize()
        self._await(lambda: self.status().get("groupProtocol") == wanted, "its protocol in the status", 60)

    def ids(self) -> list[str]:
        """Return the static ids in the pods' environment, sorted; empty for one that has none."""
        return sorted(map(pod_lives.instance_id, self.get("pods", labels=f"app={self.name}")["items"]))

    def lives(self) -> list[Life]:
        """Return when pods with static ids could have a process, by the API server's history."""
        return self._watch.lives()

    def shared_ids(self) -> list[tuple[str, str, str]]:
        """Return each id that two pods had at one moment, at which each could have a process, and their names."""
        return pod_lives.shared(self.lives())

    def fatal(self) -> list[str]:
        """Return the lines in which any consumer, gone ones too, says that its id was another's."""
        logs = sorted((self.sandbox.run_dir / "pods").glob(f"{self.namespace}_*_app.log"))
        assert len(logs) >= self.size
        lines = itertools.chain.from_iterable(log.read_text(errors="replace").splitlines() for log in logs)
        return [line for line in lines if _FATAL.search(line)]

    def _rollout(self, what: str) -> None:
        self.kubectl("rollout", what, f"--namespace={self.namespace}", f"deployment/{self.name}")

    def _manifest(self) -> str:
        """Return the documented Java consumer, made what this crew is of."""
        text = self.java_consumer_manifest(self.name, self._settings, replicas=self.size)
        config_map, deployment = yaml.safe_load_all(text)
        values = config_map["data"]
        values["KAFKA_AUTO_COMMIT_INTERVAL_MS"] = str(int(COMMIT_S * 1000))
        if self._kind.protocol == "consumer":
            values["KAFKA_GROUP_PROTOCOL"] = "consumer"
            for name in ("KAFKA_SESSION_TIMEOUT_MS", "KAFKA_HEARTBEAT_INTERVAL_MS"):
                del values[name]  # the broker's to say
        template = deployment["spec"]["template"]
        if self._kind.library != "java":
            del template["metadata"]["annotations"]  # it has no metrics to scrape
            template["spec"]["containers"][0]["command"] = consumers.confluent_python_command()
        template["spec"]["tolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_S}
            for key in ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
        ]
        return json.dumps(config_map) + "\n---\n" + json.dumps(deployment)

    def _await_enrolled(self, webhook: Replica) -> None:
        """Wait until the API server asks the webhook, and the webhook knows the policy."""
        pod = json.dumps(pod_of(self.name))
        create = ("create", "--dry-run=server", "--filename=-", f"--namespace={self.namespace}")

        def known() -> bool:
            before = webhook.count("dry-run")
            self.kubectl(*create, stdin=pod)
            return webhook.count("dry-run") > before

        wait_until(known, part="webhook", what="the policy", timeout_s=30, poll_s=0.5)


class PodWatch:
    """Follows a namespace's pods.

    Args:
        team: whose namespace.
    """

    def __init__(self, team: Team) -> None:
        plane = team.sandbox.control_plane
        self._log: Path = team.sandbox.run_dir / "logs" / f"pods-of-{team.namespace}.json"
        self._process = Process(
            "kubectl",
            [
                # The API server ends a watch without a timeout of its own after half an hour to an hour.
                *(plane.kubectl_path, f"--kubeconfig={plane.kubeconfig}", "get", "--raw"),
                f"/api/v1/namespaces/{team.namespace}/pods?watch=true&timeoutSeconds={_WATCHED_S}",
            ],
            log=self._log,
        )

    def start(self) -> None:
        """Begin, before there are pods."""
        self._process.start()

    def stop(self) -> None:
        """End."""
        self._process.stop()

    def lives(self) -> list[Life]:
        """Return when pods with static ids could have a process; the watch has seen all from the first to now."""
        assert self._process.alive(), self._process.log_tail()
        return pod_lives.lives(pod_lives.documents(self._log.read_text()))


@dataclasses.dataclass(frozen=True)
class Cost:
    """What something that happened to a crew cost it.

    Attributes:
        rebalances: by the broker's generation or epoch.
        stop_s: the longest time for which a partition's committed offset did not grow.
    """

    rebalances: int
    stop_s: float


@contextlib.contextmanager
def counted(crew: Crew, *, then_s: float) -> Iterator[list[Cost]]:
    """Count what the block, and so many seconds after it, cost; it is in the list when the block has ended."""
    before, began, found = crew.group.rebalances(), time.time(), list[Cost]()
    yield found
    time.sleep(then_s)
    crew.await_members()
    await_log()
    found.append(Cost(crew.group.rebalances() - before, crew.group.longest_stop_s(began, time.time())))


@contextlib.contextmanager
def started_webhook(sandbox: Sandbox, folder: Path) -> Iterator[Replica]:
    """The webhook as a process with the documented rights, which the API server asks about each new pod."""
    plane, home = sandbox.control_plane, f"webhook-home-{next(_number)}"
    plane.kubectl("create", "namespace", home)
    port = urlsplit(plane.url).port
    assert port is not None
    replica = Replica(plane, folder, home, "webhook", port)
    with registered(plane, home, replica.port), replica.process:
        replica.await_ready()
        yield replica


@contextlib.contextmanager
def crew_of(
    sandbox: Sandbox, kind: Kind, *, pods: int, webhook: Replica | None, session_s: float = SESSION_S
) -> Iterator[Crew]:
    """A crew at work, with static ids where there is a webhook to give them."""
    purpose = f"{'dynamic' if webhook is None else 'static'}-{kind}"
    crew = Crew(sandbox, purpose, pods=pods, kind=kind, session_s=session_s)
    crew.create()
    try:
        if webhook is not None:
            crew.enrol(webhook)
        crew.deploy_crew()
        if webhook is not None:
            crew.await_protocol()
        yield crew
    finally:
        crew.delete()


def pod_of(deployment: str) -> dict[str, Any]:
    """Return a pod as a ReplicaSet of the Deployment would make it."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{deployment}-0",
        "uid": "u",
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "asked", "labels": {"pod-template-hash": "0"}, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "app", "image": "none"}]},
    }
