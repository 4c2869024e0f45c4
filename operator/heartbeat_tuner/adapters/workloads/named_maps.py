"""The ConfigMaps that containers of policies take variables from, kept up to date by a watch.

Anybody who may write a pod may name any ConfigMap, and a ConfigMap may hold a megabyte. So of each that is named only
the keys are held that policies ask about, each up to some characters, and of a namespace no more ConfigMaps and keys
than its policies have a use for. What nobody has needed for a while is forgotten, and read again when it is needed.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource, WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.adapters.workloads import trimming
from heartbeat_tuner.domain.errors import TunerError
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.ports.wall_clock import Clock

PAGE: Final = 250
"""Objects per request of a list."""

MAPS: Final = 100
MAPS_PER_POLICY: Final = 8
"""ConfigMaps that are held of a namespace: a container has a few sources, and twice as many during a rollout."""

KEYS: Final = 1000
KEYS_PER_POLICY: Final = 64
"""Keys of them: at 256 characters of text 16 KiB for each policy."""

UNNEEDED_LOOKS: Final = 10
"""After so many looks at all policies, minutes, what none of them needed is forgotten."""

Keys = Mapping[str, frozenset[str]]
"""Keys by the name of their ConfigMap."""


class TooManyMapsError(TunerError):
    """A namespace's containers name more ConfigMaps or keys than are held of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class HeldMap:
    """What is held of a ConfigMap.

    Attributes:
        place: where it is.
        data: what is left of its data.
    """

    place: ObjectKey
    data: Mapping[str, str]


@dataclasses.dataclass(slots=True)
class _Named:
    """A ConfigMap that is named.

    Attributes:
        keys: those that are held of it, where it has them.
        needed: the look at which it was needed last.
    """

    keys: frozenset[str]
    needed: int


class NamedMaps:
    """ConfigMaps as a watch shows them.

    Args:
        api: the API server.
        clock: for the watch.
        namespaces: where; everywhere if empty.
    """

    def __init__(self, api: ObjectSource, clock: Clock, namespaces: Sequence[str]) -> None:
        self._api = api
        self._named: dict[str, dict[str, _Named]] = {}
        self._policies: Mapping[str, int] = {}
        self._look = 0
        kind = WatchedKind(api_paths.collection(api_paths.CONFIG_MAPS), page=PAGE)
        self.scope: WatchedScope[HeldMap] = WatchedScope(api, kind, self._keep, namespaces=namespaces, clock=clock)

    def begin(self, policies: Mapping[str, int]) -> None:
        """Begin a look at all policies, by their number in each namespace; forget what was of no use for long."""
        self._policies = policies
        self._look += 1
        oldest = self._look - UNNEEDED_LOOKS
        self._keep_only(lambda namespace, _, named: namespace in self._policies and named.needed >= oldest)

    def name(self, namespace: str, wanted: Keys) -> None:
        """Have ConfigMaps held by the first list, as far as there is room."""
        with contextlib.suppress(TooManyMapsError):
            self._add(namespace, wanted)

    async def need(self, namespace: str, wanted: Keys) -> None:
        """Have these keys of ConfigMaps in the view: what nobody has named before is asked for.

        Raises:
            TooManyMapsError: the namespace has no room for them.
            ApiServerError: the API server did not answer.
        """
        for name in self._add(namespace, wanted):
            with contextlib.suppress(api_paths.InvalidPathError):  # who writes a pod may write any name
                path = api_paths.item(api_paths.CONFIG_MAPS, name, namespace)
                try:
                    body = await self._api.get(path)
                except BaseException:
                    self._named.get(namespace, {}).pop(name, None)
                    raise
                if body is not None:
                    self.scope.show(body)

    def data(self, namespace: str, names: Iterable[str]) -> dict[str, Mapping[str, str] | None]:
        """Return the data of ConfigMaps by name; None for one that is not there."""
        maps: dict[str, Mapping[str, str] | None] = {}
        for name in sorted(names):
            held = next(iter(self.scope.at(ObjectKey(namespace, name))), None)
            maps[name] = None if held is None else held.data
        return maps

    def count(self) -> int:
        """Return how many ConfigMaps are known by name, whether they are there or not."""
        return sum(map(len, self._named.values()))

    def drop(self, namespace: str, names: Collection[str]) -> None:
        """Hold these ConfigMaps no more."""
        if not names:
            return
        gone = {ObjectKey(namespace, name) for name in names}
        self._keep_only(lambda where, name, _: ObjectKey(where, name) not in gone)

    def forget(self, namespaces: Collection[str]) -> None:
        """Hold nothing of these namespaces any more."""
        self._keep_only(lambda namespace, *_: namespace not in namespaces)

    def _add(self, namespace: str, wanted: Keys) -> list[str]:
        """Name ConfigMaps; return those of which more is wanted than before.

        Raises:
            TooManyMapsError: the namespace has no room for all of them: none is named.
        """
        known = self._named.get(namespace, {})
        after = {name: wanted[name] | (known[name].keys if name in known else frozenset()) for name in wanted}
        more = [name for name, keys in after.items() if name not in known or keys != known[name].keys]
        if more:
            self._check_room(namespace, {**{name: named.keys for name, named in known.items()}, **after})
            again = {ObjectKey(namespace, name) for name in more if name in known}
            if again:  # in a version that was seen already, of which too little is held
                self.scope.forget(lambda held: held.place in again)
        self._named.setdefault(namespace, {}).update({name: _Named(keys, self._look) for name, keys in after.items()})
        return more

    def _check_room(self, namespace: str, after: Keys) -> None:
        policies = self._policies.get(namespace, 0)
        most_maps, most_keys = MAPS + MAPS_PER_POLICY * policies, KEYS + KEYS_PER_POLICY * policies
        keys = sum(map(len, after.values()))
        if len(after) > most_maps or keys > most_keys:
            raise TooManyMapsError(
                f"containers of policies in namespace {namespace} name {len(after)} ConfigMaps with {keys} keys for "
                f"their variables, and no more than {most_maps} with {most_keys} keys are looked at; name fewer in env "
                f"and envFrom"
            )

    def _keep_only(self, condition: Callable[[str, str, _Named], bool]) -> None:
        """Hold on only to what meets a condition, by its namespace, its name and how it is named."""
        gone = {
            ObjectKey(namespace, name)
            for namespace, named in self._named.items()
            for name, named_map in named.items()
            if not condition(namespace, name, named_map)
        }
        if not gone:
            return
        for key in gone:
            del self._named[key.namespace][key.name]
        self._named = {namespace: named for namespace, named in self._named.items() if named}
        self.scope.forget(lambda held: held.place in gone)

    def _keep(self, body: Mapping[str, Any]) -> HeldMap | None:
        key = ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])
        named = self._named.get(key.namespace, {}).get(key.name)
        return None if named is None else HeldMap(key, trimming.config_map(body.get("data") or {}, named.keys))
