"""The view of workloads on a real API server, with what a tenant may put into it and an operator may meet.

Pods go straight into etcd: 5,000 of them are there in seconds. A kind of owner that the garbage collector does not know
keeps it from taking them away: it looks for the owners of pods that it did not see being made.
"""

import asyncio
import base64
import contextlib
import http.client
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest
from kubernetes.aio import client, config

from bench import cycle_objects
from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads import live_workloads
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.reconcile.liveness import loop_lag
from sandbox.control_plane import ControlPlane
from tests.support import sockets, worlds

pytestmark = pytest.mark.timeout(240)

SESSION, BEAT, _ = worlds.policy().env_names.values()
PATIENCE: Final = timedelta(seconds=10)
PODS: Final = 5_000
LARGE: Final = 900_000

LONGEST_LAG_S: Final = 0.5
SLACK: Final = 4
"""Of a machine on which two threads of a core slow each other down: what works for two seconds is no accident."""


class ForgetfulApi(KubernetesApi):
    """An API server that is asked once, in the middle of a list of pods, for a moment that it has forgotten.

    Attributes:
        forget: whether.
        refused: what it said to that.
    """

    forget = False
    refused = ""

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Ask; for the second page of pods as of the first version of all."""
        if not self.forget or self.refused or not path.endswith("/pods") or "continue" not in query:
            return await super().get(path, **query)
        token = json.loads(base64.urlsafe_b64decode(query["continue"] + "=="))
        query["continue"] = base64.urlsafe_b64encode(json.dumps({**token, "rv": 1}).encode()).decode().rstrip("=")
        try:
            return await super().get(path, **query)
        except ApiServerError as error:
            self.refused = str(error)
            raise


@contextlib.asynccontextmanager
async def looking(plane: ControlPlane) -> AsyncIterator[tuple[ForgetfulApi, LiveWorkloads]]:
    """Give an API server and a view of all that it has."""
    before = sockets.open_sockets()
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(plane.kubeconfig), client_configuration=configuration)
    api = ForgetfulApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=20))
    live = LiveWorkloads(api, SystemClock(), patience=PATIENCE)
    try:
        async with live.running():
            yield api, live
    finally:
        await api.close()
        await sockets.none_but(before)  # connections of watches that were just cancelled


@contextlib.asynccontextmanager
async def lags() -> AsyncIterator[list[float]]:
    """Give how long the event loop kept others waiting, without the time for which the machine kept this process.

    On a machine with more to run than cores a thread that could run stands in a queue, for seconds if others go first;
    one that stands there with the interpreter's lock keeps the loop from running, too. The kernel counts that. What the
    loop does itself, and what else it waits for, it does not count.
    """
    stopped, delays_s, queued_s = asyncio.Event(), list[float](), queueing_s()

    def lagged(delay_s: float) -> None:
        nonlocal queued_s
        before_s, queued_s = queued_s, queueing_s()
        delays_s.append(max(0.0, delay_s - (queued_s - before_s)))

    watching = asyncio.create_task(loop_lag.watch(stopped, lagged))
    yield delays_s
    stopped.set()
    await watching


def queueing_s() -> float:
    """Return how long threads of this process could have run and no core was free; 0 where a kernel does not count."""
    counted = [path.read_text().split() for path in Path("/proc/self/task").glob("*/schedstat")]
    return sum(int(waiting_ns) for _, waiting_ns, _ in counted) / 1e9


async def longest(delays_s: Sequence[float]) -> float:
    """Return the longest delay so far, that of the sleep under way included."""
    sleeps = len(delays_s)

    async def ended() -> bool:
        return len(delays_s) > sleeps

    await until(ended)
    return max(delays_s)


@pytest.fixture
def namespaces(control_plane: ControlPlane) -> Iterator[tuple[str, str]]:
    """Two namespaces."""
    names = (f"doomed-{uuid.uuid4().hex[:8]}", f"quiet-{uuid.uuid4().hex[:8]}")
    for name in names:
        control_plane.create_namespace(name)
    yield names
    control_plane.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")


def policy(namespace: str, name: str = "orders") -> Policy:
    """Return a policy for a Deployment of the same name."""
    key = ObjectKey(namespace, name)
    return worlds.policy(key=key, workload=WorkloadRef("Deployment", key, "app"))


def apply(plane: ControlPlane, namespace: str, *documents: dict[str, Any]) -> None:
    """Create, or replace."""
    plane.apply(namespace, *documents, server_side=True)


def documents(name: str = "orders", *, more: Sequence[dict[str, str]] = (), filler: str = "") -> list[dict[str, Any]]:
    """Return a ConfigMap and a Deployment without pods that takes its heartbeat from it."""
    container = {
        "name": "app",
        "image": "none",
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "env": [{"name": SESSION, "value": "45000"}, *more],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    data = {BEAT: "3000", **({"filler": filler} if filler else {})}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template},
        },
    ]


def put_pods(plane: ControlPlane, namespace: str, count: int, name: str = "orders") -> None:
    """Put pods of a Deployment into etcd."""
    owner = {"apiVersion": "none.example/v1", "kind": "ReplicaSet", "name": f"{name}-7d", "controller": True}
    container = {"name": "app", "image": "none", "env": [{"name": SESSION, "value": "45000"}]}

    def text(number: int) -> str:
        metadata = {
            "name": f"{name}-{number:05d}",
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": "2026-03-02T12:00:00Z",
            "labels": {"app": name, "pod-template-hash": "7d"},
            "ownerReferences": [{**owner, "uid": str(uuid.uuid4())}],
        }
        status = {"phase": "Pending"}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        return json.dumps({**body, "status": status})

    objects = ((f"/registry/pods/{namespace}/{name}-{number:05d}", text(number)) for number in range(count))
    assert cycle_objects.put(plane.etcd_url, objects) == count


def compact(etcd_url: str) -> None:
    """Have etcd forget all that was before now."""
    connection = http.client.HTTPConnection(etcd_url.removeprefix("http://"), timeout=30)

    def ask(path: str, question: dict[str, Any]) -> dict[str, Any]:
        connection.request("POST", path, json.dumps(question))
        answer = connection.getresponse()
        found: dict[str, Any] = json.loads(answer.read())
        assert answer.status == HTTPStatus.OK, found
        return found

    revision = ask("/v3/kv/range", {"key": base64.b64encode(b"/").decode()})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})
    connection.close()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so; the view may be out of touch meanwhile."""
    for _ in range(600):
        with contextlib.suppress(ApiServerError):
            if await condition():
                return
        await asyncio.sleep(0.1)
    raise AssertionError("it did not come")


