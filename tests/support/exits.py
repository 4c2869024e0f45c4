"""Places where people, Git and the operator take turns on one workload, each a namespace on a real API server.

The Deployment's pod takes its settings from a ConfigMap and ends at once where one of them is empty, as a consumer
does. The operator is the real cycle with the real adapters, in this process, so that a test decides when it looks, and
where it dies; metrics and Kafka's groups are told by what the pods run with: a storm until the session is long enough.
"""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubernetes.aio import client, config

from heartbeat_tuner.adapters.kubernetes.kubernetes_api import APPLY, FIELD_MANAGER, KubernetesApi
from heartbeat_tuner.adapters.kubernetes.policy_objects import KubernetesPolicies
from heartbeat_tuner.adapters.workloads import container_env, manifests
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.api.applied import ANNOTATION
from heartbeat_tuner.api.v1alpha1.fields import API_VERSION
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import PLURAL
from heartbeat_tuner.domain.policies import Policy
from heartbeat_tuner.metrics.raw.samples import Series
from heartbeat_tuner.reconcile.at_broker.group_writer import ValueTargets
from heartbeat_tuner.reconcile.budget import FleetLimits
from heartbeat_tuner.reconcile.cycle import Cycle
from heartbeat_tuner.reconcile.gather.gathering import Gatherer
from heartbeat_tuner.reconcile.gather.model_shelf import ModelShelf
from heartbeat_tuner.reconcile.policy_store import PolicyStore
from sandbox.control_plane import ControlPlane
from tests.support import counters, stages, worlds
from tests.support.fakes import FakeFleetStops, FakeGroups, FakeModels, FakeSlotViews, looks_at

STORM: Final = {
    "KAFKA_SESSION_TIMEOUT_MS": "1000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "333",
    "KAFKA_MAX_WAIT_TIME_MS": "5000",
}
"""What the ConfigMap says."""

NAMES: Final = tuple(STORM)
LONG_ENOUGH_MS: Final = 20_000
LATER: Final = timedelta(minutes=10)
"""From one look of the operator to the next: longer than the cooldown, and long enough for a record."""

PARTITIONS: Final = 4
"""Of each member."""

SETTLED_S: Final = 60.0
POLL_S: Final = 0.2

TIMEOUT: Final = timedelta(seconds=20)

STRATEGIC: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"

_COMMAND: Final = "; ".join([*(f'[ -n "${name}" ] || exit 1' for name in NAMES), "exec sleep 3600"])


class OperatorDiedError(BaseException):
    """The operator's process ended here; like SIGKILL, nobody in it learns of that."""


class MortalApi(KubernetesApi):
    """The API server, for an operator that dies at a write: before it is sent, or before its answer comes.

    Attributes:
        dies_at: how many more writes it lives to see; None for all.
        sent: whether the last one still leaves.
    """

    dies_at: int | None = None
    sent = False

    async def write(
        self, method: str, path: str, body: Mapping[str, Any], *, content_type: str = "application/json", **query: str
    ) -> dict[str, Any] | None:
        """Send `body`, unless the operator dies first."""
        if self.dies_at is not None:
            self.dies_at -= 1
            if self.dies_at < 0:
                if self.sent:
                    await super().write(method, path, body, content_type=content_type, **query)
                raise OperatorDiedError
        return await super().write(method, path, body, content_type=content_type, **query)


