"""The API server, asked for lists: what the stand-in for kube-state-metrics and its recorder both need."""

import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any, Final

import yaml

_TIMEOUT_S: Final = 5.0

PODS: Final = "/api/v1/pods"
REPLICASETS: Final = "/apis/apps/v1/replicasets"
DEPLOYMENTS: Final = "/apis/apps/v1/deployments"


class KubeApi:
    """Who may read everything, by a kubeconfig of the sandbox's: one cluster, one user, a token."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        self._server = cluster["server"]
        self._headers = {"Authorization": f"Bearer {document['users'][0]['user']['token']}"}
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return the objects of a list; OSError when nobody answers."""
        request = urllib.request.Request(self._server + path, headers=self._headers)  # noqa: S310 - the sandbox's own
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=self._tls) as answer:  # noqa: S310
            found: list[dict[str, Any]] = json.load(answer)["items"]
        return found
