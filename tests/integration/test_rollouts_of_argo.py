"""Argo's Rollouts, by their real definitions on a real API server: writing, reading back, following, refusing.

No controller of theirs runs: its statuses are written here.
"""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.adapters.workloads.workload_sizes import KubernetesWorkloadSizes
from heartbeat_tuner.decision.gates import field_ownership
from heartbeat_tuner.domain.errors import FieldOwnedError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from sandbox import rollout_definitions
from sandbox.control_plane import ControlPlane
from sandbox.errors import SandboxError
from sandbox.processes import wait_until
from tests.support import sockets, worlds

pytestmark = pytest.mark.timeout(300)

NAME = "orders-consumer"
STORM, CURED = worlds.settings("1s", "333ms", "5s"), worlds.settings("30s", "1s", "1s")
CURED_ENV = {
    "KAFKA_SESSION_TIMEOUT_MS": "30000",
    "KAFKA_HEARTBEAT_INTERVAL_MS": "1000",
    "KAFKA_MAX_WAIT_TIME_MS": "1000",
}
THEIRS = {"name": "GREETING", "value": "hello"}


@pytest.fixture(scope="module")
def definition(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[None]:
    """The definition of the version that a test asks for; None for a server that knows no Rollouts."""
    if request.param is None:
        yield
        return
    file = f"--filename={rollout_definitions.definition(request.param)}"
    control_plane.kubectl("create", file)
    wait_until(lambda: _is_served(control_plane), part="kube-apiserver", what="the definition of Rollouts")
    yield
    control_plane.kubectl("delete", file, "--wait=true")


def _is_served(control_plane: ControlPlane) -> bool:
    with contextlib.suppress(SandboxError):
        return "RolloutList" in control_plane.kubectl("get", "--raw=/apis/argoproj.io/v1alpha1/rollouts")
    return False


def with_definition(version: str | None) -> pytest.MarkDecorator:
    """Run a test while the definition of a version is installed."""
    return pytest.mark.parametrize("definition", [version], indirect=True)


MERGING = with_definition(rollout_definitions.MERGING)


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    """The API server, as the administrator."""
    before = sockets.open_sockets()
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(control_plane.kubeconfig), client_configuration=configuration)
    opened = KubernetesApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=10))
    yield opened
    await opened.close()
    await sockets.none_but(before)  # connections of watches that were just cancelled


class Stage:
    """A Rollout of the test's namespace, and what is done to it."""

    def __init__(self, control_plane: ControlPlane, namespace: str, api: KubernetesApi) -> None:
        self._control_plane = control_plane
        self.namespace = namespace
        self.workloads = KubernetesWorkloads(api)

    @property
    def policy(self) -> Policy:
        """A policy for it."""
        reference = WorkloadRef("Rollout", ObjectKey(self.namespace, NAME), "app")
        return worlds.policy(key=ObjectKey(self.namespace, "orders"), workload=reference)

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Do something in the namespace."""
        return self._control_plane.kubectl(*words, f"--namespace={self.namespace}", stdin=stdin)

    def create(self, **spec: Any) -> None:
        """Make the Rollout, as its owner does."""
        template = {
            "metadata": {"labels": {"app": "orders"}},
            "spec": {
                "containers": [{"name": "app", "image": "app:1", "env": [THEIRS]}, {"name": "second", "image": "s:1"}]
            },
        }
        filled = {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "orders"}},
            "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}]}},
            "template": template,
            **spec,
        }
        document = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Rollout",
            "metadata": {"name": NAME},
            "spec": {key: value for key, value in filled.items() if value is not None},
        }
        self.kubectl("create", "--filename=-", stdin=json.dumps(document))

    def stored(self) -> dict[str, Any]:
        """Return it as the API server has it."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "rollouts.argoproj.io", NAME, "--output=json"))
        return found

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return the containers of its template, by name."""
        return {entry["name"]: entry for entry in self.stored()["spec"]["template"]["spec"]["containers"]}

    def write_status(self, **status: Any) -> None:
        """Write a status, as Argo's controller does: through the subresource."""
        patch = json.dumps({"status": status})
        self.kubectl("patch", "rollouts.argoproj.io", NAME, "--subresource=status", "--type=merge", f"--patch={patch}")

    def observe(self, **status: Any) -> None:
        """Have its controller see the newest generation."""
        self.write_status(observedGeneration=str(self.stored()["metadata"]["generation"]), **status)

    async def read(self) -> Workload:
        """Return what the operator reads."""
        found = await self.workloads.read(self.policy)
        assert isinstance(found, Workload)
        return found


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, api: KubernetesApi) -> Stage:
    """A namespace for a Rollout."""
    return Stage(control_plane, namespace, api)


