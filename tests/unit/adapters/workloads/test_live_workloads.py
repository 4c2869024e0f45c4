"""The view of workloads against an API server in memory: what it holds, and for how long."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.workloads import live_workloads
from heartbeat_tuner.adapters.workloads.held_objects import LONGEST_TEXT
from heartbeat_tuner.adapters.workloads.live_workloads import LiveWorkloads
from heartbeat_tuner.adapters.workloads.named_maps import MAPS, MAPS_PER_POLICY
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.liveness import Setting
from heartbeat_tuner.domain.policies import ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from tests.support import worlds
from tests.support.electors import until
from tests.support.slots import FakeClock
from tests.support.watched_cluster import WatchedCluster

DEPLOYMENTS, PODS, MAPS_PATH = (
    api_paths.collection(item) for item in (api_paths.DEPLOYMENTS, api_paths.PODS, api_paths.CONFIG_MAPS)
)
SESSION, BEAT, WAIT = worlds.policy().env_names.values()
PATIENCE = timedelta(milliseconds=50)


def policy(name: str = "orders", namespace: str = "shop") -> Policy:
    """Return a policy for a Deployment of the same name."""
    key = ObjectKey(namespace, name)
    return worlds.policy(key=key, workload=WorkloadRef("Deployment", key, "app"))


def fill(cluster: WatchedCluster, policy: Policy, *, pods: int = 2, sources: tuple[str, ...] = ("settings",)) -> None:
    """Store a Deployment, its pods and a ConfigMap."""
    namespace, name = policy.key.namespace, policy.key.name
    env_from = [{"configMapRef": {"name": source}} for source in sources]
    containers = [{"name": "app", "env": [{"name": SESSION, "value": "45000"}], "envFrom": env_from}]
    spec = {"replicas": pods, "template": {"spec": {"containers": containers}}}
    cluster.put(MAPS_PATH, namespace, "settings", {"data": {BEAT: "3000", WAIT: "5000", "else": "x"}})
    cluster.put(DEPLOYMENTS, namespace, name, {"spec": spec})
    for number in range(pods):
        owner = {"controller": True, "kind": "ReplicaSet", "name": f"{name}-7d"}
        metadata = {"labels": {"pod-template-hash": "7d"}, "ownerReferences": [owner]}
        cluster.put(PODS, namespace, f"{name}-{number}", {"metadata": metadata, "spec": {"containers": containers}})


@pytest.fixture
async def world() -> AsyncIterator[tuple[WatchedCluster, LiveWorkloads]]:
    """A cluster and its view."""
    cluster = WatchedCluster()
    live = LiveWorkloads(cluster, FakeClock(), patience=PATIENCE)
    async with live.running():
        yield cluster, live


def session_and_beat(found: Workload | MissingWorkload) -> tuple[timedelta, timedelta]:
    """Return what is set."""
    assert isinstance(found, Workload)
    assert found.current is not None
    settings = found.current.settings
    return settings[Setting.SESSION_TIMEOUT], settings[Setting.HEARTBEAT_INTERVAL]


async def test_a_rollout_is_looked_at_only_where_the_configuration_asks_for_it(
    world: tuple[WatchedCluster, LiveWorkloads],
) -> None:
    """Else the operator has no right on them; the reason names the setting, and other policies go on."""
    cluster, live = world
    deployed = policy()
    rolled = dataclasses.replace(deployed, workload=dataclasses.replace(deployed.workload, kind="Rollout"))
    fill(cluster, deployed)
    await live.cover([rolled, deployed])
    found = await live.read(rolled)
    assert isinstance(found, MissingWorkload)
    assert (found.reason, "kubernetes.argoRollouts" in str(found.message)) == (Reason.WORKLOAD_UNSUPPORTED, True)
    assert isinstance(await live.read(deployed), Workload)


async def test_named_config_maps_come_with_the_first_list(world: tuple[WatchedCluster, LiveWorkloads]) -> None:
    """Ten thousand policies need no request each; nor does a variable that comes to be asked about."""
    cluster, live = world
    everybody = [policy("orders"), policy("bills"), policy("orders", "other")]
    for item in everybody:
        fill(cluster, item)
    await live.cover(everybody)
    for item in everybody:
        assert session_and_beat(await live.read(item)) == (timedelta(seconds=45), timedelta(seconds=3))
    assert cluster.gets.count(MAPS_PATH) == 1
    assert not [path for path in cluster.gets if path.endswith("/settings")]

    third = policy("orders", "third")
    fill(cluster, third)
    await live.cover([*everybody, third])
    assert session_and_beat(await live.read(third))[1] == timedelta(seconds=3)
    assert not [path for path in cluster.gets if path.endswith("/settings")]


async def test_each_of_several_workloads_of_a_policy_stays_the_object_that_it_was(
    world: tuple[WatchedCluster, LiveWorkloads],
) -> None:
    """While nothing of it changes: who rests is looked at again for every other object."""
    cluster, live = world
    both = [policy("orders"), dataclasses.replace(policy("batch"), key=policy("orders").key)]
    for item in (policy("orders"), policy("batch")):
        fill(cluster, item)
    await live.cover(both)
    before = [await live.read(item) for item in both]
    await live.cover(both)
    assert [await live.read(item) is found for item, found in zip(both, before, strict=True)] == [True, True]
    assert before[0] is not before[1]


async def test_too_many_config_maps_are_a_finding(world: tuple[WatchedCluster, LiveWorkloads]) -> None:
    """It names the bound; nobody decides on the part that is known. The other namespace is none the worse."""
    cluster, live = world
    first, second, other = policy("first"), policy("second"), policy("orders", "other")
    most = MAPS + 2 * MAPS_PER_POLICY
    for item in (first, second):
        fill(cluster, item, sources=("settings", *(f"{item.key.name}-{number}" for number in range(most // 2))))
    fill(cluster, other)
    await live.cover([first, second, other])
    assert isinstance(await live.read(first), Workload)
    found = await live.read(second)
    assert isinstance(found, MissingWorkload)
    assert found.reason is Reason.SETTING_UNREADABLE
    assert f"no more than {most} with" in found.message
    assert isinstance(await live.read(other), Workload)


@pytest.mark.parametrize("kind", ["Deployment", "pod"])
async def test_an_object_that_says_too_much_is_a_finding(
    world: tuple[WatchedCluster, LiveWorkloads], kind: str
) -> None:
    """Neither held nor decided on; as soon as it says less it is read."""
    cluster, live = world
    fill(cluster, policy())
    containers = [{"name": f"{'c' * 50}-{number}", "env": []} for number in range(LONGEST_TEXT // 50)]
    template = {"spec": {"containers": containers}}
    owner = {"controller": True, "kind": "ReplicaSet", "name": "orders-7d"}
    metadata = {"labels": {"pod-template-hash": "7d"}, "ownerReferences": [owner]}
    if kind == "pod":
        cluster.put(PODS, "shop", "large", {"metadata": metadata, **template})
    else:
        cluster.put(DEPLOYMENTS, "shop", "orders", {"spec": {"template": template}})
    await live.cover([policy()])
    found = await live.read(policy())
    assert isinstance(found, MissingWorkload)
    assert found.reason is Reason.SETTING_UNREADABLE
    assert f"{LONGEST_TEXT} characters" in found.message
    assert live.sizes()["characters"] < LONGEST_TEXT
    if kind == "pod":
        cluster.delete(PODS, "shop", "large")
    fill(cluster, policy())
    await _until_read(live, policy(), lambda found: isinstance(found, Workload))


async def test_a_flood_of_named_config_maps_is_a_finding_and_no_request(
    world: tuple[WatchedCluster, LiveWorkloads],
) -> None:
    """A container may name thousands: none of them is asked for."""
    cluster, live = world
    fill(cluster, policy(), pods=0)
    await live.cover([policy()])
    assert isinstance(await live.read(policy()), Workload)
    gets = len(cluster.gets)
    fill(cluster, policy(), pods=0, sources=tuple(f"map-{number}" for number in range(5_000)))
    await _until_read(live, policy(), lambda found: isinstance(found, MissingWorkload))
    found = await live.read(policy())
    assert isinstance(found, MissingWorkload)
    assert "ConfigMaps" in found.message
    assert len(cluster.gets) == gets


async def test_others_have_a_turn_while_many_pods_are_looked_at(world: tuple[WatchedCluster, LiveWorkloads]) -> None:
    """Five thousand of them take most of a second, and a probe must be answered meanwhile."""
    cluster, live = world
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    for name, pods in (("few", live_workloads.PODS_AT_ONCE), ("many", live_workloads.PODS_AT_ONCE + 1)):
        fill(cluster, policy(name), pods=pods)
    await live.cover([policy("few"), policy("many")])
    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    before = turns
    found = await live.read(policy("few"))
    assert turns == before  # a thread for each small workload would take longer than the work
    again = await live.read(policy("many"))
    assert turns > before
    counting.cancel()
    assert session_and_beat(found) == session_and_beat(again)


async def test_a_namespace_that_is_deleted_leaves_nothing(world: tuple[WatchedCluster, LiveWorkloads]) -> None:
    """Neither objects, nor evidence, nor names of ConfigMaps; the other namespace stays as it was."""
    cluster, live = world
    doomed, other = [policy(f"orders-{number}", "doomed") for number in range(20)], policy("orders", "other")
    for item in (*doomed, other):
        fill(cluster, item)
    everybody = [*doomed, other]
    await live.cover([other])
    await live.read(other)
    alone = _held(live)
    await live.cover(everybody)
    for item in everybody:
        await live.read(item)
    before = await live.read(other)
    cluster.delete_namespace("doomed")
    await live.cover([other])
    assert await live.read(other) is before
    await until(lambda: live.sizes()["objects"] == alone[0]["objects"])
    assert _held(live) == alone


async def test_a_compacted_list_and_watch_are_begun_again(world: tuple[WatchedCluster, LiveWorkloads]) -> None:
    """410 in the middle of a paged list, and in a watch: what was seen stays, and what changed meanwhile is seen."""
    cluster, live = world
    count = 2 * live_workloads.PAGE
    fill(cluster, policy(), pods=count)
    real, compacted = cluster.get, 0

    async def compacting(path: str, **query: str) -> dict[str, Any] | None:
        nonlocal compacted
        if path == PODS and "continue" in query and not compacted:
            compacted += 1
            cluster.compact()
        return await real(path, **query)

    cluster.get = compacting  # type: ignore[method-assign]  # what etcd does in between, the fake does not by itself
    await live.cover([policy()])
    await _until_read(live, policy(), lambda found: isinstance(found, Workload))
    assert compacted == 1
    assert cluster.gets.count(PODS) > 2
    assert live.sizes()["objects"] == count + 2

    cluster.delete(PODS, "shop", "orders-0")
    cluster.put(MAPS_PATH, "shop", "settings", {"data": {BEAT: "4000"}})
    cluster.compact()
    await until(lambda: live.sizes()["objects"] == count + 1)
    await _until_read(live, policy(), lambda found: session_and_beat(found)[1] == timedelta(seconds=4))


def _held(live: LiveWorkloads) -> tuple[dict[str, int], object, object, object]:
    """Return all that a view remembers."""
    return (
        live.sizes(),
        set(live._keeper.names),
        set(live._made),
        {name: set(maps) for name, maps in live._maps._named.items()},
    )


async def _until_read(
    live: LiveWorkloads, policy: Policy, condition: Callable[[Workload | MissingWorkload], bool]
) -> None:
    for _ in range(500):
        await live.cover([policy])
        try:
            if condition(await live.read(policy)):
                return
        except ApiServerError:
            pass  # the view is out of touch for a moment
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")