class TravellingClock:
    """The real time, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) + self.ahead


class _Metrics:
    """Prometheus, with the series that the pods of a place would leave."""

    def __init__(self, place: "Place") -> None:
        self._place = place
        self._at: datetime | None = None
        self._told: Sequence[Series] = ()

    async def instant(self, query: str, *, at: datetime) -> Sequence[Series]:
        """Return what the query selects."""
        asked = counters.asked(query)
        if self._at != at:
            self._at, self._told = at, counters.exported(await self._place.series(at), counters.KAFKAJS)
        return asked.of(self._told, at)


@dataclasses.dataclass(frozen=True)
class Running:
    """A pod that runs, whether it is in a storm, and its session in milliseconds, as text."""

    pod: Any
    storms: bool
    session_ms: str


class _AskedEachTime(KubernetesWorkloads):
    """Workloads that are asked for at each look: what a step of the walk has done is seen by the next."""

    async def cover(self, policies: Sequence[Policy]) -> None:
        """Keep nothing up to date."""


class Place:
    """A namespace with a Deployment, a policy of the same name, and an operator.

    Args:
        connections: to the API server.
        name: of all of it.

    Attributes:
        settings: what the ConfigMap says.
        replicas: of the Deployment.
        may_evict: whether the operator may evict pods, since the webhook runs.
        models: of the group.
    """

    settings: Mapping[str, str] = STORM
    replicas = 1
    may_evict = False

    def __init__(self, connections: "Connections", name: str) -> None:
        self.name = name
        self.models = FakeModels()
        self.api = connections.people
        self._operators = connections.operator()
        self.clock = TravellingClock()
        self.restart()

    @property
    def deployments(self) -> str:
        """The path of its Deployments."""
        return f"/apis/apps/v1/namespaces/{self.name}/deployments"

    @property
    def deployment(self) -> str:
        """The path of its Deployment."""
        return f"{self.deployments}/{self.name}"

    @property
    def policy(self) -> str:
        """The path of its policy."""
        return f"/apis/{API_VERSION}/namespaces/{self.name}/{PLURAL}/{self.name}"

    def restart(self) -> None:
        """Start another operator, which remembers nothing."""
        self._operators.dies_at = None
        self._store = PolicyStore()
        self._groups = FakeGroups({"main": {}})
        self._shelf = ModelShelf(self.models)
        self._policies = KubernetesPolicies(self._operators, namespaces=[self.name])
        workloads = _AskedEachTime(self._operators)
        gatherer = Gatherer(
            metrics=_Metrics(self),
            groups=looks_at(self._groups, self.clock),
            workloads=workloads,
            models=self._shelf,
            clock=self.clock,
            sleep=asyncio.sleep,
            grants=stages.EVERYTHING,  # the broker's side is a fake
        )
        self._cycle = Cycle(
            store=self._store,
            gatherer=gatherer,
            targets=ValueTargets(workloads, self._groups),
            policies=self._policies,
            slots=FakeSlotViews(),
            stops=FakeFleetStops(),
            clock=self.clock,
            limits=FleetLimits(5, may_evict=self.may_evict),
        )

    async def set_up(self, *, namespace: bool = True) -> None:
        """Make the ConfigMap, and the namespace unless that is there."""
        if namespace:
            await self.api.write("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})
        document = {"metadata": {"name": "settings"}, "data": self.settings}
        await self.api.write("POST", f"/api/v1/namespaces/{self.name}/configmaps", document)

    async def tear_down(self) -> None:
        """Take the pods away: what is left costs nothing."""
        await self.api.write("PATCH", self.deployment, {"spec": {"replicas": 0}}, content_type=MERGE)

    async def create_policy(self) -> None:
        """Make the policy."""
        await self.api.write("POST", self.policy.rpartition("/")[0], policy_document(self.name))

    async def edit_policy(self, **spec: Any) -> None:
        """Change the policy's spec."""
        await self.api.write("PATCH", self.policy, {"spec": spec}, content_type=MERGE)

    async def look(self, *, later: timedelta = LATER) -> None:
        """Let time pass, and let the operator look once."""
        self.clock.ahead += later
        async for page in self._policies.list_all():
            for body in page.bodies:
                self._store.show(body)
        pods = [item.pod for item in await self.running()]
        members = [dataclasses.replace(worlds.member(pod), partitions=PARTITIONS) for pod in pods]
        group = dataclasses.replace(worlds.group(members), group_id=self.name)
        self._groups.groups["main"][self.name] = group
        await self._shelf.refresh()
        await self._cycle.run()

    async def look_and_die(self, *, at_write: int, sent: bool) -> bool:
        """Let the operator look, and die at one of its writes; another takes its place. Return whether it died."""
        self._operators.dies_at, self._operators.sent = at_write, sent
        died = False
        try:
            await self.look()
        except* OperatorDiedError:  # several writes may be under way: it ends in a group
            died = True
        finally:
            self.restart()
        return died

    async def pods(self) -> list[dict[str, Any]]:
        """Return the pods that do not end."""
        found = await self.api.get(f"/api/v1/namespaces/{self.name}/pods")
        assert found is not None
        return [item for item in found["items"] if "deletionTimestamp" not in item["metadata"]]

    async def running(self) -> list[Running]:
        """Return the pods that run."""
        found = []
        for raw in await self.pods():
            pod = manifests.running_pod(raw, "app")
            if pod is not None:
                session = container_env.value(raw["spec"]["containers"][0], NAMES[0], {"settings": self.settings})
                text = session or ""
                found.append(Running(pod, not text.isdigit() or int(text) < LONG_ENOUGH_MS, text))
        return found

    async def series(self, at: datetime) -> counters.Answers:
        """Return what all pods that run would have left for Prometheus by a time."""
        place = {"namespace": self.name, "group": self.name}
        return counters.together(
            *(
                (counters.stormy if item.storms else counters.quiet)([item.pod], item.pod.started, at, **place)
                for item in await self.running()
            )
        )

    async def stored(self) -> dict[str, Any]:
        """Return the Deployment."""
        found = await self.api.get(self.deployment)
        assert found is not None
        return found

    async def env(self) -> dict[str, str | None]:
        """Return the literal entries of the template; None for one without a value."""
        return {entry["name"]: entry.get("value") for entry in _entries(await self.stored())}

    async def owned(self) -> set[str]:
        """Return the names of the entries that the operator applies, by what the API server notes of it."""
        return {
            name
            for managed_field in (await self.stored())["metadata"].get("managedFields", ())
            if (managed_field["manager"], managed_field["operation"]) == (FIELD_MANAGER, "Apply")
            for name, _ in manifests.owned_entries(managed_field["fieldsV1"], "app")
        }

    async def status(self) -> dict[str, Any]:
        """Return the policy's status."""
        found = await self.api.get(self.policy)
        assert found is not None
        status: dict[str, Any] = found.get("status", {})
        return status

    async def applied(self) -> tuple[str, str, str]:
        """Return status, reason and message of the condition `Applied`; empty texts while there is none."""
        return await self.condition("Applied")

    async def condition(self, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of a condition; empty texts while there is none."""
        for item in (await self.status()).get("conditions", ()):
            if item["type"] == kind:
                return item["status"], item["reason"], item["message"]
        return "", "", ""

    async def is_settled(self) -> bool:
        """Whether the rollout is over and all pods are ready."""
        return is_settled(await self.stored())

    async def await_settled(self, *, timeout_s: float = SETTLED_S) -> None:
        """Wait until the rollout is over and all pods are ready."""
        until_s = time.monotonic() + timeout_s
        while not await self.is_settled():
            assert time.monotonic() < until_s, f"{self.name} has no ready pods: {(await self.stored())['status']}"
            await asyncio.sleep(POLL_S)

    async def note(self) -> str:
        """Return the tuner's note on the Deployment."""
        text: str = (await self.stored())["metadata"].get("annotations", {}).get(ANNOTATION, "")
        return text

    # What people and Git do, as their tools send it.

    async def apply(self, manager: str, env: Mapping[str, str], *, force: bool = True) -> None:
        """Apply the manifest with these entries at the server."""
        document = manifest(self.name, env)
        document["spec"]["replicas"] = self.replicas
        await self.api.write(
            "PATCH",
            self.deployment,
            document,
            content_type=APPLY,
            fieldManager=manager,
            force=str(force).lower(),
        )

    async def merge(self, manager: str, env: Mapping[str, str | None]) -> None:
        """Set entries by a strategic merge, as `kubectl apply`, `set env`, `edit` and Helm 3 do; None takes one out."""
        entries = [
            {"name": name, "$patch": "delete"} if value is None else {"name": name, "value": value}
            for name, value in env.items()
        ]
        containers = [{"name": "app", "env": entries}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        await self.api.write("PATCH", self.deployment, patch, content_type=STRATEGIC, fieldManager=manager)

    async def undo(self, *, empty: bool = False) -> bool:
        """Roll back as `kubectl rollout undo` does; return if there was a revision to roll back to.

        Args:
            empty: whether to the last other one that has an entry without a value, instead of the last that worked.
        """
        stored = await self.stored()
        sets = await self.api.get(f"/apis/apps/v1/namespaces/{self.name}/replicasets")
        assert sets is not None
        revision = "deployment.kubernetes.io/revision"
        found = sorted(
            (
                item
                for item in sets["items"]
                if revision in item["metadata"].get("annotations", {})
                and empty is not all("value" in entry for entry in _entries(item))
            ),
            key=lambda replicaset: int(replicaset["metadata"]["annotations"][revision]),
        )
        if found and found[-1]["spec"]["template"]["spec"]["containers"] == _containers(stored):
            found.pop()
        if not found:
            return False
        before = found[-1]
        template = before["spec"]["template"]
        template["metadata"]["labels"].pop("pod-template-hash", None)
        own = {key: annotation for key, annotation in stored["metadata"].get("annotations", {}).items() if key in _KEPT}
        others = {key: annotation for key, annotation in before["metadata"]["annotations"].items() if key not in _KEPT}
        patch: Any = [
            {"op": "replace", "path": "/spec/template", "value": template},
            {"op": "replace", "path": "/metadata/annotations", "value": own | others},
        ]
        await self._json_patch(patch, "kubectl-rollout")
        return True

    async def _json_patch(self, patch: Any, manager: str) -> None:
        await _raw_patch(self.api, self.deployment, patch, manager)


_KEPT: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    }
)
"""Annotations that a rollback leaves as they are."""


