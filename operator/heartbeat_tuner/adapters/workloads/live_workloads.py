"""The workloads of all policies, kept up to date by watches: a look at them asks the API server nothing.

Held is what `trimming` leaves of Deployments, StatefulSets and their pods (`held_objects`), and only in namespaces with
policies; the ConfigMaps that their containers name are `named_maps`' business. A workload is made of texts again only
when a part of it has changed. Nothing is written by what stands here: who writes asks first.
"""

import asyncio
import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar

from heartbeat_tuner.adapters.kubernetes import api_paths, fresh_watches
from heartbeat_tuner.adapters.kubernetes.fresh_watches import FreshWatches
from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource, WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching import WatchedObjects
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.adapters.slots.slot_pods import SeenPod
from heartbeat_tuner.adapters.workloads import argo_rollouts, trimming, workload_evidence
from heartbeat_tuner.adapters.workloads.held_objects import LONGEST_TEXT, HeldObject, WorkloadKeeper, WorkloadPlace
from heartbeat_tuner.adapters.workloads.named_maps import NamedMaps, TooManyMapsError
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.policies import ROLLOUT, ObjectKey, Policy, WorkloadRef
from heartbeat_tuner.domain.reasons import Reason
from heartbeat_tuner.ports.wall_clock import Clock

PAGE: Final = 250
"""Objects per request of a list."""

LISTED_ALONE: Final = 20
"""Namespaces that are listed one by one when policies come to them; where there are more, everything is listed."""

PODS_AT_ONCE: Final = 100
"""Pods of a workload that are looked at in the event loop: 5,000 take 0.65 s, in which no probe would be answered."""

_Result = TypeVar("_Result")

_PartKey = tuple[ObjectKey, WorkloadRef]
"""A policy, and one of the workloads that it names."""

_KINDS: Final = {
    resource.kind: WatchedKind(api_paths.collection(resource), page=PAGE)
    for resource in (api_paths.DEPLOYMENTS, api_paths.STATEFUL_SETS)
}
_ROLLOUTS: Final = {ROLLOUT: WatchedKind(api_paths.collection(api_paths.ROLLOUTS), page=PAGE, may_be_missing=True)}


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    """A workload, and what it was made of.

    Attributes:
        asked: by the policy.
        parts: the workload's and the pods' texts, the data of ConfigMaps; compared by identity.
        keys: those of ConfigMaps, by the maps' names.
        found: the workload.
    """

    asked: tuple[object, ...]
    parts: tuple[object, ...]
    keys: Mapping[str, frozenset[str]]
    found: Workload | MissingWorkload


