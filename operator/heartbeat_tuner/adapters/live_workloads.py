"""The workloads of all policies, kept up to date by watches: a look at them asks the API server nothing.

Held is what `trimming` leaves of Deployments, StatefulSets, their pods and the ConfigMaps that their containers name,
and only in namespaces with policies. Objects are JSON text: a tenth of what they take as dictionaries. A workload is
made of them again only when a part of it has changed. Nothing is written by what stands here: who writes asks first.
"""

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from heartbeat_tuner.adapters import api_paths, manifests, trimming, workload_evidence
from heartbeat_tuner.adapters.watching import Kind, Source, Watched
from heartbeat_tuner.adapters.watching_scope import WatchedScope
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.domain.evidence import MissingWorkload, Workload
from heartbeat_tuner.domain.policies import DEPLOYMENT, STATEFUL_SET, ObjectKey, Policy
from heartbeat_tuner.ports import Clock

PAGE: Final = 250
"""Objects per request of a list."""

LISTED_ALONE: Final = 20
"""Namespaces that are listed one by one when policies come to them; where there are more, everything is listed."""

LOOK_S: Final = 0.02
"""Between two looks whether lists have come."""

_KINDS: Final = {
    kind: Kind(api_paths.collection(resource), page=PAGE)
    for kind, resource in ((DEPLOYMENT, api_paths.DEPLOYMENTS), (STATEFUL_SET, api_paths.STATEFUL_SETS))
}


class WorkloadPlace(NamedTuple):
    """Where a Deployment or a StatefulSet is, and its pods."""

    kind: str
    key: ObjectKey


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """What is held of an object.

    Attributes:
        place: of a workload, or of the workload that a pod belongs to.
        version: its resource version.
        text: JSON of what is left of it.
        template: the fingerprint of a workload's whole template.
    """

    place: WorkloadPlace
    version: int
    text: str
    template: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class HeldMap:
    """What is held of a ConfigMap.

    Attributes:
        place: where it is.
        data: what is left of its data.
    """

    place: ObjectKey
    data: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    """A workload, and what it was made of.

    Attributes:
        asked: by the policy.
        parts: the workload's and the pods' texts, the data of ConfigMaps; compared by identity.
        maps: the ConfigMaps' names.
        found: the workload.
    """

    asked: tuple[object, ...]
    parts: tuple[object, ...]
    maps: frozenset[str]
    found: Workload | MissingWorkload


