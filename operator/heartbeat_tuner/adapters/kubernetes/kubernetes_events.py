"""Kubernetes Events: what `kubectl describe` and `kubectl events` show of an object."""

import contextlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import FIELD_MANAGER, KubernetesApi
from heartbeat_tuner.domain.errors import TunerError

MAX_MESSAGE: Final = 1024
"""Characters; the API server refuses longer ones."""

CANNOT_RUN: Final = "CannotRun"
"""Reason of the Event about a pod whose program has ended with a sentence of what to repair."""

_MAX_PREFIX: Final = 200
_FAREWELL_TIMEOUT: Final = timedelta(seconds=5)


async def write(
    api: KubernetesApi, involved: Mapping[str, str], *, reason: str, message: str, warning: bool, count: int = 1
) -> None:
    """Write an Event about an object.

    Args:
        api: one API server.
        involved: the object's apiVersion, kind, name, namespace and uid; without its uid nobody is shown the Event.
        reason: one word.
        message: for people; cut where it is too long.
        warning: whether something is to be done.
        count: how often it happened, as in client-go's own events that are combined from similar ones.

    Raises:
        NotLeaderError: `api` writes behind a fence, and the leadership is over.
        TunerError: it is not written.
    """
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{involved['name'][:_MAX_PREFIX]}.", "namespace": involved["namespace"]},
        "involvedObject": dict(involved),
        "reason": reason,
        "message": message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…",
        "type": "Warning" if warning else "Normal",
        "source": {"component": FIELD_MANAGER},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": count,
    }
    await api.write("POST", api_paths.collection(api_paths.EVENTS, involved["namespace"]), event)


async def tell_own_pod(message: str, environ: Mapping[str, str] = os.environ) -> None:
    """Write an Event about the pod that this process runs in, as far as it knows the pod and may.

    Args:
        message: why the process ends.
        environ: POD_NAME, POD_NAMESPACE and POD_UID, as the downward API tells them; outside a pod there is none.
    """
    name, namespace, uid = (environ.get(variable, "") for variable in ("POD_NAME", "POD_NAMESPACE", "POD_UID"))
    if not (name and namespace and uid):
        return
    pod = {"apiVersion": "v1", "kind": "Pod", "name": name, "namespace": namespace, "uid": uid}
    with contextlib.suppress(TunerError):  # the log says it, and so does the pod's last state
        api = await KubernetesApi.connect(request_timeout=_FAREWELL_TIMEOUT)
        try:
            await write(api, pod, reason=CANNOT_RUN, message=message, warning=True)
        finally:
            await api.close()
