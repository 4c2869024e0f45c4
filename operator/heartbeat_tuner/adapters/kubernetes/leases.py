"""The lease that the operator's replicas compete for: a `coordination.k8s.io/v1` Lease, read and replaced as a whole.

Each replacement rests on the version that was read, so that of two at a time one is refused. Times in it are for
people; nobody here reads them.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths, kubernetes_api
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain import durations
from heartbeat_tuner.domain.errors import ApiServerError, WriteConflictError
from heartbeat_tuner.ports.leader_lease import Claim, Lease
from heartbeat_tuner.ports.wall_clock import Clock

API_VERSION: Final = api_paths.LEASES.api_version

_NO_ANNOTATIONS: Final[Mapping[str, str]] = MappingProxyType({})


class KubernetesLeases:
    """One Lease object.

    Args:
        api: connections of the election's own, so that a renewal never queues behind other requests.
        namespace: in which it is.
        name: of the Lease.
        clock: gives the times that people read in it.
        annotations: that it has besides those of others.
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        name: str,
        clock: Clock,
        annotations: Mapping[str, str] = _NO_ANNOTATIONS,
    ) -> None:
        self._api = api
        self._folder = api_paths.collection(api_paths.LEASES, namespace)
        self._path = api_paths.item(api_paths.LEASES, name, namespace)
        self._name = name
        self._namespace = namespace
        self._clock = clock
        self._annotations = annotations

    async def read(self) -> Lease | None:
        """Return the lease; None if it does not exist.

        Raises:
            ApiServerError: the API server did not answer.
        """
        body = await self._api.get(self._path)
        return None if body is None else _lease(body)

    async def write(self, lease: Lease | None, claim: Claim) -> Lease:
        """Replace what was read as `lease` by a claim, or create it; return it as stored.

        Raises:
            WriteConflictError: somebody wrote, created or deleted it since it was read.
            ApiServerError: anything else.
        """
        metadata: Mapping[str, Any] = (
            {"name": self._name, "namespace": self._namespace} if lease is None else lease.body["metadata"]
        )
        spec: Mapping[str, Any] = {} if lease is None else lease.body.get("spec") or {}
        document = {
            "apiVersion": API_VERSION,
            "kind": "Lease",
            "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **self._annotations}},
            "spec": {**spec, **_record(spec, claim, now=self._clock.now())},
        }
        method, path = ("POST", self._folder) if lease is None else ("PUT", self._path)
        stored = await self._api.write(method, path, document, fieldManager=kubernetes_api.FIELD_MANAGER)
        if stored is None and lease is None:
            raise ApiServerError(
                f"there is no namespace {self._namespace} for the lease {self._name}; create it, or set "
                f"leaderElection.namespace to one that exists"
            )
        if stored is None:
            raise WriteConflictError(f"lease {self._namespace}/{self._name} is gone")
        return _lease(stored)


def _record(spec: Mapping[str, Any], claim: Claim, *, now: datetime) -> dict[str, Any]:
    """Return the fields of the lease's spec that make up a claim.

    A renewal must show, or the others would take the lease for abandoned: also where the clock was set back to the very
    microsecond of the last one, it gets a time of its own.
    """
    renewed = _micro_time(now)
    if renewed == spec.get("renewTime"):
        renewed = _micro_time(now + timedelta(microseconds=1))
    acquired = spec.get("acquireTime") if spec.get("holderIdentity") == claim.holder else None
    return {
        "holderIdentity": claim.holder,
        "leaseDurationSeconds": math.ceil(claim.duration.total_seconds()),
        "leaseTransitions": claim.transitions,
        "acquireTime": acquired or renewed,
        "renewTime": renewed,
    }


def _micro_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _lease(body: Mapping[str, Any]) -> Lease:
    """Return the lease; others may have written it, with any field left out."""
    spec = body.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    return Lease(
        holder=spec.get("holderIdentity") or "",
        duration=None if seconds is None else timedelta(seconds=seconds),
        transitions=spec.get("leaseTransitions") or 0,
        body=body,
        renewed=durations.moment_of(spec.get("renewTime")),
    )
