"""Pods that have a slot, as the rules of slots want them: seen through a watch, and remembered when they are gone.

A watch that selects by a label says of a pod that lost the label that it was deleted. So a pod that vanishes is asked
for by name: as long as the API server has it, it counts as it was last seen.
"""

import asyncio
import collections
import contextlib
import dataclasses
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource, WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching import FIRST_PAUSE_S
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.membership.limits import MOST_PODS
from heartbeat_tuner.membership.values import ContainerEnd, Deletion, SlotPod
from heartbeat_tuner.ports.wall_clock import Clock

STILL_THERE_PAUSE_S: Final = 10.0
"""Before a pod that is there without its label is asked for again."""

CACHED_PODS: Final = timedelta(hours=1)
"""How long a pod that is gone is known to be; its slot is settled within seconds where the API server answers."""

AT_ONCE: Final = 20
"""Pods of one namespace that are asked for in one go, and again while they are still there."""

_ENDED: Final = frozenset({"Succeeded", "Failed"})

_log = structlog.get_logger()

PODS: Final = WatchedKind(api_paths.collection(api_paths.PODS), slot_names.SLOT_LABEL)
"""Those that have a slot."""


@dataclasses.dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod as it was seen.

    Attributes:
        place: of its slot.
        pod: what the rules know of it.
    """

    place: SlotPlace
    pod: SlotPod


class WatchedSlotPods:
    """All pods that carry a slot's label, and those of them that are gone.

    Args:
        api: one API server.
        namespaces: where; everywhere if empty.
        clock: for the watch, and for what is remembered.
        changed: called with the place of a pod that changed.
        still_there_pause_s: before a pod that is there without its label is asked for again.
        watch_pause_s: before a watch is opened again.
    """

    def __init__(
        self,
        api: ObjectSource,
        *,
        namespaces: Sequence[str] = (),
        clock: Clock,
        changed: Callable[[SlotPlace], None],
        still_there_pause_s: float = STILL_THERE_PAUSE_S,
        watch_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._api = api
        self._clock = clock
        self._changed = changed
        self._still_there_pause_s = still_there_pause_s
        self._gone: dict[SlotPlace, dict[str, SlotPod]] = {}
        self._gone_since: dict[str, collections.deque[tuple[datetime, SlotPlace, str]]] = {}
        self._doubtful: dict[SlotPlace, dict[str, SeenPod]] = {}
        self._to_ask = TurnByTurn()
        self._still_there = TurnByTurn()
        self._news = asyncio.Event()
        self.watched = WatchedScope(
            api,
            PODS,
            seen_pod,
            namespaces=namespaces,
            clock=clock,
            changed=lambda pod: changed(pod.place),
            vanished=self._vanished,
            pause_s=watch_pause_s,
        )

    def at(self, place: SlotPlace, *, named: AbstractSet[str] | None = None) -> Sequence[SlotPod]:
        """Return the pods of a place, `MOST_PODS` and one more at most.

        Args:
            place: whose pods.
            named: tokens; of the pods that are gone only those with one of these are returned. All of them if None.
        """
        gone = (slot_pod for slot_pod in self._gone.get(place, {}).values() if named is None or slot_pod.token in named)
        seen = itertools.chain(self.watched.at(place), self._doubtful.get(place, {}).values())
        pods = itertools.chain((seen_pod.pod for seen_pod in seen), gone)
        return list({slot_pod.uid: slot_pod for slot_pod in itertools.islice(pods, MOST_PODS + 1)}.values())

    def gated(self) -> Sequence[SeenPod]:
        """Return the pods that wait for their slot."""
        return [
            seen_pod for seen_pod in self.watched.everything() if seen_pod.pod.gated and seen_pod.pod.deletion is None
        ]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self.watched.run())
            both.create_task(self._ask_for_the_vanished())

    def _vanished(self, uid: str, last: SeenPod) -> None:
        self._doubtful.setdefault(last.place, {})[uid] = last
        self._to_ask.put(last.place.namespace, (uid, last))
        self._news.set()

    async def _ask_for_the_vanished(self) -> None:
        again_s = time.monotonic()
        while True:
            # Who has just vanished is not kept waiting by one that is still there: a pod may wait for its slot.
            pause_s = max(again_s - time.monotonic(), 0.0) if self._still_there else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause_s)
            self._news.clear()
            if time.monotonic() >= again_s:
                for namespace, entry in self._still_there.take(AT_ONCE):
                    self._to_ask.put(namespace, entry)
                again_s = time.monotonic() + self._still_there_pause_s
            for _, (uid, last) in self._to_ask.take(AT_ONCE):
                await self._ask_for(uid, last)
            if self._to_ask:
                self._news.set()  # the others, after those that have vanished meanwhile
            self._forget_the_old()

    async def _ask_for(self, uid: str, last: SeenPod) -> None:
        place = last.place
        if uid not in self._doubtful.get(place, {}):
            return  # it vanished twice, and the first answer said all
        try:
            body = await self._api.get(api_paths.item(api_paths.PODS, last.pod.name, place.namespace))
        except ApiServerError as error:
            _log.warning("not known whether a pod is gone", pod=last.pod.name, error=str(error))
            self._still_there.put(place.namespace, (uid, last))
            return
        if body is not None and body["metadata"]["uid"] == uid:
            self._forget_doubt(place, uid)
            seen = _seen_again(body, last)
            self._doubtful.setdefault(seen.place, {})[uid] = seen
            self._still_there.put(place.namespace, (uid, seen))
            return
        self._forget_doubt(place, uid)
        self._gone.setdefault(place, {})[uid] = dataclasses.replace(last.pod, gone=True)
        self._gone_since.setdefault(place.namespace, collections.deque()).append((self._clock.now(), place, uid))
        self._changed(place)

    def _forget_doubt(self, place: SlotPlace, uid: str) -> None:
        del self._doubtful[place][uid]
        if not self._doubtful[place]:
            del self._doubtful[place]

    def _forget_the_old(self) -> None:
        oldest = self._clock.now() - CACHED_PODS
        for namespace, since in list(self._gone_since.items()):
            while since and (since[0][0] <= oldest or len(since) > MOST_PODS):
                _, place, uid = since.popleft()
                del self._gone[place][uid]
                if not self._gone[place]:
                    del self._gone[place]
            if not since:
                del self._gone_since[namespace]


class TurnByTurn:
    """Pods to be asked for, of each namespace in its turn: who deletes thousands of them delays nobody else's."""

    def __init__(self) -> None:
        self._queues: dict[str, collections.deque[tuple[str, SeenPod]]] = {}

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._queues)

    def put(self, namespace: str, entry: tuple[str, SeenPod]) -> None:
        """Add an entry behind those of its namespace."""
        self._queues.setdefault(namespace, collections.deque()).append(entry)

    def take(self, most: int) -> Sequence[tuple[str, tuple[str, SeenPod]]]:
        """Return so many of each namespace at most, one of each namespace after the other."""
        rounds = [list(itertools.islice(queue, most)) for queue in self._queues.values()]
        names = list(self._queues)
        for name, taken in zip(names, rounds, strict=True):
            for _ in taken:
                self._queues[name].popleft()
            if not self._queues[name]:
                del self._queues[name]
        return [
            (name, taken[turn])
            for turn in range(max(map(len, rounds), default=0))
            for name, taken in zip(names, rounds, strict=True)
            if turn < len(taken)
        ]