def cure(view: Workload) -> Application:
    """Return a write of the cure."""
    return Application(CURED, STORM, worlds.NOW, view.uid, entries=CURED_ENV)


@MERGING
@pytest.mark.usefixtures("definition")
async def test_entries_are_written_beside_those_of_the_owner(stage: Stage) -> None:
    """Image, the owner's variables and the other container stay; what is read back is what was written."""
    stage.create()
    before = await stage.read()
    assert (before.foreign_env, before.merged_by) == ({}, ())
    await stage.workloads.apply(stage.policy, before, cure(before))
    containers = stage.containers()
    assert {entry["name"]: entry["value"] for entry in containers["app"]["env"]} == {"GREETING": "hello", **CURED_ENV}
    assert (containers["app"]["image"], containers["second"]["image"]) == ("app:1", "s:1")
    after = await stage.read()
    assert after.current is not None
    assert after.current.settings == CURED
    assert (after.applications, after.is_our_template) == ({"app": cure(before)}, True)


@MERGING
@pytest.mark.usefixtures("definition")
async def test_a_revert_leaves_the_template_that_stood_before(stage: Stage) -> None:
    """So that Argo's controller goes back to the pods that it has, and starts none."""
    stage.create()
    before = await stage.read()
    await stage.workloads.apply(stage.policy, before, cure(before))
    between = await stage.read()
    await stage.workloads.apply(stage.policy, between, dataclasses.replace(cure(between), entries={}))
    after = await stage.read()
    assert between.template != before.template == after.template


@MERGING
@pytest.mark.usefixtures("definition")
async def test_an_entry_of_the_owner_is_not_overwritten(stage: Stage) -> None:
    """The API server refuses it, and the finding names a command that works for a Rollout."""
    env = [{"name": "KAFKA_SESSION_TIMEOUT_MS", "value": "1000"}]
    containers = [{"name": "app", "image": "app:1", "env": env}]
    stage.create(template={"metadata": {"labels": {"app": "orders"}}, "spec": {"containers": containers}})
    view = await stage.read()
    assert set(view.foreign_env) == {"sessionTimeout"}
    with pytest.raises(FieldOwnedError):
        await stage.workloads.apply(stage.policy, view, cure(view))
    finding = field_ownership.finding(stage.policy, stage.policy.workload, view, CURED)
    assert finding is not None
    assert "kubectl edit rollouts.argoproj.io/orders-consumer" in str(finding.message)


@MERGING
@pytest.mark.usefixtures("definition")
async def test_a_rollout_is_followed_by_what_its_controller_writes(stage: Stage) -> None:
    """The generation is a text; neither a status nor an annotation raises it. A step's pause and an abort are seen."""
    stage.create()
    new = await stage.read()
    generation = stage.stored()["metadata"]["generation"]
    stage.observe(replicas=3, updatedReplicas=3, availableReplicas=3, phase="Healthy")
    stage.kubectl("annotate", "rollouts.argoproj.io", NAME, "rollout.argoproj.io/revision=1")
    calm = await stage.read()
    assert stage.stored()["metadata"]["generation"] == generation
    assert (new.rolling_out, calm.rolling_out) == (True, False)
    assert calm.holdings is not None
    assert calm.holdings.revision == 1

    await stage.workloads.apply(stage.policy, calm, cure(calm))
    unseen = await stage.read()
    stage.observe(updatedReplicas=1, phase="Progressing")
    begun = await stage.read()
    pause = {"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}
    stage.write_status(pauseConditions=[pause], controllerPause=True, phase="Paused")
    waiting = await stage.read()
    stage.write_status(pauseConditions=None, controllerPause=False, abort=True, updatedReplicas=0, phase="Degraded")
    aborted = await stage.read()
    stage.write_status(abort=None, updatedReplicas=3, phase="Healthy")
    done = await stage.read()

    assert [view.rolling_out for view in (unseen, begun, waiting, aborted, done)] == [True] * 4 + [False]
    assert [view.rollout.updated for view in (unseen, begun, done)] == [0, 1, 3]
    assert [view.pause for view in (begun, waiting, done)] == ["", "status.pauseConditions: CanaryPauseStep", ""]
    assert [view.rollout.aborted for view in (unseen, begun, aborted, done)] == [False, False, True, False]


@MERGING
@pytest.mark.usefixtures("definition")
async def test_a_rollout_without_a_template_of_its_own_is_refused(stage: Stage) -> None:
    """The reason names the Deployment that has it."""
    source = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "orders-template"}
    stage.create(template=None, workloadRef=source)
    found = await stage.workloads.read(stage.policy)
    assert isinstance(found, MissingWorkload)
    assert found.reason is Reason.WORKLOAD_UNSUPPORTED
    assert "Deployment orders-template" in str(found.message)