class LiveWorkloads:
    """Deployments and StatefulSets as watches show them.

    Args:
        api: the API server.
        clock: for the watches.
        namespaces: where; everywhere if empty.
        patience: how long a look waits for a watch that is broken.
    """

    def __init__(self, api: Source, clock: Clock, *, namespaces: Sequence[str] = (), patience: timedelta) -> None:
        self._api = api
        self._patience_s = patience.total_seconds()
        self._names: dict[str, frozenset[str]] = {}
        self._unlisted: dict[str, ApiServerError] = {}
        self._maps_named: set[ObjectKey] = set()
        self._made: dict[ObjectKey, _Made] = {}
        self._watching: asyncio.Task[None] | None = None
        self._out_of_touch_since_s: dict[int, float] = {}
        self._workloads = {
            kind: WatchedScope(api, which, self._workload(kind), namespaces=namespaces, clock=clock)
            for kind, which in _KINDS.items()
        }
        pods, maps = (Kind(api_paths.collection(one), page=PAGE) for one in (api_paths.PODS, api_paths.CONFIG_MAPS))
        self._pods = WatchedScope(api, pods, self._pod, namespaces=namespaces, clock=clock)
        self._maps = WatchedScope(api, maps, self._map, namespaces=namespaces, clock=clock)

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
        for policy in policies:
            wanted.setdefault(policy.key.namespace, set()).update(trimming.names_of(policy))
        more = [
            name
            for name, names in wanted.items()
            if name in self._unlisted or not names <= self._names.get(name, frozenset())
        ]
        fewer = {name for name in self._names if name not in wanted}
        self._names = {name: frozenset(names) for name, names in wanted.items()}
        self._unlisted = {}
        keys = {policy.key for policy in policies}
        self._made = {key: made for key, made in self._made.items() if key in keys}
        if fewer:
            self._forget(fewer)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="workloads")
        elif more:
            self._forget(more)
            await self._list(more)
        await self._in_touch()

    async def read(self, policy: Policy) -> Workload | MissingWorkload:
        """Return a covered policy's workload with what is set in it, or what is missing.

        Raises:
            ApiServerError: the view is out of touch.
        """
        reference = policy.workload
        place, namespace = WorkloadPlace(reference.kind, reference.key), reference.key.namespace
        if namespace in self._unlisted:
            raise self._unlisted[namespace]
        for scope in (self._workloads[reference.kind], self._pods, self._maps):
            _check(scope, namespace)
        workload = max(self._workloads[reference.kind].at(place), key=lambda held: held.version, default=None)
        if workload is None:
            return workload_evidence.not_found(policy)
        pods = sorted(self._pods.at(place), key=lambda held: held.version)
        asked = (reference, policy.library, policy.env_names, policy.declared, trimming.names_of(policy))
        known = self._made.get(policy.key)
        if known is not None and known.asked == asked:
            parts = (workload, *pods, *self._data(namespace, known.maps).values())
            if len(parts) == len(known.parts) and all(a is b for a, b in zip(parts, known.parts, strict=True)):
                return known.found
        document, bodies = json.loads(workload.text), [json.loads(held.text) for held in pods]
        names = workload_evidence.config_maps_named(policy, document, bodies)
        if (refused := workload_evidence.too_many_config_maps(policy, document, names)) is not None:
            return refused
        if known is not None and not known.maps <= names:
            self._unname(policy.key, known.maps - names)
        await self._fetch(namespace, names)
        maps = self._data(namespace, names)
        there = {name: data for name, data in maps.items() if data is not None}
        found = workload_evidence.of(policy, document, bodies, there, template=workload.template)
        self._made[policy.key] = _Made(asked, (workload, *pods, *maps.values()), names, found)
        return found

    def sizes(self) -> dict[str, int]:
        """Return how many objects are held, how many ConfigMaps are known by name, and how many characters of text."""
        texts = [held.text for scope in (*self._workloads.values(), self._pods) for held in scope.everything()]
        objects = len(texts) + len(self._maps.everything())
        return {"objects": objects, "named": len(self._maps_named), "characters": sum(map(len, texts))}

    async def _watch(self) -> None:
        """Watch everything; ConfigMaps last, when it is known which of them are named."""
        first = [*self._workloads.values(), self._pods]
        parts = [part for scope in first for part in scope.parts()]
        async with asyncio.TaskGroup() as watching:
            for scope in first:
                watching.create_task(scope.run())
            for part in parts:
                await part.looked.wait()
            watching.create_task(self._maps.run())

    async def _list(self, namespaces: Sequence[str]) -> None:
        """List what is wanted more of; what fails is told by `read`, and tried again when policies are covered next."""
        scopes = [*self._workloads.values(), self._pods, self._maps]
        try:
            if len(namespaces) > LISTED_ALONE:
                for scope in scopes:
                    await scope.refresh()
                return
        except ApiServerError as error:
            self._unlisted = dict.fromkeys(namespaces, error)
            return
        for namespace in namespaces:
            try:
                for scope in scopes:
                    await scope.refresh_within(namespace)
            except ApiServerError as error:
                self._unlisted[namespace] = error

    async def _in_touch(self) -> None:
        """Wait until every watch is in touch, but not for long for those that are broken."""
        scopes = [*self._workloads.values(), self._pods, self._maps]
        watched = [part for scope in scopes for part in scope.parts()]
        while True:
            now_s = time.monotonic()
            out = [part for part in watched if not part.in_touch]
            self._out_of_touch_since_s = {
                id(part): self._out_of_touch_since_s.get(id(part), now_s) for part in out if part.trouble is not None
            }
            waiting = [
                part for part in out if now_s - self._out_of_touch_since_s.get(id(part), now_s) < self._patience_s
            ]
            if not waiting:
                return
            await asyncio.sleep(LOOK_S)

    async def _fetch(self, namespace: str, names: Iterable[str]) -> None:
        """Ask for ConfigMaps that nobody has named before: the watch has passed them over.

        Raises:
            ApiServerError: the API server did not answer.
        """
        for name in names:
            key = ObjectKey(namespace, name)
            if key in self._maps_named:
                continue
            with contextlib.suppress(api_paths.InvalidPathError):  # who writes a pod may write any name
                path = api_paths.item(api_paths.CONFIG_MAPS, name, namespace)
                self._maps_named.add(key)
                try:
                    body = await self._api.get(path)
                except BaseException:
                    self._maps_named.discard(key)
                    raise
                if body is not None:
                    self._maps.show(body)

    def _unname(self, policy: ObjectKey, names: Collection[str]) -> None:
        """Hold no more the ConfigMaps that a policy's containers named, and no other's name: names come and go."""
        others = [made.maps for key, made in self._made.items() if key.namespace == policy.namespace and key != policy]
        gone = {ObjectKey(policy.namespace, name) for name in set(names).difference(*others)}
        self._maps_named -= gone
        self._maps.forget(lambda held: held.place in gone)

    def _data(self, namespace: str, names: Collection[str]) -> dict[str, Mapping[str, str] | None]:
        """Return the data of ConfigMaps by name; None for one that is not there."""
        found: dict[str, Mapping[str, str] | None] = {}
        for name in sorted(names):
            held = next(iter(self._maps.at(ObjectKey(namespace, name))), None)
            found[name] = None if held is None else held.data
        return found

    def _forget(self, namespaces: Collection[str]) -> None:
        for scope in (*self._workloads.values(), self._pods):
            scope.forget(lambda held: held.place.key.namespace in namespaces)
        self._maps.forget(lambda held: held.place.namespace in namespaces)
        self._maps_named = {key for key in self._maps_named if key.namespace not in namespaces}

    def _workload(self, kind: str) -> Any:
        def keep(body: Mapping[str, Any]) -> Held | None:
            key = _key(body)
            names = self._names.get(key.namespace)
            if names is None:
                return None
            trimmed = trimming.workload(body, names, us=workload_evidence.US)
            template = manifests.fingerprint(body["spec"]["template"])
            return self._held(WorkloadPlace(kind, key), body, trimmed, template)

        return keep

    def _pod(self, body: Mapping[str, Any]) -> Held | None:
        namespace = body["metadata"]["namespace"]
        names, of = self._names.get(namespace), manifests.workload_of(body)
        if names is None or of is None:
            return None
        kind, name = of
        return self._held(WorkloadPlace(kind, ObjectKey(namespace, name)), body, trimming.pod(body, names))

    def _held(
        self, place: WorkloadPlace, body: Mapping[str, Any], trimmed: Mapping[str, Any], template: str = ""
    ) -> Held:
        if self._maps.as_of is None:
            self._maps_named |= {ObjectKey(place.key.namespace, name) for name in trimming.config_maps_named(trimmed)}
        text = json.dumps(trimmed, separators=(",", ":"))
        return Held(place, int(body["metadata"]["resourceVersion"]), text, template)

    def _map(self, body: Mapping[str, Any]) -> HeldMap | None:
        key = _key(body)
        return HeldMap(key, trimming.config_map(body.get("data") or {})) if key in self._maps_named else None


def _key(body: Mapping[str, Any]) -> ObjectKey:
    return ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])


def _check(scope: WatchedScope[Any], namespace: str) -> None:
    """Check that what is shown of a namespace is up to date.

    Raises:
        ApiServerError: it is not, and why.
    """
    part: Watched[Any] | None = scope.part(namespace)
    if part is not None and not part.in_touch:
        raise part.trouble or ApiServerError("the API server has not listed everything yet")