async def _raw_patch(api: KubernetesApi, path: str, patch: Any, manager: str) -> None:
    """Send a JSON patch: the operator's own way to write has objects only."""
    answer = await api._client.call_api(
        *await api._client.param_serialize(
            "PATCH",
            path,
            query_params=[("fieldManager", manager)],
            header_params={"Accept": "application/json", "Content-Type": JSON_PATCH},
            body=patch,
            auth_settings=["BearerToken"],
        )
    )
    text = await answer.response.text()
    assert answer.response.status < 400, text


def manifest(name: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return a Deployment of one cheap pod with these literal entries; all else comes from the ConfigMap."""
    container: dict[str, Any] = {
        "name": "app",
        "image": "none",
        "command": ["sh", "-c", _COMMAND],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
    }
    if env:
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
            },
        },
    }


def policy_document(name: str) -> dict[str, Any]:
    """Return the policy."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ConsumerGroupPolicy",
        "metadata": {"name": name},
        "spec": {
            "groupId": name,
            "clusterRef": "main",
            "workloadRef": {"name": name, "container": "app"},
            "client": {"library": "kafkajs"},
            "mode": "Apply",
            "rollout": {"cooldown": "1m"},
        },
    }


def _containers(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = workload["spec"]["template"]["spec"]["containers"]
    return found


def _entries(workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _containers(workload)[0].get("env", [])
    return found


def is_settled(deployment: Mapping[str, Any]) -> bool:
    """Whether the rollout is over and all pods are ready."""
    status, replicas = deployment.get("status", {}), deployment["spec"]["replicas"]
    return bool(
        status.get("observedGeneration") == deployment["metadata"]["generation"]
        and status.get("replicas") == status.get("updatedReplicas") == status.get("readyReplicas") == replicas
    )


class Connections:
    """Connections to the API server.

    Args:
        configuration: says where it is, and who asks.
    """

    def __init__(self, configuration: client.Configuration) -> None:
        self._configuration = configuration
        self.people = KubernetesApi(client.ApiClient(configuration), request_timeout=TIMEOUT)
        self._open: list[KubernetesApi] = [self.people]

    def operator(self) -> MortalApi:
        """Return a connection for one operator."""
        made = MortalApi(client.ApiClient(self._configuration), request_timeout=TIMEOUT)
        self._open.append(made)
        return made

    async def close(self) -> None:
        """Close them all."""
        for item in self._open:
            await item.close()


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[Connections]:
    """Yield connections as the administrator."""
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    made = Connections(configuration)
    try:
        yield made
    finally:
        await made.close()
