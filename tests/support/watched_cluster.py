"""An API server in memory, as far as watches need one: objects with versions, lists in pages, and changes as they come.

It forgets what a test makes it forget (`compact`): then a list that goes on and a watch that is opened get 410, as they
do from a real one whose etcd was compacted.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.domain.errors import ApiServerError

Document = dict[str, Any]


class WatchedCluster:
    """What is in a cluster.

    Attributes:
        gets: paths of the lists and objects that were asked for.
        watches: how many watches were opened.
        error: what is asked for meets it.
        forbidden: the path of a collection that nobody may list.
    """

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str, str], Document] = {}
        self._watching: list[tuple[str, asyncio.Queue[Document]]] = []
        self._history: list[tuple[int, tuple[str, str, str], Document]] = []
        self._version = 0
        self._compacted = 0
        self.gets: list[str] = []
        self.watches = 0
        self.error: Exception | None = None
        self.forbidden = ""

    def put(self, path: str, namespace: str, name: str, body: Document) -> Document:
        """Store an object of the collection at `path`, and show it to all who watch."""
        key = (path, namespace, name)
        kind, before = ("MODIFIED", self._stored[key]) if key in self._stored else ("ADDED", {})
        self._version += 1
        uid = before["metadata"]["uid"] if before else f"uid-{self._version}"
        metadata = {"namespace": namespace, "name": name, "uid": uid, "generation": 1, **body.get("metadata", {})}
        stored = {**body, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self._stored[key] = stored
        self._show(path, kind, stored)
        return stored

    def delete(self, path: str, namespace: str, name: str) -> None:
        """Take an object away, and show that to all who watch."""
        self._version += 1
        last = self._stored.pop((path, namespace, name))
        self._show(path, "DELETED", {**last, "metadata": {**last["metadata"], "resourceVersion": str(self._version)}})

    def delete_namespace(self, namespace: str) -> None:
        """Take all of a namespace away, an object after the other."""
        for path, where, name in [key for key in self._stored if key[1] == namespace]:
            self.delete(path, where, name)

    def compact(self) -> None:
        """Forget all but what is there now, and end all watches."""
        self._version += 1
        self._compacted = self._version
        self._history.clear()
        gone = {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}
        for _, queue in self._watching:
            queue.put_nowait(gone)

    async def get(self, path: str, **query: str) -> Document | None:
        """Return an object, or a page of a list."""
        self.gets.append(path)
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        if path == self.forbidden:
            raise ApiServerError(f"the API server refused GET {path} with 403", status=403)
        for (collection, namespace, name), body in self._stored.items():
            if path == f"{api_paths.in_namespace(collection, namespace)}/{name}":
                return body
        if "limit" not in query:
            return None
        moment, _, begin = query.get("continue", f"{self._version}:0").partition(":")
        if int(moment) < self._compacted:
            raise ApiServerError("410: the provided continue parameter is too old", status=410)
        found = [self._stored[key] for key in sorted(self._stored) if _is_in(key, path)]
        found = [body for body in found if _has(body, query.get("labelSelector", ""))]
        end = int(begin) + int(query["limit"])
        token = {"continue": f"{moment}:{end}"} if end < len(found) else {}
        return {"items": found[int(begin) : end], "metadata": {"resourceVersion": moment, **token}}

    async def lines(self, path: str, *, silence: timedelta, **query: str) -> AsyncGenerator[bytes, None]:
        """Yield changes since a version, and then as they come; an error ends them."""
        assert silence > timedelta(0)
        if int(query["resourceVersion"]) < self._compacted:
            raise ApiServerError("410: too old resource version", status=410)
        self.watches += 1
        queue: asyncio.Queue[Document] = asyncio.Queue()
        for version, key, event in self._history:
            if version > int(query["resourceVersion"]) and _is_in(key, path):
                queue.put_nowait(event)
        watching = (path, queue)
        self._watching.append(watching)
        try:
            while True:
                event = await queue.get()
                if event["type"] == "ERROR" or _has(event["object"], query.get("labelSelector", "")):
                    yield json.dumps(event).encode()
        finally:
            self._watching.remove(watching)

    def _show(self, path: str, kind: str, body: Document) -> None:
        key = (path, body["metadata"]["namespace"], body["metadata"]["name"])
        event = {"type": kind, "object": body}
        self._history.append((self._version, key, event))
        for watched, queue in self._watching:
            if _is_in(key, watched):
                queue.put_nowait(event)


def _is_in(key: tuple[str, str, str], path: str) -> bool:
    """Whether an object is in the list at a path, of all namespaces or of one."""
    return path in {key[0], api_paths.in_namespace(key[0], key[1])}


def _has(body: Document, selector: str) -> bool:
    """Whether an object is selected; a selector is the key of a label here."""
    return not selector or selector in body["metadata"].get("labels", {})