def seen_pod(body: Mapping[str, Any]) -> SeenPod | None:
    """Return what is seen of a pod; None if none of its containers has a slot's id.

    Other values may look like an id, a version with a commit and a number, say. The one that has the name of the pod's
    workload counts first, then the one that has the number in its label; both can be changed by hand.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    candidates = [
        (*parsed, container["name"])
        for container in spec["containers"]
        for entry in container.get("env") or ()
        if (parsed := slot_names.parse(metadata["namespace"], entry.get("value") or "")) is not None
    ]
    if not candidates:
        return None
    workload = slot_names.workload_of_replicas(metadata)
    label = (metadata.get("labels") or {}).get(slot_names.SLOT_LABEL)

    def likeness(slot_places: tuple[SlotPlace, int, str]) -> tuple[bool, bool]:
        place, number, _ = slot_places
        return workload is not None and place.is_of(workload[1]), str(number) == label

    place, number, container = max(candidates, key=likeness)
    return SeenPod(place, _pod(metadata, spec, status, number, container))


def _seen_again(body: Mapping[str, Any], last: SeenPod) -> SeenPod:
    """Return a pod as it is now; as it was seen last where it has no id any more, or is not understood."""
    try:
        return seen_pod(body) or last
    except Exception:  # noqa: BLE001 - what one tenant's pod says must not end the looking at all others
        _log.exception("not understood", namespace=last.place.namespace, pod=last.pod.name)
        return last


def _pod(
    metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any], number: int, container: str
) -> SlotPod:
    phase = status.get("phase", "Pending")
    states = {entry["name"]: entry for entry in status.get("containerStatuses") or ()}
    ours = states.get(container, {})
    final = "deletionTimestamp" in metadata or phase in _ENDED
    all_ended = all("terminated" in (state.get("state") or {}) for state in states.values())
    return SlotPod(
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        token=(metadata.get("annotations") or {}).get(slot_names.TOKEN_ANNOTATION, ""),
        slot=number,
        gated=any(gate["name"] == slot_names.GATE for gate in spec.get("schedulingGates") or ()),
        bound=bool(spec.get("nodeName")),
        phase=phase,
        containers_ended=phase in _ENDED and all_ended,
        deletion=_deletion(metadata),
        end=_end(ours) if final else None,
        restarted=ours.get("restartCount", 0) > 0,
    )


def _deletion(metadata: Mapping[str, Any]) -> Deletion | None:
    if "deletionTimestamp" not in metadata:
        return None
    # Who deletes a pod may give it any grace, and the API server computes with no more than this itself.
    grace_s = min(max(metadata.get("deletionGracePeriodSeconds") or 0, 0), durations.LONGEST.total_seconds())
    return Deletion(datetime.fromisoformat(metadata["deletionTimestamp"]), timedelta(seconds=grace_s))


def _end(container: Mapping[str, Any]) -> ContainerEnd | None:
    ended = (container.get("state") or {}).get("terminated")
    if ended is None or not ended.get("startedAt") or not ended.get("finishedAt"):
        return None
    ran_for = datetime.fromisoformat(ended["finishedAt"]) - datetime.fromisoformat(ended["startedAt"])
    return ContainerEnd(ended["exitCode"], ran_for)
