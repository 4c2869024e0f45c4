"""Slots for who only looks, kept up to date by watches: of Leases its own, of pods the one of `live_workloads`.

Leases are watched from the first look on: where no policy gives ids there is none. Held are those at the places that
are asked for, however many others somebody writes.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from heartbeat_tuner.adapters.kubernetes import fresh_watches
from heartbeat_tuner.adapters.kubernetes.fresh_watches import FreshWatches
from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.adapters.slots.slot_leases import LEASES, SeenSlot, seen_slot
from heartbeat_tuner.adapters.slots.slot_pods import SeenPod
from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.membership.values import SlotPod, View
from heartbeat_tuner.ports.wall_clock import Clock


class SlotPodsSeen(Protocol):
    """Who sees the pods."""

    async def slot_pods(self) -> Sequence[SeenPod]:
        """Return the pods that have a slot.

        Raises:
            ApiServerError: they are not known now.
        """
        ...


class LiveSlotViews:
    """All slots of an API server's cluster, in the namespaces of policies.

    Args:
        api: the API server.
        clock: tells as of when a view is.
        pods: sees the pods.
        namespaces: where; everywhere if empty.
        patience: how long a look waits for a watch that is broken.
    """

    def __init__(
        self,
        api: ObjectSource,
        clock: Clock,
        pods: SlotPodsSeen,
        *,
        namespaces: Sequence[str] = (),
        patience: timedelta,
    ) -> None:
        self._clock = clock
        self._pods = pods
        self._touch = FreshWatches(patience)
        self._places: frozenset[SlotPlace] = frozenset()
        self._leases = WatchedScope(api, LEASES, self._lease, namespaces=namespaces, clock=clock)
        self._watching: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch from the first look until the end of the context."""
        try:
            yield
        finally:
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.wait([self._watching])

    async def read(self, places: Collection[SlotPlace]) -> Mapping[SlotPlace, View]:
        """Return slots and pods at these places as they are now; places without either are left out.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        if self._watching is None:
            self._places = frozenset(places)
            self._watching = asyncio.create_task(self._leases.run(), name="slots")
        await self._touch.wait(self._leases.parts())
        fresh_watches.check_parts(self._leases.parts())
        await self._cover(frozenset(places))
        as_of = self._clock.now()
        pods: defaultdict[SlotPlace, list[SlotPod]] = defaultdict(list)
        for seen_pod in await self._pods.slot_pods():
            if seen_pod.place in self._places:
                pods[seen_pod.place].append(seen_pod.pod)
        views = {place: View([lease.slot for lease in self._leases.at(place)], pods[place], as_of) for place in places}
        return {place: view for place, view in views.items() if view.slots or view.pods}

    async def _cover(self, places: frozenset[SlotPlace]) -> None:
        """Hold what is at these places, and nowhere else.

        Raises:
            ApiServerError: the API server did not answer; the next look tries again.
        """
        before, self._places = self._places, places
        if before - places:
            self._leases.forget(lambda lease: lease.place not in places)
        for namespace in sorted({place.namespace for place in places - before}):
            try:
                await self._leases.refresh_within(namespace)
            except BaseException:
                self._places = before & places
                raise

    def _lease(self, body: Mapping[str, Any]) -> SeenSlot | None:
        lease = seen_slot(body)
        return lease if lease is not None and lease.place in self._places else None
