"""The policies as the watch and the lists last showed them.

The watch puts objects in and takes them out, a list now and then repairs what the watch missed, and the cycle takes a
snapshot. Our own status writes are put in too, so that the next cycle does not decide on a status that it has replaced
already. All of them may be late: what counts is the resource version, never the order of arrival.

Resource versions of one resource are comparable integers (a guarantee since Kubernetes 1.35, true before).

Held is what `api.held_policy` leaves of an object, whatever is put in: no copy of what the API server sent.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from heartbeat_tuner.api import parsing
from heartbeat_tuner.api.held_policy import HeldPolicy
from heartbeat_tuner.domain.policies import ObjectKey
from heartbeat_tuner.domain.shards import WHOLE, Installation, Shard, Within, everywhere
from heartbeat_tuner.reconcile.installations.namespace_owners import StatusClaim


@dataclasses.dataclass(frozen=True, slots=True)
class Debt:
    """A version that a list showed and the watch has not shown yet, and the moment (monotonic) since when."""

    version: int
    since_s: float


class PolicyView(Protocol):
    """The policies that one cycle looks at: those of one shard."""

    @property
    def shard(self) -> Shard:
        """Which one."""
        ...

    @property
    def installation(self) -> Installation | None:
        """Who looks after them, as their statuses are to say; None where nothing is said of it."""
        ...

    def is_ours(self, namespace: str, /) -> bool:
        """Whether that installation looks after a namespace, and no other one."""
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
        installation: nobody's.
        interrupted: set when the watch has begun again after an error; it does not show what was deleted meanwhile.
    """

    shard: Final = WHOLE
    installation: Final = None

    def __init__(self) -> None:
        self._held: dict[ObjectKey, HeldPolicy] = {}
        self._deleted: dict[ObjectKey, int] = {}
        self._shown: dict[ObjectKey, int] = {}
        self._debts: dict[ObjectKey, Debt] = {}
        self._edited: dict[ObjectKey, int] = {}
        self.interrupted = asyncio.Event()

    is_ours = staticmethod(everywhere)

    def put(self, body: Mapping[str, Any]) -> None:
        """Remember an object, unless a newer version of it, or its deletion, is known."""
        key, version = parsing.key_of(body), _version(body)
        known = self._held.get(key)
        if known is not None and known.version > version:
            return
        if self._deleted.get(key, 0) > version:
            return
        self._deleted.pop(key, None)
        self._held[key] = HeldPolicy.of(body)

    def show(self, body: Mapping[str, Any], *, is_listed: bool = False) -> None:
        """Take an object from the watch.

        Args:
            body: the object.
            is_listed: whether it is of the list with which the watch begins: what was shown before is shown again then.
        """
        key = parsing.key_of(body)
        if is_listed and key in self._shown:
            self.interrupted.set()
        known = self._held.get(key)
        self.put(body)
        self._has_shown(body)
        held = self._held.get(key)
        if held is not None and (known is None or _spec_of(known) != _spec_of(held)):
            self._edited[key] = held.version

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own, unless the object was deleted meanwhile."""
        known = self._held.get(parsing.key_of(body))
        if known is not None and known.metadata["uid"] == body["metadata"]["uid"]:
            self.put(body)

    def remove(self, body: Mapping[str, Any]) -> None:
        """Take a deletion from the watch; `body` carries the version of the deletion."""
        self._forget(parsing.key_of(body), _version(body))
        self._has_shown(body)

    def groups(self, within: Within = everywhere) -> frozenset[tuple[str, str]]:
        """Return the namespace and the group of every policy in some namespaces."""
        specs = ((key.namespace, held.get("spec")) for key, held in self._held.items() if within(key.namespace))
        named = ((namespace, spec.get("groupId")) for namespace, spec in specs if isinstance(spec, Mapping))
        return frozenset((namespace, group) for namespace, group in named if isinstance(group, str))

    def edited(self, within: Within = everywhere) -> dict[ObjectKey, int]:
        """Return the policies of some namespaces that were made or edited and not looked at since, with the version."""
        return {key: version for key, version in self._edited.items() if within(key.namespace)}

    def begin_cycle(self, within: Within = everywhere) -> None:
        """Take all edits in some namespaces for seen: a cycle looks at them now."""
        self.begin_look(self.edited(within))

    def begin_look(self, keys: Iterable[ObjectKey]) -> None:
        """Take the edits of these policies for seen: they are looked at now."""
        for key in keys:
            self._edited.pop(key, None)

    def watch_behind_s(self, now_s: float) -> float:
        """Return for how many seconds the watch has failed to show what a list did; 0 if it is not behind."""
        return max((now_s - debt.since_s for debt in self._debts.values()), default=0.0)

    def snapshot(self, within: Within = everywhere) -> list[Mapping[str, Any]]:
        """Return the objects of some namespaces, in the order of their keys."""
        return [self._held[key] for key in sorted(key for key in self._held if within(key.namespace))]

    def get(self, key: ObjectKey) -> Mapping[str, Any] | None:
        """Return an object; None if there is none."""
        return self._held.get(key)

    def has_claims_of_others(self, name: str, within: Within = everywhere) -> bool:
        """Whether a status in some namespaces was written by another installation than the one of this name."""
        return any(
            held.installation is not None and held.installation.name != name and within(key.namespace)
            for key, held in self._held.items()
        )

    def claims(self, within: Within = everywhere) -> list[StatusClaim]:
        """Return which installation wrote each status in some namespaces, as far as the status says so."""
        return [
            StatusClaim(key, held.metadata["creationTimestamp"], held.installation)
            for key, held in self._held.items()
            if held.installation is not None and within(key.namespace)
        ]

    def is_news(self, body: Mapping[str, Any]) -> bool:
        """Whether this version of an object is newer than all that is known of it."""
        key = parsing.key_of(body)
        known = self._held.get(key)
        return _version(body) > (self._deleted.get(key, 0) if known is None else known.version)

    def close(self, listed: Mapping[ObjectKey, int], version: int, *, at_s: float) -> list[ObjectKey]:
        """Forget what a whole list lacks, and note what the watch owes; return what is gone.

        Args:
            listed: the versions that the list showed, all put in already.
            version: of the moment of the list: what is newer is not in it.
            at_s: now, by a monotonic clock.
        """
        self._deleted = {key: since for key, since in self._deleted.items() if since > version}
        gone = [key for key, held in self._held.items() if key not in listed and held.version <= version]
        for key in gone:
            self._forget(key, version)
        self._debts = {
            key: Debt(shown, self._debts[key].since_s if key in self._debts else at_s)
            for key, shown in listed.items()
            if shown > self._shown.get(key, 0) and key in self._held
        }
        self._shown = {key: shown for key, shown in self._shown.items() if key in self._held}
        return gone

    def _forget(self, key: ObjectKey, version: int) -> None:
        known = self._held.get(key)
        if known is None or known.version <= version:
            self._held.pop(key, None)
            self._edited.pop(key, None)
            self._deleted[key] = max(version, self._deleted.get(key, 0))

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
        installation: who looks after them; None where statuses do not say it.
        is_ours: whether that installation looks after a namespace.
    """

    store: PolicyStore
    shard: Shard
    installation: Installation | None = None
    is_ours: Within = everywhere

    def _within(self, namespace: str) -> bool:
        return self.shard.holds(namespace) and self.is_ours(namespace)

    def snapshot(self) -> list[Mapping[str, Any]]:
        """Return the objects of this shard, in the order of their keys."""
        return self.store.snapshot(self._within)

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own."""
        self.store.refresh(body)

    def has_claims_of_others(self, name: str) -> bool:
        """Whether a status of this shard was written by another installation than the one of this name."""
        return self.store.has_claims_of_others(name, self.shard.holds)

    def claims(self) -> list[StatusClaim]:
        """Return which installation wrote each status of this shard, also where another owns the namespace."""
        return self.store.claims(self.shard.holds)

    def edited(self) -> dict[ObjectKey, int]:
        """Return the policies of this shard that were made or edited and not looked at since, with the version."""
        return self.store.edited(self._within)

    def begin_cycle(self) -> None:
        """Take all edits in this shard for seen."""
        self.store.begin_cycle(self._within)

    def begin_look(self, keys: Iterable[ObjectKey]) -> None:
        """Take the edits of these policies for seen."""
        self.store.begin_look(keys)

    def groups(self) -> frozenset[tuple[str, str]]:
        """Return the namespace and the group of every policy of this shard."""
        return self.store.groups(self._within)


def _version(body: Mapping[str, Any]) -> int:
    return int(body["metadata"]["resourceVersion"])


def _spec_of(held: HeldPolicy) -> tuple[str, int]:
    """Return what tells one spec from another: a policy that is made again begins at the same generation."""
    return held.metadata["uid"], held.metadata["generation"]