def beat(found: Workload | MissingWorkload) -> timedelta:
    """Return the heartbeat interval that is set."""
    assert isinstance(found, Workload)
    assert found.current is not None
    return found.current.settings[Setting.HEARTBEAT_INTERVAL]


async def test_large_objects_are_looked_at_and_not_held(
    control_plane: ControlPlane, namespaces: tuple[str, str]
) -> None:
    """A ConfigMap and a variable of nearly a megabyte: annotations of that size the API server refuses itself."""
    large, other = namespaces
    secret = {"name": "ANYTHING", "value": "x" * LARGE}
    apply(control_plane, large, *documents(more=[secret], filler="x" * LARGE))
    apply(control_plane, other, *documents())
    async with looking(control_plane) as (_, live), lags() as lagged:
        await live.cover([policy(large), policy(other)])
        for namespace in namespaces:
            assert beat(await live.read(policy(namespace))) == timedelta(seconds=3)
        changed = documents(more=[secret], filler="y" * LARGE)
        changed[0]["data"][BEAT] = "4000"
        await asyncio.to_thread(apply, control_plane, large, *changed)

        async def followed() -> bool:
            await live.cover([policy(large), policy(other)])
            return beat(await live.read(policy(large))) == timedelta(seconds=4)

        await until(followed)
        assert live.sizes()["characters"] < LARGE / 100
        assert await longest(lagged) < LONGEST_LAG_S * SLACK


