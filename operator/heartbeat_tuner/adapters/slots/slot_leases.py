"""Slots as Leases: seen through a watch, written one by one, each write resting on the version that was read.

A Lease belongs to its policy, so that the API server's garbage collector takes it away with the policy.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.kubernetes.leases import API_VERSION
from heartbeat_tuner.adapters.kubernetes.listing import WatchedKind
from heartbeat_tuner.adapters.kubernetes.watching_scope import WatchedScope
from heartbeat_tuner.adapters.slots.slot_pods import WatchedSlotPods
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.api.slot_names import Owner, SlotPlace
from heartbeat_tuner.api.v1alpha1 import fields
from heartbeat_tuner.api.v1alpha1.spec_v1alpha1 import KIND
from heartbeat_tuner.domain.errors import WriteConflictError
from heartbeat_tuner.membership import records
from heartbeat_tuner.membership.values import Remove, Slot, SlotPod, Write
from heartbeat_tuner.ports.wall_clock import Clock

FIELD_MANAGER: Final = "heartbeat-tuner-webhook"
MERGE: Final = "application/strategic-merge-patch+json"
_REVIEWS: Final = api_paths.collection(api_paths.ACCESS_REVIEWS)

LEASES: Final = WatchedKind(api_paths.collection(api_paths.LEASES), slot_names.SLOT_LABEL)
"""Those of slots."""


@dataclasses.dataclass(frozen=True, slots=True)
class SeenSlot:
    """A Lease as it was read.

    Attributes:
        place: whose slot.
        slot: what the rules know of it.
        uid: of the Lease: one that was made again under its name is another.
    """

    place: SlotPlace
    slot: Slot
    uid: str


class KubernetesSlots:
    """The Leases of all slots, and their pods.

    Args:
        api: one API server.
        namespaces: where; everywhere if empty.
        clock: for the watches.
        changed: called with the place of what changed.
    """

    def __init__(
        self, api: KubernetesApi, *, namespaces: Sequence[str], clock: Clock, changed: Callable[[SlotPlace], None]
    ) -> None:
        self._api = api
        self._namespaces = namespaces
        self._leases = WatchedScope(
            api,
            LEASES,
            seen_slot,
            namespaces=namespaces,
            clock=clock,
            changed=lambda slot: changed(slot.place),
        )
        self._pods = WatchedSlotPods(api, namespaces=namespaces, clock=clock, changed=changed)

    @property
    def as_of(self) -> datetime | None:
        """Up to when Leases and pods are complete; None while they are not known, or not kept up to date."""
        both = (self._leases, self._pods.watched)
        moments = [watch.as_of for watch in both if watch.in_touch and watch.as_of is not None]
        return min(moments) if len(moments) == len(both) else None

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._leases.run())
            both.create_task(self._pods.run())

    def leases(self, place: SlotPlace) -> Sequence[Slot]:
        """Return the slots that have a Lease."""
        return [seen_slot.slot for seen_slot in self._leases.at(place)]

    def pods(self, place: SlotPlace) -> Sequence[SlotPod]:
        """Return the pods that have a slot, and those that are gone for as long as a Lease names them."""
        records = [seen_slot.slot.record for seen_slot in self._leases.at(place)]
        named = {record.holder for record in records if record} | {record.former for record in records if record}
        named |= {record.promise.token for record in records if record and record.promise}
        return self._pods.at(place, named=named)

    def gated(self) -> Mapping[SlotPlace, Sequence[SlotPod]]:
        """Return the pods that wait for their slots."""
        pods: dict[SlotPlace, list[SlotPod]] = {}
        for seen_pod in self._pods.gated():
            pods.setdefault(seen_pod.place, []).append(seen_pod.pod)
        return pods

    async def refresh(self) -> None:
        """Bring `as_of` forward.

        Raises:
            ApiServerError: the API server did not answer.
        """
        await self._leases.refresh()
        await self._pods.watched.refresh()

    async def may_lift(self) -> bool:
        """Whether gates may be lifted and pods deleted wherever there are slots, as far as rights go.

        Raises:
            ApiServerError: the API server did not answer.
        """
        asked = [
            {**where, **attributes}
            # A review that names no namespace asks for all of them.
            for where in [{"namespace": namespace} for namespace in self._namespaces] or [{}]
            for attributes in (
                {"verb": "patch", "resource": "pods"},
                {"verb": "delete", "resource": "pods"},
            )
        ]
        answers = [
            await self._api.write("POST", _REVIEWS, {"spec": {"resourceAttributes": attributes}})
            for attributes in asked
        ]
        return all(answer is not None and answer["status"]["allowed"] for answer in answers)

    async def look(self, place: SlotPlace, number: int) -> None:
        """See a Lease as it is now, whatever the watch brings later.

        Raises:
            ApiServerError: the API server did not answer.
        """
        body = await self._api.get(_path(place, number))
        if body is not None:
            self._leases.show(body)

    async def write(self, place: SlotPlace, owner: Owner, write: Write) -> None:
        """Write a slot's whole record, if its Lease is what was read.

        Raises:
            WriteConflictError: somebody wrote, created or deleted it since.
            ApiServerError: anything else.
        """
        known = {seen_slot.slot.number: seen_slot for seen_slot in self._leases.at(place)}.get(write.number)
        lease = records.fields(write.number, write.record)
        metadata: dict[str, Any] = {
            "name": place.id_of(write.number),
            "namespace": place.namespace,
            "labels": {slot_names.SLOT_LABEL: str(write.number)},
            "annotations": dict(lease.annotations),
            "ownerReferences": [
                {
                    "apiVersion": fields.API_VERSION,
                    "kind": KIND,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                }
            ],
        }
        method, path = "POST", api_paths.collection(api_paths.LEASES, place.namespace)
        if write.version is not None:
            if known is None or known.slot.version != write.version:
                raise WriteConflictError(f"lease {place.id_of(write.number)} has changed already")
            metadata |= {"resourceVersion": write.version, "uid": known.uid}
            method, path = "PUT", _path(place, write.number)
        document = {
            "apiVersion": API_VERSION,
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": lease.holder_identity or None,
                "acquireTime": f"{write.record.since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
            },
        }
        stored = await self._api.write(method, path, document, fieldManager=FIELD_MANAGER)
        if stored is None:
            raise WriteConflictError(f"lease {place.id_of(write.number)} is gone, or its namespace is")
        self._leases.show(stored)

    async def remove(self, place: SlotPlace, remove: Remove) -> None:
        """Delete a slot's Lease, if it is what was read.

        Raises:
            WriteConflictError: somebody wrote it since.
            ApiServerError: anything else.
        """
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": remove.version}}
        await self._api.write("DELETE", _path(place, remove.number), options)

    async def lift(self, place: SlotPlace, pod: SlotPod) -> None:
        """Take the gate off a pod, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else.
        """
        patch = {
            "metadata": {"uid": pod.uid, "resourceVersion": pod.version},
            "spec": {"schedulingGates": [{"$patch": "delete", "name": slot_names.GATE}]},
        }
        await self._api.write("PATCH", _pod_path(place, pod), patch, content_type=MERGE, fieldManager=FIELD_MANAGER)

    async def evict(self, place: SlotPlace, pod: SlotPod) -> None:
        """Have a pod replaced by its controller, if it is what was seen.

        Raises:
            WriteConflictError: it changed since.
            ApiServerError: anything else.
        """
        # No eviction: an admission policy is shown the pod that is deleted, but not the one that is evicted.
        preconditions = {"uid": pod.uid, "resourceVersion": pod.version}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        await self._api.write("DELETE", _pod_path(place, pod), options)


def seen_slot(body: Mapping[str, Any]) -> SeenSlot | None:
    """Return what a Lease says; None if it is no slot's."""
    metadata = body["metadata"]
    parsed = slot_names.parse(metadata["namespace"], metadata["name"])
    if parsed is None:
        return None
    place, number = parsed
    holder = (body.get("spec") or {}).get("holderIdentity")
    record = records.read(number, holder, metadata.get("annotations") or {})
    return SeenSlot(place, Slot(number, metadata["resourceVersion"], record), metadata["uid"])


def _path(place: SlotPlace, number: int) -> str:
    return api_paths.item(api_paths.LEASES, place.id_of(number), place.namespace)


def _pod_path(place: SlotPlace, pod: SlotPod) -> str:
    return api_paths.item(api_paths.PODS, pod.name, place.namespace)
