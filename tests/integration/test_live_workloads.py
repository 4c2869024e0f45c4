"""The view of workloads on a real API server: it says what asking says, and follows what changes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from kubernetes.aio import client, config

from heartbeat_tuner.adapters.clock import SystemClock
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.workloads.workload_objects import KubernetesWorkloads
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import Application, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from sandbox.control_plane import ControlPlane
from tests.support import sockets, worlds

pytestmark = pytest.mark.timeout(180)

SESSION, BEAT, WAIT = worlds.policy().env_names.values()
PATIENCE = timedelta(seconds=3)


class CountingApi(KubernetesApi):
    """An API server, and the requests for single objects and lists that it got."""

    gets: int = 0

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Count, and ask."""
        self.gets += 1
        return await super().get(path, **query)


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[CountingApi]:
    """The API server, as the administrator."""
    before = sockets.open_sockets()
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(control_plane.kubeconfig), client_configuration=configuration)
    found = CountingApi(client.ApiClient(configuration), request_timeout=timedelta(seconds=10))
    yield found
    await found.close()
    await sockets.none_but(before)  # connections of watches that were just cancelled


def _documents(name: str, *, session: str = "45000", settings: str = "settings") -> list[dict[str, Any]]:
    """Return a ConfigMap, a Deployment that takes its settings from it, and a pod that runs as one of its own."""
    container = {
        "name": "app",
        "image": "none",
        "envFrom": [{"configMapRef": {"name": settings}}],
        "env": [{"name": SESSION, "value": session}, {"name": "PASSWORD", "value": "secret" * 100}],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {"schedulerName": "nobody", "containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": settings}, "data": {BEAT: "333", WAIT: "5000"}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"replicas": 2, "selector": selector, "template": template},
        },
    ]


def _policy(namespace: str, name: str = "orders", **changes: Any) -> Policy:
    key = ObjectKey(namespace, name)
    return worlds.policy(key=key, workload=WorkloadRef("Deployment", key, "app"), **changes)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(200):
        if await condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it did not come")


async def test_the_view_says_what_asking_says(control_plane: ControlPlane, namespace: str, api: CountingApi) -> None:
    """Else each write would find another workload than was gathered, and none would ever be done."""
    control_plane.apply(namespace, *_documents("orders"))
    policy = _policy(namespace)
    live, asked = LiveWorkloads(api, SystemClock(), patience=PATIENCE), KubernetesWorkloads(api)

    async def same() -> bool:
        return await live.read(policy) == await asked.read(policy)

    async with live.running():
        await live.cover([policy])
        found = await live.read(policy)
        assert isinstance(found, Workload)
        assert found.current is not None
        assert found.current.settings[Setting.HEARTBEAT_INTERVAL] == timedelta(milliseconds=333)
        await _until(same)  # the controller still makes its pods

        gets = api.gets
        for _ in range(20):
            await live.cover([policy])
            await live.read(policy)
        assert api.gets == gets  # looking costs nothing

        control_plane.kubectl("set", "env", f"--namespace={namespace}", "deployment/orders", f"{BEAT}=1000")

        async def followed() -> bool:
            found = await live.read(policy)
            assert isinstance(found, Workload)
            assert found.current is not None
            return found.current.settings[Setting.HEARTBEAT_INTERVAL] == timedelta(seconds=1)

        await _until(followed)
        await _until(same)

        control_plane.kubectl("delete", f"--namespace={namespace}", "deployment/orders")

        async def gone() -> bool:
            found = await live.read(policy)
            return isinstance(found, MissingWorkload) and found.reason is Reason.WORKLOAD_NOT_FOUND

        await _until(gone)


async def test_what_was_just_written_is_in_the_view(
    control_plane: ControlPlane, namespace: str, api: CountingApi
) -> None:
    """As the API server stored it, whether or not the watch has brought it."""
    control_plane.apply(namespace, *_documents("orders"))
    policy, live = _policy(namespace), LiveWorkloads(api, SystemClock(), patience=PATIENCE)
    workloads = KubernetesWorkloads(api, written=live.show)
    async with live.running():
        await live.cover([policy])

        async def written() -> bool:
            before = await workloads.read(policy)
            assert isinstance(before, Workload)
            change = Application(
                worlds.settings("45s", "1s"), worlds.STORM, worlds.NOW, before.uid, "app", {BEAT: "1000"}
            )
            try:
                await workloads.apply(policy, before, change)
            except WriteConflictError:
                return False  # its controller still makes its pods
            after = await live.read(policy)
            assert isinstance(after, Workload)
            assert after.holdings is not None
            assert (after.holdings.standing or {})[BEAT] == "1000"
            return after.applications["app"].entries == {BEAT: "1000"}

        await _until(written)


