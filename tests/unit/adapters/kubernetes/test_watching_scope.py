"""One view of several namespaces: a watch for each, and nothing known before all are."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from heartbeat_tuner.adapters.kubernetes.api_paths import in_namespace
from heartbeat_tuner.adapters.kubernetes.listing import WatchedKind, lists
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.domain.errors import ApiServerError
from tests.support.electors import until
from tests.support.slots import NOW, FakeClock
from tests.unit.adapters.kubernetes.test_watching import Thing, body, keep

KIND = WatchedKind("/apis/x/v1/things")


class FakeCluster:
    """Namespaces with things, and watches that bring what is put for them."""

    def __init__(self, things: Mapping[str, list[dict[str, Any]]]) -> None:
        self._things = {in_namespace(KIND.path, name): found for name, found in things.items()}
        self.lines_of: defaultdict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the list of a namespace."""
        assert query["limit"]
        if path not in self._things:
            raise ApiServerError(f"forbidden: {path}", status=403)
        return {"items": self._things[path], "metadata": {"resourceVersion": "9"}}

    async def lines(self, path: str, *, silence: timedelta, **query: str) -> AsyncGenerator[bytes, None]:
        """Yield what is put, without an end."""
        assert query["watch"]
        assert silence
        while True:
            yield await self.lines_of[path].get()


def thing(namespace: str, name: str, version: int = 1, value: str = "x") -> dict[str, Any]:
    """Return an object."""
    found = body(name, version, value)
    found["metadata"]["namespace"] = namespace
    return found


def scope(cluster: FakeCluster, *namespaces: str) -> WatchedScope[Thing]:
    """Return the view of these namespaces."""
    return WatchedScope(cluster, KIND, keep, namespaces=namespaces, clock=FakeClock(), pause_s=0.01)


def test_a_list_of_all_or_of_each() -> None:
    """No namespace means all of them."""
    assert lists(KIND.path, []) == ["/apis/x/v1/things"]
    assert lists(KIND.path, ["a", "b"]) == ["/apis/x/v1/namespaces/a/things", "/apis/x/v1/namespaces/b/things"]


async def test_it_shows_each_namespace_and_follows_its_watch() -> None:
    """A place is looked for wherever it is; what a watch brings, and what is shown, counts as in one view."""
    cluster = FakeCluster({"a": [thing("a", "one")], "b": [thing("b", "two")], "c": [thing("c", "three")]})
    seen = scope(cluster, "a", "b")
    running = asyncio.create_task(seen.run())
    await until(lambda: seen.in_touch)
    assert seen.as_of == NOW
    assert {item.name for item in seen.everything()} == {"one", "two"}
    assert [item.name for item in seen.at("b")] == ["two"]
    changed = json.dumps({"type": "MODIFIED", "object": thing("b", "two", 10, "y")}).encode()
    cluster.lines_of[in_namespace(KIND.path, "b")].put_nowait(changed)
    await until(lambda: [item.value for item in seen.at("b")] == ["y"])
    seen.show(thing("a", "four", 11))
    seen.show(thing("c", "five", 11))
    assert {item.name for item in seen.everything()} == {"one", "two", "four"}
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_it_is_not_in_touch_while_one_namespace_is_not() -> None:
    """Who counts pods must not take what it may not see for what is not there."""
    seen = scope(FakeCluster({"a": [thing("a", "one")]}), "a", "forbidden")
    running = asyncio.create_task(seen.run())
    await until(lambda: bool(seen.everything()))
    assert (seen.in_touch, seen.as_of) == (False, None)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
