"""The ConfigMaps that containers name: what is held of them, however much somebody writes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.workloads import named_maps
from heartbeat_tuner.adapters.workloads.named_maps import (
    KEYS,
    KEYS_PER_POLICY,
    MAPS,
    MAPS_PER_POLICY,
    NamedMaps,
    TooManyMapsError,
)
from heartbeat_tuner.domain.errors import ApiServerError
from tests.support.electors import until
from tests.support.slots import FakeClock
from tests.support.watched_cluster import WatchedCluster

PATH = api_paths.collection(api_paths.CONFIG_MAPS)


@pytest.fixture
async def world() -> AsyncIterator[tuple[WatchedCluster, NamedMaps]]:
    """A cluster whose ConfigMaps are watched, with one policy in namespace shop."""
    cluster = WatchedCluster()
    maps = NamedMaps(cluster, FakeClock(), [])
    maps.begin({"shop": 1})
    running = asyncio.create_task(maps.scope.run())
    await until(lambda: maps.scope.in_touch)
    yield cluster, maps
    running.cancel()
    await asyncio.wait([running])


def put(cluster: WatchedCluster, name: str, **data: str) -> None:
    """Store a ConfigMap."""
    cluster.put(PATH, "shop", name, {"data": data})


def keys(*names: str) -> dict[str, frozenset[str]]:
    """Return key `a` of each of these ConfigMaps."""
    return dict.fromkeys(names, frozenset("a"))


async def test_what_is_needed_is_asked_for_once_and_then_watched(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """A ConfigMap that is not there yet is seen as soon as it is."""
    cluster, maps = world
    put(cluster, "one", a="1")
    for _ in range(3):
        await maps.need("shop", keys("one", "two"))
    assert sum(path.startswith("/api/v1/namespaces/") for path in cluster.gets) == 2
    assert maps.data("shop", ["one", "two"]) == {"one": {"a": "1"}, "two": None}
    put(cluster, "two", a="2")
    put(cluster, "one", a="3")
    await until(lambda: maps.data("shop", ["one", "two"]) == {"one": {"a": "3"}, "two": {"a": "2"}})


async def test_only_asked_keys_are_held_and_long_texts_are_cut_off(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """A ConfigMap may hold a megabyte."""
    cluster, maps = world
    put(cluster, "one", a="x" * 500_000, b="y" * 500_000)
    await maps.need("shop", keys("one"))
    (held,) = maps.scope.everything()
    assert held.data == {"a": "x" * 257}


async def test_a_key_that_is_asked_for_later_is_not_missed(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """The version that is known is looked at again."""
    cluster, maps = world
    put(cluster, "one", a="1", b="2")
    await maps.need("shop", keys("one"))
    await maps.need("shop", {"one": frozenset("b")})
    assert maps.data("shop", ["one"]) == {"one": {"a": "1", "b": "2"}}


async def test_a_namespace_is_held_up_to_a_bound_that_is_named(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """What is beyond it is no value: who needs it hears how much is too much; what is held goes on to be."""
    cluster, maps = world
    most = MAPS + MAPS_PER_POLICY
    names = [f"map-{number:04d}" for number in range(most)]
    await maps.need("shop", keys(*names))
    with pytest.raises(TooManyMapsError, match=rf"namespace shop name {most + 1} ConfigMaps.*no more than {most} with"):
        await maps.need("shop", keys("beyond"))
    put(cluster, "beyond", a="1")
    put(cluster, names[0], a="1")
    await until(lambda: maps.data("shop", names[:1]) == {names[0]: {"a": "1"}})
    assert maps.data("shop", ["beyond"]) == {"beyond": None}
    many = frozenset(str(number) for number in range(KEYS + KEYS_PER_POLICY + 1))
    with pytest.raises(TooManyMapsError, match=f"{KEYS + KEYS_PER_POLICY} keys are looked at"):
        await maps.need("shop", {names[0]: many})
    maps.begin({"shop": 2})
    await maps.need("shop", keys("beyond"))
    assert maps.data("shop", ["beyond"]) == {"beyond": {"a": "1"}}


async def test_what_nobody_needs_any_more_is_forgotten(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """Whoever names another ConfigMap in each rollout fills no memory; what is needed in each look stays."""
    cluster, maps = world
    put(cluster, "old", a="1")
    put(cluster, "used", a="1")
    await maps.need("shop", keys("old", "used"))
    gets = len(cluster.gets)
    for _ in range(named_maps.UNNEEDED_LOOKS + 1):
        maps.begin({"shop": 1})
        await maps.need("shop", keys("used"))
    assert [held.place.name for held in maps.scope.everything()] == ["used"]
    assert len(cluster.gets) == gets
    put(cluster, "old", a="2")
    await maps.need("shop", keys("old"))
    assert maps.data("shop", ["old"]) == {"old": {"a": "2"}}


async def test_nothing_of_a_namespace_without_policies_is_held(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """Neither data nor names."""
    cluster, maps = world
    put(cluster, "one", a="1")
    await maps.need("shop", keys("one", "never-there"))
    maps.begin({"other": 1})
    assert not maps.scope.everything()
    assert maps._named == {}


async def test_a_failed_answer_is_asked_for_again(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """Else a ConfigMap that nobody could read once would count as one that is not there."""
    cluster, maps = world
    put(cluster, "one", a="1")
    await asyncio.sleep(0.05)  # the watch has passed it over
    cluster.error = ApiServerError("away")
    with pytest.raises(ApiServerError, match="away"):
        await maps.need("shop", keys("one"))
    cluster.error = None
    await maps.need("shop", keys("one"))
    assert maps.data("shop", ["one"]) == {"one": {"a": "1"}}


async def test_what_the_first_list_is_to_hold_is_named_before(world: tuple[WatchedCluster, NamedMaps]) -> None:
    """As far as there is room; the rest is left to who needs it."""
    cluster, _ = world
    put(cluster, "one", a="1")
    maps = NamedMaps(cluster, FakeClock(), [])
    maps.begin({"shop": 1})
    maps.name("shop", keys("one"))
    maps.name("shop", keys(*(f"map-{number}" for number in range(1_000))))
    await maps.scope.refresh()
    gets = len(cluster.gets)
    await maps.need("shop", keys("one"))
    assert (maps.data("shop", ["one"]), len(cluster.gets)) == ({"one": {"a": "1"}}, gets)