class LiveWorkloads:
    """Deployments, StatefulSets and Rollouts as watches show them.

    Args:
        api: the API server.
        clock: for the watches.
        namespaces: where; everywhere if empty.
        patience: how long a look waits for a watch that is broken.
        rollouts: whether Argo's Rollouts are watched too.
    """

    def __init__(
        self,
        api: ObjectSource,
        clock: Clock,
        *,
        namespaces: Sequence[str] = (),
        patience: timedelta,
        rollouts: bool = False,
    ) -> None:
        self._api = api
        self._touch = FreshWatches(patience)
        self._maps = NamedMaps(api, clock, namespaces)
        self._keeper = WorkloadKeeper(self._maps)
        self._unlisted: dict[str, ApiServerError] = {}
        self._made: dict[_PartKey, _Made] = {}
        self._watching: asyncio.Task[None] | None = None
        self._workloads = {
            kind: WatchedScope(api, which, self._keeper.workload(kind), namespaces=namespaces, clock=clock)
            for kind, which in (_KINDS | _ROLLOUTS if rollouts else _KINDS).items()
        }
        pods = WatchedKind(api_paths.collection(api_paths.PODS), page=PAGE)
        self._pods = WatchedScope(api, pods, self._keeper.pod, namespaces=namespaces, clock=clock)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch from the first policies that are to be covered until the end of the context."""
        try:
            yield
        finally:
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.wait([self._watching])

    async def cover(self, policies: Sequence[Policy]) -> None:
        """Have the workloads of these policies in the view, as they are now, and no others.

        What cannot be listed is told by `read`.
        """
        wanted: dict[str, set[str]] = {}
        self._keeper.containers = {}
        for policy in policies:
            wanted.setdefault(policy.key.namespace, set()).update(trimming.names_of(policy))
            place = WorkloadPlace(policy.workload.kind, policy.workload.key)
            self._keeper.containers.setdefault(place, set()).add(policy.workload.container)
        self._maps.begin(Counter(policy.key.namespace for policy in policies))
        more = [
            name
            for name, names in wanted.items()
            if name in self._unlisted or not names <= self._keeper.names.get(name, frozenset())
        ]
        fewer = {name for name in self._keeper.names if name not in wanted}
        self._keeper.names = {name: frozenset(names) for name, names in wanted.items()}
        self._unlisted = {}
        keys = {_part(policy) for policy in policies}
        self._made = {key: made for key, made in self._made.items() if key in keys}
        if fewer:
            self._forget(fewer)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="workloads")
        elif more:
            self._forget(more)
            await self._list(more)
        await self._touch.wait(self._parts())

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return a covered policy's workload with what is set in it, or what is missing.

        Raises:
            ApiServerError: the view is out of touch.
        """
        reference = policy.workload
        place, namespace = WorkloadPlace(reference.kind, reference.key), reference.key.namespace
        if reference.kind not in self._workloads:
            return workload_evidence.not_watched(policy)
        if namespace in self._unlisted:
            raise self._unlisted[namespace]
        for scope in (self._workloads[reference.kind], self._pods, self._maps.scope):
            fresh_watches.check(scope, namespace)
        workload = max(self._workloads[reference.kind].at(place), key=lambda held: held.version, default=None)
        if workload is None:
            return workload_evidence.not_found(policy)
        pods = sorted(self._pods.at(place), key=lambda held: held.version)
        if not all(held.text for held in (workload, *pods)):
            return workload_evidence.too_long(policy, LONGEST_TEXT)
        try:
            return await self._evidence(policy, workload, pods)
        except TooManyMapsError as error:
            return MissingWorkload(Reason.SETTING_UNREADABLE, str(error))

    def show(self, body: Mapping[str, Any]) -> None:
        """Take a workload as it is stored after a write of ours: a watch that is dead brings it minutes later or never.

        Without it our own values would seem to be taken back by somebody.
        """
        self._workloads[body["kind"]].show(body)

    async def _evidence(
        self, policy: Policy, workload: HeldObject, pods: Sequence[HeldObject]
    ) -> Workload | MissingWorkload:
        """Return what the texts say; what was made of them before, if none has changed.

        Raises:
            TooManyMapsError: there is no room for the ConfigMaps that they name.
            ApiServerError: the API server did not answer.
        """
        reference, namespace = policy.workload, policy.workload.key.namespace
        canary = policy.canary
        tried = None if canary is None else (canary.workload_uid, canary.entries, canary.is_trying, canary.until)
        asked = (reference, policy.library, policy.env_names, policy.declared, trimming.names_of(policy), tried)
        known = self._made.get(_part(policy))
        texts = (workload, *pods)
        if known is not None and known.asked == asked and _same(texts, known.parts[: -len(known.keys) or None]):
            await self._maps.need(namespace, known.keys)
            if _same((*texts, *self._maps.data(namespace, known.keys).values()), known.parts):
                return known.found
        document = json.loads(workload.text)
        if (unsupported := argo_rollouts.refused(reference, document)) is not None:
            return unsupported
        bodies = await _run(len(pods), lambda: [json.loads(held.text) for held in pods])
        keys = await _run(len(pods), lambda: workload_evidence.config_map_keys(policy, document, bodies))
        if (refused := workload_evidence.too_many_config_maps(policy, document, keys)) is not None:
            return refused
        if known is not None:
            self._unname(_part(policy), known.keys.keys() - keys.keys())
        await self._maps.need(namespace, keys)
        maps = self._maps.data(namespace, keys)
        there = {name: data for name, data in maps.items() if data is not None}
        evidence = await _run(
            len(pods),
            lambda: workload_evidence.workload_of(policy, document, bodies, there, template=workload.template),
        )
        self._made[_part(policy)] = _Made(asked, (*texts, *maps.values()), keys, evidence)
        return evidence

    async def slot_pods(self) -> Sequence[SeenPod]:
        """Return the pods of covered namespaces that have a slot.

        Raises:
            ApiServerError: the view is out of touch.
        """
        parts = self._pods.parts()
        await self._touch.wait(parts)
        fresh_watches.check_parts(parts)
        return [held.slot for held in self._pods.everything() if held.slot is not None]

    def sizes(self) -> dict[str, int]:
        """Return how many objects are held, how many ConfigMaps are known by name, and how many characters of text."""
        texts = [held.text for scope in (*self._workloads.values(), self._pods) for held in scope.everything()]
        objects = len(texts) + len(self._maps.scope.everything())
        return {"objects": objects, "named": self._maps.count(), "characters": sum(map(len, texts))}

    async def _watch(self) -> None:
        """Watch everything; ConfigMaps last, when it is known which of them are named."""
        first = [*self._workloads.values(), self._pods]
        parts = [part for scope in first for part in scope.parts()]
        async with asyncio.TaskGroup() as watching:
            for scope in first:
                watching.create_task(scope.run())
            for part in parts:
                await part.looked.wait()
            self._keeper.listing = frozenset()  # what is named from now on is asked for when it is needed
            watching.create_task(self._maps.scope.run())

    async def _list(self, namespaces: Sequence[str]) -> None:
        """List what is wanted more of; what fails is told by `read`, and tried again when policies are covered next."""
        self._keeper.listing = frozenset(namespaces)
        try:
            if len(namespaces) > LISTED_ALONE:
                for scope in self._scopes():
                    await scope.refresh()
                return
        except ApiServerError as error:
            self._unlisted = dict.fromkeys(namespaces, error)
            return
        finally:
            self._keeper.listing = frozenset()
        for namespace in namespaces:
            self._keeper.listing = frozenset([namespace])
            try:
                for scope in self._scopes():
                    await scope.refresh_within(namespace)
            except ApiServerError as error:
                self._unlisted[namespace] = error
            finally:
                self._keeper.listing = frozenset()

    def _scopes(self) -> Sequence[WatchedScope[Any]]:
        """Return all views; of ConfigMaps last, when it is known which of them are named."""
        return [*self._workloads.values(), self._pods, self._maps.scope]

    def _unname(self, part: _PartKey, names: Collection[str]) -> None:
        """Hold no more the ConfigMaps that a policy's containers named, and no other's name: names come and go."""
        if not names:
            return
        namespace = part[0].namespace
        others = [made.keys for other, made in self._made.items() if other[0].namespace == namespace and other != part]
        self._maps.drop(namespace, set(names).difference(*others))

    def _parts(self) -> Sequence[WatchedObjects[Any]]:
        return [part for scope in self._scopes() for part in scope.parts()]

    def _forget(self, namespaces: Collection[str]) -> None:
        for scope in (*self._workloads.values(), self._pods):
            scope.forget(lambda held: held.place.key.namespace in namespaces)
        self._maps.forget(namespaces)


def _part(policy: Policy) -> _PartKey:
    return policy.key, policy.workload


async def _run(pods: int, work: Callable[[], _Result]) -> _Result:
    """Return what some work on values gives; in a thread where there are many pods, so that others have a turn."""
    return work() if pods <= PODS_AT_ONCE else await asyncio.to_thread(work)


def _same(parts: Sequence[object], before: Sequence[object]) -> bool:
    """Whether these are the very objects that there were before."""
    return len(parts) == len(before) and all(a is b for a, b in zip(parts, before, strict=True))
