"""The watch that feeds the store."""

import asyncio
import gc
import inspect
import weakref
from typing import Any

import kopf
import pytest
from kopf._cogs.clients import patching
from kopf._cogs.structs.ephemera import AnyMemo
from kopf._cogs.structs.references import Resource
from kopf._core.actions import lifecycles
from kopf._core.engines.indexing import OperatorIndexers
from kopf._core.reactor.inventory import ResourceMemories
from kopf._core.reactor.processing import process_resource_event

from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import KIND, PLURAL
from heartbeat_tuner.handlers import operator_settings, registry_for
from heartbeat_tuner.reconcile.policy_store import PolicyStore

ENDING = {"deletionTimestamp": "2026-03-02T12:00:30Z"}
KOPFS_FINALIZER = kopf.OperatorSettings().persistence.finalizer


async def nothing() -> None:
    """Await nothing."""


def policy(version: int, **metadata: Any) -> kopf.RawBody:
    """Return a policy as the watch brings it."""
    given = {"namespace": "shop", "name": "orders", "uid": "u1", "resourceVersion": str(version)}
    return {"apiVersion": fields.API_VERSION, "kind": KIND, "metadata": {**given, **metadata}}  # type: ignore[typeddict-item]


class World:
    """Kopf with our registry and settings, from what the watch brings to what it writes.

    Attributes:
        store: what is fed.
    """

    def __init__(self) -> None:
        self.store = PolicyStore()
        self._registry = registry_for(self.store, nothing)
        self._settings = operator_settings()
        self._memories = ResourceMemories()

    async def bring(self, kind: Any, body: Any) -> None:
        """Have kopf process one event."""
        await process_resource_event(
            lifecycle=lifecycles.all_at_once,
            indexers=OperatorIndexers(),
            registry=self._registry,
            settings=self._settings,
            memories=self._memories,
            memobase=AnyMemo(object()),
            resource=Resource(fields.GROUP, fields.VERSION, PLURAL, namespaced=True),
            raw_event={"type": kind, "object": body},
            event_queue=asyncio.Queue(),
        )


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what kopf writes.

    Taken where kopf hands it over: a failure to reach an API server would end in its throttling, unseen.
    """
    found: list[object] = []

    async def patch_obj(*, patch: object, **_: Any) -> tuple[None, None]:
        found.append(patch)
        return None, None

    monkeypatch.setattr(patching, "patch_obj", patch_obj)
    return found


def test_the_store_is_fed_in_the_event_loop() -> None:
    """Kopf runs plain functions in threads, where they would change the store under those who walk through it."""
    handlers = list(registry_for(PolicyStore(), nothing)._watching.get_all_handlers())
    assert len(handlers) == 1
    assert all(inspect.iscoroutinefunction(handler.fn) for handler in handlers)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"annotations": {"kopf.zalando.org/last-handled-configuration": "{"}}, id="no JSON"),
        pytest.param({"annotations": {"kopf.zalando.org/last-handled-configuration": "[1]"}}, id="another JSON"),
        pytest.param({"finalizers": [KOPFS_FINALIZER]}, id="finalizer"),
        pytest.param({"finalizers": [KOPFS_FINALIZER], **ENDING}, id="finalizer, being deleted"),
    ],
)
async def test_what_kopf_might_have_written_itself_makes_no_difference(
    metadata: dict[str, Any], written: list[object]
) -> None:
    """A tenant wrote it: the store shows the policy and its end, and nothing is written, least of all by a follower."""
    world = World()
    for kind, version in ((None, 5), ("MODIFIED", 6)):
        await world.bring(kind, policy(version, **metadata))
        assert [held["metadata"]["resourceVersion"] for held in world.store.snapshot()] == [str(version)]
    await world.bring("DELETED", policy(7, **metadata))
    assert (world.store.snapshot(), written) == ([], [])


@pytest.mark.usefixtures("written")
async def test_a_watch_that_begins_again_is_known_by_what_it_shows_again() -> None:
    """Not by the first list of a process, nor by what happens to a policy."""
    world = World()
    for kind, version in ((None, 5), ("MODIFIED", 6), ("DELETED", 7), ("ADDED", 8)):
        await world.bring(kind, policy(version))
        assert not world.store.interrupted.is_set()
    await world.bring(None, policy(8))
    assert world.store.interrupted.is_set()


class Weighed(dict[str, Any]):
    """An object as the watch brings it, of which can be said whether anybody still holds it."""


async def test_nobody_holds_a_policy_as_it_came() -> None:
    """Of ten thousand, kopf's copies or the store's would fill 100 MiB on each replica."""
    world = World()
    came = Weighed(policy(5, annotations={"note": "x" * 1_000}))
    held = weakref.ref(came)
    await world.bring("ADDED", came)
    del came
    gc.collect()
    assert held() is None
    assert world.store.snapshot()


async def test_the_finalizer_cannot_be_known() -> None:
    """Kopf would take it off: with another in each process, what one of them tells is of no use to the next."""
    assert operator_settings().persistence.finalizer != operator_settings().persistence.finalizer


def test_nothing_is_kept_of_what_handlers_did() -> None:
    """Whatever kopf asks of its storages, for handlers of another sort say, no object is read, and none is written."""
    persistence, patch = operator_settings().persistence, kopf.Patch()
    diffbase, progress = persistence.diffbase_storage, persistence.progress_storage
    body = kopf.Body(policy(5, annotations={"kopf.zalando.org/policy_changed": "{"}))
    diffbase.store(body=body, patch=patch, essence=diffbase.build(body=body))
    progress.store(key=kopf.HandlerId("policy_changed"), record={}, body=body, patch=patch)
    progress.purge(key=kopf.HandlerId("policy_changed"), body=body, patch=patch)
    progress.touch(body=body, patch=patch, value="now")
    assert (diffbase.fetch(body=body), progress.fetch(key=kopf.HandlerId("policy_changed"), body=body)) == (None, None)
    assert (progress.clear(essence=diffbase.build(body=body)), dict(patch)) == ({}, {})