@MERGING
@pytest.mark.usefixtures("definition")
async def test_the_watch_shows_what_a_read_shows(stage: Stage, api: KubernetesApi) -> None:
    """The operator decides on the watch, and a write compares with a read."""
    stage.create()
    live = LiveWorkloads(
        api, SystemClock(), namespaces=[stage.namespace], patience=timedelta(seconds=10), rollouts=True
    )
    async with live.running():
        await live.cover([stage.policy])
        assert await live.read(stage.policy) == await stage.read()
        stage.observe(replicas=3, updatedReplicas=3)
        calm = await stage.read()
        for _ in range(100):
            if await live.read(stage.policy) == calm:
                break
            await asyncio.sleep(0.1)
        assert await live.read(stage.policy) == calm


@MERGING
@pytest.mark.usefixtures("definition")
@pytest.mark.parametrize(
    ("strategy", "pods"),
    [
        ({"canary": {}}, 4),
        ({"canary": {"maxSurge": 2}}, 5),
        (
            {
                "canary": {
                    "trafficRouting": {"nginx": {"stableIngress": "x"}},
                    "stableService": "s",
                    "canaryService": "c",
                }
            },
            6,
        ),
        ({"blueGreen": {"activeService": "orders"}}, 6),
    ],
)
async def test_the_strategy_says_how_many_pods_there_may_be(
    stage: Stage, api: KubernetesApi, strategy: dict[str, Any], pods: int
) -> None:
    """As many slots are lent: the second set of a blue-green rollout has members too."""
    stage.create(strategy=strategy)
    assert await KubernetesWorkloadSizes(api).size("Rollout", ObjectKey(stage.namespace, NAME)) == pods


@with_definition(rollout_definitions.ATOMIC)
@pytest.mark.usefixtures("definition")
async def test_nothing_is_written_where_containers_are_one_value(stage: Stage) -> None:
    """By the definition of Argo Rollouts 1.8 an apply would replace all containers: it is not tried, and would fail."""
    stage.create()
    before = stage.containers()
    view = await stage.read()
    assert len(view.merged_by) == 1
    finding = field_ownership.finding(stage.policy, stage.policy.workload, view, CURED)
    assert finding is not None
    assert finding.reason is Reason.FIELD_OWNED
    assert "Argo Rollouts 1.9 or newer" in str(finding.message)
    with pytest.raises(FieldOwnedError):
        await stage.workloads.apply(stage.policy, view, cure(view))
    assert stage.containers() == before


@with_definition(None)
@pytest.mark.usefixtures("definition")
async def test_a_server_without_rollouts_is_no_error(stage: Stage, api: KubernetesApi) -> None:
    """Where the definition is missing, the Rollout is: other policies go on."""
    live = LiveWorkloads(
        api, SystemClock(), namespaces=[stage.namespace], patience=timedelta(seconds=10), rollouts=True
    )
    async with live.running():
        await live.cover([stage.policy])
        found = await live.read(stage.policy)
    assert isinstance(found, MissingWorkload)
    assert found.reason is Reason.WORKLOAD_NOT_FOUND
