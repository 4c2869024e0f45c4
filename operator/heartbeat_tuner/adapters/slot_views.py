"""Slots for who only looks: a list of Leases, and one of the pods that have a slot."""

from collections.abc import Mapping, Sequence

from heartbeat_tuner.adapters.slot_pods import PODS, SeenPod, seen_pod
from heartbeat_tuner.adapters.slots import LEASES, SeenSlot, seen_slot
from heartbeat_tuner.adapters.watching import Source
from heartbeat_tuner.adapters.watching_scope import WatchedScope
from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.membership.values import View
from heartbeat_tuner.ports import Clock


class KubernetesSlotViews:
    """All slots of an API server's cluster.

    Args:
        api: the API server.
        clock: tells as of when a view is.
        namespaces: where; everywhere if empty.
    """

    def __init__(self, api: Source, clock: Clock, namespaces: Sequence[str] = ()) -> None:
        self._api = api
        self._namespaces = namespaces
        self._clock = clock

    async def read(self) -> Mapping[SlotPlace, View]:
        """Return all slots and their pods as they are now; places without either are left out.

        Raises:
            ApiServerError: the API server did not answer, or refused.
        """
        as_of = self._clock.now()
        there = self._namespaces
        leases: WatchedScope[SeenSlot] = WatchedScope(self._api, LEASES, seen_slot, namespaces=there, clock=self._clock)
        pods: WatchedScope[SeenPod] = WatchedScope(self._api, PODS, seen_pod, namespaces=there, clock=self._clock)
        await leases.refresh()
        await pods.refresh()
        places = {one.place for one in leases.everything()} | {one.place for one in pods.everything()}
        return {
            place: View([one.slot for one in leases.at(place)], [one.pod for one in pods.at(place)], as_of)
            for place in places
        }