async def test_what_policies_come_to_ask_about_is_listed_then(
    control_plane: ControlPlane, namespace: str, api: CountingApi
) -> None:
    """A policy in a namespace that was of no interest, another variable, and a ConfigMap that nobody named before."""
    control_plane.apply(namespace, *_documents("orders"), *_documents("bills", settings="other"))
    live = LiveWorkloads(api, SystemClock(), patience=PATIENCE)
    async with live.running():
        await live.cover([_policy("default")])
        assert live.sizes()["objects"] == 0
        first = _policy(namespace)
        await live.cover([first])
        found = await live.read(first)
        assert isinstance(found, Workload)
        assert found.current is not None
        assert found.current.settings[Setting.SESSION_TIMEOUT] == timedelta(seconds=45)

        renamed = {**first.env_names, Setting.SESSION_TIMEOUT: "PASSWORD"}
        second = _policy(namespace, "bills", env_names=renamed)
        await live.cover([first, second])
        unreadable = await live.read(second)
        assert isinstance(unreadable, MissingWorkload)
        assert "PASSWORD=a text of more than 256 characters" in unreadable.message

        third = _policy(namespace, "bills")
        changed = _documents("bills", settings="third")
        changed[0]["data"][BEAT] = "777"
        control_plane.apply(namespace, *changed)

        async def read() -> bool:
            found = await live.read(third)
            assert isinstance(found, Workload)
            return found.current is not None and found.current.settings[Setting.HEARTBEAT_INTERVAL] == timedelta(
                milliseconds=777
            )

        await live.cover([third])
        await _until(read)

        await live.cover([])
        assert live.sizes() == {"objects": 0, "named": 0, "characters": 0}


async def test_config_maps_that_nobody_names_any_more_are_not_held(
    control_plane: ControlPlane, namespace: str, api: CountingApi
) -> None:
    """Who names others again and again fills no memory; who names thousands has none of them asked for."""
    maps = [f"settings-{number}" for number in range(3)]
    policy = _policy(namespace)
    live = LiveWorkloads(api, SystemClock(), patience=PATIENCE)
    async with live.running():
        for number, name in enumerate(maps):
            documents = _documents("orders", settings=name)
            documents[0]["data"][WAIT] = f"{1_000 + number}"
            documents[1]["spec"]["replicas"] = 0  # pods of an older template name its ConfigMap, too
            control_plane.apply(namespace, *documents)
            await live.cover([policy])

            async def followed(wait: timedelta = timedelta(milliseconds=1_000 + number)) -> bool:
                found = await live.read(policy)
                assert isinstance(found, Workload)
                return found.current is not None and found.current.settings[Setting.FETCH_WAIT] == wait

            await _until(followed)
            assert live.sizes()["named"] == 1

        flooded = _documents("orders")[1]
        flooded["spec"]["replicas"] = 0
        container = flooded["spec"]["template"]["spec"]["containers"][0]
        container["envFrom"] = [{"configMapRef": {"name": f"map-{number}"}} for number in range(5_000)]
        control_plane.apply(namespace, flooded)

        async def refused() -> bool:
            found = await live.read(policy)
            return isinstance(found, MissingWorkload) and "ConfigMaps" in found.message

        gets = api.gets
        await _until(refused)
        assert api.gets == gets


async def test_a_view_that_cannot_be_had_says_why(control_plane: ControlPlane, namespace: str) -> None:
    """A namespace whose pods may not be listed is unknown, and costs no other one's look."""
    before = sockets.open_sockets()
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(control_plane.kubeconfig), client_configuration=configuration)

    class WithoutPods(KubernetesApi):
        async def get(self, path: str, **query: str) -> dict[str, Any] | None:
            if path.endswith("/pods"):
                raise ApiServerError(f"the API server refused GET {path} with 403", status=403)
            return await super().get(path, **query)

    api = WithoutPods(client.ApiClient(configuration), request_timeout=timedelta(seconds=10))
    live = LiveWorkloads(api, SystemClock(), namespaces=[namespace], patience=timedelta(seconds=0.5))
    try:
        async with live.running():
            await live.cover([_policy(namespace)])
            with pytest.raises(ApiServerError, match="pods with 403"):
                await live.read(_policy(namespace))
    finally:
        await api.close()
        await sockets.none_but(before)
