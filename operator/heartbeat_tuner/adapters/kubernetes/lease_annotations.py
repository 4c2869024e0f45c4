"""The note of a stop: annotations of the one Lease that all replicas know, whatever the leader and the shards.

`stop_notes` says what they mean.

The Lease is renewed every few seconds, so a write that meets a renewal is tried again; it changes nothing but these
annotations.
"""

from collections.abc import Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api, stop_notes
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.ports.fleet_stops import StopNote

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
        return stop_notes.note_of(await self._body())

    async def replace(self, noted: StopNote, note: StopNote) -> None:
        """Replace what was read as `noted`.

        Raises:
            WriteConflictError: somebody has changed it since, or the Lease changes all the time.
            NotLeaderError: the leadership is over.
            ApiServerError: anything else.
        """
        for _ in range(_ATTEMPTS):
            body = await self._body()
            if stop_notes.note_of(body) != noted:
                break
            metadata = body["metadata"]
            annotations = {**_others(metadata), **stop_notes.annotations_of(note)}
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


def _others(metadata: Mapping[str, Any]) -> dict[str, str]:
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    return {key: text for key, text in annotations.items() if key not in {stop_notes.STOPPED, stop_notes.RESUMED_AT}}
