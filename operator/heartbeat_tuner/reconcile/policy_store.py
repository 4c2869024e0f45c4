"""The policies as the watch and the lists last showed them.

The watch puts objects in and takes them out, a list now and then mends what the watch missed, and the cycle takes a
snapshot. Our own status writes are put in too, so that the next cycle does not decide on a status that it has replaced
already. All of them may be late: what counts is the resource version, never the order of arrival.

Resource versions of one resource are comparable integers (a guarantee since Kubernetes 1.35, true before).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, Protocol

from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import WHOLE, Shard, Within, everywhere
from heartbeat_tuner.ports import Listing


@dataclasses.dataclass(frozen=True, slots=True)
class Debt:
    """A version that a list showed and the watch has not shown yet, and the moment (monotonic) since when."""

    version: int
    since_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class Mended:
    """What a list corrected."""

    missed: tuple[ObjectKey, ...]
    gone: tuple[ObjectKey, ...]


class PolicyView(Protocol):
    """The policies that one cycle looks at: those of one shard."""

    @property
    def shard(self) -> Shard:
        """Which one."""
        ...

    def snapshot(self) -> list[Mapping[str, Any]]:
        """Return them, in the order of their keys."""
        ...

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own."""
        ...


class PolicyStore:
    """Policies by namespace and name, each in its newest known version.

    Attributes:
        shard: everything.
    """

    shard: Final = WHOLE

    def __init__(self) -> None:
        self._bodies: dict[ObjectKey, Mapping[str, Any]] = {}
        self._deleted: dict[ObjectKey, int] = {}
        self._shown: dict[ObjectKey, int] = {}
        self._debts: dict[ObjectKey, Debt] = {}

    def put(self, body: Mapping[str, Any]) -> None:
        """Remember an object, unless a newer version of it, or its deletion, is known."""
        key = parsing.key_of(body)
        known = self._bodies.get(key)
        if known is not None and _version(known) > _version(body):
            return
        if self._deleted.get(key, 0) > _version(body):
            return
        self._deleted.pop(key, None)
        self._bodies[key] = body

    def show(self, body: Mapping[str, Any]) -> None:
        """Take an object from the watch."""
        self.put(body)
        self._has_shown(body)

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own, unless the object was deleted meanwhile."""
        known = self._bodies.get(parsing.key_of(body))
        if known is not None and known["metadata"]["uid"] == body["metadata"]["uid"]:
            self.put(body)

    def remove(self, body: Mapping[str, Any]) -> None:
        """Take a deletion from the watch; `body` carries the version of the deletion."""
        self._forget(parsing.key_of(body), _version(body))
        self._has_shown(body)

    def mend(self, listing: Listing, *, at_s: float) -> Mended:
        """Take in a list: what it lacks and was there before it is gone, what it shows newer than known was missed.

        Args:
            listing: all policies of one moment, which may lie before what the watch has shown.
            at_s: now, by a monotonic clock.
        """
        self._deleted = {key: version for key, version in self._deleted.items() if version > listing.version}
        listed = {parsing.key_of(body): body for body in listing.bodies}
        gone = [key for key, body in self._bodies.items() if key not in listed and _version(body) <= listing.version]
        for key in gone:
            self._forget(key, listing.version)
        missed = [key for key, body in listed.items() if self._is_news(key, body)]
        for body in listed.values():
            self.put(body)
        self._debts = {
            key: Debt(_version(body), self._debts[key].since_s if key in self._debts else at_s)
            for key, body in listed.items()
            if _version(body) > self._shown.get(key, 0) and key in self._bodies
        }
        self._shown = {key: version for key, version in self._shown.items() if key in self._bodies}
        return Mended(tuple(missed), tuple(gone))

    def groups(self, within: Within = everywhere) -> frozenset[tuple[str, str]]:
        """Return the namespace and the group of every policy in some namespaces."""
        specs = ((key.namespace, body.get("spec")) for key, body in self._bodies.items() if within(key.namespace))
        named = ((namespace, spec.get("groupId")) for namespace, spec in specs if isinstance(spec, Mapping))
        return frozenset((namespace, group) for namespace, group in named if isinstance(group, str))

    def watch_behind_s(self, now_s: float) -> float:
        """Return for how many seconds the watch has failed to show what a list did; 0 if it is not behind."""
        return max((now_s - debt.since_s for debt in self._debts.values()), default=0.0)

    def snapshot(self, within: Within = everywhere) -> list[Mapping[str, Any]]:
        """Return the objects of some namespaces, in the order of their keys."""
        return [self._bodies[key] for key in sorted(key for key in self._bodies if within(key.namespace))]

    def _forget(self, key: ObjectKey, version: int) -> None:
        known = self._bodies.get(key)
        if known is None or _version(known) <= version:
            self._bodies.pop(key, None)
            self._deleted[key] = max(version, self._deleted.get(key, 0))

    def _is_news(self, key: ObjectKey, body: Mapping[str, Any]) -> bool:
        known = self._bodies.get(key)
        return _version(body) > (self._deleted.get(key, 0) if known is None else _version(known))

    def _has_shown(self, body: Mapping[str, Any]) -> None:
        key, version = parsing.key_of(body), _version(body)
        self._shown[key] = max(version, self._shown.get(key, 0))
        if key in self._debts and self._debts[key].version <= version:
            del self._debts[key]


@dataclasses.dataclass(frozen=True, slots=True)
class StorePart:
    """The policies of one shard, in a store that has all of them.

    Attributes:
        store: has all.
        shard: which one.
    """

    store: PolicyStore
    shard: Shard

    def snapshot(self) -> list[Mapping[str, Any]]:
        """Return the objects of this shard, in the order of their keys."""
        return self.store.snapshot(self.shard.holds)

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own."""
        self.store.refresh(body)

    def groups(self) -> frozenset[tuple[str, str]]:
        """Return the namespace and the group of every policy of this shard."""
        return self.store.groups(self.shard.holds)


def _version(body: Mapping[str, Any]) -> int:
    return int(body["metadata"]["resourceVersion"])
