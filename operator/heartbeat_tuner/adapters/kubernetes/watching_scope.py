"""What the API server has of one kind in the namespaces that are looked after, or in all: a watch for each of them.

Where rights end at namespaces there is no watch over all of them. To who looks it makes no difference.
"""

import asyncio
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic

from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource, WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching import FIRST_PAUSE_S, Kept, WatchedObjects
from heartbeat_tuner.ports.wall_clock import Clock


class WatchedScope(Generic[Kept]):
    """Objects of one kind, as `WatchedObjects` has them.

    Args:
        api: one API server.
        kind: which objects.
        keep: an object to what is held of it; None for one that is of no interest.
        namespaces: where; everywhere if empty.
        clock: for `as_of`.
        changed: called with what is held of an object after each change, with the last state of one that vanished.
        vanished: called with the uid and the last state of what was held and is selected no more.
        pause_s: before a watch is opened again.
    """

    def __init__(
        self,
        api: ObjectSource,
        kind: WatchedKind,
        keep: Callable[[Mapping[str, Any]], Kept | None],
        *,
        namespaces: Sequence[str],
        clock: Clock,
        changed: Callable[[Kept], None] = lambda _held: None,
        vanished: Callable[[str, Kept], None] = lambda _uid, _last: None,
        pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        def watched(watched_kind: WatchedKind) -> WatchedObjects[Kept]:
            return WatchedObjects(
                api, watched_kind, keep, clock=clock, changed=changed, vanished=vanished, pause_s=pause_s
            )

        self._parts = {namespace: watched(kind.within(namespace)) for namespace in namespaces} or {"": watched(kind)}

    @property
    def as_of(self) -> datetime | None:
        """When the oldest of the last full lists was asked for; None before all were there."""
        moments = [part.as_of for part in self._parts.values()]
        known = [moment for moment in moments if moment is not None]
        return min(known) if len(known) == len(moments) else None

    @property
    def in_touch(self) -> bool:
        """Whether the view is kept up to date everywhere now."""
        return all(part.in_touch for part in self._parts.values())

    def at(self, place: Hashable) -> Collection[Kept]:
        """Return what is held at a place."""
        return [held for part in self._parts.values() for held in part.at(place)]

    def everything(self) -> Collection[Kept]:
        """Return all that is held."""
        return [held for part in self._parts.values() for held in part.everything()]

    async def run(self) -> None:
        """List and watch until cancelled; failures are told and tried again."""
        async with asyncio.TaskGroup() as watching:
            for part in self._parts.values():
                watching.create_task(part.run())

    async def refresh(self) -> None:
        """List everything.

        Raises:
            ApiServerError: the API server did not answer.
        """
        for part in self._parts.values():
            await part.refresh()

    async def refresh_within(self, namespace: str) -> None:
        """List what is in one namespace: what `keep` wants has become more there.

        Raises:
            ApiServerError: the API server did not answer.
        """
        if namespace in self._parts:
            await self._parts[namespace].refresh()
        elif "" in self._parts:
            await self._parts[""].refresh_within(namespace)

    def forget(self, condition: Callable[[Kept], bool]) -> None:
        """Hold no more what meets a condition, as if it had never been seen."""
        for part in self._parts.values():
            part.forget(condition)

    def part(self, namespace: str) -> WatchedObjects[Kept] | None:
        """Return the view that a namespace is in; None if it is in none."""
        return self._parts.get(namespace) or self._parts.get("")

    def parts(self) -> Collection[WatchedObjects[Kept]]:
        """Return all views."""
        return self._parts.values()

    def show(self, body: Mapping[str, Any]) -> None:
        """Take an object as the API server has just given it to us, before the watch brings it."""
        part = self.part(body["metadata"]["namespace"])
        if part is not None:
            part.show(body)