async def test_thousands_of_pods_cost_the_others_no_turn(
    control_plane: ControlPlane, namespaces: tuple[str, str]
) -> None:
    """5,000 pods behind one Deployment: all of them count, and nobody waits for them long."""
    crowded, other = namespaces
    for namespace in namespaces:
        apply(control_plane, namespace, *documents())
    put_pods(control_plane, crowded, PODS)
    everybody = [policy(crowded), policy(other)]
    async with looking(control_plane) as (_, live), lags() as lagged:
        await live.cover(everybody)

        async def all_there() -> bool:
            await live.cover(everybody)
            return live.sizes()["objects"] == PODS + 4 and isinstance(await live.read(policy(crowded)), Workload)

        await until(all_there)
        assert beat(await live.read(policy(other))) == timedelta(seconds=3)
        assert await longest(lagged) < LONGEST_LAG_S * SLACK


async def test_what_the_api_server_has_forgotten_is_listed_again(
    control_plane: ControlPlane, namespaces: tuple[str, str]
) -> None:
    """410 in the middle of a paged list: all is there in the end, and what changes then is seen."""
    where, _ = namespaces
    apply(control_plane, where, *documents())
    count = 2 * live_workloads.PAGE + 10
    put_pods(control_plane, where, count)
    compact(control_plane.etcd_url)
    async with looking(control_plane) as (api, live):
        api.forget = True

        async def there() -> bool:
            await live.cover([policy(where)])
            return live.sizes()["objects"] == count + 2 and isinstance(await live.read(policy(where)), Workload)

        await until(there)

        assert "with 410: The provided continue parameter is too old" in api.refused
        control_plane.kubectl("delete", f"--namespace={where}", "pod", "orders-00000", "--grace-period=0", "--force")

        async def followed() -> bool:
            await live.cover([policy(where)])
            return live.sizes()["objects"] == count + 1

        await until(followed)


async def test_a_namespace_that_is_deleted_costs_the_others_nothing(
    control_plane: ControlPlane, namespaces: tuple[str, str]
) -> None:
    """Their look takes no longer than without it, and nothing of it stays in memory."""
    doomed, quiet = namespaces
    names = [f"orders-{number}" for number in range(20)]
    for where in namespaces:
        for name in names:
            apply(control_plane, where, *documents(name))
    ours = [policy(quiet, name) for name in names]
    async with looking(control_plane) as (_, live), lags() as lagged:

        async def look() -> float:
            began = time.monotonic()
            await live.cover(ours)
            for item in ours:
                assert beat(await live.read(item)) == timedelta(seconds=3)
            return time.monotonic() - began

        await look()
        alone = sorted([await look() for _ in range(20)])
        held = live.sizes()
        everybody = [*ours, *(policy(doomed, name) for name in names)]
        await live.cover(everybody)
        for our in everybody:
            await live.read(our)
        assert live.sizes()["objects"] == 2 * held["objects"]
        await asyncio.to_thread(control_plane.kubectl, "delete", "namespace", doomed, "--wait=false")
        beside = sorted([await look() for _ in range(20)])
        # A look takes a millisecond or two: a tenth of a second is not the other namespace's share.
        assert beside[10] < 10 * alone[10] + 0.1

        async def forgotten() -> bool:
            await live.cover(ours)
            return live.sizes() == held

        await until(forgotten)
        assert set(live._keeper.names) == {quiet}
        assert {key.namespace for key, _ in live._made} == {quiet}
        assert set(live._maps._named) == {quiet}
        assert await longest(lagged) < LONGEST_LAG_S * SLACK
