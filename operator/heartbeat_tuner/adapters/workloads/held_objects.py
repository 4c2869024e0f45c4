"""What is held of a Deployment, a StatefulSet or a pod that a watch shows; `live_workloads` looks it up.

Objects are JSON text: a tenth of what they take as dictionaries. Of a pod that has a slot it is held too which one:
`slot_views` needs no watch of its own for it.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from heartbeat_tuner.adapters.slots import slot_pods
from heartbeat_tuner.adapters.slots.slot_pods import SeenPod
from heartbeat_tuner.adapters.workloads import argo_rollouts, container_env, manifests, trimming, workload_evidence
from heartbeat_tuner.adapters.workloads.named_maps import NamedMaps
from heartbeat_tuner.api import slot_names
from heartbeat_tuner.domain.policies import ObjectKey

LONGEST_TEXT: Final = 2**16
"""Characters of what is held of an object: of a usual one there are a thousand."""

_ALONE: Final = "Pod"
"""The kind of place of a pod that has a slot and belongs to no workload."""


class WorkloadPlace(NamedTuple):
    """Where a Deployment or a StatefulSet is, and its pods."""

    kind: str
    key: ObjectKey


@dataclasses.dataclass(frozen=True, slots=True)
class HeldObject:
    """What is held of an object.

    Attributes:
        place: of a workload, or of the workload that a pod belongs to.
        version: its resource version.
        text: JSON of what is left of it; empty if that is too long to be held.
        template: the fingerprint of a workload's whole template.
        slot: of a pod that has one.
    """

    place: WorkloadPlace
    version: int
    text: str
    template: str = ""
    slot: SeenPod | None = None


class WorkloadKeeper:
    """Makes of each object what is held of it, and notes which ConfigMaps its containers name.

    Args:
        maps: where they are noted.

    Attributes:
        names: variables that policies ask about, by namespace; of others nothing is held.
        containers: those of policies, by workload.
        listing: the namespaces whose ConfigMaps are noted; None for all.
    """

    def __init__(self, maps: NamedMaps) -> None:
        self._maps = maps
        self.names: Mapping[str, frozenset[str]] = {}
        self.containers: dict[WorkloadPlace, set[str]] = {}
        self.listing: frozenset[str] | None = None

    def workload(self, kind: str) -> Callable[[Mapping[str, Any]], HeldObject | None]:
        """Return what makes of an object of a kind what is held of it; None outside the namespaces."""

        def keep(body: Mapping[str, Any]) -> HeldObject | None:
            key = _key(body)
            names = self.names.get(key.namespace)
            if names is None:
                return None
            body = argo_rollouts.as_deployment(body, kind)
            trimmed = trimming.workload(body, names, us=workload_evidence.US)
            template = manifests.fingerprint(body["spec"]["template"])
            return self._held(WorkloadPlace(kind, key), body, trimmed, template)

        return keep

    def pod(self, body: Mapping[str, Any]) -> HeldObject | None:
        """Return what is held of a pod; None outside the namespaces, and if it is no workload's and has no slot."""
        key = _key(body)
        names, owner, slot = self.names.get(key.namespace), manifests.workload_of(body), None
        if names is None:
            return None
        if slot_names.SLOT_LABEL in (body["metadata"].get("labels") or {}):
            slot = slot_pods.seen_pod(body)
        if owner is None:
            return None if slot is None else HeldObject(WorkloadPlace(_ALONE, key), _version(body), "", slot=slot)
        kind, name = owner
        place = WorkloadPlace(kind, ObjectKey(key.namespace, name))
        return self._held(place, body, trimming.pod(body, names), slot=slot)

    def _held(
        self,
        place: WorkloadPlace,
        body: Mapping[str, Any],
        trimmed: Mapping[str, Any],
        template: str = "",
        slot: SeenPod | None = None,
    ) -> HeldObject:
        namespace = place.key.namespace
        if self.listing is None or namespace in self.listing:
            names = self.names[namespace]
            for container in trimming.containers(trimmed):
                if container["name"] in self.containers.get(place, ()):
                    self._maps.name(namespace, container_env.config_map_keys(container, names))
        text = json.dumps(trimmed, separators=(",", ":"))
        return HeldObject(place, _version(body), text if len(text) <= LONGEST_TEXT else "", template, slot)


def _key(body: Mapping[str, Any]) -> ObjectKey:
    return ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])


def _version(body: Mapping[str, Any]) -> int:
    return int(body["metadata"]["resourceVersion"])
