"""The policies as the watch last showed them.

The kopf handlers put objects in, the cycle takes a snapshot. Our own status writes are put in too, so that the next
cycle does not decide on a status that it has replaced already.
"""

from collections.abc import Mapping
from typing import Any

from heartbeat_tuner.api import parsing
from heartbeat_tuner.domain.policies import ObjectKey


class PolicyStore:
    """Policies by namespace and name, each in its newest known version."""

    def __init__(self) -> None:
        self._bodies: dict[ObjectKey, Mapping[str, Any]] = {}

    def put(self, body: Mapping[str, Any]) -> None:
        """Remember an object, unless a newer version of it is known.

        Resource versions of one resource are comparable integers (a guarantee since Kubernetes 1.35, true before).
        """
        key = parsing.key_of(body)
        known = self._bodies.get(key)
        if known is None or _version(known) <= _version(body):
            self._bodies[key] = body

    def refresh(self, body: Mapping[str, Any]) -> None:
        """Remember the answer to a write of our own, unless the object was deleted meanwhile."""
        known = self._bodies.get(parsing.key_of(body))
        if known is not None and known["metadata"]["uid"] == body["metadata"]["uid"]:
            self.put(body)

    def remove(self, key: ObjectKey) -> None:
        """Forget a deleted object."""
        self._bodies.pop(key, None)

    def snapshot(self) -> list[Mapping[str, Any]]:
        """Return all objects, in the order of their keys."""
        return [self._bodies[key] for key in sorted(self._bodies)]


def _version(body: Mapping[str, Any]) -> int:
    return int(body["metadata"]["resourceVersion"])
