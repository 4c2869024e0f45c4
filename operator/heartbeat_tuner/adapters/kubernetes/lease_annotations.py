"""The note of a stop: annotations of the one Lease that all replicas know, whatever the leader and the shards.

`fleet-stopped` has the stop as JSON; any other text there is a person's, who stops the fleet by hand. `resumed` asks to
go on: the leader takes it away and notes since when, in `fleet-resumed-at`. No text means "go on" by mistake, since
what cannot be read is a stop.

The Lease is renewed every few seconds, so a write that meets a renewal is tried again; it changes nothing but these
annotations.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.ports.fleet_stops import FleetStop, StopNote

STOPPED: Final = "heartbeat-tuner.dev/fleet-stopped"
RESUMED_AT: Final = "heartbeat-tuner.dev/fleet-resumed-at"
RESUMED: Final = "resumed"

LONGEST_TEXT: Final = 500
"""Characters of a person's text that are repeated."""

_ATTEMPTS: Final = 5


class LeaseAnnotations:
    """The note at one Lease.

    Args:
        api: writes only while this replica leads.
        namespace: of the Lease.
        name: of it.
    """

    def __init__(self, api: KubernetesApi, *, namespace: str, name: str) -> None:
        self._api = api
        self._path = api_paths.item(api_paths.LEASES, name, namespace)
        self._called = f"lease {namespace}/{name}"

    async def read(self) -> StopNote:
        """Return what is noted now.

        Raises:
            ApiServerError: the API server did not answer, or there is no such Lease.
        """
        return _note(await self._body())

    async def replace(self, noted: StopNote, note: StopNote) -> None:
        """Replace what was read as `noted`.

        Raises:
            WriteConflictError: somebody has changed it since, or the Lease changes all the time.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        for _ in range(_ATTEMPTS):
            body = await self._body()
            if _note(body) != noted:
                break
            metadata = body["metadata"]
            annotations = {**_others(metadata), **_annotations(note)}
            document = {**body, "metadata": {**metadata, "annotations": annotations}}
            try:
                stored = await self._api.write("PUT", self._path, document, fieldManager=kubernetes_api.FIELD_MANAGER)
            except WriteConflictError:
                continue
            if stored is not None:
                return
        raise WriteConflictError(f"the annotations of {self._called} changed meanwhile")

    async def _body(self) -> dict[str, Any]:
        body = await self._api.get(self._path)
        if body is None:
            raise ApiServerError(f"{self._called} is gone")
        return body


def _note(body: Mapping[str, Any]) -> StopNote:
    annotations = body["metadata"].get("annotations") or {}
    text = annotations.get(STOPPED)
    resumed_at = durations.moment_of(annotations.get(RESUMED_AT))
    if text is None or text == RESUMED:
        return StopNote(asked_to_resume=text == RESUMED, resumed_at=resumed_at)
    return StopNote(_stop(text), resumed_at=resumed_at)


def _stop(text: str) -> FleetStop:
    """Return the stop that a text stands for; whatever is not ours is a person's words."""
    try:
        document = json.loads(text)
        namespaces = document["namespaces"]
        since = durations.moment_of(document["since"])
        message = document["message"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return FleetStop(f"{STOPPED} says {text[:LONGEST_TEXT]}")
    if since is None or not isinstance(message, str) or not _are_names(namespaces):
        return FleetStop(f"{STOPPED} says {text[:LONGEST_TEXT]}")
    return FleetStop(message[:LONGEST_TEXT], since, frozenset(namespaces))


def _are_names(namespaces: object) -> bool:
    return isinstance(namespaces, list) and all(isinstance(namespace, str) for namespace in namespaces)


def _others(metadata: Mapping[str, Any]) -> dict[str, str]:
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    return {key: text for key, text in annotations.items() if key not in {STOPPED, RESUMED_AT}}


def _annotations(note: StopNote) -> dict[str, str]:
    annotations: dict[str, str] = {}
    stop = note.stop
    if stop is not None and stop.since is not None:
        document = {
            "since": stop.since.isoformat(),
            "namespaces": sorted(stop.namespaces),
            "message": str(stop.message),
        }
        annotations[STOPPED] = json.dumps(document)
    if note.resumed_at is not None:
        annotations[RESUMED_AT] = note.resumed_at.isoformat()
    return annotations
