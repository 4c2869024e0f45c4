"""What stands in a namespace, read by one request: tests and the demo ask it again and again while they wait.

A kubectl for each question takes 50 ms of a core, this 2 ms (measured): on two cores that do everything, waiting must
not be work.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlencode

from sandbox.control_plane import ControlPlane

Kind = Literal[
    "configmaps",
    "events",
    "pods",
    "resourcequotas",
    "deployments",
    "replicasets",
    "jobs",
    "leases",
    "consumergrouppolicies",
    "consumergroupmodels",
]
"""What is read here, by the plural that stands in a path of the API."""

_SERVED_AT: Final[Mapping[Kind, str]] = {
    "configmaps": "/api/v1",
    "events": "/api/v1",
    "pods": "/api/v1",
    "resourcequotas": "/api/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "consumergrouppolicies": "/apis/heartbeat-tuner.dev/v1alpha1",
    "consumergroupmodels": "/apis/heartbeat-tuner.dev/v1alpha1",
}


def read(
    plane: ControlPlane, namespace: str, kind: Kind, name: str = "", *, labels: str = "", fields: str = ""
) -> dict[str, Any]:
    """Return an object as the administrator sees it, or a list of all that the selectors choose.

    Args:
        plane: where.
        namespace: of the objects.
        kind: of them.
        name: of the one object that is meant; all if empty.
        labels: a label selector.
        fields: a field selector.

    Raises:
        SandboxError: there is none of this name, or the API server does not answer.
    """
    path = f"{_SERVED_AT[kind]}/namespaces/{namespace}/{kind}" + (f"/{name}" if name else "")
    selectors = {"labelSelector": labels, "fieldSelector": fields}
    return plane.get(
        "?".join(filter(None, (path, urlencode({key: value for key, value in selectors.items() if value}))))
    )
