"""What is held of a kind, whatever comes from list and watch, in which order."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import Any, Self

import pytest

from heartbeat_tuner.adapters.kubernetes.listing import WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching import WatchedObjects
from heartbeat_tuner.domain.errors import ApiServerError
from tests.support.electors import until
from tests.support.slots import NOW, FakeClock


@dataclasses.dataclass(frozen=True)
class Thing:
    """What is held of an object."""

    place: str
    name: str
    value: str


def keep(body: Mapping[str, Any]) -> Thing | None:
    """Hold what has a value."""
    if not body["value"]:
        return None
    return Thing(body["metadata"]["namespace"], body["metadata"]["name"], body["value"])


def body(name: str, version: int, value: str = "x", *, place: str = "shop") -> dict[str, Any]:
    """Return an object."""
    metadata = {"namespace": place, "name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "value": value}


def event(kind: str, body: dict[str, Any]) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


class FakeSource:
    """An API server: pages of lists, and lines of watches, as a test puts them.

    Attributes:
        pages: one after the other.
        asked: queries of lists.
        watches: versions from which was watched.
    """

    def __init__(self, *pages: dict[str, Any] | None) -> None:
        self.pages = list(pages)
        self.asked: list[dict[str, str]] = []
        self.watches: list[str] = []
        self._lines: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    def put(self, *lines: bytes | Exception | None) -> None:
        """Have the watch bring lines, break, or (None) end."""
        for line in lines:
            self._lines.put_nowait(line)

    async def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """Return the next page; the last one again and again."""
        assert path.startswith("/")
        self.asked.append(query)
        page = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        if isinstance(page, ApiServerError):
            raise page
        return page

    async def lines(self, path: str, *, silence: timedelta, **query: str) -> AsyncGenerator[bytes, None]:
        """Yield what was put."""
        assert path.startswith("/")
        assert silence > timedelta(0)
        self.watches.append(query["resourceVersion"])
        while (line := await self._lines.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line


def page(version: int, *bodies: dict[str, Any], more: str = "") -> dict[str, Any]:
    """Return a list."""
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(bodies)}


class World:
    """A watch that runs."""

    def __init__(self, *pages: Any, may_be_missing: bool = False) -> None:
        self.source = FakeSource(*pages)
        self.changes: list[Thing] = []
        self.vanished: list[str] = []
        self.watched = WatchedObjects(
            self.source,
            WatchedKind("/things", "a", may_be_missing),
            keep,
            clock=FakeClock(),
            changed=self.changes.append,
            vanished=lambda uid, _last: self.vanished.append(uid),
            pause_s=0.001,  # the other is for real API servers
        )
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.watched.run())
        await until(lambda: self.watched.in_touch)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    def held(self) -> dict[str, str]:
        """Return names and values of what is held."""
        found = {item.name: item.value for item in self.watched.everything()}
        assert found == {item.name: item.value for item in self.watched.at("shop")}
        return found


async def test_what_is_not_understood_costs_no_other() -> None:
    """Tenants write what they like; it is held as it was, also beside a list, until it is understood again or gone."""
    async with World(page(5, body("a", 1), {"metadata": body("odd", 2)["metadata"]}, body("c", 3))) as world:
        assert world.held() == {"a": "x", "c": "x"}
        world.source.put(event("MODIFIED", {"metadata": body("a", 6)["metadata"]}), event("ADDED", body("d", 7)))
        await until(lambda: "d" in world.held())
        await world.watched.refresh()
        assert world.held() == {"a": "x", "c": "x", "d": "x"}
        world.source.put(
            event("MODIFIED", body("a", 8, "y")), event("MODIFIED", {"metadata": body("c", 9)["metadata"]})
        )
        world.source.put(event("DELETED", {"metadata": body("c", 10)["metadata"]}))
        await until(lambda: world.vanished == ["uid-c"])
        assert world.held() == {"a": "y", "d": "x"}


async def test_a_list_comes_page_by_page_and_is_as_of_its_first_request() -> None:
    """What is of no interest is not held."""
    async with World(page(5, body("a", 1), more="t"), page(5, body("b", 2, ""), body("c", 3))) as world:
        assert world.held() == {"a": "x", "c": "x"}
        assert world.watched.as_of == NOW
        assert [item.get("continue") for item in world.source.asked] == [None, "t"]
        assert all(item["labelSelector"] == "a" for item in world.source.asked)
        await until(lambda: world.source.watches == ["5"])


async def test_changes_are_taken_and_told() -> None:
    """Also that something is of no interest any more, which is no end."""
    async with World(page(5, body("a", 1), body("b", 2))) as world:
        world.source.put(event("MODIFIED", body("a", 6, "y")), event("ADDED", body("c", 7)))
        world.source.put(event("DELETED", body("b", 8)), event("MODIFIED", body("c", 9, "")))
        world.source.put(event("DELETED", body("of no interest", 10, "")))
        world.source.put(event("BOOKMARK", {"metadata": {"resourceVersion": "12"}}), None)
        await until(lambda: world.source.watches == ["5", "12"])
        assert world.held() == {"a": "y"}
        assert world.vanished == ["uid-b"]
        assert [change.name for change in world.changes] == ["a", "b", "a", "c", "b", "b"]
        assert list(world.watched.at("elsewhere")) == []


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(event("ERROR", {"code": 410, "message": "too old"}), id="too old"),
        pytest.param(b'{"type": "ADD', id="cut"),
        pytest.param(ApiServerError("broken"), id="broken"),
        pytest.param(RuntimeError("nobody thought of this"), id="unexpected"),
        pytest.param(b'{"type": "ADDED", "object": {}}', id="no object"),
    ],
)
async def test_after_a_failure_all_is_listed_anew(failure: bytes | Exception) -> None:
    """What is gone since then is noticed; whatever failed, it is one watch that did."""
    async with World(page(5, body("a", 1), body("b", 2)), page(9, body("b", 2))) as world:
        world.source.put(failure)
        await until(lambda: world.source.watches == ["5", "9"])
        assert (world.held(), world.vanished) == ({"b": "x"}, ["uid-a"])


async def test_while_lists_fail_the_view_is_old_and_says_so() -> None:
    """The last one stays."""
    async with World(page(5, body("a", 1)), ApiServerError("down"), None) as world:
        world.source.put(ApiServerError("broken"))
        await until(lambda: len(world.source.asked) > 3)
        assert (world.held(), world.watched.in_touch) == ({"a": "x"}, False)


async def test_of_a_kind_that_is_not_there_there_is_none() -> None:
    """Where that is expected: policies end with their definition, and come back with it."""
    async with World(page(5, body("a", 1)), None, may_be_missing=True) as world:
        world.source.put(ApiServerError("broken"))
        await until(lambda: world.vanished == ["uid-a"])
        await until(lambda: world.watched.in_touch)
        assert (world.held(), world.source.watches) == ({}, ["5"])
        world.source.pages = [page(9, body("b", 8))]
        await until(lambda: world.source.watches == ["5", "9"])
        assert (world.held(), world.watched.in_touch) == ({"b": "x"}, True)


async def test_an_old_list_undoes_nothing_that_is_newer() -> None:
    """Not a change, not a deletion, not what was given to us in between."""
    async with World(page(5, body("a", 1), body("b", 2), body("d", 3))) as world:
        world.source.put(event("DELETED", body("b", 8)), event("MODIFIED", body("d", 9, "")), None)
        world.watched.show(body("a", 7, "new"))
        world.watched.show(body("c", 10))
        await until(lambda: len(world.source.watches) > 1)
        await world.watched.refresh()
        assert world.held() == {"a": "new", "c": "x"}
        assert world.vanished == ["uid-b"]


async def test_what_is_selected_again_is_held_again() -> None:
    """A label that was lost came back."""
    async with World(page(5, body("a", 1))) as world:
        world.source.put(event("DELETED", body("a", 6)), event("ADDED", body("a", 7, "again")), None)
        await until(lambda: len(world.source.watches) > 1)
        assert world.held() == {"a": "again"}


async def test_what_is_found_at_another_place_is_at_the_old_one_no_more() -> None:
    """A policy that names another workload: who looks at the old place is told, and a deletion leaves nothing."""
    async with World(page(5, body("a", 1))) as world:
        world.source.put(event("MODIFIED", body("a", 6, place="crew")), None)
        await until(lambda: len(world.source.watches) > 1)
        assert (list(world.watched.at("shop")), [item.name for item in world.watched.at("crew")]) == ([], ["a"])
        assert [change.place for change in world.changes] == ["shop", "shop", "crew"]
        world.source.put(event("DELETED", body("a", 7, place="crew")), None)
        await until(lambda: len(world.source.watches) > 2)
        assert not [*world.watched.at("shop"), *world.watched.at("crew"), *world.watched.everything()]
        assert world.vanished == ["uid-a"]
