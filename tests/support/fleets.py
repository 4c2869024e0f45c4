"""Many small workloads with a policy each, for what needs numbers rather than consumers.

A fleet lives in one namespace: Deployments of one pod that only sleeps, consumer groups that the broker really knows,
and a policy for each. Nobody consumes, so nobody exports metrics: `PodMetrics` tells them, by what each pod runs with.
"""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import yaml
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import FIELD_MANAGER
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from heartbeat_tuner.metrics.raw.samples import Sample
from heartbeat_tuner.metrics.vocabulary import Quantity
from sandbox import scenario
from sandbox.control_plane import ControlPlane
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from sandbox.scenario import ConsumerSettings, Tenant
from tests.e2e.fake_prometheus import Answer, FakePrometheus, success
from tests.support import counters

Environment = Mapping[str, str]
"""Literal entries of a container's env; what comes from a ConfigMap is not among them."""

_REQUEST_TIMEOUT_S: Final = 10.0
_COMMITS_AT_ONCE: Final = 100
_PODS_KEPT_S: Final = 0.2
_SETTLED_TIMEOUT_S: Final = 120.0


class Admin:
    """The administrator's requests over one connection, without a kubectl for each; for any thread.

    `kubectl apply --server-side` would do more than asked: it hands the fields of plain `kubectl apply` to the manager
    that is named.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        kubeconfig = yaml.safe_load(control_plane.kubeconfig.read_text())
        self._authorization = f"Bearer {kubeconfig['users'][0]['user']['token']}"
        address = urlsplit(control_plane.url)
        assert address.hostname is not None
        self._connection = http.client.HTTPSConnection(
            address.hostname,
            address.port,
            timeout=_REQUEST_TIMEOUT_S,
            context=ssl.create_default_context(cafile=str(control_plane.ca_file)),
        )
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return the items of the list at `path`."""
        found: list[dict[str, Any]] = self._request("GET", path)["items"]
        return found

    def apply(self, path: str, document: Mapping[str, Any], *, manager: str) -> None:
        """Apply `document` at the server as a field manager, who gives up what it owned and does not name."""
        self._request("PATCH", f"{path}?fieldManager={manager}", document, "application/apply-patch+yaml")

    def create(self, path: str, document: Mapping[str, Any]) -> None:
        """Create an object of the collection at `path`."""
        self._request("POST", path, document)

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        """Merge `patch` into the object at `path`."""
        self._request("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Delete the object, or all objects of the collection, at `path`."""
        self._request("DELETE", path)

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        headers = {"Authorization": self._authorization, "Content-Type": content_type}
        with self._lock:
            try:
                self._connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = self._connection.getresponse()
                document: dict[str, Any] = json.loads(answer.read())
            except BaseException:
                self._connection.close()  # half an answer may be left on it
                raise
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise SandboxError(f"{method} {path}: {answer.status}: {document.get('message')}")
        return document


class Fleet(Tenant):
    """`size` Deployments of one pod, in one namespace, with groups and, on demand, policies of the same names.

    A context manager that ends its connection; what it made stays.

    Args:
        sandbox: where it lives.
        namespace: its namespace; the names begin with it, since groups have no namespaces.
        size: how many.
    """

    def __init__(self, sandbox: Sandbox, namespace: str, size: int) -> None:
        super().__init__(sandbox, namespace)
        self.names = [f"{namespace}-{number:03}" for number in range(size)]
        self.admin = Admin(sandbox.control_plane)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()

    def deploy(self, settings: ConsumerSettings) -> None:
        """Create namespace, groups and Deployments, and wait until every pod runs."""
        self.create()
        self.sandbox.kafka.create_topic(self.namespace)
        commit_offsets(self.sandbox.kafka.bootstrap, self.namespace, self.names)
        self.apply(
            _list([config_map(self.namespace, settings), *(deployment(self.namespace, name) for name in self.names)])
        )
        self.await_rolled_out(timeout_s=len(self.names))

    def create_policies(self, *, mode: str, session_floors_s: Sequence[int] = ()) -> None:
        """Create a policy for each Deployment.

        Args:
            mode: of all of them.
            session_floors_s: the least session timeout of each, by which one may tell its values from the others'.
        """
        for number, name in enumerate(self.names):
            policy = _policy(name, mode)
            if session_floors_s:
                policy["spec"]["bounds"] = {"sessionTimeout": {"min": f"{session_floors_s[number]}s"}}
            self.admin.create(self._policies_path, policy)

    def delete_policies(self) -> None:
        """Delete all policies; what was applied stays."""
        self.admin.delete(self._policies_path)

    def undo_applies(self) -> None:
        """Take out of each Deployment what the tuner owns in it, note included."""
        for name in self.names:
            nothing = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
            self.admin.apply(f"{self._deployments_path}/{name}", nothing, manager=FIELD_MANAGER)

    def annotate(self, name: str, text: str) -> None:
        """Write an annotation of nobody's concern into a Deployment: its version is another one then."""
        self.admin.merge(f"{self._deployments_path}/{name}", {"metadata": {"annotations": {"example.com/note": text}}})

    def pause(self, name: str, *, paused: bool) -> None:
        """Let no change of a Deployment reach its pods, or let it go on."""
        self.admin.merge(f"{self._deployments_path}/{name}", {"spec": {"paused": paused}})

    def change(self, name: str, spec: Mapping[str, Any]) -> None:
        """Merge fields into a Deployment's spec."""
        self.admin.merge(self.path("deployments", name), {"spec": spec})

    def path(self, what: str, name: str) -> str:
        """Return the path of a Deployment or of a policy ("deployments", "policies")."""
        return f"{self._deployments_path if what == 'deployments' else self._policies_path}/{name}"

    def deployments(self) -> dict[str, dict[str, Any]]:
        """Return the Deployments by name."""
        return _by_name(self.admin.items(self._deployments_path))

    def stateful_sets(self) -> dict[str, dict[str, Any]]:
        """Return the StatefulSets by name."""
        return _by_name(self.admin.items(f"/apis/apps/v1/namespaces/{self.namespace}/statefulsets"))

    def policies(self) -> dict[str, dict[str, Any]]:
        """Return the policies by name."""
        return _by_name(self.admin.items(self._policies_path))

    def pods(self) -> list[dict[str, Any]]:
        """Return all pods, ending ones too."""
        return self.admin.items(f"/api/v1/namespaces/{self.namespace}/pods")

    def await_rolled_out(self, *, timeout_s: float = _SETTLED_TIMEOUT_S) -> None:
        """Wait until each Deployment has exactly one pod, of its newest template, and that is available."""
        wait_until(self.is_rolled_out, part=self.namespace, what="its pods", timeout_s=max(timeout_s, 60.0), poll_s=0.2)

    def is_rolled_out(self) -> bool:
        """Whether all rollouts are over and no pod is left of an older template."""
        return all(map(_is_done, self.deployments().values())) and len(self.pods()) == len(self.names)

    @property
    def _deployments_path(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments"

    @property
    def _policies_path(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self.namespace}/{PLURAL}"


def commit_offsets(bootstrap: str, topic: str, group_ids: Iterable[str]) -> None:
    """Make the broker know these groups: empty ones, as consumers leave them that have committed and gone."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    names = list(group_ids)
    for first in range(0, len(names), _COMMITS_AT_ONCE):
        lot = names[first : first + _COMMITS_AT_ONCE]
        asked = [ConsumerGroupTopicPartitions(name, [TopicPartition(topic, 0, 0)]) for name in lot]
        futures = [admin.alter_consumer_group_offsets([offsets])[offsets.group_id] for offsets in asked]
        for future in futures:
            future.result(30)


@dataclass(frozen=True)
class Scrapes:
    """At which moments the told samples lie: on a grid, up to now.

    Attributes:
        every_s: between two.
        reach_s: how far back they reach.
        from_start: whether a pod has none from before its start; else it seems to have run for ever.
    """

    every_s: float
    reach_s: float
    from_start: bool

    def times(self, now_s: float, started_s: float) -> list[float]:
        """Return the moments, oldest first."""
        first_s = max(now_s - self.reach_s, started_s) if self.from_start else now_s - self.reach_s
        newest = int(now_s / self.every_s)
        return [number * self.every_s for number in range(int(first_s / self.every_s) + 1, newest + 1)]


class PodMetrics(FakePrometheus):
    """Tells of each running pod what its exporter would: a storm, or quiet, by the environment it runs with.

    Args:
        fleets: whose pods are told of.
        storms: whether a pod with these literal environment entries is in a storm.
        scrapes: when samples were taken.
        beats_s: seconds between two heartbeats of a quiet pod, by its group; a second where none are given.
    """

    def __init__(
        self,
        fleets: Iterable[Fleet],
        *,
        storms: Callable[[Environment], bool],
        scrapes: Scrapes,
        beats_s: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._beats_s = beats_s
        self._fleets = list(fleets)
        self._storms = storms
        self._scrapes = scrapes
        self._lock = threading.Lock()
        self._pods: list[_Told] = []
        self._pods_from_s = float("-inf")
        self.queries = 0

    def answer_to(self, query: str) -> Answer:
        """Return a metric of all pods in the namespaces that the query names."""
        asked = counters.names_in(query)
        now_s = time.time()
        with self._lock:
            self.queries += 1
            if time.monotonic() - self._pods_from_s > _PODS_KEPT_S:
                self._pods = [item for fleet in self._fleets for item in _told(fleet, self._storms, self._beats_s)]
                self._pods_from_s = time.monotonic()
            pods = self._pods
        result = [
            {"metric": pod.labels(quantity), "values": [[sample.time_s, f"{sample.value:.15g}"] for sample in samples]}
            for quantity, metric in counters.KAFKAJS.by_quantity.items()
            if metric.names[0] in asked
            for pod in pods
            if f'"{pod.namespace}"' in query or f"{pod.namespace}|" in query or f"|{pod.namespace}" in query
            if (samples := list(pod.samples(quantity, self._scrapes.times(now_s, pod.started_s))))
        ]
        return success({"resultType": "matrix", "result": result})


@dataclass(frozen=True)
class _Told:
    """One pod of which metrics are told."""

    namespace: str
    name: str
    group: str
    started_s: float
    storms: bool
    beat_s: float

    def labels(self, quantity: Quantity) -> dict[str, str]:
        """Return the labels of its series; accepted heartbeats are counted by member."""
        metric = counters.KAFKAJS.by_quantity[quantity]
        member = {"member_id": f"{self.name}-1"} if quantity is Quantity.HEARTBEATS else {}
        return {
            "__name__": metric.names[0],
            "namespace": self.namespace,
            "pod": self.name,
            "group_id": self.group,
            **dict(metric.matchers),
            **member,
        }

    def samples(self, quantity: Quantity, times_s: Iterable[float]) -> Iterator[Sample]:
        """Yield the samples; in a storm nothing is accepted, so that counter was never born."""
        if self.storms and quantity is Quantity.HEARTBEATS:
            return
        count = _STORM[quantity] if self.storms else _QUIET[quantity]
        for time_s in times_s:
            yield Sample(time_s, count(max(0.0, time_s - self.started_s) if self.storms else time_s / self.beat_s))


_EVICTIONS_PER_S: Final = 2.0

_STORM: Final[dict[Quantity, Callable[[float], float]]] = {
    Quantity.HEARTBEAT_REQUESTS: lambda age_s: age_s * _EVICTIONS_PER_S // 1,
    Quantity.REBALANCE_NOTICES: lambda _: 0,
    Quantity.REBALANCES: lambda age_s: 1 + age_s * _EVICTIONS_PER_S // 1,
    Quantity.REBALANCE_TIME: lambda age_s: age_s / 2,
}
"""Every beat is refused and followed by a join; by the pod's age in seconds."""

_QUIET: Final[dict[Quantity, Callable[[float], float]]] = {
    Quantity.HEARTBEATS: lambda beats: beats // 1,
    Quantity.HEARTBEAT_REQUESTS: lambda beats: beats // 1,
    Quantity.REBALANCE_NOTICES: lambda _: 0,
    Quantity.REBALANCES: lambda _: 1,
    Quantity.REBALANCE_TIME: lambda _: 0.1,
}
"""Each beat is accepted, and there was one join long ago; by how many beats have been due."""


def _told(fleet: Fleet, storms: Callable[[Environment], bool], beats_s: Mapping[str, float]) -> Iterator[_Told]:
    for pod in fleet.pods():
        container = pod["spec"]["containers"][0]
        statuses = pod.get("status", {}).get("containerStatuses") or [{}]
        running = statuses[0].get("state", {}).get("running")
        if running is None or "deletionTimestamp" in pod["metadata"]:
            continue
        env = {entry["name"]: entry.get("value", "") for entry in container.get("env", ())}
        group = pod["metadata"]["labels"]["app"]
        yield _Told(
            namespace=fleet.namespace,
            name=pod["metadata"]["name"],
            group=group,
            started_s=datetime.fromisoformat(running["startedAt"]).timestamp(),
            storms=storms(env),
            beat_s=beats_s.get(group, 1.0),
        )


def config_map(name: str, settings: ConsumerSettings) -> dict[str, Any]:
    """Return what all Deployments of a fleet are set to, as people set it: where the tuner may win over it."""
    values = {
        "KAFKA_SESSION_TIMEOUT_MS": settings.session_timeout_ms,
        "KAFKA_HEARTBEAT_INTERVAL_MS": settings.heartbeat_interval_ms,
        "KAFKA_MAX_WAIT_TIME_MS": settings.fetch_wait_ms,
    }
    data = {variable: str(value) for variable, value in values.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(config_map: str, name: str) -> dict[str, Any]:
    """Return a Deployment of one pod that only sleeps, with the settings of a ConfigMap."""
    container = {
        "name": "app",
        "image": "sleep",
        "command": ["sleep", "infinity"],
        "envFrom": [{"configMapRef": {"name": config_map}}],
    }
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _policy(name: str, mode: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(scenario.policy_manifest(name, mode=mode))
    return document


def _list(documents: Iterable[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})


def _by_name(items: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in items}


def _is_done(deployment: Mapping[str, Any]) -> bool:
    status, replicas = deployment.get("status", {}), deployment["spec"]["replicas"]
    return bool(
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("replicas") == status.get("updatedReplicas") == status.get("availableReplicas") == replicas
    )
