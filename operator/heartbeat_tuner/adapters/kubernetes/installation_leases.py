"""The Leases of other installations of the operator: whether each still runs, and which namespaces it looks after.

The second stands in an annotation, which the election writes. A Lease without it is no installation's, so a status that
names any other Lease of the cluster claims nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.domain import durations
from heartbeat_tuner.ports.other_installations import InstallationLease

NAMESPACES: Final = "heartbeat-tuner.dev/namespaces"
"""Annotation: the namespaces that the installation looks after, with commas between them."""

EVERYWHERE: Final = "*"
"""Its text where the configuration names none."""


def annotations_of(namespaces: Sequence[str]) -> dict[str, str]:
    """Return the annotation of a Lease whose installation names these namespaces; of all, if there are none."""
    return {NAMESPACES: ",".join(namespaces) or EVERYWHERE}


class KubernetesInstallations:
    """Reads Leases by the names of installations.

    Args:
        api: one API server.
    """

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def read(self, name: str) -> InstallationLease | None:
        """Return the Lease of an installation; None if no Lease has the name, or if it belongs to something else.

        It is listed: that right the operator has for slots, wherever it looks after policies.

        Args:
            name: of the installation: namespace and name of its Lease, with a slash between them.

        Raises:
            ApiServerError: it cannot be read.
        """
        namespace, _, lease = name.rpartition("/")
        path = api_paths.collection(api_paths.LEASES, namespace)
        answer = await self._api.get(path, fieldSelector=f"metadata.name={lease}", limit="1")
        bodies: Sequence[Mapping[str, Any]] = [] if answer is None else answer["items"]
        named = [body for body in bodies if body["metadata"]["name"] == lease]
        return _lease(named[0]) if named else None


def _lease(body: Mapping[str, Any]) -> InstallationLease | None:
    text = (body["metadata"].get("annotations") or {}).get(NAMESPACES)
    if text is None:
        return None
    spec = body.get("spec") or {}
    namespaces: Collection[str] | None = None if text == EVERYWHERE else frozenset(text.split(","))
    return InstallationLease(
        namespaces=namespaces,
        renewed=durations.moment_of(spec.get("renewTime")),
        duration=timedelta(seconds=spec.get("leaseDurationSeconds") or 0),
    )
