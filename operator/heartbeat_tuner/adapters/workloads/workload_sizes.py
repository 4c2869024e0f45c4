"""How many pods a Deployment or Rollout may have at a time, as the API server says now."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from heartbeat_tuner.adapters.kubernetes import api_paths
from heartbeat_tuner.adapters.kubernetes.kubernetes_api import KubernetesApi
from heartbeat_tuner.adapters.workloads import argo_rollouts
from heartbeat_tuner.api.slot_names import MOST_SLOTS
from heartbeat_tuner.domain.policies import DEPLOYMENT, ROLLOUT, STATEFUL_SET, ObjectKey
from heartbeat_tuner.ports.kubernetes_workloads import WorkloadSizes

DEFAULT_SURGE: Final = "25%"

PERCENT_DIGITS: Final = 9
"""So many digits of a share are read. The API server takes any number of them, Python's `int` only some thousands; the
first nine of a longer one make more than `MOST_SLOTS` of a single replica, so that nothing is lost with the others."""

RECENT_S: Final = 10.0
"""How old a size may be for whom it decides only how long an empty Lease stays."""


_RESOURCES: Final = {DEPLOYMENT: api_paths.DEPLOYMENTS, ROLLOUT: api_paths.ROLLOUTS}


class KubernetesWorkloadSizes:
    """Deployments and Rollouts through the API server."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def size(self, kind: str, workload: ObjectKey) -> int:
        """Return replicas and surge of a Deployment or Rollout, `MOST_SLOTS` at most; 0 where it does not exist.

        Raises:
            ApiServerError: the API server did not answer.
        """
        body = await self._api.get(api_paths.item(_RESOURCES[kind], workload.name, workload.namespace))
        return 0 if body is None else size_of(argo_rollouts.as_deployment(body, kind)["spec"], kind)


class RecentSizes:
    """Sizes that may be some seconds old: in a rollout there is something to look after many times a second.

    Args:
        sizes: as they are now.
        monotonic: seconds that only grow.
    """

    def __init__(self, sizes: WorkloadSizes, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._sizes = sizes
        self._monotonic = monotonic
        self._known: dict[tuple[str, ObjectKey], tuple[float, int]] = {}

    async def size(self, kind: str, workload: ObjectKey) -> int:
        """Return the replicas and the surge of a Deployment or Rollout, as they were `RECENT_S` ago or later.

        Raises:
            ApiServerError: the API server did not answer.
        """
        oldest_s = self._monotonic() - RECENT_S
        since_s, size = self._known.get((kind, workload), (oldest_s, 0))
        if since_s > oldest_s:
            return size
        self._known = {key: entry for key, entry in self._known.items() if entry[0] > oldest_s}
        now_s, size = self._monotonic(), await self._sizes.size(kind, workload)
        self._known[kind, workload] = (now_s, size)
        return size


def size_of(spec: Mapping[str, Any], kind: str = DEPLOYMENT) -> int:
    """Return the replicas and the surge that a spec allows, `MOST_SLOTS` at most: who writes it may write any number.

    A StatefulSet has no surge, nor has who has no replicas.
    """
    return min(_asked_for(spec, kind), MOST_SLOTS)


def _asked_for(spec: Mapping[str, Any], kind: str) -> int:
    replicas: int = spec.get("replicas", 1)
    strategy = spec.get("strategy") or {}
    if kind == STATEFUL_SET or strategy.get("type") == "Recreate" or not replicas:
        return replicas
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", DEFAULT_SURGE)
    if isinstance(surge, int):
        return replicas + surge
    percent = int(surge.removesuffix("%").lstrip("0")[:PERCENT_DIGITS] or "0")
    return replicas + math.ceil(replicas * percent / 100)
