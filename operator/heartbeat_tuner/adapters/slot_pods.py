"""Pods that have a slot, as the rules of slots want them: seen through a watch, and remembered when they are gone.

A watch that selects by a label says of a pod that lost the label that it was deleted. So whoever vanishes is asked for
by name: as long as the API server has it, it counts as it was last seen.
"""

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from heartbeat_tuner.adapters.watching import FIRST_PAUSE_S, Kind, Source
from heartbeat_tuner.adapters.watching_scope import WatchedScope
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import SlotPlace
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.membership.values import ContainerEnd, Deletion, Pod
from heartbeat_tuner.ports import Clock

STILL_THERE_PAUSE_S: Final = 10.0
"""Before a pod that is there without its label is asked for again."""

REMEMBERED: Final = timedelta(hours=1)
"""How long a pod that is gone is known to be; its slot is settled within seconds where the API server answers."""

_ENDED: Final = frozenset({"Succeeded", "Failed"})

_log = structlog.get_logger()

PODS: Final = Kind("/api/v1/pods", slot_names.SLOT_LABEL)
"""Those that have a slot."""


@dataclasses.dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod as it was seen.

    Attributes:
        place: of its slot.
        pod: what the rules know of it.
    """

    place: SlotPlace
    pod: Pod


class SlotPods:
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
        api: Source,
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
        self._gone: dict[SlotPlace, dict[str, Pod]] = {}
        self._gone_since: collections.deque[tuple[datetime, SlotPlace, str]] = collections.deque()
        self._doubtful: dict[str, SeenPod] = {}
        self._news = asyncio.Event()
        self.watched = WatchedScope(
            api,
            PODS,
            seen_pod,
            namespaces=namespaces,
            clock=clock,
            changed=lambda one: changed(one.place),
            vanished=self._vanished,
            pause_s=watch_pause_s,
        )

    def at(self, place: SlotPlace) -> Sequence[Pod]:
        """Return the pods of a place, those that are gone among them."""
        doubtful = (one for one in self._doubtful.values() if one.place == place)
        known = {one.pod.uid: one.pod for one in (*self.watched.at(place), *doubtful)}
        return list({**known, **self._gone.get(place, {})}.values())

    def gated(self) -> Sequence[SeenPod]:
        """Return the pods that wait for their slot."""
        return [one for one in self.watched.everything() if one.pod.gated and one.pod.deletion is None]

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self.watched.run())
            both.create_task(self._ask_for_the_vanished())

    def _vanished(self, uid: str, last: SeenPod) -> None:
        self._doubtful[uid] = last
        self._news.set()

    async def _ask_for_the_vanished(self) -> None:
        while True:
            # Who has just vanished is not kept waiting by one that is still there: a pod may wait for its slot.
            pause_s = self._still_there_pause_s if self._doubtful else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause_s)
            self._news.clear()
            for uid, last in list(self._doubtful.items()):
                await self._ask_for(uid, last)
            self._forget_the_old()

    async def _ask_for(self, uid: str, last: SeenPod) -> None:
        try:
            body = await self._api.get(f"/api/v1/namespaces/{last.place.namespace}/pods/{last.pod.name}")
        except ApiServerError as error:
            _log.warning("not known whether a pod is gone", pod=last.pod.name, error=str(error))
            return
        if body is not None and body["metadata"]["uid"] == uid:
            self._doubtful[uid] = _seen_again(body, last)
            return
        del self._doubtful[uid]
        self._gone.setdefault(last.place, {})[uid] = dataclasses.replace(last.pod, gone=True)
        self._gone_since.append((self._clock.now(), last.place, uid))
        self._changed(last.place)

    def _forget_the_old(self) -> None:
        oldest = self._clock.now() - REMEMBERED
        while self._gone_since and self._gone_since[0][0] <= oldest:
            _, place, uid = self._gone_since.popleft()
            del self._gone[place][uid]
            if not self._gone[place]:
                del self._gone[place]


def seen_pod(body: Mapping[str, Any]) -> SeenPod | None:
    """Return what is seen of a pod; None if none of its containers has a slot's id.

    Other values may look like an id, a version with a commit and a number, say. The one that has the name of the pod's
    Deployment counts first, then the one that has the number in its label; both can be changed by hand.
    """
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    found = [
        (*one, container["name"])
        for container in spec["containers"]
        for entry in container.get("env") or ()
        if (one := slot_names.parse(metadata["namespace"], entry.get("value") or "")) is not None
    ]
    if not found:
        return None
    deployment = slot_names.deployment_of(metadata)
    label = (metadata.get("labels") or {}).get(slot_names.SLOT_LABEL)

    def likeness(one: tuple[SlotPlace, int, str]) -> tuple[bool, bool]:
        place, number, _ = one
        return deployment is not None and place.is_of(deployment), str(number) == label

    place, number, container = max(found, key=likeness)
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
) -> Pod:
    phase = status.get("phase", "Pending")
    states = {one["name"]: one for one in status.get("containerStatuses") or ()}
    ours = states.get(container, {})
    final = "deletionTimestamp" in metadata or phase in _ENDED
    all_ended = all("terminated" in (one.get("state") or {}) for one in states.values())
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        token=(metadata.get("annotations") or {}).get(slot_names.TOKEN_ANNOTATION, ""),
        slot=number,
        gated=any(one["name"] == slot_names.GATE for one in spec.get("schedulingGates") or ()),
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
    # Who deletes a pod may give it any grace, and the API server reckons with no more than this itself.
    grace_s = min(max(metadata.get("deletionGracePeriodSeconds") or 0, 0), durations.LONGEST.total_seconds())
    return Deletion(datetime.fromisoformat(metadata["deletionTimestamp"]), timedelta(seconds=grace_s))


def _end(container: Mapping[str, Any]) -> ContainerEnd | None:
    ended = (container.get("state") or {}).get("terminated")
    if ended is None or not ended.get("startedAt") or not ended.get("finishedAt"):
        return None
    ran_for = datetime.fromisoformat(ended["finishedAt"]) - datetime.fromisoformat(ended["startedAt"])
    return ContainerEnd(ended["exitCode"], ran_for)
