"""What the API server has of one kind, kept up to date: listed once, then watched.

Only what `keep` makes of an object is held. A watch that ends as it should goes on where it was; after a failure
everything is listed again. While it is out of touch, the last view stays, and `in_touch` says so. A list may be asked
for at any time beside the watch: of two states of an object the newer one counts, whichever way it came. An object that
is not understood any more is held as it was last understood, until it is gone: who can spoil an object cannot make it
forgotten.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Collection, Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.listing import ObjectSource, WatchedKind, pages
from heartbeat_tuner.domain.errors import ApiServerError
from heartbeat_tuner.ports.wall_clock import Clock

SERVER_TIMEOUT_S: Final = 240
SILENCE: Final = timedelta(seconds=90)
"""The API server sends a bookmark about every minute."""

MOST_DELETED: Final = 10_000
"""Deletions that are remembered: those of some seconds, in which a list may be under way that was asked for before."""

FIRST_PAUSE_S: Final = 0.2
"""Before a watch is opened again."""

LONGEST_PAUSE_S: Final = 10.0

_log = structlog.get_logger()


class Placed(Protocol):
    """What is held of an object."""

    @property
    def place(self) -> Hashable:
        """Where it is looked for; another state of the object may have another."""
        ...


Kept = TypeVar("Kept", bound=Placed)


class WatchedObjects(Generic[Kept]):
    """All objects of one kind that a selector selects, as far as `keep` wants them.

    Args:
        api: one API server.
        kind: which objects.
        keep: an object to what is held of it; None for one that is of no interest.
        clock: for `as_of`.
        changed: called with what is held of an object after each change, with the last state of one that vanished.
        vanished: called with the uid and the last state of what was held and is selected no more.
        pause_s: before a watch is opened again; after failures in a row more and more.

    Attributes:
        as_of: when the last full list was asked for; None before the first.
        in_touch: whether the view is kept up to date now.
        trouble: why it is not, as far as that is known.
        looked: set as soon as the first list has come, or has failed.
    """

    def __init__(
        self,
        api: ObjectSource,
        kind: WatchedKind,
        keep: Callable[[Mapping[str, Any]], Kept | None],
        *,
        clock: Clock,
        changed: Callable[[Kept], None] = lambda _held: None,
        vanished: Callable[[str, Kept], None] = lambda _uid, _last: None,
        pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._api = api
        self._path = kind.path
        self._may_be_missing = kind.may_be_missing
        self._page = kind.page
        self._keep = keep
        self._clock = clock
        self._query = {"labelSelector": kind.selector} if kind.selector else {}
        self._changed = changed
        self._vanished = vanished
        self._pause_s = pause_s
        self._version = ""
        self._held: dict[str, tuple[int, Kept]] = {}
        self._deleted: dict[str, int] = {}
        self._places: dict[Hashable, dict[str, Kept]] = {}
        self.as_of: datetime | None = None
        self.in_touch = False
        self.trouble: ApiServerError | None = None
        self.looked = asyncio.Event()

    def at(self, place: Hashable) -> Collection[Kept]:
        """Return what is held at a place."""
        return self._places.get(place, {}).values()

    def everything(self) -> Collection[Kept]:
        """Return all that is held."""
        return [held for _, held in self._held.values()]

    async def run(self) -> None:
        """List and watch until cancelled; failures are told and tried again."""
        pause_s = self._pause_s
        while True:
            try:
                self._version = await self.refresh()
                self.in_touch, self.trouble = True, None
                self.looked.set()
                while self._version:
                    pause_s = self._pause_s
                    await self._watch()
                    await asyncio.sleep(pause_s)  # where something in between ends each watch at once
            except ApiServerError as error:
                self.in_touch, self.trouble = False, error
                _log.warning("watch broken", path=self._path, error=str(error), again_in_s=pause_s)
            except Exception:  # noqa: BLE001 - tenants write what is watched, and the process must outlive any of it
                self.in_touch = False
                self.trouble = ApiServerError(f"the operator failed on a watch of {self._path}; its log says more")
                _log.exception("watch failed", path=self._path, again_in_s=pause_s)
            self.looked.set()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def refresh(self) -> str:
        """List everything; return the version of that moment, an empty one where the kind is not there.

        Raises:
            ApiServerError: the API server did not answer.
        """
        asked_at = self._clock.now()
        listed_uids: set[str] = set()
        version = ""
        async for page in pages(self._api, self._path, limit=self._page, **self._query):
            if page is None and self._may_be_missing:
                return self._see_none(asked_at)
            if page is None:
                raise ApiServerError(f"the API server does not know {self._path}")
            for body in page["items"]:
                listed_uids.add(body["metadata"]["uid"])
                self._take(body)
            version = page["metadata"]["resourceVersion"]
        gone = [uid for uid, (since, _) in self._held.items() if uid not in listed_uids and since <= int(version)]
        for uid in gone:
            self._drop(uid)
        self._deleted = {uid: since for uid, since in self._deleted.items() if since > int(version)}
        self.as_of = asked_at
        return version

    def _see_none(self, asked_at: datetime) -> str:
        for uid in list(self._held):
            self._drop(uid)
        self._deleted.clear()
        self.as_of = asked_at
        return ""

    async def refresh_within(self, namespace: str) -> None:
        """List what is in one namespace: what `keep` wants has become more there.

        Raises:
            ApiServerError: the API server did not answer.
        """
        async for page in pages(
            self._api, api_paths.in_namespace(self._path, namespace), limit=self._page, **self._query
        ):
            for body in () if page is None else page["items"]:
                self._take(body)

    def forget(self, condition: Callable[[Kept], bool]) -> None:
        """Hold no more what meets a condition, as if it had never been seen."""
        for uid in [uid for uid, (_, held) in self._held.items() if condition(held)]:
            self._forget(uid)

    def show(self, body: Mapping[str, Any]) -> None:
        """Take an object as the API server has just given it to us, before the watch brings it."""
        self._take(body)

    async def _watch(self) -> None:
        """Take changes until the API server ends the watch, as it does every few minutes."""
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(SERVER_TIMEOUT_S),
        }
        async with contextlib.aclosing(self._api.lines(self._path, silence=SILENCE, **query)) as lines:
            async for line in lines:
                self._read(line)

    def _read(self, line: bytes) -> None:
        """Take one line of a watch.

        Raises:
            ApiServerError: it is none, or says that the watch is over.
        """
        try:
            event = json.loads(line)
        except ValueError as error:
            raise ApiServerError(f"the watch of {self._path} broke off within a line") from error
        kind, body = event["type"], event["object"]
        if kind == "ERROR":
            raise ApiServerError(f"the API server ended the watch of {self._path}: {body.get('message')}")
        self._version = body["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return
        self._take(body)
        if kind == "DELETED":
            self._note_deleted(body["metadata"]["uid"], int(self._version))
            self._drop(body["metadata"]["uid"])

    def _take(self, body: Mapping[str, Any]) -> None:
        uid, version = body["metadata"]["uid"], int(body["metadata"]["resourceVersion"])
        known = self._held.get(uid)
        if version <= max(-1 if known is None else known[0], self._deleted.get(uid, -1)):
            return
        try:
            held = self._keep(body)
        except Exception:  # noqa: BLE001 - what tenants write may surprise, and must not end the watch of all
            metadata = body["metadata"]
            _log.exception(
                "not understood", path=self._path, namespace=metadata.get("namespace"), name=metadata["name"]
            )
            if known is not None:
                self._held[uid] = (version, known[1])
            return
        if known is not None and held is None:
            self._forget(uid)
            self._note_deleted(uid, version)
        if known is not None and held is not None and known[1].place != held.place:
            self._forget(uid)
            self._changed(known[1])
        if held is not None:
            self._held[uid] = (version, held)
            self._places.setdefault(held.place, {})[uid] = held
            self._changed(held)

    def _note_deleted(self, uid: str, version: int) -> None:
        """Note it, so that a list that was asked for before does not bring the object back."""
        self._deleted[uid] = version
        if len(self._deleted) > MOST_DELETED:
            self._deleted = dict(itertools.islice(self._deleted.items(), MOST_DELETED // 2, None))

    def _drop(self, uid: str) -> None:
        last = self._forget(uid)
        if last is not None:
            self._vanished(uid, last)
            self._changed(last)

    def _forget(self, uid: str) -> Kept | None:
        if uid not in self._held:
            return None
        _, last = self._held.pop(uid)
        there = self._places[last.place]
        del there[uid]
        if not there:
            del self._places[last.place]
        return last
